// The time by which the ages of rows are counted: the wall clock, less what it was set by while we were looking. A
// machine whose clock is set by days must not find its whole queue too old, nor young for ever. In: the wall clock
// and the monotonic one. Out: a time that only goes on, and its difference to the wall clock, which is kept with the
// rows so that the next process counts on from there. Time in which nobody looked counts by the wall clock.

import type { Clock } from '../../lib/clock.ts';
import type { QueueFile } from './queue-file.ts';

/** Smaller steps are corrections, and no age depends on them. */
const STEP_MS_MIN = 60_000;

/** The offset is kept in the file of the queue as a state. */
const STATE = { kind: 'clock', key: 'offset' } as const;

export class AgeClock {
  readonly #clock: Clock;
  /** Wall clock less monotonic clock, when last looked at. */
  #lead: number;
  /** By how much the wall clock was set forward, all in all. */
  #offsetMs: number;
  /** The time of the last step. */
  #stepAtMs = -Infinity;

  /** `offsetMs` as a former process left it; `newestMs` is the time of the newest row, by that. */
  constructor(clock: Clock, offsetMs = 0, newestMs: number = -Infinity) {
    const nowMs = clock.nowMs();
    this.#clock = clock;
    this.#lead = nowMs - clock.monotonicMs();
    // A wall clock that is behind the newest row was set back since.
    this.#offsetMs = Math.min(offsetMs, nowMs - newestMs);
  }

  get offsetMs(): number {
    this.#look();
    return this.#offsetMs;
  }

  nowMs(): number {
    return this.#clock.nowMs() - this.offsetMs;
  }

  /** What a time of the wall clock, not long ago, is here: what was read before the clock was set is not older than that. */
  timeOf(wallMs: number): number {
    return Math.max(wallMs - this.offsetMs, this.#stepAtMs);
  }

  /** The time of the wall clock for one of ours. */
  wallMs(timeMs: number): number {
    return timeMs + this.offsetMs;
  }

  #look(): void {
    const lead = this.#clock.nowMs() - this.#clock.monotonicMs();
    const stepMs = lead - this.#lead;
    this.#lead = lead;
    if (Math.abs(stepMs) < STEP_MS_MIN) return;
    this.#offsetMs += stepMs;
    this.#stepAtMs = this.#clock.nowMs() - this.#offsetMs;
  }
}

/** The clock that the ages of the rows in a file are counted by. */
export function openAgeClock(file: QueueFile, clock: Clock): AgeClock {
  const metrics = file.ages('metrics').newestAtMs ?? -Infinity;
  const logs = file.ages('logs').newestAtMs ?? -Infinity;
  return new AgeClock(clock, readClockOffset(file), Math.max(metrics, logs));
}

/** What the times of rows in a file lack to those of the wall clock, in milliseconds. */
export function readClockOffset(file: QueueFile): number {
  const saved = file.readState(STATE.kind, STATE.key);
  const offsetMs = Buffer.isBuffer(saved) ? Number(saved) : 0;
  return Number.isFinite(offsetMs) ? offsetMs : 0;
}

export function writeClockOffset(file: QueueFile, offsetMs: number): void {
  file.putState(STATE.kind, STATE.key, Buffer.from(String(offsetMs)));
}
