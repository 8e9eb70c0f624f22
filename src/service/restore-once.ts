// A restore that is begun once, also when an answer is lost. The service has no key to tell a repeated request from a
// second one, and a restore erases data: so it lists before, and after a lost answer compares before it tries again.

import type { Clock } from '../lib/clock.ts';
import type { ReadOptions } from './answers.ts';
import type { Restore, RestoreRequest, RestoresApi } from './restores.ts';
import type { ErrorResult, Result } from './service-error.ts';

export interface RestoreOnceOptions extends ReadOptions {
  readonly clock: Clock;
  /** Told what happens beyond the usual, a line at a time. */
  readonly onNews?: (line: string) => void;
}

export interface Begun {
  /** Null where the service told nothing of it. */
  readonly restore: Restore | null;
}

/** A request that got no answer may still be on its way in: so often, and so long apart, the list is looked at. */
const LOOKS = 3;
const LOOK_APART_MS = 5000;
const ATTEMPTS_MAX = 2;

/** An error with `isOutcomeUnknown` means that the restore may run: look at the list before you try again. */
export async function restoreOnce(
  api: RestoresApi,
  request: RestoreRequest,
  options: RestoreOnceOptions,
): Promise<Result<Begun>> {
  const { signal, onNews = () => undefined } = options;
  const before = await keysOf(api, request, signal);
  for (let attempt = 1; ; attempt++) {
    const result = await api.create(request, { signal });
    if (result.ok || !result.error.isOutcomeUnknown) return result;
    onNews(`${result.error.message}: it may have begun all the same`);
    if (before === null) return unsure(result, 'the restores cannot be listed');
    const found = await findNew(api, request, before, options);
    if (signal?.aborted === true) return unsure(result, 'it was given up');
    if (found === null) return unsure(result, 'the restores cannot be listed');
    const [first] = found;
    if (first !== undefined) {
      onNews('it has begun: it is in the list of restores, and was not before');
      return { ok: true, restore: first };
    }
    if (attempt >= ATTEMPTS_MAX) return unsure(result, 'it is not in the list of restores');
    onNews('it is not in the list of restores: trying once more');
  }
}

/** What was there before, by which a new one is told; null when the list cannot be had. */
async function keysOf(
  api: RestoresApi,
  { service_id }: RestoreRequest,
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<string> | null> {
  const list = await api.list({ service_id, signal });
  return list.ok && list.isComplete ? new Set(list.restores.map(keyOf)) : null;
}

/** Restores that were not there before; empty when there is none after several looks, null when nobody tells. */
async function findNew(
  api: RestoresApi,
  { service_id }: RestoreRequest,
  before: ReadonlySet<string>,
  { clock, signal }: RestoreOnceOptions,
): Promise<readonly Restore[] | null> {
  for (let look = 0; look < LOOKS; look++) {
    await clock.sleep(LOOK_APART_MS, signal);
    if (signal?.aborted === true) return null;
    const list = await api.list({ service_id, signal });
    if (!list.ok || !list.isComplete) return null;
    const found = list.restores.filter(one => !before.has(keyOf(one)));
    if (found.length > 0) return found;
  }
  return [];
}

function keyOf({ id, created_at }: Restore): string {
  return JSON.stringify([id, created_at]);
}

function unsure({ error }: ErrorResult, why: string): ErrorResult {
  const hint = `whether it has begun is not known (${why}): look at the service before you try again`;
  return { ok: false, error: { ...error, hint } };
}
