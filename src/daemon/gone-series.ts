// The series of services that have left the list of `services: auto`. When one goes, its start times
// and last values move from the state of the target to a separate place in the queue; when it
// returns within `keep`, they come back. In the target's state they would be forgotten after a few
// pages, and would make the starts of other series uncertain.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RestoredState } from '../model/memory.ts';
import {
  joinStates,
  MARKS,
  readState,
  saveRestored,
  STARTS,
  stateEntries,
  takeOut,
} from '../pipeline/derive/state.ts';
import type { StateChange } from '../pipeline/queue/commit.ts';
import type { Queue } from '../pipeline/queue/queue.ts';

/** The place of one service's series: the address of its API, and its id. */
export interface SeriesPlace {
  readonly address: string;
  readonly id: string;
}

/** The known series of a target, and the changes of the queue's state that belong to them. */
export interface KnownSeries {
  readonly state: RestoredState | null;
  readonly changes: readonly StateChange[];
}

/** Takes the series of services out of the target's state; returns the entries that store them. */
export async function setAside(
  places: readonly SeriesPlace[],
  state: RestoredState,
): Promise<StateChange[]> {
  if (places.length === 0) return [];
  const parts = takeOut(
    state,
    places.map(({ id }) => id),
  );
  const changes: StateChange[] = [];
  for (const place of places) {
    const part = parts.get(place.id);
    if (part !== undefined && part.indexById.size > 0)
      changes.push(...stateEntries(keyOf(place), await runInSlices(saveRestored(part))));
  }
  return changes;
}

/**
 * The target's state with the series of services that have returned, and the changes that empty their places in the
 * commit that stores this state.
 */
export async function bringBack(
  queue: Pick<Queue, 'readState'>,
  places: readonly SeriesPlace[],
  state: RestoredState | null,
): Promise<KnownSeries> {
  const known = state === null ? [] : [state];
  const changes: StateChange[] = [];
  for (const place of places) {
    const part = await storedSeries(queue, keyOf(place));
    if (part === null) continue;
    known.push(part);
    changes.push(...forgotten(keyOf(place)));
  }
  const [first, ...others] = known;
  return { state: first === undefined ? null : joinStates(first, ...others), changes };
}

/** The series that are stored under a key: the key of a place, or the id of a target. */
export async function storedSeries(
  queue: Pick<Queue, 'readState'>,
  key: string,
): Promise<RestoredState | null> {
  const starts = await queue.readState(STARTS, key);
  const marks = await queue.readState(MARKS, key);
  return starts && marks ? readState(starts, marks) : null;
}

export function forgotten(key: string): StateChange[] {
  return [STARTS, MARKS].map(kind => ({ kind, key, blob: null }));
}

/** The result of work in slices, with a turn of the event loop after each. */
export async function runInSlices<T>(work: Generator<void, T>): Promise<T> {
  let step = work.next();
  for (; step.done !== true; step = work.next()) await nextTurn();
  return step.value;
}

export function keyOf({ address, id }: SeriesPlace): string {
  return JSON.stringify([address, id]);
}
