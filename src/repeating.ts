// What the table keeps of the last page for the functions that handle a page which repeats it: decode/replay.ts
// compares the next page with a layout, encode/patch.ts writes its numbers into a template. Both are dropped at the
// first surprise; the full functions make them anew.

import type { ExpositionFormat } from './model.ts';

/**
 * How the last fully read page was laid out, for decode/replay.ts. Its *skeleton*, the page without values and
 * timestamps, stands at the beginning of SeriesTable.keys, where the keys of the rows on it are found, too:
 *
 *   keys   # TYPE up gauge\nup{a="b"} │\nup{a="c"} │ … │\n
 *          └──── segment of row 0 ───┘└─ of row 1 ─┘     └ tail
 */
export interface PageLayout {
  readonly format: ExpositionFormat;
  readonly lines: number;
  /** Number of the last page that was laid out like this. */
  seenPage: number;
  /** The row of each sample line, in page order. */
  readonly rows: Uint32Array;
  /** Where the segment before each sample's value ends in the skeleton. */
  readonly ends: Uint32Array;
  /** Where the skeleton ends. */
  readonly end: number;
}

/**
 * The payload of the last full encoding with the places of its numbers, for encode/patch.ts. All numbers of a point
 * stand behind each other at fixed width, from its times to its end; only what varies is written:
 *
 *   … attributes │ start │ time │ value │        sum of a counter
 *   … attributes │ time │ value │                gauge
 *   … bounds │ start │ time │ count │ sum │ n bucket counts │
 *                ▲ offsets[point]
 */
export interface PayloadTemplate {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** The blocks in the payload's order. */
  readonly blocks: readonly TemplateBlock[];
  /** Heads of points in the payload's order. */
  readonly rows: Uint32Array;
  /** Where the times of each point begin. */
  readonly offsets: Uint32Array;
  /** What stands there: one of FORM. */
  readonly forms: Uint8Array;
}

/** The forms of points in a template. */
export const FORM = { number: 0, numberWithStart: 1, histogram: 2, summary: 3 } as const;

/** One block of a template: its bytes, and its points as a range of rows. */
export interface TemplateBlock {
  readonly block: number;
  readonly service: number;
  readonly offset: number;
  readonly length: number;
  readonly firstPoint: number;
  readonly pointCount: number;
}

/**
 * The same payload as a deflate stream whose numbers are left out, for encode/pack.ts. A block is a row of *chunks*, each
 * followed by a number of eight bytes:
 *
 *   chunk │ number │ chunk │ number │ … │ chunk │
 *         └── head, bits, tail
 *
 * Chunks are everything between: literals and references to what stands before in the same block, and they are bits that
 * never change, but for their ends: a reference that begins or ends where a number does, as its source does, is written as
 * long as both numbers are alike on this page. Times are *units*: eight bytes that stand in many places and move together.
 * Where one stands first it is written like a number, elsewhere it is referred to, within chunks.
 */
export interface PackedTemplate {
  /** Number of the page that it was made of. */
  readonly madePage: number;
  readonly blocks: readonly PackedBlock[];
  /** By point: its head, its form, and its units, as indexes into those of the block; NO_UNIT without a start. */
  readonly rows: Uint32Array;
  readonly forms: Uint8Array;
  readonly startUnits: Uint16Array;
  readonly timeUnits: Uint16Array;
  /** Units of all blocks: the point whose start (or time) each is. */
  readonly unitPoints: Uint32Array;
  readonly isStart: Uint8Array;
  readonly chunks: PackedChunks;
  /** Points with more than one number, as a template of their own. */
  readonly compounds: CompoundTails;
  /** The codes of literals, and of the end of a block; of lengths, see lib/deflate/repeats.ts. */
  readonly codes: Uint32Array;
  readonly lengths: Uint32Array;
  /** What a stream begins with: the header with all codes. */
  readonly header: { readonly words: Uint32Array; readonly bits: number };
}

/** Columns of the chunks of all blocks. */
export interface PackedChunks {
  /** Their bits, from a word of its own on for each. */
  readonly words: Uint32Array;
  readonly bitCounts: Uint16Array;
  /** For the checksum: bytes between the number before (or the block's start) and the chunk's number. */
  readonly gaps: Uint16Array;
  /** Which units stand between: an index into the block's mixes, plus 1; 0 for none. */
  readonly mixes: Uint8Array;
  /** References that grow into the number before the chunk, and into the one behind it. */
  readonly heads: ChunkEnds;
  readonly tails: ChunkEnds;
}

/**
 * By chunk: the length where no byte of the numbers is alike; the distance's entry, or 0 where there is none; the number
 * at the source. A head may have the length 0: it is written where it can grow to a length that deflate has.
 */
export interface ChunkEnds {
  readonly lengths: Uint16Array;
  readonly distances: Uint32Array;
  readonly sources: Uint16Array;
}

export interface PackedBlock extends TemplateBlock {
  readonly firstChunk: number;
  /** Those before a number; one more follows. */
  readonly chunkCount: number;
  readonly firstWord: number;
  readonly wordCount: number;
  readonly firstUnit: number;
  readonly unitCount: number;
  /** Chunks, counted within the block, that are followed by a unit instead of a number. */
  readonly unitChunks: readonly { readonly chunk: number; readonly unit: number }[];
  /** What units add to the checksum, and how far before the number each stands. */
  readonly mixes: readonly (readonly { readonly unit: number; readonly distance: number }[])[];
  /** Index of the first of its compounds. */
  readonly firstCompound: number;
  /** The register of its bytes with zeros for all numbers and units. */
  readonly register: number;
}

/**
 * Histograms and summaries: the bytes of each from its bounds on, which patch.ts writes into as into a template, and where
 * in them the numbers stand.
 */
export interface CompoundTails
  extends Pick<PayloadTemplate, 'bytes' | 'view' | 'offsets' | 'forms'> {
  readonly places: Uint32Array;
  /** By compound: where its places end. */
  readonly ends: Uint32Array;
}

export const NO_UNIT = 0xffff;

/** After so many pages that each were new, only every RETRY_PAGES-th is prepared for. */
const MISSES_MAX = 3;
const RETRY_PAGES = 16;

/** Whether preparing for the next page is worth it, after so many misses in a row. */
export function mayRepeat(misses: number, page: number): boolean {
  return misses < MISSES_MAX || page % RETRY_PAGES === 0;
}

/** To pack costs more to prepare, and what hinders it (times of their own for many series) mostly stays. */
const RETRY_PACKING_PAGES = 256;

/** The same for packing. */
export function mayPack(misses: number, page: number): boolean {
  return misses < MISSES_MAX || page % RETRY_PACKING_PAGES === 0;
}
