// Lines from bug reports, each with its right records, and a second input of the same kind beside it.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { MARK, type ParsedRecord } from '../../../src/logs/record.ts';
import { attribute, type ReadingOptions, readLog, rejoin } from '../../support/log-reading.ts';

const field = (name: string): string =>
  readFileSync(new URL(`../../fixtures/field/${name}`, import.meta.url), 'utf8').trimEnd();

/** The time, severity and first words of each record. */
function shown(records: readonly ParsedRecord[]): string[] {
  return records.map(({ timeMs, severityNumber, raw }) => {
    const time = Number.isNaN(timeMs) ? '-' : new Date(timeMs).toISOString().slice(0, 23);
    return `${time} ${severityNumber} ${raw.slice(0, 40)}`;
  });
}

const read = (type: string, text: string, options: ReadingOptions = {}): ParsedRecord[] =>
  readLog(type, text, options);
const bodies = (type: string, text: string): string[] => read(type, text).map(({ body }) => body);

describe('audit lines with a time in a form of their own', () => {
  test('keep all fields', () => {
    const records = read('audit-log', field('audit-time-with-zone.audit.log'));
    expect(records.map(({ timeMs }) => new Date(timeMs).toISOString())).toEqual([
      '2023-12-07T12:14:28.000Z',
      '2023-12-07T12:14:32.481Z',
      '2023-12-07T12:14:33.481Z',
    ]);
    expect(records.map(({ severityNumber }) => severityNumber)).toEqual([9, 9, 17]);
    expect(records[1]?.timeExtraNs).toBe(161_000);
    expect(attribute(records[1], 'db.query.text')).toBe('select ? from t where a=?');
    expect(attribute(records[2], 'user.name')).toBe('mallory');
    expect(records.map(({ marks }) => marks)).toEqual([0, 0, 0]);
  });

  test.each([
    ['2026-03-04 09:12:07', '2026-03-04T08:12:07.000Z'],
    ['2026-03-04T09:12:07.123456', '2026-03-04T08:12:07.123Z'],
    ['2026-03-04 09:12:07,123', '2026-03-04T08:12:07.123Z'],
    ['2026-03-04T09:12:07Z', '2026-03-04T09:12:07.000Z'],
    ['2026-03-04 09:12:07 -05:30', '2026-03-04T14:42:07.000Z'],
    ['2026-03-04 09:12:07 CET', '2026-03-04T08:12:07.000Z'],
    ['2026/03/04 09:12:07', '2026-03-04T08:12:07.000Z'],
    ['20260304091207', '2026-03-04T08:12:07.000Z'],
    ['260304  9:12:07', '2026-03-04T08:12:07.000Z'],
    ['Wed, 04 Mar 2026 09:12:07 +0100', '2026-03-04T08:12:07.000Z'],
    ['Wed Mar  4 09:12:07 2026', '2026-03-04T08:12:07.000Z'],
    ['Wed Mar  4 09:12:07 CET 2026', '2026-03-04T08:12:07.000Z'],
    ['March 4, 2026 09:12:07 PM', '2026-03-04T20:12:07.000Z'],
    ['04/Mar/2026:09:12:07 +0000', '2026-03-04T09:12:07.000Z'],
    ['04.03.2026 09:12:07', '2026-03-04T08:12:07.000Z'],
    ['03/14/2026 09:12:07', '2026-03-14T08:12:07.000Z'],
    ['2026-03-04 09:12', '2026-03-04T08:12:00.000Z'],
    ['1772615527', '2026-03-04T09:12:07.000Z'],
    ['1772615527.25', '2026-03-04T09:12:07.250Z'],
  ])('%s', (time, want) => {
    const line = `${time},db-0,app,10.0.0.9,75,311,QUERY,shop,'select 5',0`;
    const [record] = read('audit-log', line, { timezone: 'Europe/Berlin' });
    expect(new Date(record?.timeMs ?? Number.NaN).toISOString()).toBe(want);
    expect(record?.marks).toBe(0);
    expect(record?.body).toBe(line.replace('select 5', 'select ?'));
    expect(attribute(record, 'prom2otlp.audit.server')).toBe('db-0');
    expect(attribute(record, 'user.name')).toBe('app');
  });

  test.each([
    '03/04/26 09:12:07',
    '09:12:07',
    '2026-03-04',
    'day 63, 9 of 2026',
    '2026-02-30 09:12',
  ])('that cannot be read keep the other fields: %s', time => {
    const line = `${time},db-0,bad,10.0.0.9,76,0,FAILED_CONNECT,,,1045`;
    const [record] = read('audit-log', line);
    expect(record).toMatchObject({ body: line, marks: MARK.timeUnknown, severityNumber: 17 });
    expect(record?.timeMs).toBeNaN();
    expect(attribute(record, 'user.name')).toBe('bad');
    expect(attribute(record, 'db.response.status_code')).toBe('1045');
    const timed = { line: () => ({ timeMs: 5 }) };
    expect(read('audit-log', line, timed)[0]).toMatchObject({ timeMs: 5, marks: 0 });
  });
});

