// Whatever bit of a stored state changes, it is read as a state in which every value is possible, or counts as lost.

import { expect, test } from 'vitest';
import { newArchive } from '../../src/logs/archive-state.ts';
import { createLineReader } from '../../src/logs/formats/reader.ts';
import { ARCHIVES_STATE, savedReader, stateBlob } from '../../src/logs/stored-state.ts';
import { rawLine, TEST_OPTIONS } from '../support/log-reading.ts';

const LINES = [
  '# Time: 260304  9:12:07',
  '# User@Host: app[app] @ web-1 [10.0.0.9]',
  '# Query_time: 2.000215  Lock_time: 0.000031  Rows_sent: 1  Rows_examined: 90210',
  'SET timestamp=1772615525;',
  "SELECT 'ü'",
];

test.each([false, true])(
  'what a reader has saved is as it was, or lost (flushed: %j)',
  isFlushed => {
    const reader = createLineReader({ ...TEST_OPTIONS, type: 'slow-query-log' });
    for (const [number, line] of LINES.entries()) reader.push(rawLine(line, number));
    if (isFlushed) reader.flush();
    const saved = savedReader(reader.save());
    expect(saved.reader).not.toBe('');
    const progress = { bytes: 1, lines: 5, hash: '', hasTail: false, ...saved };
    const state = { ...newArchive({ dayMs: 0, endMs: 1 }), entries: { entry: progress } };
    const blob = stateBlob({ archives: { a: state } });
    expect(ARCHIVES_STATE.read(blob)).toMatchObject({ archives: { a: state } });
    let lost = 0;
    for (let bit = 0; bit < blob.length * 8; bit++) {
      const bad = Buffer.from(blob);
      bad.writeUInt8(bad.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const read = ARCHIVES_STATE.read(bad);
      if (read === null) lost++;
      for (const archive of Object.values(read?.archives ?? {}))
        for (const entry of Object.values(archive.entries)) expect(entry.reader).toBe(saved.reader);
    }
    expect(lost).toBeGreaterThan(blob.length * 4);
  },
);
