// What a target does not take over of a stored state: rows of services that others send now, and rows for which there is no
// room.

import type { RestoredState } from '../../model/memory.ts';
import { ROW_FLAG } from '../../model/series-table.ts';
import { laterMs } from './reset.ts';

/**
 * Limits a restored state to `rowsMax` rows: ended ones are dropped first, the oldest before the
 * others. Their counts were sent: if they return, they are not growth (F8).
 */
export function limitRestored(restored: RestoredState, rowsMax: number): RestoredState {
  const { indexById, lastTimeMs, flags } = restored;
  const excess = indexById.size - Math.max(rowsMax, 0);
  if (excess <= 0) return restored;
  const isOpen = (place: number): number => ((flags[place]! & ROW_FLAG.staleSent) === 0 ? 1 : 0);
  const rows = [...indexById].sort(
    ([, a], [, b]) => isOpen(a) - isOpen(b) || (lastTimeMs[a] || 0) - (lastTimeMs[b] || 0),
  );
  const forgottenMs = forget(restored, rows.slice(0, excess));
  const uptimes = restored.uptimes.map(uptime => ({
    ...uptime,
    firstTimeMs: laterMs(uptime.firstTimeMs, forgottenMs),
    tornMs: laterMs(uptime.tornMs, forgottenMs),
  }));
  return { ...restored, uptimes, releasedMs: laterMs(restored.releasedMs, forgottenMs) };
}

/** A state without the services that others send now; the same state if it has none of them. */
export function ownState(restored: RestoredState, isOwn: (id: string) => boolean): RestoredState {
  const { indexById, services, awaited } = restored;
  const foreign = new Set([...new Set(services)].filter(id => !isOwn(id)));
  const others = [...indexById].filter(([, place]) => foreign.has(services[place]!));
  const uptimes = restored.uptimes.filter(({ component }) => isOwn(component.split('\u0000')[0]!));
  for (const id of awaited?.keys() ?? []) if (!isOwn(id)) awaited?.delete(id);
  if (others.length === 0 && uptimes.length === restored.uptimes.length) return restored;
  forget(restored, others);
  return { ...restored, uptimes };
}

/** Returns the newest time of the rows. */
function forget(
  { indexById, lastTimeMs }: RestoredState,
  rows: readonly (readonly [id: number, place: number])[],
): number {
  let forgottenMs = Number.NaN;
  for (const [id, place] of rows) {
    indexById.delete(id);
    forgottenMs = laterMs(forgottenMs, lastTimeMs[place]!);
  }
  return forgottenMs;
}
