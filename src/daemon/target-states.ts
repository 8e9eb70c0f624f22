// What targets know of their series, from one process or reload to the next (pipeline/derive/state.ts): stored in the
// queue at a stop, read at a start. A state that cannot be read is dropped, and its target begins anew.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RestoredState } from '../model/memory.ts';
import type { SeriesTable } from '../model/series-table.ts';
import { idOfFirst, otherIdsOf, type Target } from '../pipeline/collect/plan-targets.ts';
import { saveWhole } from '../pipeline/derive/state.ts';
import { FORMER_KINDS, readState, STATE } from '../pipeline/derive/state-form.ts';
import type { StateChange } from '../pipeline/queue/commit.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { PAGE_TIME } from '../pipeline.ts';

export interface StoredState {
  readonly state: RestoredState | null;
  /** What the queue has to store so that a crash loses nothing: the state has moved to another id. */
  readonly changes: readonly StateChange[];
  /** A stored blob does not fit its form. */
  readonly isLost: boolean;
}

/** The state of a target that the configuration no longer has: its key, and the services in it. */
interface FormerState {
  readonly key: string;
  readonly services: ReadonlySet<string>;
}
/** By each service in them. */
export type FormerStates = ReadonlyMap<string, readonly FormerState[]>;

/** The stored states whose keys are not `owned`. */
export async function formerStates(
  queue: Pick<Queue, 'readState' | 'stateKeys'>,
  owned: ReadonlySet<string>,
): Promise<FormerStates> {
  const found = new Map<string, FormerState[]>();
  for (const key of queue.stateKeys(STATE)) {
    const blob = owned.has(key) ? null : await queue.readState(STATE, key);
    const services = new Set(blob ? readState(blob)?.services : []);
    for (const id of services) found.set(id, [...(found.get(id) ?? []), { key, services }]);
  }
  return found;
}

/**
 * The stored state of a target, or of the id that it had while another service was its first: one that it has, or one that
 * has left it, for another shard or for good.
 */
export async function storedState(
  queue: Pick<Queue, 'readState'>,
  target: Target,
  former: FormerStates,
): Promise<StoredState> {
  for (const id of [target.id, ...otherIdsOf(target), ...formerIdsOf(target, former)]) {
    const blob = await queue.readState(STATE, id);
    if (!blob) continue;
    const state = readState(blob);
    const isHere = id === target.id;
    const changes = isHere ? [] : [{ kind: STATE, key: target.id, blob }, forgottenState(id)];
    return { state, changes: state === null ? [] : changes, isLost: state === null };
  }
  return { state: null, changes: [], isLost: false };
}

function formerIdsOf({ api, services: own }: Target, former: FormerStates): readonly string[] {
  const states = new Set(own.flatMap(({ id }) => former.get(id) ?? []));
  const isSameAddress = ({ key, services }: FormerState): boolean =>
    [...services].some(first => idOfFirst(api, first) === key);
  return [...states].filter(isSameAddress).map(({ key }) => key);
}

/** The whole states of targets, to be stored when collecting has ended. */
export async function wholeStates(
  targets: readonly { readonly target: Target; readonly table: SeriesTable }[],
): Promise<StateChange[]> {
  const changes: StateChange[] = [];
  for (const { target, table } of targets) {
    if (table.page === 0 && table.restored === null) continue;
    changes.push({ kind: STATE, key: target.id, blob: await runInSlices(saveWhole(table)) });
  }
  return changes;
}

/** Deletes the states whose keys are not `owned`, and those of former versions; returns whether there were such. */
export async function dropStates(
  queue: Pick<Queue, 'stateKeys' | 'commit'>,
  owned: ReadonlySet<string>,
): Promise<boolean> {
  const unowned = [STATE, PAGE_TIME].flatMap(kind =>
    queue
      .stateKeys(kind)
      .filter(key => !owned.has(key))
      .map(key => ({ kind, key, blob: null })),
  );
  const former = FORMER_KINDS.flatMap(kind =>
    queue.stateKeys(kind).map(key => ({ kind, key, blob: null })),
  );
  const state = [...unowned, ...former];
  if (state.length > 0) await queue.commit({ batches: [], state, reads: [] });
  return former.length > 0;
}

function forgottenState(key: string): StateChange {
  return { kind: STATE, key, blob: null };
}

/** The result of work in slices, with a turn of the event loop after each. */
export async function runInSlices<T>(work: Generator<void, T>): Promise<T> {
  let step = work.next();
  for (; step.done !== true; step = work.next()) await nextTurn();
  return step.value;
}
