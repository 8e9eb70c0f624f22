// The part of protobuf that the sink needs: reads the fields of a message as offsets into the request. It trusts the
// encoders of the contenders, but never reads past the end.

export interface Field {
  number: number;
  wireType: number;
  /** The value of a varint, cut to 32 bits. */
  value: number;
  /** The offsets of the value. */
  start: number;
  end: number;
}

/** Walks the fields of `bytes[start, end)`; each level of nesting needs its own. */
export class Fields implements Field {
  readonly bytes: Buffer;
  readonly view: DataView;
  number = 0;
  wireType = 0;
  value = 0;
  start = 0;
  end = 0;
  #at = 0;
  #limit = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Begins to walk the message in `bytes[start, end)`. */
  enter(start: number, end: number): this {
    this.#at = start;
    this.#limit = end;
    return this;
  }

  /** Steps to the next field; false at the end. */
  next(): boolean {
    if (this.#at >= this.#limit) return false;
    const tag = this.#varint();
    this.number = tag >>> 3;
    this.wireType = tag & 7;
    switch (this.wireType) {
      case 0:
        this.start = this.#at;
        this.value = this.#varint();
        this.end = this.#at;
        return true;
      case 1:
        return this.#take(8);
      case 2:
        return this.#take(this.#varint());
      case 5:
        return this.#take(4);
      default:
        throw new Error(`cannot read a request: wire type ${this.wireType}`);
    }
  }

  /** The length-delimited field as text. */
  text(): string {
    return this.bytes.toString('latin1', this.start, this.end);
  }

  double(): number {
    return this.view.getFloat64(this.start, true);
  }

  fixed64(): number {
    return (
      this.view.getUint32(this.start + 4, true) * 2 ** 32 + this.view.getUint32(this.start, true)
    );
  }

  #take(length: number): boolean {
    this.start = this.#at;
    this.end = this.#at + length;
    if (this.end > this.#limit) throw new Error('cannot read a request: it is cut off');
    this.#at = this.end;
    return true;
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.bytes[this.#at++] ?? 0;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new Error('cannot read a request: a number without an end');
  }
}

/** Reads the varint at `start` as a signed integer of 64 bits, such as a remote write timestamp. */
export function readInt64(bytes: Buffer, start: number): number {
  let low = 0;
  let high = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[start + shift / 7] ?? 0;
    if (shift < 28) low |= (byte & 0x7f) << shift;
    else high += (byte & 0x7f) * 2 ** (shift - 28);
    if (byte < 0x80 || shift >= 56) return high * 2 ** 28 + low;
  }
}
