// Writes protobuf bytes; it knows nothing of metrics (wire-reader.ts is the inverse).
//
// Nested messages are written in place: one byte is reserved for the length, and the content moves only if the length
// needs more. Each value has one form on the wire, so equal input gives equal bytes.
// https://protobuf.dev/programming-guides/encoding/

import type { AttributeLimit } from './attribute-limit.ts';

/** Wire types; groups (3 and 4) are not part of proto3. */
export const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

const TWO_32 = 0x1_0000_0000;
/** The first millisecond whose nanoseconds exceed 64 bits: in the year 2554. */
export const TIME_MS_END = 18_446_744_073_709;
const NAN_HIGH_WORD = 0x7ff8_0000;
/** Up to this length, any string is shorter than 128 bytes in UTF-8. */
const SHORT_STRING_CHARS = 42;
const CAPACITY_BYTES_MIN = 64;
/** A buffer is replaced by a smaller one if it exceeds both this size and WASTE times the expected size. */
const KEPT_BYTES = 8 * 1024 * 1024;
const WASTE = 4;

/** Writes a double at `offset`. All NaNs give the same bytes, so that payloads can be compared. */
export function putDouble(view: DataView, offset: number, value: number): void {
  if (Number.isNaN(value)) {
    view.setUint32(offset, 0, true);
    view.setUint32(offset + 4, NAN_HIGH_WORD, true);
  } else {
    view.setFloat64(offset, value, true);
  }
}

/** Writes an integer from 0 to 2^64 as fixed64 at `offset`. */
export function putFixed64(view: DataView, offset: number, value: number): void {
  view.setUint32(offset, value % TWO_32, true);
  view.setUint32(offset + 4, Math.floor(value / TWO_32), true);
}

/**
 * Writes a time in milliseconds and nanoseconds as fixed64, exactly, although the sum exceeds a double. Fractions are
 * rounded to nanoseconds. Other numbers (NaN, negative, beyond 2554) become 0, OTLP's unknown.
 */
export function putTimeMs(view: DataView, offset: number, timeMs: number, extraNs = 0): void {
  if (!(timeMs >= 0 && timeMs < TIME_MS_END)) return putFixed64(view, offset, 0);
  const wholeMs = Math.floor(timeMs);
  const highMs = Math.floor(wholeMs / 65_536);
  const fractionNs = Math.round((timeMs - wholeMs) * 1e6) + extraNs;
  // ns = highNs * 2^16 + lowNs, both far below 2^53. `%` is avoided: for doubles it is a slow call.
  const highNs = highMs * 1e6;
  const lowNs = (wholeMs - highMs * 65_536) * 1e6 + fractionNs;
  const topNs = Math.floor(highNs / 65_536);
  const low = (highNs - topNs * 65_536) * 65_536 + lowNs;
  // setUint32() keeps the lowest 32 bits.
  view.setUint32(offset, low, true);
  view.setUint32(offset + 4, topNs + Math.floor(low / TWO_32), true);
}

/** A growing buffer of protobuf, for reuse: `reset` keeps the memory. Callers limit its size. */
export class WireWriter {
  /** The written bytes are `bytes[0, length)`; valid until the next write, which may replace the buffer. */
  bytes: Buffer;
  /** A view of `bytes` for putDouble() and the like; replaced together with it. */
  view: DataView;
  length = 0;
  /** Cuts attribute values (identity.ts); null for no limit. */
  readonly attributeLimit: AttributeLimit | null;

  constructor(capacityBytes = 16_384, attributeLimit: AttributeLimit | null = null) {
    this.attributeLimit = attributeLimit;
    this.bytes = Buffer.allocUnsafeSlow(Math.max(capacityBytes, CAPACITY_BYTES_MIN));
    this.view = new DataView(this.bytes.buffer);
  }

  /**
   * Discards the content and keeps the memory. The expected size, if known, avoids copies while the buffer grows, and
   * releases memory that is no longer needed.
   */
  reset(expectedBytes = 0): void {
    this.length = 0;
    const isSmall = this.bytes.length < expectedBytes;
    const isWasteful = this.bytes.length > Math.max(KEPT_BYTES, WASTE * expectedBytes);
    if (isSmall || (expectedBytes > 0 && isWasteful)) this.#allocate(expectedBytes);
  }

