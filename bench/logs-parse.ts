// `node bench/logs-parse.ts [MiB] [type]`: how fast the line formats are read, on one core. A day of slow query log is
// made from the records of the captured log, with new times and thread ids; the audit and the error log repeat the
// captured ones. The lines are ready as strings: unpacking and splitting are not counted.

import { readFileSync } from 'node:fs';
import { createLineReader } from '../src/logs/formats/reader.ts';
import type { ParsedRecord, RawLine } from '../src/logs/record.ts';

const MIB = 1024 * 1024;
const RECORD_BYTES_MAX = 256 * 1024;
const DAY_SECONDS = 86_400;
const FIRST_CLOCK = 1_795_132_800;
const RUNS = 5;
const TARGET = 100;

function main(): void {
  const [mebibytes = '64', only] = process.argv.slice(2);
  const bytes = Number(mebibytes) * MIB;
  const slow = slowQueryDay(capture('slow.log'), bytes);
  const logs: readonly (readonly [type: string, text: string])[] = [
    ['slow-query-log', slow],
    ['audit-log', repeated(capture('server_audit.log'), bytes / 4)],
    ['error-log', repeated(capture('error.log'), bytes / 4)],
  ];
  for (const [type, text] of logs) {
    if (only !== undefined && type !== only) continue;
    const lines = linesOf(text);
    for (const isRedacting of [true, false]) {
      const { seconds, recordCount } = best(() => parse(type, lines, isRedacting));
      const megabytes = Buffer.byteLength(text) / 1e6;
      const label = `${type}${isRedacting ? ', literals taken out' : ''}`;
      const speed = megabytes / seconds;
      const verdict = speed >= TARGET ? '' : ` (below ${TARGET})`;
      const perRecord = (seconds / recordCount) * 1e6;
      write(
        `${label.padEnd(36)} ${speed.toFixed(0).padStart(5)} MB/s${verdict}, ${recordCount} records, ${perRecord.toFixed(2)} µs each`,
      );
    }
  }
}

/** Repeats the records of a captured log, spread over a day, until they have `bytes` bytes. */
function slowQueryDay(text: string, bytes: number): string {
  const shapes: string[] = [];
  parse('slow-query-log', linesOf(text), false, record => {
    if (record.eventName !== null) shapes.push(record.raw.replace(/^# Time: .*\n/, ''));
  });
  const parts: string[] = [];
  const step = DAY_SECONDS / (bytes / (text.length / shapes.length));
  let size = 0;
  let lastClock = 0;
  for (let index = 0; size < bytes; index++) {
    const clock = FIRST_CLOCK + Math.floor(index * step);
    const shape = shapes[index % shapes.length] ?? '';
    const record = shape
      .replace(/^SET timestamp=\d+/m, `SET timestamp=${clock}`)
      .replace(/^# Thread_id: \d+/m, `# Thread_id: ${index % 5000}`);
    if (clock !== lastClock) parts.push(timeLine(clock));
    lastClock = clock;
    parts.push(record);
    size += record.length;
  }
  return parts.join('\n');
}

function timeLine(clock: number): string {
  const time = new Date(clock * 1000).toISOString();
  return `# Time: ${time.slice(2, 10).replaceAll('-', '')} ${time.slice(11, 19)}`;
}

function repeated(text: string, bytes: number): string {
  return text.repeat(Math.ceil(bytes / text.length)).trimEnd();
}

/** Copies each line into a string that shares no memory with the text, as a decoder does. */
function linesOf(text: string): string[] {
  return text.split('\n').map(line => Buffer.from(line).toString());
}

function parse(
  type: string,
  lines: readonly string[],
  isRedacting: boolean,
  take: (record: ParsedRecord) => void = () => {},
): number {
  const options = {
    type,
    timezone: 'Europe/Berlin',
    isRedacting,
    recordBytesMax: RECORD_BYTES_MAX,
  };
  const reader = createLineReader(options);
  const line: RawLine = {
    text: '',
    offset: 0,
    timeMs: Number.NaN,
    timeExtraNs: 0,
    stream: '',
    marks: 0,
  };
  let recordCount = 0;
  const count = (records: readonly ParsedRecord[]): void => {
    for (const record of records) {
      recordCount++;
      take(record);
    }
  };
  for (const text of lines) {
    line.text = text;
    count(reader.push(line));
    line.offset += text.length + 1;
  }
  count(reader.flush());
  return recordCount;
}

/** The fastest of a few runs, in processor time of all threads: slower runs were not yet compiled, or disturbed. */
function best(run: () => number): { seconds: number; recordCount: number } {
  let seconds = Number.POSITIVE_INFINITY;
  let recordCount = 0;
  for (let index = 0; index < RUNS; index++) {
    const before = process.cpuUsage();
    recordCount = run();
    const { user, system } = process.cpuUsage(before);
    seconds = Math.min(seconds, (user + system) / 1e6);
  }
  return { seconds, recordCount };
}

function capture(name: string): string {
  const path = new URL(`../test/fixtures/captures/${name}`, import.meta.url);
  return readFileSync(path, 'utf8').trimEnd();
}

function write(text: string): void {
  process.stdout.write(`${text}\n`);
}

main();
