// Snappy blocks written by hand after the format description: no compressor is available to compare the reader with.

import { expect, test } from 'vitest';
import { unpackSnappy } from '../../bench/sink/snappy.ts';

function check(packed: readonly number[], text: string): void {
  expect(unpackSnappy(Buffer.from(packed), 1000).toString()).toBe(text);
}

const LETTERS = [...Buffer.from('abcd')];

test('literals and copies', () => {
  // A literal of four bytes.
  check([4, 0x0c, ...LETTERS], 'abcd');
  // The same literal, with its length in a separate byte.
  check([4, 0xf0, 3, ...LETTERS], 'abcd');
  // A copy with a one-byte offset: four bytes, from four bytes before.
  check([8, 0x0c, ...LETTERS, 0x01, 4], 'abcdabcd');
  // A copy with a two-byte offset: two bytes, from four bytes before.
  check([6, 0x0c, ...LETTERS, 0x06, 4, 0], 'abcdab');
  // A copy with a four-byte offset that overlaps itself: a run.
  check([9, 0x0c, ...LETTERS, 0x13, 1, 0, 0, 0], 'abcdddddd');
});

test('damaged input throws', () => {
  for (const packed of [
    [4, 0x0c, 97],
    [9, 0x0c, ...LETTERS],
    [8, 0x0c, ...LETTERS, 0x01, 5],
    [3, 0x0c, ...LETTERS],
  ])
    expect(() => unpackSnappy(Buffer.from(packed), 1000)).toThrow('damaged');
  expect(() => unpackSnappy(Buffer.from([0xff, 0xff, 0x7f]), 1000)).toThrow('too many');
});
