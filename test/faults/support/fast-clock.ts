// A clock that begins in the past and runs faster than the machine's, so that a day passes in minutes. Processes with the
// same pace agree on the time.

import { performance } from 'node:perf_hooks';
import { systemClock, type Clock } from '../../../src/lib/clock.ts';

export interface Pace {
  /** Seconds per second of the machine's clock. */
  readonly speed: number;
  /** The time of this clock when the machine's clock shows `realMs`. */
  readonly startMs: number;
  readonly realMs: number;
}

/** The environment variable with the pace of a process, as JSON. */
export const PACE_VARIABLE = 'FAULTS_PACE';

/** A pace that begins `agoMs` ago. The clock must not overtake the machine's: back ends refuse future times. */
export function paceOf(speed: number, agoMs: number): Pace {
  const realMs = machineMs();
  return { speed, realMs, startMs: Math.round(realMs - agoMs) };
}

export function fastClock({ speed, startMs, realMs }: Pace): Clock {
  return {
    nowMs: () => Math.round(startMs + (machineMs() - realMs) * speed),
    monotonicMs: () => performance.now() * speed,
    sleep: (ms, signal) => systemClock.sleep(ms / speed, signal),
    after: (ms, run) => systemClock.after(ms / speed, run),
  };
}

/** The machine's time with fractions of a millisecond, which matter at a high speed. */
function machineMs(): number {
  return performance.timeOrigin + performance.now();
}
