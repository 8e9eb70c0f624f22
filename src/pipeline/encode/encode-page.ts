// Chooses how the points of a page are written. In: a table after derive. Out: a batch, whose bytes are the writer's or
// the packer's memory, or the table's: valid until the next page.
//
//   page            way                              for the next one
//   the first       in full (encode.ts)              with its order settled: a template of the payload
//   the same again  into the last payload (patch.ts) if gzip is taken: a packed template of that
//   and again       compressed at once (pack.ts)
//
// All three give the same bytes. At the first surprise a page takes the way above, and what did not do is dropped; what
// fails often is tried less often (repeating.ts).

import type { Batch, PackedBatch, SeriesTable } from '../../model.ts';
import { mayPack, mayRepeat } from '../../repeating.ts';
import { encode, type EncodeOptions } from './encode.ts';
import { pack } from './pack.ts';
import { makePacked, type Packing } from './packed-template.ts';
import { patch } from './patch.ts';
import { makeTemplate } from './template.ts';
import type { WireWriter } from './wire.ts';

/** A packed template that has done for so many pages was worth it: the next miss is the first. */
const PACKED_LONG_PAGES = 16;
/** Misses that a payload counts for that cannot be packed: it is tried again much later. */
const PACKING_REFUSED = 16;

export interface EncodePageOptions {
  readonly encode: EncodeOptions;
  /** For back ends that take gzip; null: payloads are compressed by the queue, if at all. */
  readonly packing: Packing | null;
}

/** Writes the points of this page; yields between slices. */
export function* encodePage(
  table: SeriesTable,
  { encode: options, packing }: EncodePageOptions,
  writer: WireWriter,
  madeAtMs: number,
): Generator<void, Batch | PackedBatch> {
  const packed = yield* packAgain(table, packing, madeAtMs);
  if (packed !== null) return packed;
  const patched = yield* patch(table, writer, madeAtMs);
  if (patched !== null) {
    table.templateMisses = 0;
    if (packing !== null && mayPack(table.packedMisses, table.page))
      yield* preparePacking(table, patched, packing);
    return patched;
  }
  if (table.template !== null) table.templateMisses++;
  const isSettled = !table.isOrderStale;
  table.template = null;
  const batch = yield* encode(table, writer, options, madeAtMs);
  if (isSettled && mayRepeat(table.templateMisses, table.page))
    table.template = yield* makeTemplate(table, batch.payload);
  return batch;
}

/** Packs the points as on the last page; null, without that page's template, where there is none that does. */
function* packAgain(
  table: SeriesTable,
  packing: Packing | null,
  madeAtMs: number,
): Generator<void, PackedBatch | null> {
  if (table.packed === null) return null;
  const batch = packing === null ? null : yield* pack(table, packing.packer, madeAtMs);
  if (batch !== null) return batch;
  if (table.packed.madePage + PACKED_LONG_PAGES < table.page) table.packedMisses = 0;
  table.packedMisses++;
  table.packed = null;
  return null;
}

/** What has repeated once will repeat again: from now on it is packed, if that can be done. */
function* preparePacking(
  table: SeriesTable,
  batch: Batch,
  packing: Packing,
): Generator<void, void> {
  table.packed = yield* makePacked(table, batch, packing);
  // Its bytes are those of this batch, and are needed no more.
  if (table.packed !== null) table.template = null;
  else table.packedMisses += PACKING_REFUSED;
}
