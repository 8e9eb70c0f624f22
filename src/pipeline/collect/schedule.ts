// When each target is due. A target has one place within the interval, by its id alone, so that many bridges
// and many targets do not ask all at once; the places are few, so that the targets of one place share a tick:
// one wake-up, and one request to the back end.
//
//   wall clock   ├─────────── interval ───────────┼─────────── interval ──────── …
//   places       0  1  2  3  4  5  6  7  8  9 10 11  0  1  2  3 …
//   a target           ▲                                 ▲
//
// The places are laid on the wall clock once, at the start; from then on the monotonic clock alone counts:
// nothing drifts, and setting the clock changes nothing. Every call gets the time; nothing waits.

import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Counter, Counters } from '../../lib/counters.ts';
import type { Target } from './plan-targets.ts';

export interface ScheduleOptions {
  /** Read at the start only: from then on every call gets the time. */
  readonly clock: Clock;
  readonly counters: Counters;
  /** When a target that was polled before is due (monotonic); undefined for one that was not. */
  readonly dueMs?: (target: ScheduledTarget) => number | undefined;
}

type ScheduledTarget = Pick<Target, 'id' | 'intervalMs'>;

interface Entry {
  /** Monotonic; always in the future of the last `takeDue`. */
  dueMs: number;
  readonly intervalMs: number;
  /** Place within the interval, on the monotonic clock. */
  readonly phaseMs: number;
  isRunning: boolean;
}

const PLACES_MAX = 12;
/** Ticks closer than this share nothing any more. */
const PLACE_MS_MIN = 250;
/** The first round does not wait for its places: it goes through them in this time each, and a few targets at once. */
const FIRST_PLACE_MS_MAX = 100;
const AT_ONCE_MAX = 8;

export class Schedule {
  readonly #entries: readonly Entry[];
  readonly #skipped: Counter;

  /** What `takeDue` gives are indexes into `targets`. */
  constructor(targets: readonly ScheduledTarget[], { clock, counters, dueMs }: ScheduleOptions) {
    const [nowMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    const firstPlaceMs = targets.length <= AT_ONCE_MAX ? 0 : FIRST_PLACE_MS_MAX;
    this.#entries = targets.map(target => {
      const { id, intervalMs } = target;
      const wantedCount = Math.floor(intervalMs / PLACE_MS_MIN);
      const placeCount = Math.min(Math.max(wantedCount, 1), PLACES_MAX);
      const placeMs = intervalMs / placeCount;
      const place = placeOf(id, placeCount);
      return {
        dueMs: dueMs?.(target) ?? monotonicMs + place * Math.min(placeMs, firstPlaceMs),
        intervalMs,
        phaseMs: monotonicMs - (nowMs % intervalMs) + place * placeMs,
        isRunning: false,
      };
    });
    this.#skipped = counters.counter(
      'prom2otlp_collect_skipped_total',
      'Due scrapes that were skipped: the previous one was still running (overlap), or the program was not running (late).',
      ['cause'],
    );
  }

  /**
   * The targets that are due at this time (monotonic), which count as running until `finish`. A target whose
   * last scrape is still running is left out and waits for its next due time.
   */
  takeDue(monotonicMs: number): readonly number[] {
    const due: number[] = [];
    for (const [index, entry] of this.#entries.entries()) {
      if (entry.dueMs > monotonicMs) continue;
      this.#advance(entry, monotonicMs);
      if (entry.isRunning) this.#skipped.add(1, 'overlap');
      else {
        entry.isRunning = true;
        due.push(index);
      }
    }
    return due;
  }

  /** Tells that a target's scrape is over and its page has been used; without this it is never due again. */
  finish(index: number): void {
    const entry = this.#entries[index];
    if (entry !== undefined) entry.isRunning = false;
  }

  /** When a target is due next (monotonic). */
  dueMs(index: number): number {
    return this.#entries[index]?.dueMs ?? Infinity;
  }

  /** When the next target is due (monotonic); Infinity without targets. */
  nextDueMs(): number {
    return this.#entries.reduce((next, { dueMs }) => Math.min(next, dueMs), Infinity);
  }

  /**
   * To the entry's own place, at least half an interval on: after the first round, which has none, a scrape
   * right after another would see the same values.
   */
  #advance(entry: Entry, monotonicMs: number): void {
    const { intervalMs } = entry;
    const missedCount = Math.floor((monotonicMs - entry.dueMs) / intervalMs);
    if (missedCount > 0) this.#skipped.add(missedCount, 'late');
    const lastDueMs = entry.dueMs + missedCount * intervalMs;
    const earliestMs = lastDueMs + intervalMs / 2;
    const rounds = Math.ceil((earliestMs - entry.phaseMs) / intervalMs);
    entry.dueMs = entry.phaseMs + rounds * intervalMs;
    if (entry.dueMs <= monotonicMs) entry.dueMs += intervalMs;
  }
}

function placeOf(id: string, placeCount: number): number {
  return createHash('sha256').update(id).digest().readUInt32BE(0) % placeCount;
}

// Scrapes the targets of a tick in turns, so that not all of their pages wait in memory to be translated: as many at once
// as keep the program busy. A slow one gives up its turn, though not its scrape: it delays nobody for longer.

/** So many at once. */
const AT_ONCE = 16;
/** Who takes longer than this, or up to twice as long, counts no more. */
const SLOW_MS = 25;

/** Runs `scrape` for each target; ends when all have ended, and rejects when one does. */
export async function inTurns(
  indexes: readonly number[],
  clock: Pick<Clock, 'sleep'>,
  scrape: (index: number) => Promise<void>,
): Promise<void> {
  const all: Promise<void>[] = [];
  const running = new Set<Promise<void>>();
  const ended = new AbortController();
  let isSlow: Promise<void> | null = null;
  for (const index of indexes) {
    while (running.size >= AT_ONCE) {
      isSlow ??= clock.sleep(SLOW_MS, ended.signal).then(() => {
        isSlow = null;
        running.clear();
      });
      await Promise.race([isSlow, ...running]);
    }
    const run = scrape(index);
    const turn = run.then(
      () => void running.delete(turn),
      () => void running.delete(turn),
    );
    running.add(turn);
    all.push(run);
  }
  ended.abort();
  await Promise.all(all);
}
