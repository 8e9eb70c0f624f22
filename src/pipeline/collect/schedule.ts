// Decides when each target is due. The ids of the targets determine their places within the interval,
// so that many bridges and targets do not send requests at the same time. There are few places:
// targets at the same place share a tick, and so one wake-up, one commit and one request to the back
// end.
//
//   wall clock   ├─────────── interval ───────────┼─────────── interval ──────── …
//   places       0  1  2  3  4  5  6  7  8  9 10 11  0  1  2  3 …
//   a target           ▲                                 ▲
//
// Places are computed from the wall clock once, at the start. After that only the monotonic clock
// counts: nothing drifts, and setting the wall clock has no effect. Every call receives the time.

import { hash } from 'node:crypto';
import { Semaphore } from '../../lib/semaphore.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Counters, CountersOf } from '../../lib/counters.ts';

interface ScheduleOptions {
  /** Read only at the start; later calls receive the time. */
  readonly clock: Clock;
  readonly counters: Counters;
}

interface ScheduledTarget {
  readonly id: string;
  readonly intervalMs: number;
}

interface Entry {
  /** Monotonic; always later than the last `takeDue`. */
  dueMs: number;
  readonly intervalMs: number;
  /** The place as an offset, on the monotonic clock. */
  readonly phaseMs: number;
  isRunning: boolean;
}

const PLACES_MAX = 12;
/** Fewer targets use fewer of the places: a tick costs more than a page of 1,000 series. */
const TARGETS_PER_PLACE = 8;
/** Places are at least this far apart: closer ticks would not share any work. */
const PLACE_MS_MIN = 250;
/** In the first round, places are only this far apart; a few targets start all at once. */
const FIRST_PLACE_MS_MAX = 100;
const AT_ONCE_MAX = 8;

export const SCHEDULE_COUNTERS = {
  skipped: {
    name: 'prom2otlp_collect_skipped_total',
    help: 'Due scrapes that were skipped: the previous one was still running (overlap), or the program was not running (late).',
    labels: ['cause'],
  },
} as const;

export class Schedule {
  readonly #entries: readonly Entry[];
  readonly #counters: CountersOf<typeof SCHEDULE_COUNTERS>;

  /** `takeDue` returns indexes into `targets`. */
  constructor(targets: readonly ScheduledTarget[], { clock, counters }: ScheduleOptions) {
    const [nowMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    const firstPlaceMs = targets.length <= AT_ONCE_MAX ? 0 : FIRST_PLACE_MS_MAX;
    const leaderOf = leadersOf(targets);
    this.#entries = targets.map(({ id, intervalMs }) => {
      const placeCount = placeCountOf(intervalMs);
      const placeMs = intervalMs / placeCount;
      const place = hashOf(leaderOf.get(id) ?? id) % placeCount;
      return {
        dueMs: monotonicMs + place * Math.min(placeMs, firstPlaceMs),
        intervalMs,
        phaseMs: monotonicMs - (nowMs % intervalMs) + place * placeMs,
        isRunning: false,
      };
    });
    this.#counters = counters.of(SCHEDULE_COUNTERS);
  }

  /**
   * The targets that are due at this time (monotonic). They count as running until `finish`. A
   * target that is still running is skipped until its next due time.
   */
  takeDue(monotonicMs: number): readonly number[] {
    const due: number[] = [];
    for (const [index, entry] of this.#entries.entries()) {
      if (entry.dueMs > monotonicMs) continue;
      this.#advance(entry, monotonicMs);
      if (entry.isRunning) this.#counters.skipped.add(1, 'overlap');
      else {
        entry.isRunning = true;
        due.push(index);
      }
    }
    return due;
  }

  /** Reports that a target's scrape is over and its page used; until then the target is skipped. */
  finish(index: number): void {
    const entry = this.#entries[index];
    if (entry !== undefined) entry.isRunning = false;
  }

  dueMs(index: number): number {
    return this.#entries[index]?.dueMs ?? Infinity;
  }

  /** When the next target is due (monotonic); Infinity without targets. */
  nextDueMs(): number {
    return this.#entries.reduce((next, { dueMs }) => Math.min(next, dueMs), Infinity);
  }

  /**
   * Moves the entry to its own place, at least half an interval ahead: a scrape soon after the
   * first round would read the same values.
   */
  #advance(entry: Entry, monotonicMs: number): void {
    const { intervalMs } = entry;
    const missedCount = Math.floor((monotonicMs - entry.dueMs) / intervalMs);
    if (missedCount > 0) this.#counters.skipped.add(missedCount, 'late');
    const lastDueMs = entry.dueMs + missedCount * intervalMs;
    const earliestMs = lastDueMs + intervalMs / 2;
    const rounds = Math.ceil((earliestMs - entry.phaseMs) / intervalMs);
    entry.dueMs = entry.phaseMs + rounds * intervalMs;
    if (entry.dueMs <= monotonicMs) entry.dueMs += intervalMs;
  }
}

function placeCountOf(intervalMs: number): number {
  return Math.min(Math.max(Math.floor(intervalMs / PLACE_MS_MIN), 1), PLACES_MAX);
}

/**
 * Maps a target to the target whose place it takes: the first of its group, while all places would
 * have few targets. A target without an entry takes its own place. Hashes form the groups, so that
 * one target more or less moves few others.
 */
function leadersOf(targets: readonly ScheduledTarget[]): ReadonlyMap<string, string> {
  const leaderOf = new Map<string, string>();
  for (const [intervalMs, all] of Map.groupBy(targets, target => target.intervalMs)) {
    const groupCount = Math.ceil(all.length / TARGETS_PER_PLACE);
    if (groupCount >= placeCountOf(intervalMs)) continue;
    const ids = all.map(({ id }) => id);
    for (const group of Map.groupBy(ids, id => hashOf(id) % groupCount).values()) {
      const [leader = ''] = group.toSorted();
      for (const id of group) leaderOf.set(id, leader);
    }
  }
  return leaderOf;
}

function hashOf(id: string): number {
  return hash('sha256', id, 'buffer').readUInt32BE(0);
}

// Limits how many targets of a tick are scraped at once, so that few pages wait in memory for their
// translation. A slow scrape continues but gives up its slot, so it does not delay the others.

const AT_ONCE = 16;
/** After this time a scrape no longer occupies a slot. */
const SLOW_MS = 25;

/** Runs `scrape` for each target; ends when all have ended, and rejects when one does. */
export async function inTurns(
  indexes: readonly number[],
  clock: Pick<Clock, 'after'>,
  scrape: (index: number) => Promise<void>,
): Promise<void> {
  const slots = new Semaphore(AT_ONCE);
  const scrapes: Promise<void>[] = [];
  const begin = (index: number): Promise<void> =>
    new Promise(resolve => {
      const cancel = clock.after(SLOW_MS, resolve);
      const end = (): void => {
        cancel();
        resolve();
      };
      const running = scrape(index);
      scrapes.push(running);
      running.then(end, end);
    });
  await Promise.all(indexes.map(index => slots.run(() => begin(index))));
  await Promise.all(scrapes);
}
