// Writes bits as deflate has them: the first bit is the lowest one of the first byte. Memory is used again; what was
// written is valid until the next reset. RFC 1951, section 3.1.1.

const CAPACITY_BYTES_MIN = 1024;

/** Bits from the least significant one on, in words of 32. */
export class BitWriter {
  #view = new DataView(new ArrayBuffer(CAPACITY_BYTES_MIN));
  /** Whole words that are written, in bytes. */
  #length = 0;
  /** Bits that wait for a whole word, and how many: 0 to 31. */
  #word = 0;
  #count = 0;

  reset(): void {
    this.#length = 0;
    this.#word = 0;
    this.#count = 0;
  }

  get bitLength(): number {
    return 8 * this.#length + this.#count;
  }

  /** Makes room for so many bits: what follows writes without looking. */
  reserve(bits: number): void {
    const needed = this.#length + 8 + (bits >>> 3);
    if (needed <= this.#view.byteLength) return;
    const grown = new DataView(new ArrayBuffer(Math.max(needed, 2 * this.#view.byteLength)));
    new Uint8Array(grown.buffer).set(new Uint8Array(this.#view.buffer, 0, this.#length));
    this.#view = grown;
  }

  /** The lowest `count` bits (0 to 31) of `bits`; those above must be 0. */
  put(bits: number, count: number): void {
    this.#word |= bits << this.#count;
    const filled = this.#count + count;
    if (filled < 32) {
      this.#count = filled;
      return;
    }
    this.#view.setInt32(this.#length, this.#word, true);
    this.#length += 4;
    this.#word = bits >>> (32 - this.#count);
    this.#count = filled - 32;
  }

  /** `count` bits of `words` from the word `from` on; the bits above them are 0. */
  putWords(words: Uint32Array, from: number, count: number): void {
    const view = this.#view;
    const shift = this.#count;
    let length = this.#length;
    let word = this.#word;
    let at = from;
    for (let left = count; left >= 32; left -= 32) {
      const bits = words[at++] ?? 0;
      view.setInt32(length, word | (bits << shift), true);
      length += 4;
      word = (bits >>> 1) >>> (31 - shift);
    }
    this.#length = length;
    this.#word = word;
    const left = count & 31;
    if (left > 0) this.put(words[at] ?? 0, left);
  }

  /**
   * Bytes [from, to) of eight as literals; `low` is the first four, little endian. `codes` has for each byte its code and,
   * from bit 16 on, the code's length.
   */
  putLiterals(
    codes: Uint32Array,
    low: number,
    high: number,
    ...[from, to]: [number, number]
  ): void {
    const view = this.#view;
    let length = this.#length;
    let word = this.#word;
    let count = this.#count;
    for (let i = from; i < to; i++) {
      // A shift by 8 i bits is one by 8 (i - 4) where i is 4 or more.
      const entry = codes[((i < 4 ? low : high) >>> (8 * i)) & 0xff] ?? 0;
      const code = entry & 0xffff;
      word |= code << count;
      count += entry >>> 16;
      if (count < 32) continue;
      view.setInt32(length, word, true);
      length += 4;
      count -= 32;
      // What of the code is not in the word yet: its upper `count` bits.
      word = code >>> ((entry >>> 16) - count);
    }
    this.#length = length;
    this.#word = word;
    this.#count = count;
  }

  /** Fills up with zeros to a multiple of 8 or 32 bits. */
  align(multiple: 8 | 32 = 8): void {
    const left = -this.#count & (multiple - 1);
    if (left > 0) this.put(0, left);
  }

  /** Whole bytes from the bit `from` on, which must be the first of a byte: not copied. Call align() before. */
  bytesFrom(from: number): Buffer {
    this.#view.setInt32(this.#length, this.#word, true);
    const start = from >>> 3;
    return Buffer.from(this.#view.buffer, start, (this.bitLength >>> 3) - start);
  }

  /** The words that were written; bits behind the last are 0. */
  words(): Uint32Array {
    const count = Math.ceil(this.bitLength / 32);
    const words = new Uint32Array(count);
    this.#view.setInt32(this.#length, this.#word, true);
    for (let i = 0; i < count; i++) words[i] = this.#view.getUint32(4 * i, true);
    return words;
  }
}
