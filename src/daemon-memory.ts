// What a daemon hands to the one that takes its place of a target that will be read differently: all that is known
// of its series, as a former process would have stored it, and what it was itself given and has not seen again yet.

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
  const own = starts === undefined ? null : readState(starts, marks);
  const unseen = table.restored;
  return own === null || unseen === null ? (own ?? unseen) : join(own, unseen);
}

/** Both; where both know a series, `own` is the younger. */
function join(own: RestoredState, unseen: RestoredState): RestoredState {
  const added = [...unseen.indexById].filter(([id]) => !own.indexById.has(id));
  const count = own.startMs.length;
  const column = (name: 'startMs' | 'streamAtMs' | 'lastTimeMs' | 'lastValue'): Float64Array =>
    Float64Array.from([
      ...own[name],
      ...added.map(([, index]) => unseen[name][index] ?? Number.NaN),
    ]);
  return {
    indexById: new Map([
      ...own.indexById,
      ...added.map(([id], place) => [id, count + place] as const),
    ]),
    startMs: column('startMs'),
    streamAtMs: column('streamAtMs'),
    lastTimeMs: column('lastTimeMs'),
    lastValue: column('lastValue'),
    flags: Uint8Array.from([...own.flags, ...added.map(([, index]) => unseen.flags[index] ?? 0)]),
    uptimes: new Map([...unseen.uptimes, ...own.uptimes]),
    pageCount: 0,
  };
}
