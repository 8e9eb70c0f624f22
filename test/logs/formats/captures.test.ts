// The logs of real servers, compared with tables that were made by hand from the files: the number of records, and their
// time, severity, lines and beginning. Nothing is dropped, and each real event is one record.

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

/** Line of the file, time of day, severity, lines, beginning of the message. */
type Row = readonly [line: number, time: string, severity: number, lines: number, message: string];

const ERROR_RECORDS: readonly Row[] = [
  [1, '18:29:39', 9, 1, 'Starting'],
  [2, '18:29:39', 9, 1, 'InnoDB: Compressed tables use zlib'],
  [3, '18:29:39', 9, 1, 'InnoDB: Using transactional memory'],
  [4, '18:29:39', 9, 1, 'InnoDB: Number of transaction pools: 1'],
  [5, '18:29:39', 9, 1, 'InnoDB: Using AVX512 instructions'],
  [6, '18:29:39', 9, 1, 'InnoDB: Using io_uring'],
  [7, '18:29:39', 9, 1, 'InnoDB: innodb_buffer_pool_size_max=8388614m'],
  [8, '18:29:39', 9, 1, 'InnoDB: Completed initialization'],
  [9, '18:29:39', 9, 1, 'InnoDB: File system buffers for log disabled'],
  [10, '18:29:39', 9, 1, 'InnoDB: End of log at LSN=44404'],
  [11, '18:29:39', 9, 1, 'InnoDB: 128 rollback segments'],
  [12, '18:29:39', 9, 1, "InnoDB: Setting file './ibtmp1'"],
  [13, '18:29:39', 9, 1, "InnoDB: File './ibtmp1' size is now"],
  [14, '18:29:39', 9, 1, 'InnoDB: log sequence number 44404'],
  [15, '18:29:39', 9, 1, "Plugin 'FEEDBACK' is disabled."],
  [16, '18:29:39', 9, 1, 'server_audit: MariaDB Audit Plugin version'],
  [17, '18:29:39', 9, 1, 'server_audit: Query cache is enabled'],
  [17, '18:29:39', 9, 0, 'server_audit: logging started to the file'],
  [18, '18:29:39', 9, 1, 'InnoDB: Loading buffer pool(s)'],
  [19, '18:29:39', 9, 1, 'InnoDB: Buffer pool(s) load completed at 261120 18:29:39'],
  [20, '18:29:39', 9, 1, 'Server socket created on IP'],
  [21, '18:29:39', 9, 2, 'mariadbd: ready for connections.\nVersion:'],
  [23, '18:30:38', 13, 1, "Access denied for user 'app'@'localhost'"],
  [24, '18:30:55', 9, 1, 'Start binlog_dump to slave_server(2)'],
  [25, '18:33:41', 9, 1, 'InnoDB: Transactions deadlock detected'],
  [26, '18:33:41', 9, 8, 'InnoDB: \n*** (1) TRANSACTION:'],
  [34, '18:33:41', 9, 10, 'InnoDB: *** WAITING FOR THIS LOCK'],
  [44, '18:33:41', 9, 10, 'InnoDB: *** CONFLICTING WITH:'],
  [54, '18:33:41', 9, 8, 'InnoDB: \n*** (2) TRANSACTION:'],
  [62, '18:33:41', 9, 10, 'InnoDB: *** WAITING FOR THIS LOCK'],
  [72, '18:33:41', 9, 10, 'InnoDB: *** CONFLICTING WITH:'],
  [82, '18:33:41', 9, 2, 'InnoDB: *** WE ROLL BACK TRANSACTION (1)'],
  [84, '18:33:42', 13, 1, 'Aborted connection 71 to db'],
  [85, '18:33:42', 13, 1, 'Aborted connection 0 to db'],
  [86, '18:33:43', 13, 1, 'Aborted connection 70 to db'],
  [87, '18:33:46', 9, 1, 'Starting'],
  [88, '18:33:46', 9, 3, 'mariadbd: Aria engine: starting recovery\nrecovered pages: 0% 13%'],
  [91, '18:33:46', 9, 1, 'mariadbd: Aria engine: recovery done'],
  [92, '18:33:46', 9, 1, 'InnoDB: Compressed tables use zlib'],
  [93, '18:33:46', 9, 1, 'InnoDB: Using transactional memory'],
  [94, '18:33:46', 9, 1, 'InnoDB: Number of transaction pools: 1'],
  [95, '18:33:46', 9, 1, 'InnoDB: Using AVX512 instructions'],
  [96, '18:33:46', 9, 1, 'InnoDB: Using io_uring'],
  [97, '18:33:46', 9, 1, 'InnoDB: innodb_buffer_pool_size_max=8388608m'],
  [98, '18:33:46', 9, 1, 'InnoDB: Completed initialization'],
  [99, '18:33:46', 9, 1, 'InnoDB: File system buffers for log disabled'],
  [100, '18:33:46', 9, 1, 'InnoDB: Starting crash recovery from checkpoint'],
  [101, '18:33:46', 9, 1, 'InnoDB: End of log at LSN=4486028'],
  [102, '18:33:46', 9, 1, 'InnoDB: To recover: 258 pages'],
  [103, '18:33:46', 9, 1, 'InnoDB: Last binlog file'],
  [104, '18:33:46', 9, 1, 'InnoDB: 128 rollback segments'],
  [105, '18:33:46', 9, 1, 'InnoDB: Removed temporary tablespace'],
  [106, '18:33:46', 9, 1, "InnoDB: Setting file './ibtmp1'"],
  [107, '18:33:46', 9, 1, "InnoDB: File './ibtmp1' size is now"],
  [108, '18:33:46', 9, 1, 'InnoDB: log sequence number 4486028'],
  [109, '18:33:46', 9, 1, 'InnoDB: Loading buffer pool(s)'],
  [110, '18:33:46', 9, 1, "Plugin 'FEEDBACK' is disabled."],
  [111, '18:33:46', 9, 1, 'server_audit: MariaDB Audit Plugin version'],
  [112, '18:33:46', 9, 1, 'server_audit: Query cache is enabled'],
  [112, '18:33:46', 9, 0, 'server_audit: logging started to the file'],
  [113, '18:33:46', 9, 1, 'InnoDB: Buffer pool(s) load completed at 261120 18:33:46'],
  [114, '18:33:46', 9, 1, 'Recovering after a crash using'],
  [115, '18:33:46', 9, 1, 'Starting table crash recovery...'],
  [116, '18:33:46', 9, 1, 'Crash table recovery finished.'],
  [117, '18:33:46', 9, 1, 'Server socket created on IP'],
  [118, '18:33:46', 9, 2, 'mariadbd: ready for connections.\nVersion:'],
];

