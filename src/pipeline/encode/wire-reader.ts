// Reads protobuf bytes: the other direction of wire.ts, as ignorant of what the fields mean. It takes views, never
// copies, and never looks past its end. Damaged input ends in the one error that this file throws, a WireError;
// there is no input on which a reader hangs, since every read moves it forward.
// https://protobuf.dev/programming-guides/encoding/
import { WIRE } from './wire.ts';

/** Damaged or foreign bytes. The message says what could not be decoded, why, and at which byte. */
export class WireError extends Error {
  constructor(what: string, reason: string, offset: number) {
    super(`cannot decode ${what}: ${reason} at byte ${String(offset)}`);
    this.name = 'WireError';
  }
}

/** A cursor over `bytes[offset, end)`. */
export class WireReader {
  readonly bytes: Buffer;
  /** Of the innermost message that was entered. */
  end: number;
  offset: number;
  readonly #what: string;
  readonly #view: DataView;
  // The two halves of the varint that was read last.
  #low = 0;
  #high = 0;

  /** `what` names the input in errors. */
  constructor(bytes: Uint8Array, what: string, offset = 0, end: number = bytes.length) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = end;
    this.offset = offset;
    this.#what = what;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.offset >= this.end;
  }

  /** `field * 8 + wire type`; see WIRE. */
  tag(): number {
    const start = this.offset;
    this.#readVarint();
    const tag = this.#low;
    if (this.#high !== 0 || tag < 8) this.#fail('a tag that is none', start);
    return tag;
  }

  /** A varint cut to 32 bits, as the format asks of uint32. */
  uint32(): number {
    this.#readVarint();
    return this.#low;
  }

  /** int32 and enums: negative numbers come as ten bytes. */
  int32(): number {
    return this.uint32() | 0;
  }

  /** Zigzag. */
  sint32(): number {
    const coded = this.uint32();
    return (coded >>> 1) ^ -(coded & 1);
  }

  bool(): boolean {
    this.#readVarint();
    return this.#low !== 0 || this.#high !== 0;
  }

  /** In decimal: 64 bits do not fit into a number. */
  uint64(): string {
    this.#readVarint();
    return decimal(this.#low, this.#high);
  }

  int64(): string {
    this.#readVarint();
    return signedDecimal(this.#low, this.#high);
  }

  fixed32(): number {
    return this.#view.getUint32(this.#advance(4), true);
  }

  fixed64(): string {
    const start = this.#advance(8);
    return decimal(this.#view.getUint32(start, true), this.#view.getUint32(start + 4, true));
  }

  sfixed64(): string {
    const start = this.#advance(8);
    return signedDecimal(this.#view.getUint32(start, true), this.#view.getUint32(start + 4, true));
  }

  double(): number {
    return this.#view.getFloat64(this.#advance(8), true);
  }

  /** A view of a length-delimited value. */
  view(): Buffer {
    const size = this.#size();
    return this.bytes.subarray(this.#advance(size), this.offset);
  }

  /** Ill-formed UTF-8 becomes U+FFFD. */
  string(): string {
    const size = this.#size();
    return this.bytes.toString('utf8', this.#advance(size), this.offset);
  }

  /**
   * Goes into a length-delimited value, a nested message or packed numbers: until `leave`, the reader ends where that
   * ends. Returns what `leave` wants.
   */
  enter(): number {
    const outerEnd = this.end;
    const start = this.#advance(this.#size());
    this.end = this.offset;
    this.offset = start;
    return outerEnd;
  }

  leave(outerEnd: number): void {
    this.offset = this.end;
    this.end = outerEnd;
  }

  /** Passes over the value of a field that nobody asked for. */
  skip(wireType: number): void {
    if (wireType === WIRE.varint) this.#readVarint();
    else if (wireType === WIRE.fixed64) this.#advance(8);
    else if (wireType === WIRE.fixed32) this.#advance(4);
    else if (wireType === WIRE.bytes) this.#advance(this.#size());
    else this.fail(`wire type ${String(wireType)}, which OTLP does not use,`);
  }

  /** Ends the reading, here. */
  fail(reason: string): never {
    return this.#fail(reason, this.offset);
  }

  #fail(reason: string, offset: number): never {
    throw new WireError(this.#what, reason, offset);
  }

  #size(): number {
    const start = this.offset;
    this.#readVarint();
    if (this.#high !== 0) this.#fail('a length beyond 4 GiB', start);
    return this.#low;
  }

  /** Moves forward by `size` bytes and returns where they start. */
  #advance(size: number): number {
    const start = this.offset;
    const left = this.end - start;
    if (size > left) {
      this.#fail(`a value of ${String(size)} bytes where ${String(left)} are left`, start);
    }
    this.offset = start + size;
    return start;
  }

  /** Up to ten bytes of seven bits: the first four and a half make the low half. */
  #readVarint(): void {
    const start = this.offset;
    this.#low = 0;
    this.#high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.bytes[this.#advance(1)]!;
      const bits = byte & 0x7f;
      if (shift < 28) this.#low |= bits << shift;
      else if (shift > 28) this.#high |= bits << (shift - 32);
      else {
        this.#low |= bits << 28;
        this.#high = bits >>> 4;
      }
      if (byte < 0x80) {
        this.#low >>>= 0;
        this.#high >>>= 0;
        return;
      }
    }
    this.#fail('a number of more than ten bytes', start);
  }
}

function decimal(low: number, high: number): string {
  // Below 2^53 a number is exact, and much cheaper than a BigInt.
  if (high < 0x20_0000) return String(high * 0x1_0000_0000 + low);
  return String((BigInt(high) << 32n) | BigInt(low));
}

function signedDecimal(low: number, high: number): string {
  if (high < 0x8000_0000) return decimal(low, high);
  return String(BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low)));
}
