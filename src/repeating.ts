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

/** After so many pages that each were new, only every RETRY_PAGES-th is prepared for. */
const MISSES_MAX = 3;
const RETRY_PAGES = 16;

/** Whether preparing for the next page is worth it, after so many misses in a row. */
export function mayRepeat(misses: number, page: number): boolean {
  return misses < MISSES_MAX || page % RETRY_PAGES === 0;
}
