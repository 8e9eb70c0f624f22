// Columns that grow while the chunks of a packed template are collected, and what they become in it. In: a number at a
// time. Out: the columns of PackedChunks, with codes in the place of distances.

import type { Codes } from '../../lib/deflate/huffman.ts';
import { distanceEntry } from '../../lib/deflate/repeats.ts';
import type { PackedChunks } from '../../repeating.ts';

/** The event loop may get its turn after one entry in 1024. */
const SLICE_MASK = 0x3ff;

/** A growing column. */
export class Column {
  values: Int32Array = new Int32Array(1024);
  length = 0;

  push(value: number): void {
    if (this.length === this.values.length) {
      const grown = new Int32Array(2 * this.length);
      grown.set(this.values);
      this.values = grown;
    }
    this.values[this.length++] = value;
  }

  last(): number {
    return this.values[this.length - 1] ?? 0;
  }

  remove(index: number): void {
    this.values.copyWithin(index, index + 1, this.length--);
  }

  used(): Int32Array {
    return this.values.subarray(0, this.length);
  }
}

/** Matches at the ends of chunks that grow into numbers; one entry for every chunk, length 0 where it has none. */
export interface Ends {
  readonly lengths: Column;
  readonly distances: Column;
  readonly sources: Column;
}

export function newEnds(): Ends {
  return { lengths: new Column(), distances: new Column(), sources: new Column() };
}

export interface End {
  readonly length: number;
  readonly distance: number;
  readonly source: number;
}

export function pushEnd(ends: Ends, { length, distance, source }: End): void {
  ends.lengths.push(length);
  ends.distances.push(distance);
  ends.sources.push(source);
}

export function pushNone(ends: Ends): 0 {
  pushEnd(ends, { length: 0, distance: 0, source: 0 });
  return 0;
}

export function* packedEnds(ends: Ends, distances: Codes): Generator<void, PackedChunks['heads']> {
  const entries = new Uint32Array(ends.distances.length);
  for (const [i, distance] of ends.distances.used().entries()) {
    entries[i] = distance === 0 ? 0 : distanceEntry(distances, distance);
    if ((i & SLICE_MASK) === SLICE_MASK) yield;
  }
  return {
    lengths: new Uint16Array(ends.lengths.used()),
    distances: entries,
    sources: new Uint16Array(ends.sources.used()),
  };
}
