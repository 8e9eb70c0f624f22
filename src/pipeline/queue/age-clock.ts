// The clock for the ages of rows: the wall clock without the steps by which it was set while this process ran. When
// somebody sets the clock of the machine by days, the rows of the queue must neither all be too old nor stay young for
// ever. In: the wall clock and the monotonic one. Out: a time that never steps, and its difference to the wall clock.
// The file of the queue keeps that difference, so that the next process continues from it. Time between two processes
// counts by the wall clock.

import type { Clock } from '../../lib/clock.ts';
import type { QueueFile } from './queue-file.ts';

/** Smaller steps are corrections: no age depends on them. */
const STEP_MS_MIN = 60_000;

/** The offset is kept in the file of the queue as a state. */
const STATE = { kind: 'clock', key: 'offset' } as const;

export class AgeClock {
  readonly #clock: Clock;
  /** Wall clock minus monotonic clock, at the last call. */
  #lead: number;
  /** By how much the wall clock was set forward in total. */
  #offsetMs: number;
  /** The time of the last step. */
  #stepAtMs = -Infinity;

  /** `offsetMs`: as an earlier process saved it. `newestMs`: the time of the newest row on this clock. */
  constructor(clock: Clock, offsetMs = 0, newestMs: number = -Infinity) {
    const nowMs = clock.nowMs();
    this.#clock = clock;
    this.#lead = nowMs - clock.monotonicMs();
    // The newest row is in the future: the wall clock was set back since.
    this.#offsetMs = Math.min(offsetMs, nowMs - newestMs);
  }

  get offsetMs(): number {
    this.#look();
    return this.#offsetMs;
  }

  nowMs(): number {
    return this.#clock.nowMs() - this.offsetMs;
  }

  /** A recent time of the wall clock on this clock. What was read before the last step counts as read at the step. */
  timeOf(wallMs: number): number {
    return Math.max(wallMs - this.offsetMs, this.#stepAtMs);
  }

  /** The wall clock's time for a time of this clock. */
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

/** The clock for the ages of the rows in a file. */
export function openAgeClock(file: QueueFile, clock: Clock): AgeClock {
  const metrics = file.ages('metrics').newestAtMs ?? -Infinity;
  const logs = file.ages('logs').newestAtMs ?? -Infinity;
  return new AgeClock(clock, readClockOffset(file), Math.max(metrics, logs));
}

/** Wall clock minus the times of the rows in a file, in milliseconds. */
export function readClockOffset(file: QueueFile): number {
  const saved = file.readState(STATE.kind, STATE.key);
  const offsetMs = Buffer.isBuffer(saved) ? Number(saved) : 0;
  return Number.isFinite(offsetMs) ? offsetMs : 0;
}

export function writeClockOffset(file: QueueFile, offsetMs: number): void {
  file.putState(STATE.kind, STATE.key, Buffer.from(String(offsetMs)));
}
