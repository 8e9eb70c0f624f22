// When the next pull is due: every so often, or by a cron expression in UTC, each API at a moment of its own so that
// many of them do not ask at once. Told the time; it waits for nothing.

import { createHash } from 'node:crypto';
import { Cron } from 'croner';
import type { LogsConfig } from '../config/config.ts';

/** By how much of the interval pulls are spread. */
const SPREAD_SHARE = 0.1;
const SPREAD_MS_MAX = 30_000;
/** A first pull need not wait for its interval. */
const FIRST_SPREAD_MS_MAX = 1000;

const AFTER_REFUSAL_MS_MIN = 30_000;
const AFTER_REFUSAL_MS_MAX = 300_000;

export class PullSchedule {
  readonly #intervalMs: number | null;
  readonly #cron: Cron | null;
  readonly #place: number;

  /** `id` gives the place of this API among others; the same over restarts. */
  constructor(schedule: LogsConfig['schedule'], id: string) {
    this.#intervalMs = 'intervalMs' in schedule ? schedule.intervalMs : null;
    this.#cron =
      'cron' in schedule ? new Cron(schedule.cron, { timezone: 'UTC', paused: true }) : null;
    this.#place = createHash('sha256').update(id).digest().readUInt32BE(0) / 2 ** 32;
  }

  /** How long from `nowMs` (wall clock) to the first pull. */
  firstMs(nowMs: number): number {
    if (this.#cron === null) return this.#place * FIRST_SPREAD_MS_MAX;
    return this.nextMs(nowMs, nowMs);
  }

  /** How long from `nowMs` to the pull behind one that began at `startedMs` (both wall clock); 0 when it is over. */
  nextMs(startedMs: number, nowMs: number): number {
    if (this.#cron !== null) {
      const next = this.#cron.nextRun(new Date(nowMs));
      return next === null ? Infinity : next.getTime() - nowMs + this.#place * SPREAD_MS_MAX;
    }
    const intervalMs = this.#intervalMs ?? 0;
    const spreadMs = Math.min(SPREAD_MS_MAX, intervalMs * SPREAD_SHARE);
    const dueMs = startedMs + intervalMs + (this.#place - 0.5) * spreadMs;
    return Math.max(0, dueMs - nowMs);
  }
}

/** How long to leave a service alone that refused the key for the n-th time in a row (from 1). */
export function refusalWaitMs(refusedCount: number): number {
  return Math.min(AFTER_REFUSAL_MS_MAX, AFTER_REFUSAL_MS_MIN * 2 ** (refusedCount - 1));
}
