import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { absorb, finish, registerOf, shift } from '../../../src/lib/deflate/crc.ts';

/** The register of whole words of eight bytes. */
function registerOfWords(bytes: Buffer): number {
  let register = 0;
  for (let at = 0; at < bytes.length; at += 8)
    register = absorb(register, bytes.readInt32LE(at), bytes.readInt32LE(at + 4));
  return register;
}

const words = fc
  .array(fc.uint8Array({ minLength: 8, maxLength: 8 }), { maxLength: 20 })
  .map(parts => Buffer.concat(parts));

test('what was absorbed has the checksum that zlib says', () => {
  fc.assert(
    fc.property(words, bytes => {
      expect(finish(registerOfWords(bytes), bytes.length)).toBe(crc32(bytes));
      expect(registerOf(crc32(bytes), bytes.length)).toBe(registerOfWords(bytes) >>> 0);
    }),
  );
});

test('to shift is to append zeros, few or many', () => {
  const lengths = [0, 1, 7, 31, 32, 33, 1023, 1024, 1025, 65_536, 4_194_305];
  const bytes = Buffer.from('16 bytes of text');
  for (const zeros of lengths) {
    const text = Buffer.concat([bytes, Buffer.alloc(zeros)]);
    expect(finish(shift(registerOfWords(bytes), zeros), text.length)).toBe(crc32(text));
  }
});

test('the register of a text is that of its constant part and that of its numbers, laid over each other', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), words, fc.uint8Array(), (a, numbers, b) => {
      const constant = Buffer.concat([a, Buffer.alloc(numbers.length), b]);
      const whole = Buffer.concat([a, numbers, b]);
      const varying = shift(registerOfWords(numbers), b.length);
      const register = registerOf(crc32(constant), constant.length) ^ varying;
      expect(finish(register, whole.length)).toBe(crc32(whole));
    }),
  );
});