  /** The content, not copied: valid until the next write or reset. */
  written(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  /** An integer from 0 to 2^53. */
  varint(value: number): void {
    this.reserve(8);
    while (value > 0x7f) {
      this.bytes[this.length++] = (value & 0x7f) | 0x80;
      value = Math.floor(value / 128);
    }
    this.bytes[this.length++] = value;
  }

  tag(field: number, wireType: number): void {
    this.varint(field * 8 + wireType);
  }

  /** An integer from 0 to 2^64, without a tag. */
  fixed64(value: number): void {
    this.reserve(8);
    putFixed64(this.view, this.length, value);
    this.length += 8;
  }

  /** Without a tag. */
  double(value: number): void {
    this.reserve(8);
    putDouble(this.view, this.length, value);
    this.length += 8;
  }

  varintField(field: number, value: number): void {
    this.tag(field, WIRE.varint);
    this.varint(value);
  }

  /** Any safe integer. A negative one takes ten bytes: its 64-bit two's complement. */
  int64Field(field: number, value: number): void {
    if (value >= 0) return this.varintField(field, value);
    this.tag(field, WIRE.varint);
    this.reserve(10);
    for (let rest = BigInt.asUintN(64, BigInt(value)); rest > 0n; rest >>= 7n)
      this.bytes[this.length++] = Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0);
  }

  /** An integer from 0 to 2^32 - 1. */
  fixed32Field(field: number, value: number): void {
    this.tag(field, WIRE.fixed32);
    this.reserve(4);
    this.view.setUint32(this.length, value, true);
    this.length += 4;
  }

  doubleField(field: number, value: number): void {
    this.tag(field, WIRE.fixed64);
    this.double(value);
  }

  /** A fixed64 field with a time in nanoseconds; see putTimeMs. */
  timeField(field: number, timeMs: number, extraNs = 0): void {
    this.tag(field, WIRE.fixed64);
    this.reserve(8);
    putTimeMs(this.view, this.length, timeMs, extraNs);
    this.length += 8;
  }

  /** A string field. Lone surrogates become U+FFFD; an empty string is written too. */
  string(field: number, text: string): void {
    this.tag(field, WIRE.bytes);
    if (text.length > SHORT_STRING_CHARS) {
      const size = Buffer.byteLength(text);
      this.varint(size);
      this.reserve(size);
      this.length += this.bytes.write(text, this.length);
      return;
    }
    this.reserve(1 + 3 * text.length);
    const start = this.length + 1;
    const size = this.#ascii(text, start) ? text.length : this.bytes.write(text, start);
    this.bytes[this.length] = size;
    this.length = start + size;
  }

  bytesField(field: number, source: Uint8Array): void {
    this.tag(field, WIRE.bytes);
    this.varint(source.length);
    this.raw(source);
  }

  /** Encoded protobuf: `source[start, end)`. */
  raw(source: Uint8Array, start = 0, end: number = source.length): void {
    this.reserve(end - start);
    this.bytes.set(
      start === 0 && end === source.length ? source : source.subarray(start, end),
      this.length,
    );
    this.length += end - start;
  }

  /** Opens a nested message; pass the mark to `end`. Messages close in reverse order. */
  begin(field: number): number {
    this.tag(field, WIRE.bytes);
    this.reserve(1);
    return this.length++;
  }

  /** Closes a nested message; returns how far its content moved, mostly 0. */
  end(mark: number): number {
    const size = this.length - mark - 1;
    if (size < 0x80) {
      this.bytes[mark] = size;
      return 0;
    }
    const shift = varintSize(size) - 1;
    this.reserve(shift);
    this.bytes.copyWithin(mark + 1 + shift, mark + 1, this.length);
    const end = this.length + shift;
    this.length = mark;
    this.varint(size);
    this.length = end;
    return shift;
  }

  #ascii(text: string, offset: number): boolean {
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) return false;
      this.bytes[offset + i] = code;
    }
    return true;
  }

  /** Makes room for `size` bytes, to be written into `bytes` at `length`. */
  reserve(size: number): void {
    const needed = this.length + size;
    if (needed <= this.bytes.length) return;
    const former = this.bytes;
    this.#allocate(Math.max(needed, former.length * 2));
    former.copy(this.bytes, 0, 0, this.length);
  }

  #allocate(size: number): void {
    this.bytes = Buffer.allocUnsafeSlow(Math.max(size, CAPACITY_BYTES_MIN));
    this.view = new DataView(this.bytes.buffer);
  }
}

/** The size of `varint` for an integer from 0 to 2^53. */
export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) size++;
  return size;
}
