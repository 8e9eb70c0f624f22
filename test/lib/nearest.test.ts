import { expect, test } from 'vitest';
import { didYouMean, editDistance, nearest } from '../../src/lib/nearest.ts';

test('the distance counts insertions, deletions, replacements and swaps of neighbours', () => {
  const check = (from: string, to: string, want: number): void => {
    expect(editDistance(from, to)).toBe(want);
    expect(editDistance(to, from)).toBe(want);
  };
  check('', '', 0);
  check('', 'abc', 3);
  check('abc', 'abc', 0);
  check('abc', 'abcd', 1);
  check('abc', 'axc', 1);
  check('abc', 'acb', 1);
  check('interval', 'intreval', 1);
  check('kitten', 'sitting', 3);
  check('ca', 'abc', 3);
});

test('the nearest word is suggested', () => {
  const words = ['interval', 'include', 'exclude', 'units', 'limits', 'base_url', 'key'];
  const check = (word: string, want: string | undefined): void => {
    expect(nearest(word, words)).toBe(want);
  };
  check('intervall', 'interval');
  check('interavl', 'interval');
  check('Interval', 'interval');
  check('unit', 'units');
  check('excludes', 'exclude');
  check('baseUrl', 'base_url');
  check('base-url', 'base_url');
  check('BASE_URL', 'base_url');
  check('kye', 'key');
  check('timeout', undefined);
  check('x', undefined);
  check('k', undefined);
  check('ke', 'key');
  check('', undefined);
  check('i'.repeat(10_000), undefined);
});

test('words that are one slip away are named', () => {
  const ids = ['dbpgf10000001', 'dbpgf10000002', 'orders'];
  const check = (word: string, want: string): void => expect(didYouMean(word, ids)).toBe(want);
  check('dbpgf1000001', 'did you mean dbpgf10000001?');
  check('DBPGF10000002', 'did you mean dbpgf10000002 or dbpgf10000001?');
  check('order', 'did you mean orders?');
  check('oder', '');
  check('dbpgf10000099', '');
});
