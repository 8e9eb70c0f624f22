// The logs of real servers, compared with tables that were made by hand from the files: the lines of each record, and
// its fields. Nothing is dropped, and each real event is one record.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { attribute, readLog, rejoin } from '../../support/log-reading.ts';

function capture(name: string): string {
  const path = new URL(`../../fixtures/captures/${name}`, import.meta.url);
  return readFileSync(path, 'utf8').trimEnd();
}

const errorLog = capture('error.log');
const slowLog = capture('slow.log');
const auditLog = capture('server_audit.log');

/** The first line of each record of several lines, and its number of lines. Every other line is a record. */
const ERROR_RECORDS: ReadonlyMap<number, number> = new Map([
  [21, 2],
  [26, 8],
  [34, 10],
  [44, 10],
  [54, 8],
  [62, 10],
  [72, 10],
  [82, 2],
  [88, 3],
  [118, 2],
]);
/** The lines that hold a second record, and how it begins. */
const GLUED: ReadonlySet<number> = new Set([17, 112]);
const GLUED_START = '261120 18:';
const ERROR_WARNINGS: ReadonlySet<number> = new Set([23, 84, 85, 86]);

const BENCHMARK = 'select benchmark(300000';

/** Statements that began in one second: their threads, in order, and how their texts begin. */
type SlowRow = readonly [seconds: number, threads: readonly number[], statement: string];

const SLOW_RECORDS: readonly SlowRow[] = [
  [1795199409, [6], 'insert into orders(customer_id'],
  [1795199409, [6], 'select sql_no_cache count(*)'],
  [1795199433, [6], 'select sleep(0.06)'],
  [1795199433, [7, 8, 9, 10], BENCHMARK],
  [1795199434, [11, 12, 13, 14, 15, 16], BENCHMARK],
  [1795199435, [17, 18, 19, 20, 21, 22, 23, 24, 25], BENCHMARK],
  [1795199436, [26, 27, 28, 29, 30, 31, 32, 33], BENCHMARK],
  [1795199437, [34, 35, 36, 37, 38, 39, 40, 41, 42], BENCHMARK],
  [1795199438, [43, 44, 45, 46], BENCHMARK],
  [1795199438, [50, 51], 'select sleep(0.5)'],
  [1795199440, [53], 'SELECT c.table_schema'],
  [1795199621, [66, 65], 'select sleep(0.5)'],
  [
    1795199621,
    [67],
    "select  sleep(0.1), 'it''s; -- # Time: 261120 18:00:00\n# Query_time: 99' from",
  ],
  [1795199621, [67], "select sleep(0.07) as 'émoji😀'"],
  [1795199622, [72, 73, 74, 75, 83, 78, 85, 79, 82, 84], 'select sleep(1)'],
  [1795199621, [70], 'select sleep(2)'],
  [1795199651, [7], 'select /* multi\n# Time: 261120 18:00:00\n# User@Host: fake'],
  [1795199651, [7], "select sleep(0.07) as 'émoji😀'"],
];
const SLOW_RECORD_COUNT = 63;
/** The numbers of the records for a start of the server. */
const BANNERS = [0, 62];

/** The lines with a failure, each with its code. */
const AUDIT_FAILURES = `371 1045 374 1064 377 1146 394 1213 405 1193 418 1054 429 1109 430 1193 447 1193 453 1227
469 1146 479 1064 486 1193 524 1109 525 1109 545 1109 552 1227 560 1054 572 1064 575 1146 596 1109 599 1109 600 1193
610 1109 612 1109 625 1109 626 1109 647 1109 664 1193 667 1227 675 1054 676 1064 694 1146 696 1109 701 1109 711 1109
714 1109 741 1213 751 1054 755 1062 758 1156 764 1040 765 1040 767 1040 769 1040 772 1040 806 1094 815 1051`;

test.each([
  ['error-log', errorLog],
  ['slow-query-log', slowLog],
  ['audit-log', auditLog],
])(
  'the captured %s loses no byte, parses to the last line, and changes only by redaction',
  (type, log) => {
    const records = readLog(type, log, { isRedacting: false });
    expect(rejoin(records)).toBe(log);
    expect(rejoin(readLog(type, log))).toBe(log);
    expect(records.filter(({ body, raw, marks }) => body !== raw || marks !== 0)).toEqual([]);
  },
);