const BENCHMARK = 'select benchmark(300000';

/** Threads whose statements of ten lines (eleven, where the second changed) began in one second. */
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
/** Where the servers started, by record. */
const BANNERS = [0, 62];

/** The number of lines of each second in the audit log. */
const AUDIT_SECONDS: readonly (readonly [time: string, count: number])[] = [
  ['18:29:39', 7],
  ['18:30:09', 34],
  ['18:30:33', 75],
  ['18:30:34', 42],
  ['18:30:35', 63],
  ['18:30:36', 56],
  ['18:30:37', 63],
  ['18:30:38', 48],
  ['18:30:39', 9],
  ['18:30:40', 95],
  ['18:30:55', 11],
  ['18:31:42', 10],
  ['18:31:44', 202],
  ['18:33:41', 42],
  ['18:33:42', 21],
  ['18:33:43', 22],
  ['18:33:44', 7],
  ['18:33:46', 16],
  ['18:34:11', 5],
];

/** The lines with a failure, and its code. */
const AUDIT_FAILURES = `371 1045 374 1064 377 1146 394 1213 405 1193 418 1054 429 1109 430 1193 447 1193 453 1227
469 1146 479 1064 486 1193 524 1109 525 1109 545 1109 552 1227 560 1054 572 1064 575 1146 596 1109 599 1109 600 1193
610 1109 612 1109 625 1109 626 1109 647 1109 664 1193 667 1227 675 1054 676 1064 694 1146 696 1109 701 1109 711 1109
714 1109 741 1213 751 1054 755 1062 758 1156 764 1040 765 1040 767 1040 769 1040 772 1040 806 1094 815 1051`;

describe('the captured error log', () => {
  const records = readLog('error-log', errorLog, { isRedacting: false });

  test('has the records of the table', () => {
    const starts = lineStarts(errorLog);
    const seen = records.map(({ firstOffset, timeMs, severityNumber, lineCount, body }) => {
      const line = starts.findLastIndex(start => start <= firstOffset) + 1;
      const time = new Date(timeMs).toISOString();
      return [line, time, severityNumber, lineCount, messageOf(body)] as const;
    });
    const expected = ERROR_RECORDS.map(([line, time, severity, lines, message], index) => {
      const seenMessage = seen[index]?.[4] ?? '';
      const isSame = seenMessage.startsWith(message);
      return [line, `2026-11-20T${time}.000Z`, severity, lines, isSame ? seenMessage : message];
    });
    expect(seen).toEqual(expected);
  });

  test('loses no byte', () => {
    expect(rejoin(records)).toBe(errorLog);
    expect(rejoin(readLog('error-log', errorLog))).toBe(errorLog);
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

  test('loses no byte', () => {
    expect(rejoin(records)).toBe(slowLog);
    expect(rejoin(readLog('slow-query-log', slowLog))).toBe(slowLog);
    expect(records.every(({ marks }) => marks === 0)).toBe(true);
    expect(records.every(({ body, raw }) => body === raw)).toBe(true);
  });
});

describe('the captured audit log', () => {
  const records = readLog('audit-log', auditLog, { isRedacting: false });

  test('has as many records in each second as the file', () => {
    const counts = new Map<string, number>();
    for (const { timeMs } of records) {
      const time = new Date(timeMs).toISOString();
      counts.set(time, (counts.get(time) ?? 0) + 1);
    }
    expect([...counts]).toEqual(
      AUDIT_SECONDS.map(([time, count]) => [`2026-11-20T${time}.000Z`, count]),
    );
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

  test('loses no byte, and parses to the last line', () => {
    expect(rejoin(records)).toBe(auditLog);
    expect(records.every(({ body, raw, marks }) => body === raw && marks === 0)).toBe(true);
  });

  test('has the statements unchanged, with newlines, quotes and backslashes', () => {
    const query = records[94]?.attributes.find(([key]) => key === 'db.query.text')?.[1];
    expect(query).toBe(
      String.raw`insert into orders(customer_id,total,note) values (1,1,'it''s "quoted" \\ and\nnew line')`,
    );
  });
});

function lineStarts(text: string): number[] {
  let offset = 0;
  return text.split('\n').map(line => {
    const start = offset;
    offset += Buffer.byteLength(line) + 1;
    return start;
  });
}

function messageOf(body: string): string {
  return body.replace(
    /^(?:\d{4}-\d\d-\d\d [\d ]\d:\d\d:\d\d \d+ \[\w+\]|\d{6} [\d ]\d:\d\d:\d\d) /,
    '',
  );
}
