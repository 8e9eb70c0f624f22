// A clock that runs faster than the machine's, and begins in the past: so a day passes in minutes. Processes that are
// given the same pace agree on the time.

import { performance } from 'node:perf_hooks';
import { systemClock, type Clock } from '../../../src/lib/clock.ts';

export interface Pace {
  /** Seconds per second of the machine's clock. */
  readonly speed: number;
  /** What the clock shows at `realMs` of the machine's. */
  readonly startMs: number;
  readonly realMs: number;
}

/** The variable in which a process is told its pace, as JSON. */
export const PACE_VARIABLE = 'FAULTS_PACE';

/** Begins so long ago. It must not overtake the machine's clock: back ends refuse what is of the future. */
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

/** With fractions, which count at a high speed. */
function machineMs(): number {
  return performance.timeOrigin + performance.now();
}
