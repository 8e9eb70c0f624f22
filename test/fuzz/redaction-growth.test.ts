// No literal and no comment leaves when an archive ends anywhere and grows later: 138 statements, whose literals also
// hold two headers of their log, in four logs, with the end of the archive at every place. The archive grows before or
// after its tail went out. The logs are read as bytes, as archives are, with a new reader after each download.

import { expect, test } from 'vitest';
import { EntryReader } from '../../src/logs/entry-reader.ts';
import { createLineReader } from '../../src/logs/formats/reader.ts';
import type { ParsedRecord } from '../../src/logs/record.ts';
import { TEST_OPTIONS } from '../support/log-reading.ts';

/** Marks of literals and comments; none occurs elsewhere in a log. */
const MARKED = /Z|907/;

interface Log {
  readonly type: string;
  /** Two records as they may stand in a literal, from the line end before the first one on. */
  readonly headers: string;
  readonly text: (sql: string) => string;
}

const SLOW_HEADER = (user: string): string =>
  [
    `# User@Host: ${user}[${user}] @ ${user} [${user}]`,
    `# Thread_id: 75  Schema: ${user}  QC_hit: No`,
    '# Query_time: 2.000215  Lock_time: 0.000031  Rows_sent: 1  Rows_examined: 10',
    'SET timestamp=1772615525;',
  ].join('\n');
const slowHeaders = `;\n${SLOW_HEADER('ZZ')}\nZZ ZZ;\n${SLOW_HEADER('ZZ')}\nZZ ZZ`;
const errorHeaders = '\n2026-03-04  9:06:10 41 [Note] ZZ\n2026-03-04  9:06:11 41 [ERROR] ZZ ZZ\nZZ';
const proxyHeaders =
  '\n2026-03-04 09:06:10   notice : ZZ\n2026-03-04 09:06:11   error  : ZZ ZZ\nZZ';
const auditHead = '20260304 09:12:07,db-0,app,10.0.0.1,75,311,QUERY,shop,';
const auditHeaders = `\n${auditHead}'ZZ',0\n20260304 09:12:08,ZZ,ZZ,ZZ,75,311,QUERY,ZZ,'ZZ',0\nZZ`;

const escaped = (sql: string): string =>
  sql.replaceAll(/[\\']/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`);
const blanksEscaped = (sql: string): string => sql.replaceAll('\n', String.raw`\n`);
const NOTE = '2026-03-04  9:06:12 41 [Note] ready';
const NOTICE = '2026-03-04 09:06:12   notice : up';

const LOGS: readonly Log[] = [
  {
    type: 'slow-query-log',
    headers: slowHeaders,
    text: sql => `${SLOW_HEADER('app')}\n${sql};\n${SLOW_HEADER('app')}\nselect 1;\n`,
  },
  {
    type: 'error-log',
    headers: errorHeaders,
    text: sql => `2026-03-04  9:06:09 41 [ERROR] Query (0x1): ${sql}\n${NOTE}\n`,
  },
  {
    type: 'error-log',
    headers: errorHeaders,
    text: sql =>
      `2026-03-04  9:06:09 6 [ERROR] Slave SQL: Error on query. Query: '${sql}', Gtid 0-1-5, Internal error code: 5\n${NOTE}\n`,
  },
  {
    type: 'audit-log',
    headers: auditHeaders,
    text: sql => `${auditHead}'${escaped(sql)}',0\n${auditHead}'select 1',0\n`,
  },
  {
    type: 'proxy-log',
    headers: proxyHeaders,
    text: sql => `2026-03-04 09:06:09   info   : (1) [router] (RW); stmt: ${sql}\n${NOTICE}\n`,
  },
  {
    type: 'proxy-log',
    headers: proxyHeaders,
    text: sql => `2026-03-04 09:06:09   info   : (1) > stmt: ${blanksEscaped(sql)}\n${NOTICE}\n`,
  },
];

/** `@` stands for the headers of the log. */
const LITERALS: readonly string[] = [
  "'ZZ'",
  '"ZZ"',
  "'it''s ZZ'",
  String.raw`'it\'s ZZ'`,
  '"say ""ZZ"" ZZ"',
  String.raw`'ZZ\\'`,
  '907907',
  '0x907907',
  "x'907907'",
  '-907.5e907',
  '/* ZZ */ 5',
  '5 -- ZZ\n',
  '5 # ZZ\n',
  "'ZZ -- ZZ # ZZ'",
  "'ZZ /* ZZ'",
  "'ZZ; ZZ'",
  `"it's ZZ"`,
  "'ZZ\nZZ\tZZ'",
  "_utf8'ZZ'",
  "'ZZ@'",
  '"ZZ@"',
  '/* ZZ@ */ 5',
  "'it''s ZZ@ ''ZZ'",
];
const TEMPLATES: readonly ((literal: string) => string)[] = [
  literal => `select a from t where b = ${literal}`,
  literal => `insert into t values (${literal}, ${literal} , 5)`,
  literal => `call p( ${literal} )`,
  literal => `update t set a= ${literal} where c=1`,
  literal => `DO RELEASE_LOCK(${literal})`,
  literal => `EXECUTE p USING ${literal}`,
];

function entryReader(
  type: string,
  progress: ReturnType<EntryReader['progress']> | null,
): EntryReader {
  return new EntryReader({
    progress,
    reader: createLineReader({ ...TEST_OPTIONS, type }),
    unwrap: {
      format: 'raw',
      pointers: { message: [], time: [], stream: [] },
      lineBytesMax: 1024 * 1024,
    },
  });
}

/** Reads an archive that ends at `cut`, and then all of it. */
function readTwice(type: string, bytes: Buffer, cut: number, isTailSent: boolean): ParsedRecord[] {
  const records: ParsedRecord[] = [];
  const first = entryReader(type, null);
  expect(first.feed(bytes.subarray(0, cut))).toBe(true);
  while (first.next()) records.push(...first.records);
  expect(first.end(isTailSent)).toBe(true);
  records.push(...first.records);
  const second = entryReader(type, first.progress());
  expect(second.feed(bytes)).toBe(true);
  while (second.next()) records.push(...second.records);
  expect(second.end(true)).toBe(true);
  records.push(...second.records);
  return records;
}

/** Each statement, and the places at which its log may end. */
function* casesOf({ headers, text }: Log): Generator<{ bytes: Buffer; cuts: readonly number[] }> {
  for (const literal of LITERALS)
    for (const [number, template] of TEMPLATES.entries()) {
      const bytes = Buffer.from(text(template(literal.replaceAll('@', headers))));
      // Two headers make a log long: then every third place is enough for one template.
      const step = literal.includes('@') ? 3 : 1;
      const cuts = Array.from({ length: bytes.length + 1 }, (_, cut) => cut);
      yield { bytes, cuts: cuts.filter(cut => (cut + number) % step === 0) };
    }
}

function judge(type: string, bytes: Buffer, cut: number, isTailSent: boolean): void {
  const records = readTwice(type, bytes, cut, isTailSent);
  const sent = JSON.stringify(records.map(({ body, attributes }) => [body, attributes]));
  if (MARKED.test(sent)) expect.fail(`${bytes.toString().slice(0, cut)}|, ${isTailSent}: ${sent}`);
}

for (const [number, log] of LOGS.entries())
  test(`${log.type} ${number}: no literal leaves, wherever the archive ended`, () => {
    let statements = 0;
    for (const { bytes, cuts } of casesOf(log)) {
      statements++;
      for (const cut of cuts)
        for (const isTailSent of [false, true]) judge(log.type, bytes, cut, isTailSent);
    }
    expect(statements).toBe(138);
  });