test('the host of an audit line is an address, with a port only if that is a number', () => {
  const of = (text: string): unknown[][] =>
    read('audit-log', text).map(record =>
      ['client.address', 'client.port'].map(key => attribute(record, key)),
    );
  expect(of(field('audit-port-unavailable.audit.log'))).toEqual([
    ['localhost', undefined],
    ['localhost', undefined],
    ['10.0.0.9', 54321],
  ]);
  const line = (host: string): string => `20260304 09:12:07,db-0,app,${host},75,0,CONNECT,,,0`;
  expect(of(line('[fe80::1]:unavailable'))).toEqual([['fe80::1', undefined]]);
  expect(of(line('::1:unavailable'))).toEqual([['::1', undefined]]);
  expect(of(line('web-1:99999'))).toEqual([['web-1', undefined]]);
});

describe("the server's own words stay", () => {
  test('in errors of replication, up to the values that they quote', () => {
    const text = field('replication-errors.error.log');
    const want = text
      .replace('a@example.com', '?')
      .replace('0-71143', '?')
      .replace('values (1)', 'values (?)');
    expect(bodies('error-log', text).join('\n')).toBe(want);
  });

  test('in the states of a replica', () => {
    const text = field('change-master.error.log');
    expect(bodies('error-log', text)).toEqual([text]);
    const other =
      "2026-03-04  9:05:33 5 [System] 'CHANGE REPLICATION SOURCE TO FOR CHANNEL '' executed'. Previous state source_host='db-0', source_port= 3306.";
    expect(bodies('error-log', other)).toEqual([other]);
    expect(bodies('error-log', "x change master to master_password='SEKRET'")).toEqual([
      'x change master to master_password=?',
    ]);
  });

  test.each([
    ["Slave SQL thread initialized, starting replication in log 'FIRST' at position 4", null],
    [
      "Replica SQL for channel '': Worker 1 failed at master log binlog.000002, end_log_pos 7",
      null,
    ],
    [
      "Slave SQL: Error 'x' on query. Default database: 'a'. Query: 'update t set a='SEKRET'', Gtid 0-1-5, Internal error code: 5",
      "Slave SQL: Error 'x' on query. Default database: 'a'. Query: 'update t set a=?', Gtid 0-1-5, Internal error code: 5",
    ],
    // The server cuts a long statement, and its quote.
    [
      "Slave SQL: Error 'x' on query. Query: 'insert into t values ('SEKR, Gtid 0-1-5, Internal error code: 1062",
      "Slave SQL: Error 'x' on query. Query: 'insert into t values (?, Gtid 0-1-5, Internal error code: 1062",
    ],
    ["Query: 'insert into t values (5)'", "Query: 'insert into t values (?)'"],
    ["Query: 'do f(5)'. Gtid 0-1-5", "Query: 'do f(?)'. Gtid 0-1-5"],
  ])('%s', (message, want) => {
    const next = '2026-03-04  9:05:34 0 [Note] ready for 5 connections';
    const line = `2026-03-04  9:05:33 6 [ERROR] ${message}`;
    expect(bodies('error-log', `${line}\n${next}`)).toEqual([
      want === null ? line : `2026-03-04  9:05:33 6 [ERROR] ${want}`,
      next,
    ]);
  });
});

