import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { putTimeMs, varintSize, WIRE, WireWriter } from '../../../src/pipeline/encode/wire.ts';
import { WireReader } from '../../../src/pipeline/encode/wire-reader.ts';

/** The bytes that `write` writes into a writer that has to grow, as hex. */
function written(write: (writer: WireWriter) => void): string {
  const writer = new WireWriter(1);
  write(writer);
  return writer.written().toString('hex');
}

describe('numbers', () => {
  test('a varint takes seven bits a byte, low bits first', () => {
    const check = (value: number, want: string): void => {
      expect(written(writer => writer.varint(value))).toBe(want);
      expect(varintSize(value)).toBe(want.length / 2);
    };
    check(0, '00');
    check(127, '7f');
    check(128, '8001');
    check(300, 'ac02');
    check(2 ** 31, '8080808008');
    check(2 ** 32 - 1, 'ffffffff0f');
    check(2 ** 53 - 1, 'ffffffffffffff0f');
  });

  test('a tag is the field number and the wire type', () => {
    expect(written(writer => writer.tag(1, WIRE.bytes))).toBe('0a');
    expect(written(writer => writer.tag(15, WIRE.fixed64))).toBe('79');
    expect(written(writer => writer.tag(16, WIRE.varint))).toBe('8001');
  });

  test('fixed64 holds integers with all bits of a double', () => {
    const check = (value: number, want: string): void =>
      expect(written(writer => writer.fixed64(value))).toBe(want);
    check(0, '0000000000000000');
    check(2 ** 32 + 5, '0500000001000000');
    check(2 ** 53 - 1, 'ffffffffffff1f00');
    check(2 ** 63, '0000000000000080');
  });

  test('a double keeps its bits, and NaN has one form', () => {
    const check = (value: number, want: string): void =>
      expect(written(writer => writer.double(value))).toBe(want);
    check(0, '0000000000000000');
    check(-0, '0000000000000080');
    check(1, '000000000000f03f');
    check(5e-324, '0100000000000000');
    check(Number.POSITIVE_INFINITY, '000000000000f07f');
    check(Number.NEGATIVE_INFINITY, '000000000000f0ff');
    check(Number.NaN, '000000000000f87f');
    const bits = new DataView(new ArrayBuffer(8));
    bits.setBigUint64(0, 0xfff8_0000_0000_0001n);
    check(bits.getFloat64(0), '000000000000f87f');
  });
});

describe('times', () => {
  const view = new DataView(new ArrayBuffer(8));
  const nanoseconds = (timeMs: number): bigint => {
    putTimeMs(view, 0, timeMs);
    return view.getBigUint64(0, true);
  };

  test('milliseconds become nanoseconds without rounding', () => {
    const check = (timeMs: number): void => {
      expect(nanoseconds(timeMs)).toBe(BigInt(timeMs) * 1_000_000n);
    };
    for (const timeMs of [0, 1, 65_535, 4_294_967_295, 1_760_000_000_123, 18_446_744_073_708])
      check(timeMs);
    fc.assert(fc.property(fc.nat(18_446_744_073_708), check));
  });

  test('fractions are rounded to whole nanoseconds', () => {
    expect(nanoseconds(1.5)).toBe(1_500_000n);
    expect(nanoseconds(1_520_879_607_789.25)).toBe(1_520_879_607_789_250_000n);
    expect(nanoseconds(0.999_999_9)).toBe(1_000_000n);
  });

  test('an invalid time is unknown', () => {
    for (const timeMs of [Number.NaN, -1, 18_446_744_073_709, Infinity])
      expect(nanoseconds(timeMs)).toBe(0n);
  });
});

describe('strings and bytes', () => {
  test('a string of any content comes back', () => {
    const check = (text: string): void => {
      const writer = new WireWriter(1);
      writer.string(3, text);
      const reader = new WireReader(writer.written(), 'test');
      expect(reader.tag()).toBe(3 * 8 + WIRE.bytes);
      expect(reader.string()).toBe(text.toWellFormed());
      expect(reader.isAtEnd).toBe(true);
    };
    for (const count of [0, 1, 42, 43, 128, 70_000])
      for (const letter of ['a', 'ü', '€']) check(letter.repeat(count));
    check('ascii first, then 😀');
    check('half of \ud83d a pair');
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 60 }), check));
  });

  test('bytes are copied from the given range', () => {
    const source = Buffer.from('abcdef');
    expect(written(writer => writer.bytesField(1, source))).toBe('0a06616263646566');
    expect(written(writer => writer.raw(source, 5))).toBe('66');
    // A short range of a source that is larger than the buffer.
    expect(written(writer => writer.raw(Buffer.alloc(100_000, 'ab'), 0, 3))).toBe('616261');
  });
});

describe('nested messages', () => {
  test('content moves only if its length needs more than one byte', () => {
    const check = (size: number, head: string): void => {
      const writer = new WireWriter(1);
      const mark = writer.begin(1);
      writer.raw(Buffer.alloc(size, 0x55));
      writer.end(mark);
      const bytes = writer.written();
      expect(bytes.toString('hex', 0, bytes.length - size)).toBe(head);
      expect(bytes.subarray(bytes.length - size).every(byte => byte === 0x55)).toBe(true);
    };
    check(0, '0a00');
    check(127, '0a7f');
    check(128, '0a8001');
    check(16_383, '0aff7f');
    check(16_384, '0a808001');
  });

  test('messages nest', () => {
    const writer = new WireWriter(1);
    const outer = writer.begin(1);
    const inner = writer.begin(2);
    for (let i = 0; i < 50; i++) writer.string(1, 'abc');
    writer.end(inner);
    writer.varint(7);
    writer.end(outer);
    const reader = new WireReader(writer.written(), 'test');
    expect(reader.tag()).toBe(8 + WIRE.bytes);
    const end = reader.enter();
    expect(reader.tag()).toBe(16 + WIRE.bytes);
    expect(reader.view()).toHaveLength(250);
    expect(reader.uint32()).toBe(7);
    expect(reader.isAtEnd).toBe(true);
    reader.leave(end);
    expect(reader.isAtEnd).toBe(true);
  });
});

test('a reset writer writes the same bytes into the same memory', () => {
  const writer = new WireWriter(1);
  const write = (): string => {
    writer.reset();
    writer.string(1, 'x'.repeat(1000));
    return writer.written().toString('hex');
  };
  const first = write();
  const { bytes } = writer;
  expect(write()).toBe(first);
  expect(writer.bytes).toBe(bytes);
});

test('memory that was needed once is given back, unless it is little or nothing is known', () => {
  const MIB = 1024 * 1024;
  const keptOf = (usedBytes: number, expectedBytes: number): number => {
    const writer = new WireWriter(usedBytes);
    writer.reset(expectedBytes);
    return writer.bytes.length;
  };
  expect(keptOf(40 * MIB, 100_000)).toBe(100_000);
  expect(keptOf(40 * MIB, 11 * MIB)).toBe(40 * MIB);
  expect(keptOf(4 * MIB, 100_000)).toBe(4 * MIB);
  expect(keptOf(40 * MIB, 0)).toBe(40 * MIB);
  expect(keptOf(1000, 4 * MIB)).toBe(4 * MIB);
});
