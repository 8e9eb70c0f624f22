// The clock for the ages of rows: the wall clock without its steps. If somebody moves the machine's clock by days, the
// queued rows must neither expire all at once nor stay young for ever. In: the wall clock and the monotonic clock. Out:
// a time that never steps, and its offset from the wall clock. The queue's file keeps the offset, so that the next
// process continues with it. The time between two processes is measured by the wall clock.

import type { Clock } from '../../lib/clock.ts';
import type { QueueFile } from './queue-file.ts';

/** Smaller steps are corrections, which this clock follows. */
const STEP_MS_MIN = 60_000;

const STATE = { kind: 'clock', key: 'offset' } as const;

export class AgeClock {
  readonly #clock: Clock;
  /** Wall clock minus monotonic clock, at the last call. */
  #lead: number;
  /** The sum of all steps of the wall clock. */
  #offsetMs: number;
  #stepAtMs = -Infinity;

  /** `offsetMs`: saved by an earlier process. `newestMs`: the time of the newest row on this clock. */
  constructor(clock: Clock, offsetMs = 0, newestMs: number = -Infinity) {
    const nowMs = clock.nowMs();
    this.#clock = clock;
    this.#lead = nowMs - clock.monotonicMs();
    // If the newest row is in the future, the wall clock was set back since.
    this.#offsetMs = Math.min(offsetMs, nowMs - newestMs);
  }

  /** The clock for the ages of the rows in a file. */
  static of(file: QueueFile, clock: Clock): AgeClock {
    return new AgeClock(clock, readClockOffset(file), file.newestAtMs());
  }

  save(file: QueueFile): void {
    file.putState(STATE.kind, STATE.key, Buffer.from(String(this.offsetMs)));
  }

  isSaved(file: QueueFile): boolean {
    return readClockOffset(file) === this.offsetMs;
  }

  get offsetMs(): number {
    this.#look();
    return this.#offsetMs;
  }

  nowMs(): number {
    return this.#clock.nowMs() - this.offsetMs;
  }

  /** Converts a recent time of the wall clock. A time before the last step becomes the time of the step, or now. */
  timeOf(wallMs: number): number {
    const timeMs = Math.max(wallMs - this.offsetMs, this.#stepAtMs);
    // A time read before the clock was set back would lie in the future.
    return Math.min(timeMs, this.nowMs());
  }

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

/** Wall clock minus the times of the rows in a file, in milliseconds. */
export function readClockOffset(file: QueueFile): number {
  const saved = file.readState(STATE.kind, STATE.key);
  const offsetMs = Buffer.isBuffer(saved) ? Number(saved) : 0;
  return Number.isFinite(offsetMs) ? offsetMs : 0;
}
