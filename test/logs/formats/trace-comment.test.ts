// The comments that applications add to their statements: which span a record of the slow query log belongs to, in 200
// forms, and which other values are sent.

import { expect, test } from 'vitest';
import type { ParsedRecord } from '../../../src/logs/record.ts';
import { MARK } from '../../../src/logs/record.ts';
import { attribute, readLog, type ReadingOptions } from '../../support/log-reading.ts';

const TRACE = '5bd66ef5095369c7b0d1f8f4bd33716a';
const SPAN = 'c532cb4098ac3dd2';
const PARENT = `00-${TRACE}-${SPAN}-01`;
const HEADER = [
  '# User@Host: app[app] @ web-1 [10.0.0.9]',
  '# Thread_id: 75  Schema: shop  QC_hit: No',
  '# Query_time: 2.000215  Lock_time: 0.000031  Rows_sent: 1  Rows_examined: 90210',
  'SET timestamp=1772615525;',
].join('\n');

function read(statement: string, options: ReadingOptions = {}): ParsedRecord {
  const text = `${HEADER}\n${statement};\n${HEADER}\nselect 2;`;
  const records = readLog('slow-query-log', text, options);
  expect(records).toHaveLength(2);
  return records[0] as ParsedRecord;
}

const seen = ({ span, marks }: ParsedRecord): string =>
  span === undefined
    ? (marks & MARK.badTrace) === 0
      ? 'nothing'
      : 'bad'
    : `${span.traceId} ${span.spanId} ${span.flags}`;
const ids = (flags: number): string => `${TRACE} ${SPAN} ${flags}`;

/** Places in a statement where a comment is one. */
const PLACES: readonly ((comment: string) => string)[] = [
  comment => `select * from t where a = 5 ${comment}`,
  comment => `${comment} select 1`,
  comment => `${comment}\nselect *\nfrom t`,
  comment => `select ${comment} 1 from t`,
  comment => `select 'it''s', "a \\" b" from \`x/*y\` ${comment}`,
  comment => `insert into t values (1, 'x'), (2, 'y')${comment}`,
  comment => `select 1 /* first */ ${comment} /* last */`,
  comment => `select a from t where b = ? and c in (?, ?) ${comment}`,
  comment => `select 1 -- it is 'open\n${comment}`,
  comment => `/*!40001 SQL_NO_CACHE */ update t set a = a + 1 ${comment}`,
];

/** Comments, and what they say. */
const COMMENTS: readonly (readonly [comment: string, says: string])[] = [
  [`/*traceparent='${PARENT}'*/`, ids(1)],
  [`/* traceparent='${PARENT}' */`, ids(1)],
  [`/*traceparent='00-${TRACE}-${SPAN}-00'*/`, ids(0)],
  [`/*traceparent='00-${TRACE}-${SPAN}-03'*/`, ids(3)],
  [`/*db_driver='mysql2%3A3.9',traceparent='${PARENT}'*/`, ids(1)],
  [`/*traceparent='${PARENT}',tracestate='a%3D1%2Cb%3D2'*/`, ids(1)],
  [`/*action='%2Fpolls%2F1000',route='it\\'s',traceparent='${PARENT}'*/`, ids(1)],
  [`/*traceparent='${PARENT.replaceAll('-', '%2D')}'*/`, ids(1)],
  [`/*traceparent='cc-${TRACE}-${SPAN}-01-what-the-future-adds'*/`, ids(1)],
  [`/*traceparent='00-${'0'.repeat(32)}-${SPAN}-01'*/ /*traceparent='${PARENT}'*/`, ids(1)],
  [`/*traceparent='00-${'0'.repeat(32)}-${SPAN}-01'*/`, 'bad'],
  [`/*traceparent='00-${TRACE}-${'0'.repeat(16)}-01'*/`, 'bad'],
  [`/*traceparent='ff-${TRACE}-${SPAN}-01'*/`, 'bad'],
  [`/*traceparent='${PARENT}-more'*/`, 'bad'],
  [`/*traceparent='${PARENT.toUpperCase()}'*/`, 'bad'],
  [`/*traceparent='${TRACE}'*/`, 'bad'],
  [`/*traceparent='%E0%A4%A'*/`, 'bad'],
  [`/*traceparent=${PARENT}*/`, 'nothing'],
  [`/*db_driver='mysql2'*/`, 'nothing'],
  ['/* a comment of a person */', 'nothing'],
];

test.each(COMMENTS)('%s names its span wherever it stands', (comment, says) => {
  expect(PLACES.length * COMMENTS.length).toBe(200);
  for (const place of PLACES) {
    const statement = place(comment);
    const redacted = read(statement);
    expect(seen(redacted), statement).toBe(says);
    expect(redacted.body).not.toContain(TRACE);
    expect(seen(read(statement, { isRedacting: false })), statement).toBe(says);
  }
});

const COMMENT = `/*traceparent='${PARENT}'*/`;

test.each([
  ['in a string', `select "${COMMENT}" from t`],
  ['in a name', `select 1 from \`${COMMENT}\``],
  ['after a line comment begins', `select 1 -- ${COMMENT}`],
  ['where it does not end', `select 1 /*traceparent='${PARENT}'`],
])('what looks like a comment %s is none', (_where, statement) => {
  expect(seen(read(statement))).toBe('nothing');
});

test('a record that may be text of the statement before it names no span', () => {
  const text = `${HEADER}\nselect 'open;\n${HEADER}\nselect 1 ${COMMENT};\n${HEADER}\nselect 2;`;
  for (const record of readLog('slow-query-log', text)) expect(seen(record)).toBe('nothing');
});

test('the last of several spans counts', () => {
  const other = COMMENT.replace(TRACE, 'a'.repeat(32));
  expect(seen(read(`${other} select 1 ${COMMENT}`))).toBe(ids(1));
});

test('chosen keys become attributes, with their values decoded', () => {
  const statement = `select 1 /*application='shop%20front',route='it\\'s',traceparent='${PARENT}'*/`;
  const keys = ['route', 'application', 'tracestate'];
  const record = read(statement, { comments: { isTracing: false, keys } });
  expect(seen(record)).toBe('nothing');
  expect(attribute(record, 'prom2otlp.query.application')).toBe('shop front');
  expect(attribute(record, 'prom2otlp.query.route')).toBe("it's");
  expect(attribute(record, 'prom2otlp.query.tracestate')).toBeUndefined();
  expect(attribute(read(statement), 'prom2otlp.query.route')).toBeUndefined();
});
