// The repeating function of encode for back ends that take gzip: the points of the last page again, compressed at once
// (packer.ts says how). In: a table with a packed template. Out: a PackedBatch, whose parts inflate to the bytes that the
// full function (encode.ts) would write; or null at the first surprise, as in patch.ts: then the template is of no use.

import type { PackedBatch, SeriesTable } from '../../model.ts';
import type { Packer } from './packer.ts';
import { countPoints, hasAnyPoint } from './patch.ts';

/** How many points are packed before the event loop gets its turn. */
const SLICE_POINTS = 2048;

/** Packs the points of this page; yields between slices. The batch is the packer's memory. */
export function* pack(
  table: SeriesTable,
  packer: Packer,
  madeAtMs: number,
): Generator<void, PackedBatch | null> {
  const { packed: template } = table;
  if (template === null || table.isOrderStale || table.repeats.length > 0) return null;
  const points = countPoints(table);
  if (table.exemplars.size > 0 || points === null) return null;
  let held = 0;
  let sliceEnd = SLICE_POINTS;
  packer.begin(table, template);
  for (const block of template.blocks) {
    const { firstPoint, pointCount } = block;
    if (table.blocks[block.block]?.movedPage !== table.page) {
      if (hasAnyPoint(table, template.rows, firstPoint, pointCount)) return null;
      continue;
    }
    if (!packer.add(block)) return null;
    held += pointCount;
    if (held < sliceEnd) continue;
    sliceEnd = held + SLICE_POINTS;
    yield;
  }
  // A head outside the template has a point, too.
  if (held !== points) return null;
  const { bytes, parts } = packer.end();
  return { signal: 'metrics', packed: bytes, parts, madeAtMs };
}
