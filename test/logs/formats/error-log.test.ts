// Where records of the error log begin, and their fields.

import { describe, expect, test } from 'vitest';
import { MARK } from '../../../src/logs/record.ts';
import { expectRecords, type ReadingOptions, readLog, rejoin } from '../../support/log-reading.ts';

const NOTE = '2026-03-04  9:05:33 0 [Note] engined: ready for connections.';

const check = (records: readonly string[]): void => expectRecords('error-log', records);

test.each([
  ['a thread and a level', '2026-03-04 19:06:10 41 [Warning] Aborted'],
  ['an older stamp and a level', '260304  9:07:01 [ERROR] engined got signal 11 ;'],
  ['an older stamp and no level', '260304  9:07:01 server_audit: STOPPED'],
  ['a level and no message', '2026-03-04  9:05:33 0 [Note]'],
  ['the address of a thread', '2026-03-04 09:05:33 0x7f2f8c01  Part: Assertion failure in file x'],
  ['the report of a monitor', '2026-03-04 09:05:33 0x7f2f PART MONITOR OUTPUT\n==========\nmore'],
])('a record begins with a stamp, %s', (_, record) => check([NOTE, record, NOTE]));

test.each([
  "Version: '11.4.5'  socket: '/run/engine.sock'  port: 3306",
  '\n})\n*** (1) TRANSACTION:\n',
  '260304\n2026-13-04  9:05:33 0 [Note] x',
  ' 2026-03-04  9:05:33 0 [Note] indented',
])('every other line belongs to the previous record: %j', lines =>
  check([`${NOTE}\n${lines}`, NOTE]),
);

describe('two messages on one line', () => {
  const PLUGIN = '260304  9:05:33 server_audit: some reads can be veiled.';

  test('are two records if the second has a whole header right after a word', () => {
    const second = '260304  9:05:33 server_audit: logging started';
    const records = readLog('error-log', `${NOTE}\n${PLUGIN}${second}\nmore\n${NOTE}`);
    expect(records.map(({ raw, lineCount }) => [raw, lineCount])).toEqual([
      [NOTE, 1],
      [PLUGIN, 1],
      [`${second}\nmore`, 1],
      [NOTE, 1],
    ]);
    // Each record has the right offset.
    expect(rejoin(records)).toBe(`${NOTE}\n${PLUGIN}${second}\nmore\n${NOTE}`);
  });

  test('are three if there are three, with any form of header', () => {
    const parts = [PLUGIN, NOTE, '260304  9:05:33 [ERROR] engined got signal 11 ;'];
    const records = readLog('error-log', parts.join(''));
    expect(records.map(({ raw }) => raw)).toEqual(parts);
    expect(records.map(({ severityNumber }) => severityNumber)).toEqual([9, 9, 21]);
  });

  test('are one if the message contains a time, or quotes a header', () => {
    check(['2026-03-04  9:05:33 0 [Note] load completed at 260304  9:05:33', NOTE]);
    check(['2026-03-04  9:05:33 0 [Note] completed at 260304  9:05:33 server_audit: no', NOTE]);
    check([`2026-03-04  9:05:33 0 [Note] Query: 'set @a='${NOTE}''`, NOTE]);
    check(['2026-03-04  9:05:33 0 [Note] id 5260304  9:05:33 [ERROR] x', NOTE]);
    check([`${NOTE}\nupdate t set a=x.260304  9:05:33 [ERROR] y`, NOTE]);
  });
});

describe('of a record it reads', () => {
  const read = (text: string, options: ReadingOptions = {}) =>
    readLog('error-log', text, options)[0];

  test('time, level and thread', () => {
    const warning = read('2026-03-04  9:06:10 41 [Warning] something');
    expect(warning).toMatchObject({
      timeMs: Date.UTC(2026, 2, 4, 9, 6, 10),
      severityNumber: 13,
      severityText: 'Warning',
      body: '2026-03-04  9:06:10 41 [Warning] something',
      eventName: null,
      attributes: [['thread.id', 41]],
      marks: 0,
    });
  });

  test.each([
    ['2026-03-04  9:06:10 0 [Note] x', 9],
    ['2026-03-04  9:06:10 0 [Warning] x', 13],
    ['2026-03-04  9:06:10 0 [ERROR] x', 17],
    ['260304  9:06:10 [ERROR] engined got signal 11 ;', 21],
    ['260304  9:06:10 [ERROR] engined got exception 0xc0000005 ;', 21],
    ['260304  9:06:10 [ERROR] got it: signal', 17],
    ['2026-03-04 09:06:10 0x7f2f8c01  Part: Assertion failure in file x.cc line 7', 21],
    ['2026-03-04 09:06:10 0x7f2f8c01  Part: ready', 9],
    ['260304  9:06:10 server_audit: STARTED', 9],
    ['2026-03-04  9:06:10 0 [constructor] x', 0],
  ])('the severity of %s', (text, want) => expect(read(text)?.severityNumber).toBe(want));

  test.each([
    [
      "41 [Warning] Aborted connection 41 to db: 'shop' user: 'app' host: '10.0.0.9' (Got timeout)",
      [
        ['thread.id', 41],
        ['db.namespace', 'shop'],
        ['user.name', 'app'],
        ['client.address', '10.0.0.9'],
      ],
    ],
    [
      "0 [Warning] Aborted connection 0 to db: 'unconnected' user: 'unauthenticated' host: 'connecting host' (x)",
      [['thread.id', 0]],
    ],
    [
      "47 [Warning] Access denied for user 'app'@'10.0.0.9' (using password: YES)",
      [
        ['thread.id', 47],
        ['user.name', 'app'],
        ['client.address', '10.0.0.9'],
      ],
    ],
  ])('who was refused or disconnected: %s', (message, want) =>
    expect(read(`2026-03-04  9:06:10 ${message}`)?.attributes).toEqual(want),
  );
});

