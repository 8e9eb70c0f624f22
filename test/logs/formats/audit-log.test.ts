// Lines of the audit log, and lines that do not parse.

import { describe, expect, test } from 'vitest';
import { MARK } from '../../../src/logs/record.ts';
import { attribute, type ReadingOptions, readLog } from '../../support/log-reading.ts';

const read = (text: string, options: ReadingOptions = {}) => readLog('audit-log', text, options)[0];
const own = (key: string): string => `prom2otlp.audit.${key}`;

test('a statement', () => {
  const line = String.raw`20260304 09:12:07,db-0,app,10.0.0.9,75,311,QUERY,shop,'select \'a,b\', 1',0`;
  expect(read(line)).toMatchObject({
    timeMs: Date.UTC(2026, 2, 4, 9, 12, 7),
    severityNumber: 9,
    eventName: 'prom2otlp.audit',
    marks: 0,
    raw: line,
    body: "20260304 09:12:07,db-0,app,10.0.0.9,75,311,QUERY,shop,'select ?, ?',0",
  });
  expect(read(line)?.attributes).toEqual([
    [own('operation'), 'QUERY'],
    [own('server'), 'db-0'],
    ['user.name', 'app'],
    ['client.address', '10.0.0.9'],
    ['thread.id', 75],
    [own('query_id'), 311],
    ['db.namespace', 'shop'],
    ['db.query.text', 'select ?, ?'],
    ['db.response.status_code', '0'],
  ]);
  expect(read(line, { isRedacting: false })?.body).toBe(line);
  expect(attribute(read(line, { isRedacting: false }), 'db.query.text')).toBe("select 'a,b', 1");
});

test('every escape of a statement is decoded, and encoded again in the body', () => {
  const line = String.raw`20260304 09:12:07,db-0,app,h,75,311,QUERY,shop,'a\n\tb\r\\ \b\f -- \'x\'',0`;
  const raw = read(line, { isRedacting: false });
  expect(attribute(raw, 'db.query.text')).toBe("a\n\tb\r\\ \b\f -- 'x'");
  const tabs = String.raw`20260304 09:12:07,db-0,app,h,71,311,QUERY,shop,'select\n\t5,\r*\\N',0`;
  expect(read(tabs)?.body).toBe(tabs.replace('5', '?'));
});

test.each([
  ['FAILED_CONNECT,,,1045', 17],
  ['FAILED_CONNECT,,,0', 17],
  ["QUERY,shop,'selec',1064", 17],
  ['DISCONNECT,,,1040', 17],
  ['CONNECT,,,0', 9],
  ['READ,shop,orders,', 9],
])('the severity is error for a failure, else info: %s', (rest, want) => {
  const line = `20260304 09:12:08,db-0,bad,10.0.0.9,76,0,${rest}`;
  expect(read(line)?.severityNumber).toBe(want);
});

test('the object is a table, a statement, a TLS version or something else, by the operation', () => {
  const of = (rest: string) => read(`20260304 09:12:08,db-0,app,h,76,0,${rest}`);
  expect(attribute(of('WRITE,shop,orders,'), 'db.collection.name')).toBe('orders');
  expect(attribute(of('CONNECT,shop,TLSv1.3,0'), own('tls'))).toBe('TLSv1.3');
  expect(attribute(of('PROXY_CONNECT,shop,`a`@`b`,0'), own('object'))).toBe('`a`@`b`');
  expect(attribute(of('READ,shop,orders,'), 'db.response.status_code')).toBeUndefined();
  expect(of('DISCONNECT,,,0')?.attributes.map(([key]) => key)).not.toContain('db.namespace');
});

test('newer servers put the port into the host, and the TLS version after the code', () => {
  const of = (host: string, rest = '0') =>
    read(`20260304 09:12:08,db-0,app,${host},76,0,CONNECT,,,${rest}`);
  const address = (host: string): unknown[] =>
    ['client.address', 'client.port'].map(key => attribute(of(host), key));
  expect(address('10.0.0.9:54321')).toEqual(['10.0.0.9', 54321]);
  expect(address('web-1:54321')).toEqual(['web-1', 54321]);
  expect(address('[fe80::1]:54321')).toEqual(['fe80::1', 54321]);
  expect(address('fe80::1')).toEqual(['fe80::1', undefined]);
  expect(address('')).toEqual([undefined, undefined]);
  expect(attribute(of('h', '0,TLSv1.2'), own('tls'))).toBe('TLSv1.2');
});

/** The server's own fields before the operation. */
const HEAD = '20260304 09:12:08,db-0,app,h,76,0,';

test("a comma in a user's name reveals nothing of the statement, and hides nothing", () => {
  const line = "20260304 09:12:08,db-0,a,b,10.0.0.9,76,311,QUERY,shop,'select 5',0";
  expect(read(line)?.body).toBe(line.replace('select 5', 'select ?'));
  expect(attribute(read(line), 'user.name')).toBe('a,b');
  expect(attribute(read(line), 'client.address')).toBe('10.0.0.9');
});

test('a statement that the server may have cut off shows nothing after a quote that may be its last', () => {
  const line = String.raw`${HEAD}QUERY,shop,'select a, \'C:\\\', \' SEKRET',0`;
  expect(read(line)?.body).toBe(`${HEAD}QUERY,shop,'select a, ?',0`);
});

describe('a line that does not parse', () => {
  function check(line: string, body: string): void {
    const record = read(line);
    expect(record).toMatchObject({
      body,
      raw: line,
      marks: MARK.unparsed,
      eventName: null,
      severityNumber: 0,
    });
    expect(read(line, { isRedacting: false })?.body).toBe(line);
  }

  test('because it has too few fields, or too many, or no time', () => {
    check(`${HEAD}CONNECT,,`, `${HEAD}CONNECT,,`);
    check(`${HEAD}CONNECT,,,0,a,b`, `${HEAD}CONNECT,,?`);
    check('20260304 09:12:08,db-0,app,h,76', '?');
    check('', '');
    check("secret,db-0,app,h,76,0,QUERY,shop,'select 5',0", '?');
  });

  test.each([
    // Without an end of the statement.
    "'select secret",
    String.raw`'select \'secret`,
    // With quotes that are not escaped.
    "'select 'SEKRET-a', 'x', 'SEKRET-b'',0",
    "'select a where b=',SEKRET,'',0",
    "'select a where b=',SEKRET'",
    "'select a where b=',907777",
    "'select a where b=',0,SEKRET",
    "select 'SEKRET',0",
  ])('because the end of its statement is unknown; then all of it is redacted: %s', rest =>
    check(`${HEAD}QUERY,shop,${rest}`, `${HEAD}QUERY,shop,?`),
  );

  test('because it is the rest of another line', () => {
    check(String.raw`secret\', 5',0`, '?');
    check("secret',0", '?');
  });
});

test('a line over the limit of a record is read whole and sent truncated', () => {
  const line = `20260304 09:12:07,db-0,app,h,75,311,QUERY,shop,'select ${'column, '.repeat(100)}5',1064`;
  const record = read(line, { recordBytesMax: 200 });
  expect(record).toMatchObject({
    severityNumber: 17,
    marks: MARK.recordCut,
    raw: line.slice(0, 200),
  });
  expect(record?.body).toHaveLength(200);
  expect(attribute(record, 'db.query.text')).toHaveLength(200);
  expect(attribute(record, 'db.response.status_code')).toBe('1064');
});
