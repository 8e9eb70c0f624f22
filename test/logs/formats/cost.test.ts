// No line and no log takes longer than its size allows: whoever writes SQL writes lines of these logs.

import { expect, test } from 'vitest';
import { EntryReader } from '../../../src/logs/entry-reader.ts';
import { createLineReader } from '../../../src/logs/formats/reader.ts';
import { readLog, TEST_OPTIONS } from '../../support/log-reading.ts';

/** Linear code never takes this long for so little text, on any machine. */
const SLOW_MS = 2000;

const USER = '# User@Host: app[app] @ web-1 [10.0.0.9]';
const OPEN = `${USER}\n# Thread_id: 1\nSET timestamp=5;\nselect ';`;

test.each([
  ['pairs of a doubtful header', `${OPEN}\n${USER}\n# Thread_id: 2\n#${'  a:'.repeat(28)}!`],
  ['a user line without an end', `;\n# User@Host: ${['[', '] @ ', '['].map(many).join('')}\nx`],
])('the header of a slow query does not take long: %s', (_, text) => {
  const start = performance.now();
  readLog('slow-query-log', text);
  expect(performance.now() - start).toBeLessThan(SLOW_MS);
});

/** Without its end, so that it takes all of the limit of a record. */
const LONG = `${OPEN}${'x'.repeat(300_000)}`;
const GLUED = '260304  9:05:33 server_audit: veiled.';

test.each([
  [
    'slow-query-log',
    'the beginnings of headers',
    `${LONG}\n${';\n# User@Host: x\n'.repeat(20_000)}`,
  ],
  [
    'slow-query-log',
    'lines of a name',
    `${LONG}\n${`;\n# User@Host: ${'\nx'.repeat(9)}\n`.repeat(5000)}`,
  ],
  [
    'slow-query-log',
    'the first lines of banners',
    `${LONG}\n${'x, Version:  started with:\n'.repeat(20_000)}`,
  ],
  ['error-log', 'records on one line', GLUED.repeat(60_000)],
])('%s: the text before costs nothing: %s', (type, _, text) => {
  const start = performance.now();
  readLog(type, text);
  expect(performance.now() - start).toBeLessThan(SLOW_MS);
});

test('parts of lines do not cost the piece before them', () => {
  const part = (kind: 'P' | 'F'): string => `2026-03-04T09:05:33Z stderr ${kind} x\n`;
  const unwrap = { format: 'raw', pointers: { message: [], time: [], stream: [] } } as const;
  const entry = new EntryReader({
    progress: null,
    reader: createLineReader({ ...TEST_OPTIONS, type: 'error-log' }),
    unwrap: { ...unwrap, lineBytesMax: 1000 },
  });
  const start = performance.now();
  entry.feed(Buffer.from(`${part('P')}${part('F')}`.repeat(20_000)));
  while (entry.next());
  expect(performance.now() - start).toBeLessThan(SLOW_MS);
});

function many(text: string): string {
  return text.repeat(300);
}