describe('a line with a time or a level of its own is a record', () => {
  test('of a start script', () => {
    expect(shown(read('error-log', field('entrypoint.error.log')))).toEqual([
      '2026-03-04T09:05:33.000 9 2026-03-04  9:05:33 0 [Note] engined: re',
      '2026-03-04T09:05:34.000 9 2026-03-04 09:05:34+00:00 [Note] [Entryp',
      '2026-03-04T09:05:40.000 17 2026-03-04 09:05:40+00:00 [ERROR] [Entry',
      '2026-03-04T09:05:41.000 13 2026-03-04 09:05:41+00:00 [Warn] [Entryp',
      '2026-03-04T09:05:43.000 9 2026-03-04  9:05:43 0 [Note] Starting En',
    ]);
  });

  test('of the script that joins a node, an hour of it', () => {
    expect(shown(read('error-log', field('joiner-script.error.log')))).toEqual([
      '2026-03-04T09:05:33.000 9 2026-03-04  9:05:33 0 [Note] WSREP: Runn',
      '2026-03-04T09:05:34.118 9 WSREP_SST: [INFO] copy SST started on jo',
      '2026-03-04T09:35:44.756 17 WSREP_SST: [ERROR] Error while getting d',
      '2026-03-04T09:35:44.758 17 WSREP_SST: [ERROR] Cleanup after exit wi',
      '2026-03-04T09:35:44.000 17 2026-03-04  9:35:44 0 [ERROR] WSREP: Pro',
    ]);
    const lines = Array.from({ length: 4000 }, (_, second) => {
      const time = new Date(Date.UTC(2026, 2, 4, 13) + second * 1000).toISOString().slice(11, 23);
      return `WSREP_SST: [INFO] previous SST is not completed, waiting (20260304 ${time})`;
    });
    const error = 'WSREP_SST: [ERROR] previous SST script still running. (20260304 14:20:40.000)';
    const records = read('error-log', [...lines, error].join('\n'));
    expect(records).toHaveLength(4001);
    expect(records.at(-1)).toMatchObject({ body: error, severityNumber: 17 });
  });

  test('of the script that starts the server again', () => {
    expect(shown(read('error-log', field('restart-script.error.log')))).toEqual([
      '2026-03-04T09:05:33.000 9 2026-03-04  9:05:33 0 [Note] /usr/sbin/e',
      '2026-03-04T11:17:39.000 21 260304 11:17:39 [ERROR] /usr/sbin/engine',
      '2026-03-04T11:17:40.000 9 260304 11:17:40 engined_safe Number of p',
      '2026-03-04T11:17:41.000 9 260304 11:17:41 engined_safe engined res',
      '2026-03-04T11:17:42.000 9 2026-03-04 11:17:42 0 [Note] Starting En',
    ]);
  });

  test('of a neighbouring engine, also without a date', () => {
    expect(shown(read('error-log', field('rfc3339.error.log')))).toEqual([
      '2026-03-04T09:05:33.120 9 2026-03-04T09:05:33.120394Z 0 [System] [',
      '2026-03-04T09:05:34.120 13 2026-03-04T09:05:34.120394Z 0 [Warning] ',
      '2026-03-04T09:05:35.120 17 2026-03-04T09:05:35.120394Z 41 [ERROR] [',
      '2026-03-04T11:40:21.000 21 11:40:21 UTC - engined got signal 11 ;',
    ]);
    expect(bodies('error-log', field('rfc3339.error.log'))[2]).toContain("Duplicate entry '?' for");
    expect(shown(read('error-log', field('time-without-date.error.log')))).toEqual([
      '2026-03-04T09:05:33.000 9 2026-03-04  9:05:33 0 [Note] /opt/vendor',
      '2026-03-04T09:05:34.120 9 tool 09:05:34.12 INFO  ==> Welcome to th',
      '2026-03-04T09:05:35.120 17 tool 09:05:35.12 ERROR ==> An error occu',
      '2026-03-04T09:05:36.000 9 2026-03-04  9:05:36 0 [Note] Starting En',
    ]);
  });

  test('with the handle of a thread', () => {
    expect(
      read('error-log', field('hex-thread.error.log')).map(({ lineCount }) => lineCount),
    ).toEqual([1, 2, 1]);
  });

  test('in any other form, in every log of messages, also from saved state', () => {
    const lines = [
      '2026-03-04 09:05:33   notice : started',
      '[2026-03-04 09:05:36] ERROR out of memory',
      '[00] 2026-03-04 09:05:37 Connecting to the server',
      '2026/03/04 09:05:38 relay[12] E connection refused',
      'Mar  4 09:05:39 db-0 engined[12]: [Warning] slow',
      '2026-03-04T10:05:40+01:00 [note] up',
      '\u001b[38;5;6mtool \u001b[38;5;5m09:05:41.50 \u001b[0m\u001b[38;5;1mERROR\u001b[0m ==> no',
      'SCRIPT: [ERROR] without a time',
      '2026-03-04 09:05:42 no level',
      '00:00:01 UTC - engined got signal 11 ;',
    ];
    const want = [
      '09:05:33.000 ',
      '09:05:36.000 17',
      '09:05:37.000 9',
      '09:05:38.000 9',
      '09:05:39.000 13',
      '09:05:40.000 9',
      '09:05:41.500 17',
      '09:05:41.500 17',
      '09:05:42.000 9',
      '00:00:01.000 ',
    ];
    const text = lines.join('\nmore of it\n');
    const resumedAt = text.split('\n').map((_, number) => number);
    for (const type of ['error-log', 'proxy-log'])
      for (const options of [{}, { resumedAt }]) {
        const records = read(type, text, options);
        expect(rejoin(records)).toBe(text);
        expect(records).toHaveLength(lines.length);
        for (const [number, part] of want.entries())
          expect(shown(records)[number], lines[number]).toContain(part);
      }
    // A time without a date, after midnight, is of the next day.
    expect(shown(read('error-log', text)).at(-1)).toContain('2026-03-04T00:00:01.000 21');
    const late = '2026-03-04 23:59:58 0 [Note] x\n00:00:01 UTC - engined got signal 11 ;';
    expect(shown(read('error-log', late)).at(-1)).toContain('2026-03-05T00:00:01.000 21');
    const [first] = read('error-log', 'Mar  4 09:05:39 db-0 engined[12]: [Warning] slow');
    expect(first).toMatchObject({ timeMs: Number.NaN, severityNumber: 13 });
  });

  test('but not one that only contains them', () => {
    const note = '2026-03-04  9:05:33 0 [Note] x';
    for (const line of [
      ' 2026-03-04 09:05:33 x',
      'at 2026-03-04 09:05:33',
      'NAME: [not a level] x',
      'NAME: [shop] x',
      "2026-03-04 09:05:33', 5)",
      'Note 09:05:33 is a time',
      '2026-13-04  9:05:33 0 [Note] x',
      'x (20260304 9)',
    ])
      expect(read('error-log', `${note}\n${line}`), line).toHaveLength(1);
  });
});