describe('lines without header', () => {
  test('at the beginning are one record, marked as unparsed', () => {
    const [orphan, next] = readLog('error-log', `stack trace\nmore of it\n${NOTE}`);
    expect(orphan).toMatchObject({
      raw: 'stack trace\nmore of it',
      marks: MARK.unparsed,
      severityNumber: 0,
      lineCount: 2,
    });
    expect(orphan?.timeMs).toBeNaN();
    expect(next?.marks).toBe(0);
  });

  test('after a flush are a continuation, with time and severity of their record', () => {
    const text = `260304  9:06:10 [ERROR] engined got signal 11 ;\nstack\ntrace\n${NOTE}`;
    const records = readLog('error-log', text, { flushedAt: [2] });
    expect(records.map(({ raw, marks }) => [raw, marks])).toEqual([
      ['260304  9:06:10 [ERROR] engined got signal 11 ;\nstack', 0],
      ['trace', MARK.continuation],
      [NOTE, 0],
    ]);
    expect(records[1]).toMatchObject({
      timeMs: records[0]?.timeMs,
      severityNumber: 21,
      severityText: 'ERROR',
    });
    expect(readLog('error-log', text, { flushedAt: [2], resumedAt: [2, 3] })).toEqual(records);
  });

  test('over the limit are dropped, and the record is marked', () => {
    const text = `${NOTE}\n${'dump line\n'.repeat(100)}${NOTE}`;
    const [cut, next] = readLog('error-log', text, { recordBytesMax: 100 });
    expect(cut?.raw).toHaveLength(100);
    expect(text.startsWith(cut?.raw ?? 'x')).toBe(true);
    expect(cut).toMatchObject({ marks: MARK.recordCut, lineCount: 101 });
    expect(next?.raw).toBe(NOTE);
  });
});

describe('of a statement whose beginning is missing, no literal is sent', () => {
  const bodies = (type: string, text: string, options: ReadingOptions = {}) =>
    readLog(type, text, options).map(({ body }) => body);

  test.each([
    ["where a = 'SEKRET' and b = 5", 'where a = ? and b = ?'],
    ["SEKRET' and b = 5", '?'],
    [`SEKRET "x" SEKRET', 5`, '?'],
    ["SEKRET', 'x', 5)", '?'],
    ["SEKRET', ' SEKRET", '?'],
    ['SEKRET */ from t', '?'],
    ['where a = 5 and b = 0xff -- SEKRET', 'where a = ? and b = ? -- ?'],
    [' 1: len 6; hex 53; asc SEKRET;;', ' ?: len ?; hex ?; asc ?;;'],
    ['stack trace', 'stack trace'],
    ["2026-03-04 09:05:33', 'SEKRET', 5)", '?'],
  ])('%s', (rest, want) => {
    const text = `${NOTE}\n${rest}`;
    for (const type of ['error-log', 'proxy-log']) {
      expect(bodies(type, rest)).toEqual([want]);
      expect(bodies(type, rest, { isRedacting: false })).toEqual([rest]);
    }
    expect(bodies('error-log', text, { flushedAt: [1] })).toEqual([NOTE, want]);
    const line = (number: number) => (number === 0 ? { marks: MARK.lineCut } : {});
    expect(bodies('error-log', text, { line })).toEqual([`${NOTE}\n${want}`]);
    expect(bodies('error-log', text, { line, resumedAt: [1] })).toEqual([`${NOTE}\n${want}`]);
  });
});

