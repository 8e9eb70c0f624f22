// The bytes of an archive: lines in the form that was asked for, packed as the faults say, or broken in one of the
// ways in which archives break.

import { gzipSync } from 'node:zlib';
import type { Faults, SimulatedArchiveFault } from './faults.ts';
import { gzipBomb } from './gzip-bomb.ts';
import type { LogLine } from './log-source.ts';
import { zip, type ZipEntry } from './zip.ts';

/** Container runtimes cut lines at this length. */
const PART_LENGTH = 16_384;
const FLAG_ENCRYPTED = 1;

/** The text of an entry; in json each line is an object of its own. */
export function entryText(
  lines: Iterable<LogLine>,
  format: 'raw' | 'json',
  hasLinePrefix: boolean,
): Buffer {
  const parts: string[] = [];
  let offset = 0;
  for (const { text, atMs } of lines) {
    const time = new Date(atMs).toISOString();
    for (const log of hasLinePrefix ? prefixed(text, time) : [text]) {
      const line = format === 'raw' ? log : JSON.stringify({ log, offset, time, stream: 'stderr' });
      parts.push(line, '\n');
      offset += Buffer.byteLength(log) + 1;
    }
  }
  return Buffer.from(parts.join(''));
}

/** An archive of these entries, as the faults have it. */
export function archiveBody(
  entries: readonly ZipEntry[],
  fault: SimulatedArchiveFault | undefined,
  form: Faults['archiveForm'],
): Buffer {
  const [first] = entries;
  if (fault === 'bomb') return Buffer.concat([...gzipBomb()]);
  if (fault === 'html') return Buffer.from('<!doctype html><title>Maintenance</title>\n');
  if (fault === 'encrypted') return zip(entries.map(one => ({ ...one, flags: FLAG_ENCRYPTED })));
  if (fault === 'checksum') return zip(entries.map(one => ({ ...one, checksum: 1 })));
  if (fault === 'nested') return zip([{ name: 'inner.zip', bytes: zip(entries) }]);
  const whole = packed(entries, first, form);
  return fault === 'cut' ? whole.subarray(0, Math.floor(whole.length / 2)) : whole;
}

function packed(
  entries: readonly ZipEntry[],
  first: ZipEntry | undefined,
  form: Faults['archiveForm'],
): Buffer {
  if (form === 'zip' || entries.length !== 1 || first === undefined) return zip(entries);
  return form === 'gzip' ? gzipSync(first.bytes) : first.bytes;
}

function prefixed(text: string, time: string): readonly string[] {
  const parts: string[] = [];
  for (let from = 0; from === 0 || from < text.length; from += PART_LENGTH) {
    const isLast = from + PART_LENGTH >= text.length;
    parts.push(`${time} stderr ${isLast ? 'F' : 'P'} ${text.slice(from, from + PART_LENGTH)}`);
  }
  return parts;
}
