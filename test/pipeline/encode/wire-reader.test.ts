import { describe, expect, test } from 'vitest';
import { WireError, WireReader } from '../../../src/pipeline/encode/wire-reader.ts';

const reader = (hex: string): WireReader => new WireReader(Buffer.from(hex, 'hex'), 'test');

describe('varints', () => {
  test('of 64 bits are exact', () => {
    const check = (hex: string, want: string): void => expect(reader(hex).int64()).toBe(want);
    check('00', '0');
    check('ac02', '300');
    check('ffffffff0f', '4294967295');
    check('8080808010', '4294967296');
    check('ffffffffffffff0f', '9007199254740991');
    check('8080808080808010', '9007199254740992');
    check('ffffffffffffffff7f', '9223372036854775807');
    check('80808080808080808001', '-9223372036854775808');
    check('ffffffffffffffffff01', '-1');
  });

  test('of 32 bits are truncated, as the format demands', () => {
    expect(reader('ffffffff0f').uint32()).toBe(4_294_967_295);
    expect(reader('8180808010').uint32()).toBe(1);
    expect(reader('ffffffffffffffffff01').int32()).toBe(-1);
    expect(reader('808080808001').bool()).toBe(true);
    expect(reader('8000').bool()).toBe(false);
  });
});

test('fixed numbers are little-endian', () => {
  expect(reader('01020304').fixed32()).toBe(0x0403_0201);
  expect(reader('0100000000000080').fixed64()).toBe('9223372036854775809');
  expect(reader('ffffffffffffffff').fixed64()).toBe('18446744073709551615');
  expect(reader('feffffffffffffff').sfixed64()).toBe('-2');
  expect(reader('000000000000f0bf').double()).toBe(-1);
});

test('every kind of value can be skipped', () => {
  const input = reader(['8001', '0102030405060708', '02aabb', '01020304'].join(''));
  for (const wireType of [0, 1, 2, 5]) input.skip(wireType);
  expect(input.isAtEnd).toBe(true);
});

test('nothing is read past the end, nor past the end of a nested message', () => {
  const check = (hex: string, read: (input: WireReader) => unknown, message: string): void => {
    const input = reader(hex);
    expect(() => read(input)).toThrow(`cannot decode test: ${message}`);
    expect(() => read(reader(hex))).toThrow(WireError);
  };
  check('', input => input.uint32(), 'a value of 1 bytes where 0 are left at byte 0');
  check('80', input => input.uint32(), 'a value of 1 bytes where 0 are left at byte 1');
  check('00000000', input => input.fixed64(), 'a value of 8 bytes where 4 are left at byte 0');
  check('0361', input => input.string(), 'a value of 3 bytes where 1 are left at byte 1');
  check('0361', input => input.enter(), 'a value of 3 bytes where 1 are left at byte 1');
  check('808080801061', input => input.view(), 'a length beyond 4 GiB at byte 0');
  check('80'.repeat(11), input => input.int64(), 'a number of more than ten bytes at byte 0');
  check('00', input => input.tag(), 'an invalid tag at byte 0');
  check('808080808001', input => input.tag(), 'an invalid tag at byte 0');
  check('00', input => input.skip(4), 'wire type 4, which OTLP does not use, at byte 0');
  const inside = (input: WireReader): string => {
    input.enter();
    return input.string();
  };
  check('02056162636465', inside, 'a value of 5 bytes where 1 are left at byte 2');
});
