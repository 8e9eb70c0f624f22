// Which statements count as the same: the rules one by one, and the published examples of a well-known fingerprinter.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FINGERPRINT_TEXT_MAX, fingerprintOf } from '../../../src/logs/digests/fingerprint.ts';
import { redactSql } from '../../../src/logs/formats/redact.ts';

const of = (statement: string) => fingerprintOf(redactSql(statement));

const published = readFileSync(new URL('published.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter(line => line !== '' && !line.startsWith('#'))
  .map(line => line.split(' => ') as [statement: string, theirs: string, ours?: string]);

/** The text without the white space between signs. */
const dense = (text: string): string => text.replaceAll(/\s*([^\w\s])\s*/g, '$1').trim();

test('there are 60 published examples', () => {
  expect(published).toHaveLength(60);
});

test.each(published)('%s', (statement, theirs, ours) => {
  const { text } = of(statement);
  if (ours === undefined) expect(dense(text)).toBe(dense(theirs));
  else expect(text).toBe(ours);
});

test.each([
  ['select 1', 'SELECT  2 ;'],
  ['select a from t where b=1', "select a\n  from t\n where b = 'x' -- why"],
  ['select a from t where b in (1)', 'select a from t where b in (1, 2, 3)'],
  ['insert into t values (1, now())', 'insert into t values (1, now()), (2, now()), (3,now())'],
  ['select a from t where b = 1', "select a from t /*traceparent='x'*/ where b = ?"],
  ['select count(*) from t', 'select COUNT( * ) from t'],
])('%s and %s have one digest', (one, other) => {
  expect(of(one)).toEqual(of(other));
});

test.each([
  ['select a from t', 'select a from u'],
  ['select a from `T`', 'select a from `t`'],
  ['select a from t where b = 1', 'select a from t where b > 1'],
])('%s and %s have two', (one, other) => {
  expect(of(one).digest).not.toBe(of(other).digest);
});

test.each([
  ["SELECT * FROM wuser_table WHERE username = 'x'", 'SELECT wuser_table'],
  [
    'insert into shipping select * from orders o join customers c on o.c = c.id',
    'INSERT shipping SELECT orders customers',
  ],
  ['select * from a, b, `shop`.`c d`', 'SELECT a b shop.c d'],
  ['select * from (select 1 from a) x', 'SELECT SELECT a'],
  ['update t set a = 1', 'UPDATE t'],
  ['insert into t values (1) on duplicate key update a = 2', 'INSERT t'],
  ['select a from t for update', 'SELECT t'],
  ['delete from t where a = 1', 'DELETE t'],
  ['drop table if exists t', 'DROP t'],
  ['call p(1)', 'CALL p'],
  ['what is this', ''],
])('the summary of %s', (statement, summary) => {
  expect(of(statement).summary).toBe(summary);
});

test('text and summary are bounded', () => {
  const names = Array.from({ length: 5000 }, (_, i) => `table_${i}`);
  const { text, summary } = of(`select * from ${names.join(', ')}`);
  expect(text).toHaveLength(FINGERPRINT_TEXT_MAX + 1);
  expect(summary.length).toBeLessThanOrEqual(255);
  expect(summary).toMatch(/^SELECT table_0 .* table_\d+$/);
});
