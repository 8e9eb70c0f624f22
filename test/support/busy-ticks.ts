// How much the processors of this machine worked at most, by the ticks of its timer. In: /proc/stat of Linux. A virtual
// machine that its host stops for a while, without saying so, goes on counting processor time for whatever thread it was
// stopped in, but it does not tick: so a thread cannot have worked longer than the ticks say.

import { openSync, readSync } from 'node:fs';

/** Two of the sums below are rounded down to 10 ms each, and a tick is up to 4 ms. */
const SLACK_MS = 24;
const MS_PER_JIFFY = 10;
/** Of a line `cpu user nice system idle iowait irq softirq ...`; time that was stolen or idle is no work. */
const WORK_FIELDS = [1, 2, 3, 6, 7];

const line = Buffer.alloc(256);
const stat = openStat();

/** Milliseconds of work of all processors since the start, or NaN where nobody says that. */
export function busyMs(): number {
  if (stat === null) return Number.NaN;
  const length = readSync(stat, line, 0, line.length, 0);
  const fields = line.toString('latin1', 0, length).split('\n', 1)[0]?.split(/ +/) ?? [];
  return MS_PER_JIFFY * WORK_FIELDS.reduce((sum, field) => sum + Number(fields[field]), 0);
}

/** What a thread can have worked of the time that was counted for it, while `busyMs` grew by so much. */
export function workedMs(threadMs: number, busyGrowthMs: number): number {
  return Number.isNaN(busyGrowthMs) ? threadMs : Math.min(threadMs, busyGrowthMs + SLACK_MS);
}

function openStat(): number | null {
  try {
    return openSync('/proc/stat', 'r');
  } catch {
    return null;
  }
}