describe('the captured error log', () => {
  const records = readLog('error-log', errorLog, { isRedacting: false });

  test('has the records of the table', () => {
    const lines = errorLog.split('\n');
    const expected: unknown[] = [];
    for (let number = 1, count = 1; number <= lines.length; number += count) {
      count = ERROR_RECORDS.get(number) ?? 1;
      const raw = lines.slice(number - 1, number - 1 + count).join('\n');
      const [time] = /\d\d:\d\d:\d\d/.exec(raw) ?? [];
      const timeMs = Date.parse(`2026-11-20T${time}Z`);
      const severityNumber = ERROR_WARNINGS.has(number) ? 13 : 9;
      const end = GLUED.has(number) ? raw.lastIndexOf(GLUED_START) : raw.length;
      expected.push({ raw: raw.slice(0, end), timeMs, severityNumber, lineCount: count });
      if (end < raw.length)
        expected.push({ raw: raw.slice(end), timeMs, severityNumber, lineCount: 0 });
    }
    expect(records).toHaveLength(66);
    expect(records).toMatchObject(expected);
  });

  test('keeps the words of the server and none of the statements in its dumps', () => {
    const redacted = readLog('error-log', errorLog);
    const dump = redacted.find(({ body }) => body.includes('(1) TRANSACTION'))?.body ?? '';
    expect(dump).toContain('query id 474 localhost 127.0.0.1 app Updating\n');
    expect(dump).toContain('\nupdate customer set name=? where id=?');
    expect(redacted.map(({ body }) => body).join('\n')).not.toMatch(/u1[12]@example|75313[12]/);
    const changed = redacted.filter(({ body, raw }) => body !== raw);
    expect(changed).toHaveLength(6);
  });
});

describe('the captured slow query log', () => {
  const records = readLog('slow-query-log', slowLog, { isRedacting: false });
  const statements = records.filter(({ eventName }) => eventName !== null);

  test('has the records of the table', () => {
    const expected = SLOW_RECORDS.flatMap(([seconds, threads, statement]) =>
      threads.map(thread => [seconds, thread, statement] as const),
    );
    const seen = statements.map((record, index) => {
      const query = String(attribute(record, 'db.query.text'));
      const beginning = query.slice(0, expected[index]?.[2].length);
      return [record.timeMs / 1000, attribute(record, 'thread.id'), beginning];
    });
    expect(expected).toHaveLength(SLOW_RECORD_COUNT);
    expect(seen).toEqual(expected);
    expect(statements.every(({ severityNumber }) => severityNumber === 13)).toBe(true);
  });

  test('has a record for each start of the server', () => {
    const banners = records.flatMap(({ eventName }, index) => (eventName === null ? [index] : []));
    expect(banners).toEqual(BANNERS);
    expect(banners.map(index => records[index]?.lineCount)).toEqual([3, 3]);
    expect(banners.map(index => records[index]?.severityNumber)).toEqual([9, 9]);
  });
});

describe('the captured audit log', () => {
  const records = readLog('audit-log', auditLog, { isRedacting: false });

  test('has a record for each line, with its time', () => {
    const times = auditLog.split('\n').map(line => Date.parse(`2026-11-20T${line.slice(9, 17)}Z`));
    expect(records.map(({ timeMs }) => timeMs)).toEqual(times);
    expect(records).toHaveLength(828);
  });

  test('has an error for each failure, and no other', () => {
    const failures = records.flatMap(({ severityNumber, attributes }, index) => {
      if (severityNumber !== 17) return [];
      const code = attributes.find(([key]) => key === 'db.response.status_code')?.[1];
      return [`${index + 1} ${String(code)}`];
    });
    expect(failures.join(' ')).toBe(AUDIT_FAILURES.replaceAll('\n', ' '));
    const others = records.filter(({ severityNumber }) => severityNumber !== 17);
    expect(others.every(({ severityNumber }) => severityNumber === 9)).toBe(true);
  });
});
