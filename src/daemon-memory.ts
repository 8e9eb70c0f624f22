// What a daemon hands to the one that takes its place of a target that will be read differently: all that is known
// of its series, as a former process would have stored it.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SeriesTable } from './model.ts';
import { readState, saveState } from './pipeline/derive/state.ts';
import type { RestoredState } from './table-memory.ts';

/** null when nothing is known. The table is not used any more. */
export async function memoryOf(table: SeriesTable): Promise<RestoredState | null> {
  // Whatever is stored already, all of it is wanted.
  table.savedStarts = null;
  const steps = saveState(table);
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) await nextTurn();
  const { starts, marks } = step.value;
  return starts === undefined ? null : readState(starts, marks);
}