describe('statements lose their literals, whatever announces them and whatever their verb', () => {
  test.each([
    ['statement-dump.proxy.log', 'proxy-log'],
    ['classified-statement.proxy.log', 'proxy-log'],
    ['com-query.proxy.log', 'proxy-log'],
    ['general-log.error.log', 'error-log'],
  ])('%s', (name, type) => {
    const text = field(name);
    const sent = bodies(type, text).join('\n');
    expect(sent).not.toMatch(/jane|4711/);
    const want = text
      .replaceAll(/'(?:user:)?jane[^']*'(?:, 5)?/g, value => (value.includes(', 5') ? '?, ?' : '?'))
      .replace('/* user=jane.doe */ SELECT 1', '/* ? */ SELECT ?')
      .replace("'cust-4711',1", '?,?')
      .replace("'order-4711'", '?');
    expect(sent).toBe(want);
  });

  test.each([
    ['proxy-log', "info   : (7) Executing statement: FLUSH TABLES t -- 'SEKRET'"],
    ['proxy-log', "error  : [p] Failed to parse query (0x1): SHUTDOWN 'SEKRET'"],
    ['proxy-log', "info   : (7) > Prepared stmt: HELP 'SEKRET'"],
    ['proxy-log', "error  : COM_STMT_PREPARE: `XA START 'SEKRET'`"],
    ['error-log', "0 [ERROR] Statement is unsafe. Statement: DO f('SEKRET')"],
    ['error-log', "0 [ERROR] WSREP: conflict, SQL: GRANT ALL ON a TO b IDENTIFIED BY 'SEKRET'"],
  ])('%s: %s', (type, message) => {
    const stamp = type === 'proxy-log' ? '2026-03-04 09:05:33   ' : '2026-03-04  9:05:33 ';
    const [body = ''] = bodies(type, stamp + message);
    expect(body).not.toContain('SEKRET');
    expect(body).toContain(message.slice(0, 30));
  });
});

test("two characters for a line end or tab are white space in a proxy's statement", () => {
  const text = field('escaped-line-ends.proxy.log');
  expect(bodies('proxy-log', text)).toEqual([text.replace("'x'", '?')]);
  const line = (sql: string): string => `2026-03-04 09:05:33   info   : (1) stmt: ${sql}`;
  const of = (sql: string): string =>
    bodies('proxy-log', line(sql))[0]?.slice(line('').length) ?? '';
  expect(of(String.raw`SELECT a,\n\tb FROM t\r\nLIMIT\n907,\t5`)).toBe(
    String.raw`SELECT a,\n\tb FROM t\r\nLIMIT\n?,\t?`,
  );
  expect(of(String.raw`SELECT 'a\nSEKRET', "x"\nFROM t`)).toBe(String.raw`SELECT ?, ?\nFROM t`);
  expect(of(String.raw`SELECT 1 -- C:\nSEKRET\nFROM t`)).toBe('SELECT ? -- ?');
});
