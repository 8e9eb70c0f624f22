// Chooses how the points of a page are written. In: a table after derive. Out: a batch whose bytes are the writer's or
// the table's memory, valid until the next page.
//
//   page            how it is written                 what is kept for the next page
//   the first       in full (encode.ts)               once its order is settled: a template of the payload
//   the same again  into the last payload (patch.ts)  the template
//
// Both give the same bytes. The first surprise falls back to the full function and drops the template; a target whose
// template misses often makes one less often (repeating.ts).

import type { Batch } from '../../model/batch.ts';
import type { SeriesTable } from '../../model/series-table.ts';
import { mayRepeat } from '../../model/memory.ts';
import { encode, type EncodeOptions } from './encode.ts';
import { patch } from './patch.ts';
import { makeTemplate } from './template.ts';
import type { WireWriter } from './wire.ts';

/** Writes the points of this page; yields between slices. */
export function* encodePage(
  table: SeriesTable,
  options: EncodeOptions,
  writer: WireWriter,
  madeAtMs: number,
): Generator<void, Batch> {
  const patched = yield* patch(table, writer, madeAtMs);
  if (patched !== null) {
    table.templateMisses = 0;
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
