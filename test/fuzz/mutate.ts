// Makes inputs that are almost valid for a parser: seeds that are cut, joined, doubled, and mixed with tokens that the
// parser knows. The same seed number gives the same inputs.

import { randomOf } from '../support/random.ts';

export class Mutator {
  readonly #seeds: readonly Buffer[];
  readonly #tokens: readonly Buffer[];
  readonly #random: () => number;

  constructor(seeds: readonly (string | Buffer)[], tokens: readonly string[], seed: number) {
    this.#seeds = seeds.map(bytes => Buffer.from(bytes as string));
    this.#tokens = [...tokens, '\u0000', '\n', '\r\n', '"', '\\', '\u{10FFFF}'].map(token =>
      Buffer.from(token),
    );
    this.#random = randomOf(seed);
  }

  /** The next input: one to eight changes away from one of the seeds. */
  next(): Buffer {
    let bytes = this.#pick(this.#seeds);
    const changes = 1 + this.#below(8);
    for (let change = 0; change < changes; change++) bytes = this.#change(bytes);
    return bytes;
  }

  #change(bytes: Buffer): Buffer {
    const at = this.#below(bytes.length + 1);
    const to = Math.min(bytes.length, at + this.#below(40));
    const [head, part, tail] = [bytes.subarray(0, at), bytes.subarray(at, to), bytes.subarray(to)];
    switch (this.#below(7)) {
      case 0:
        return Buffer.concat([head, tail]);
      case 1:
        return Buffer.concat([head, part, part, tail]);
      case 2:
        return Buffer.concat([head, this.#pick(this.#tokens), tail]);
      case 3:
        return head;
      case 4: {
        const other = this.#pick(this.#seeds);
        return Buffer.concat([head, other.subarray(this.#below(other.length + 1))]);
      }
      case 5:
        return Buffer.concat([head, Buffer.from([this.#below(256)]), tail]);
      default: {
        const flipped = Buffer.from(bytes);
        if (flipped.length > 0) {
          const place = this.#below(flipped.length);
          flipped[place] = (flipped[place] ?? 0) ^ (1 << this.#below(8));
        }
        return flipped;
      }
    }
  }

  #pick(list: readonly Buffer[]): Buffer {
    return list[this.#below(list.length)] ?? Buffer.alloc(0);
  }

  /** From 0 to limit - 1. */
  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}
