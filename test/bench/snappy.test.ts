// Blocks of snappy as its format description has them, by hand: no packer is at hand that the reader could be held to.

import { expect, test } from 'vitest';
import { unpackSnappy } from '../../bench/sink/snappy.ts';

function check(packed: readonly number[], text: string): void {
  expect(unpackSnappy(Buffer.from(packed), 1000).toString()).toBe(text);
}

const LETTERS = [...Buffer.from('abcd')];

test('literals and copies', () => {
  // A literal of four.
  check([4, 0x0c, ...LETTERS], 'abcd');
  // Its length in a byte of its own.
  check([4, 0xf0, 3, ...LETTERS], 'abcd');
  // A copy with one byte of offset: four from four before.
  check([8, 0x0c, ...LETTERS, 0x01, 4], 'abcdabcd');
  // Two bytes of offset, two from four before.
  check([6, 0x0c, ...LETTERS, 0x06, 4, 0], 'abcdab');
  // Four bytes of offset, and a copy that overlaps with itself: a run.
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
