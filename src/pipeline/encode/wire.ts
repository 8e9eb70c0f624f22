// Writes protobuf bytes; it knows nothing of metrics (wire-reader.ts is the other direction).
//
// A nested message is put in place: one byte is reserved for its length, and the content moves only where the
// length takes more. Every value has one form on the wire, so that equal input gives equal bytes.
// https://protobuf.dev/programming-guides/encoding/

/** How a field's value is laid out; groups (3 and 4) are not part of proto3. */
export const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

const TWO_32 = 0x1_0000_0000;
/** The first millisecond whose nanoseconds do not fit into 64 bits: in the year 2554. */
const TIME_MS_END = 18_446_744_073_709;
const NAN_HIGH_WORD = 0x7ff8_0000;
/** Up to here the UTF-8 form of any string is shorter than 128 bytes. */
const SHORT_STRING_CHARS = 42;
const CAPACITY_BYTES_MIN = 64;
/** So much is kept though it is not needed; beyond that, so many times what is expected. */
const KEPT_BYTES = 8 * 1024 * 1024;
const WASTE = 4;

/** Writes a double at `offset`. Every NaN gives the same bytes, so that payloads can be compared. */
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
 * Writes a time in milliseconds as fixed64 nanoseconds, exactly: the product does not fit into a double.
 * Fractions are rounded to whole nanoseconds. Other numbers (NaN, negative, beyond 2554) become 0, OTLP's unknown.
 */
export function putTimeMs(view: DataView, offset: number, timeMs: number): void {
  if (!(timeMs >= 0 && timeMs < TIME_MS_END)) return putFixed64(view, offset, 0);
  const wholeMs = Math.floor(timeMs);
  const highMs = Math.floor(wholeMs / 65_536);
  const fractionNs = Math.round((timeMs - wholeMs) * 1e6);
  // ns = highNs * 2^16 + lowNs, both well below 2^53. No remainder is taken: of doubles that is a slow call.
  const highNs = highMs * 1e6;
  const lowNs = (wholeMs - highMs * 65_536) * 1e6 + fractionNs;
  const topNs = Math.floor(highNs / 65_536);
  const low = (highNs - topNs * 65_536) * 65_536 + lowNs;
  // Of a larger number the lowest 32 bits are written.
  view.setUint32(offset, low, true);
  view.setUint32(offset + 4, topNs + Math.floor(low / TWO_32), true);
}

/** A growing buffer of protobuf. Reuse one: `reset` keeps the memory. Its size is the caller's to bound. */
export class WireWriter {
  /** The written bytes are `bytes[0, length)`; valid until the next write, which may replace the buffer. */
  bytes: Buffer;
  /** A view of `bytes` for `putDouble` and its like; replaced together with it. */
  view: DataView;
  length = 0;

  constructor(capacityBytes = 16_384) {
    this.bytes = Buffer.allocUnsafeSlow(Math.max(capacityBytes, CAPACITY_BYTES_MIN));
    this.view = new DataView(this.bytes.buffer);
  }

  /**
   * Forgets what was written, keeps the memory. Who knows about how much is to come says so: then much is not copied
   * from one buffer to the next, and memory that was needed once is given back.
   */
  reset(expectedBytes = 0): void {
    this.length = 0;
    const isSmall = this.bytes.length < expectedBytes;
    const isWasteful = this.bytes.length > Math.max(KEPT_BYTES, WASTE * expectedBytes);
    if (isSmall || (expectedBytes > 0 && isWasteful)) this.#allocate(expectedBytes);
  }

  /** What was written, without copying: valid until the next write or reset. */
  written(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  /** An integer from 0 to 2^53. */
  varint(value: number): void {
    this.#reserve(8);
    while (value > 0x7f) {
      this.bytes[this.length++] = (value & 0x7f) | 0x80;
      value = Math.floor(value / 128);
    }
    this.bytes[this.length++] = value;
  }

  /** Makes room for so many bytes, which the caller writes into `bytes` at `length`. */
  makeRoom(size: number): void {
    this.#reserve(size);
  }

  tag(field: number, wireType: number): void {
    this.varint(field * 8 + wireType);
  }

  /** An integer from 0 to 2^64, without a tag. */
  fixed64(value: number): void {
    this.#reserve(8);
    putFixed64(this.view, this.length, value);
    this.length += 8;
  }

  /** A time in milliseconds as nanoseconds, without a tag; see putTimeMs. */
  fixed64Ms(timeMs: number): void {
    this.#reserve(8);
    putTimeMs(this.view, this.length, timeMs);
    this.length += 8;
  }

  /** Without a tag. */
  double(value: number): void {
    this.#reserve(8);
    putDouble(this.view, this.length, value);
    this.length += 8;
  }

  /** A whole string field. Lone surrogates become U+FFFD; an empty string is written too. */
  string(field: number, text: string): void {
    this.tag(field, WIRE.bytes);
    if (text.length > SHORT_STRING_CHARS) {
      const size = Buffer.byteLength(text);
      this.varint(size);
      this.#reserve(size);
      this.length += this.bytes.write(text, this.length);
      return;
    }
    this.#reserve(1 + 3 * text.length);
    const start = this.length + 1;
    const size = this.#ascii(text, start) ? text.length : this.bytes.write(text, start);
    this.bytes[this.length] = size;
    this.length = start + size;
  }

  /** A whole length-delimited field whose value is `source[start, end)`. */
  bytesField(field: number, source: Uint8Array, start = 0, end: number = source.length): void {
    this.tag(field, WIRE.bytes);
    this.varint(end - start);
    this.raw(source, start, end);
  }

  /** Bytes that are protobuf already: `source[start, end)`. */
  raw(source: Uint8Array, start = 0, end: number = source.length): void {
    this.#reserve(end - start);
    this.bytes.set(
      start === 0 && end === source.length ? source : source.subarray(start, end),
      this.length,
    );
    this.length += end - start;
  }

  /** Opens a nested message; hand the mark to `end`. Messages close in the reverse order. */
  begin(field: number): number {
    this.tag(field, WIRE.bytes);
    this.#reserve(1);
    return this.length++;
  }

  /** Closes a nested message and returns by how many bytes its content had to move: mostly 0. */
  end(mark: number): number {
    const size = this.length - mark - 1;
    if (size < 0x80) {
      this.bytes[mark] = size;
      return 0;
    }
    const shift = varintSize(size) - 1;
    this.#reserve(shift);
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

  #reserve(size: number): void {
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

/** How many bytes `varint` writes for an integer from 0 to 2^53. */
export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) size++;
  return size;
}
