// Text is compared as doubles: the rules for NaN and zeros must not hide a change.

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSameText } from '../../../src/pipeline/decode/same-text.ts';

function viewOf(text: Buffer): DataView {
  return new DataView(text.buffer, text.byteOffset, text.length);
}

/** Whether the text is found after `before` bytes of a buffer that continues with `other`. */
function isFound(text: Buffer, other: Buffer, before = 3): boolean {
  const shifted = Buffer.concat([Buffer.alloc(before, 'x'), other]);
  return isSameText(viewOf(text), 0, text.length, viewOf(shifted), before);
}

describe('isSameText', () => {
  test('finds the same text at any length and place', () => {
    for (let length = 0; length < 70; length++) {
      const text = Buffer.from(Array.from({ length }, (_, i) => 33 + i));
      for (const before of [0, 1, 7, 8])
        expect([length, before, isFound(text, text, before)]).toStrictEqual([length, before, true]);
    }
  });

  test('sees every changed bit of it', () => {
    for (const length of [1, 7, 8, 15, 16, 17, 31, 32, 33, 50]) {
      const text = Buffer.alloc(length, 'a');
      for (let bit = 0; bit < length * 8; bit++) {
        const other = Buffer.from(text);
        other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect([length, bit, isFound(text, other)]).toStrictEqual([length, bit, false]);
      }
    }
  });

  test('compares only the range, and never beyond the other text', () => {
    const text = viewOf(Buffer.from('<0123456789abcdefghij>'));
    expect(isSameText(text, 1, 21, viewOf(Buffer.from('[0123456789abcdefghij]')), 1)).toBe(true);
    expect(isSameText(text, 1, 21, viewOf(Buffer.from('[0123456789abcdefghi')), 1)).toBe(false);
    expect(isSameText(text, 1, 5, viewOf(Buffer.from('012')), 0)).toBe(false);
    expect(isSameText(text, 3, 3, viewOf(Buffer.from('')), 0)).toBe(true);
  });

  test('agrees with a comparison byte by byte on all comparable text, except for NaN', () => {
    // Bytes that form zeros, NaN, infinities and denormals.
    const byte = fc.constantFrom(0x01, 0x61, 0x7f, 0x80, 0xef, 0xf0, 0xf8, 0xff);
    const bytes = fc.array(byte, { minLength: 8, maxLength: 40 }).map(all => Buffer.from(all));
    const edit = fc.tuple(fc.nat(39), byte);
    fc.assert(
      fc.property(bytes, fc.array(edit, { maxLength: 2 }), (text, edits) => {
        const other = Buffer.from(text);
        for (const [at, to] of edits) if (at < other.length) other[at] = to;
        if (isFound(text, other)) expect(other).toStrictEqual(text);
        else if (!hasNaN(text)) expect(other).not.toStrictEqual(text);
      }),
    );
  });

  test('treats NaN as a change', () => {
    const text = Buffer.concat([Buffer.alloc(14, 'a'), Buffer.from([0xff, 0x7f]), Buffer.alloc(4)]);
    expect(isFound(text, text)).toBe(false);
  });
});

/** Whether any eight bytes of the text are NaN as a double. */
function hasNaN(text: Buffer): boolean {
  for (let at = 0; at + 8 <= text.length; at++)
    if (Number.isNaN(text.readDoubleLE(at))) return true;
  return false;
}
