// Reads protobuf bytes: the inverse of wire.ts, and equally unaware of what fields mean. It returns views, not copies.
// Damaged input throws a WireError. Every read advances or throws, so it cannot hang.
// https://protobuf.dev/programming-guides/encoding/
import { WIRE } from './wire.ts';

/** Damaged or foreign bytes. The message has the input, the reason and the byte offset. */
export class WireError extends Error {
  constructor(what: string, reason: string, offset: number) {
    super(`cannot decode ${what}: ${reason} at byte ${String(offset)}`);
    this.name = 'WireError';
  }
}

/** The result of `read`, or the fallback for damaged bytes. */
export function orElse<T>(fallback: T, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof WireError) return fallback;
    throw error;
  }
}

/** A cursor over `bytes`. */
export class WireReader {
  readonly bytes: Buffer;
  /** The end of the innermost open message. */
  end: number;
  offset = 0;
  readonly #what: string;
  readonly #view: DataView;
  // The two halves of the newest varint.
  #low = 0;
  #high = 0;

  /** `what` names the input in errors. */
  constructor(bytes: Uint8Array, what: string) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.length;
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
    if (this.#high !== 0 || tag < 8) this.fail('an invalid tag', start);
    return tag;
  }

  /** A varint truncated to 32 bits, as the format requires for uint32. */
  uint32(): number {
    this.#readVarint();
    return this.#low;
  }

  /** int32 and enums: negative numbers take ten bytes. */
  int32(): number {
    return this.uint32() | 0;
  }

  bool(): boolean {
    this.#readVarint();
    return this.#low !== 0 || this.#high !== 0;
  }

  /** Decimal: 64 bits do not fit a number. */
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

  /** Invalid UTF-8 becomes U+FFFD. */
  string(): string {
    const size = this.#size();
    return this.bytes.toString('utf8', this.#advance(size), this.offset);
  }

  /**
   * Enters a length-delimited value (a message or packed numbers): `end` is its end until `leave`, which needs the
   * returned value.
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

  /** Skips the value of an unknown field. */
  skip(wireType: number): void {
    if (wireType === WIRE.varint) this.#readVarint();
    else if (wireType === WIRE.fixed64) this.#advance(8);
    else if (wireType === WIRE.fixed32) this.#advance(4);
    else if (wireType === WIRE.bytes) this.#advance(this.#size());
    else this.fail(`wire type ${String(wireType)}, which OTLP does not use,`);
  }

  fail(reason: string, offset: number = this.offset): never {
    throw new WireError(this.#what, reason, offset);
  }

  #size(): number {
    const start = this.offset;
    this.#readVarint();
    if (this.#high !== 0) this.fail('a length beyond 4 GiB', start);
    return this.#low;
  }

  /** Advances by `size` bytes; returns where they start. */
  #advance(size: number): number {
    const start = this.offset;
    const left = this.end - start;
    if (size > left)
      this.fail(`a value of ${String(size)} bytes where ${String(left)} are left`, start);
    this.offset = start + size;
    return start;
  }

  /** Up to ten bytes of seven bits each; bits 28 to 31 and 32 to 34 come from the fifth. */
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
    this.fail('a number of more than ten bytes', start);
  }
}

/** The values of one length-delimited field of a message; `what` names the message in errors. */
export function fieldsOf(message: Buffer, field: number, what: string): readonly Buffer[] {
  const reader = new WireReader(message, what);
  const values: Buffer[] = [];
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    if (tag === ((field << 3) | WIRE.bytes)) values.push(reader.view());
    else reader.skip(tag & 7);
  }
  return values;
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