test('a line whose header is not known is read as a message of the server', () => {
  const lines = [
    `2026-03-04T09:05:33.120394Z 0 [System] Can't connect to 'db1:3306'`,
    `2026-03-04T09:05:34.000000+02:00 0 [ERROR] the right syntax to use near 'a = "SEKRET"' at line 1`,
  ];
  const [first = '', second = ''] = lines;
  for (const type of ['error-log', 'proxy-log']) {
    const read = readLog(type, lines.join('\n'), { flushedAt: [1] });
    expect(read.map(({ body }) => body)).toEqual([first, expect.not.stringContaining('SEKRET')]);
    expect(read[1]?.body).toContain(second.slice(0, 40));
  }
});

test('a log of another format is not cut at the limit of a record', () => {
  const text = Array.from({ length: 50 }, (_, number) => `{"line":${number}}`).join('\n');
  for (const type of ['error-log', 'proxy-log', 'slow-query-log']) {
    const records = readLog(type, text, { recordBytesMax: 100 });
    expect(rejoin(records)).toBe(text);
    expect(records.map(({ marks }) => marks)).toEqual(records.map(() => MARK.unparsed));
    expect(records.length).toBeGreaterThan(5);
    const rest = readLog(type, text, { recordBytesMax: 100, flushedAt: [2] });
    expect(rejoin(rest)).toBe(text);
    expect(rest.slice(1).every(({ marks }) => marks === MARK.continuation)).toBe(true);
  }
});

test('marks and the stream of lines are kept', () => {
  const line = (number: number) => ({ stream: 'stderr', marks: number === 1 ? MARK.badUtf8 : 0 });
  const [first, second] = readLog('error-log', `${NOTE}\n\uFFFD\n${NOTE}`, { line });
  expect(first).toMatchObject({ stream: 'stderr', marks: MARK.badUtf8 });
  expect(second?.marks).toBe(0);
});

describe('after a statement that the engine has cut within a string', () => {
  const DUMP = `2026-03-04  9:06:10 0 [Note] engine: *** (1) TRANSACTION:
TRANSACTION 4711, ACTIVE 3 sec
thread id 41, OS thread handle 5, query id 99 localhost app Updating
UPDATE t SET a = '${'SEKRET '.repeat(120)}`;
  const ABORTED =
    "2026-03-04  9:07:10 41 [Warning] Aborted connection 41 to db: 'shop' user: 'app' host: 'web-1' (Got timeout)";
  const marksOf = (text: string, options: ReadingOptions = {}): readonly number[] =>
    readLog('error-log', text, options).map(({ marks }) => marks);

  test('the next records are doubtful up to the length that it shows of a statement', () => {
    const text = [DUMP, ...Array<string>(60).fill(ABORTED)].join('\n');
    const records = readLog('error-log', text);
    expect(JSON.stringify(records.map(({ body }) => body))).not.toContain('SEKRET');
    const doubtful = records.filter(({ marks }) => marks === MARK.doubtful).length;
    const room = 4096 - (DUMP.length - DUMP.indexOf('UPDATE'));
    expect(doubtful).toBe(Math.ceil(room / (ABORTED.length + 1)));
    expect(records.at(-1)).toMatchObject({ marks: 0, body: ABORTED });
    const resumed = { resumedAt: [4, 20], flushedAt: [10] };
    expect(marksOf(text, resumed)).toEqual(marksOf(text));
  });

  test('the statement of another transaction in the same record loses its literals, too', () => {
    const part = '*** (2) TRANSACTION:\nthread id 42, query id 100 localhost app Updating\n';
    const second = "UPDATE t SET b = ' SEKRET ' WHERE c = ' SEKRET '";
    for (const between of [0, 315, 390].map(count => 'LOCK WAIT\n'.repeat(count))) {
      const text = `${DUMP}\n${between}${part}${second}\n${'rest of it\n'.repeat(1000)}`;
      const [record, ...others] = readLog('error-log', `${text}${ABORTED}`);
      expect(record?.body).not.toContain('SEKRET');
      expect(record?.body).toContain('rest of it');
      expect(others).toMatchObject([{ marks: 0 }]);
    }
  });

  test('the rest of a long record is sent', () => {
    const rest = '*** WAITING FOR THIS LOCK\n'.repeat(200);
    const [record, next] = readLog('error-log', `${DUMP}\n${rest}\n${ABORTED}`);
    expect(record?.body).not.toContain('SEKRET');
    expect(record?.body).toContain('*** WAITING FOR THIS LOCK');
    expect(next).toMatchObject({ marks: 0, body: ABORTED });
  });

  test('a statement of unknown length has no such end', () => {
    const query = `2026-03-04  9:06:10 0 [ERROR] Query: update t set a='SEKRET`;
    const text = [query, DUMP, ...Array<string>(60).fill(ABORTED)].join('\n');
    expect(marksOf(text)).toEqual([0, ...Array<number>(61).fill(MARK.doubtful)]);
  });
});
