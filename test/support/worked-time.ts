// How long this thread worked between two looks. In: its processor time, and /proc of Linux. When a host stops a virtual
// machine for a while, the processor time of the running thread goes on, but the timer of its processor does not tick.
// So a thread cannot have worked longer than the ticks of its processor say.

import { openSync, readSync } from 'node:fs';
import { cpus } from 'node:os';

/** The field that grows most is rounded down to 10 ms, and a tick is up to 4 ms. */
const SLACK_MS = 14;
const MS_PER_JIFFY = 10;
/** The fields of work in a line `cpu0 user nice system idle iowait irq softirq ...`; stolen and idle time is no work. */
const WORK_FIELDS = [1, 2, 3, 6, 7];
/** The index of the thread's processor in the fields after its name. */
const PROCESSOR_FIELD = 36;

const ticks = openOrNull('/proc/stat');
const self = openOrNull('/proc/thread-self/stat');
const ticksText = Buffer.alloc(128 * (1 + cpus().length));
const selfText = Buffer.alloc(1024);

export interface Look {
  readonly threadMs: number;
  readonly processor: number;
  /** The lines of all processors. */
  readonly ticks: string;
}

/** Takes a look for `workedMs`. Only the thread that has loaded this module may call it. */
export function lookAtThread(): Look {
  const { user, system } = process.threadCpuUsage();
  const own = readText(self, selfText);
  const processor = Number(own.slice(own.lastIndexOf(')') + 2).split(' ')[PROCESSOR_FIELD]);
  return { threadMs: (user + system) / 1000, processor, ticks: readText(ticks, ticksText) };
}

/** Milliseconds of work between two looks; without ticks, the processor time. */
export function workedMs(before: Look, now: Look): number {
  const threadMs = now.threadMs - before.threadMs;
  if (threadMs <= SLACK_MS) return threadMs;
  const tickedMs = [...new Set([before.processor, now.processor])]
    .map(processor => busyMs(now.ticks, processor) - busyMs(before.ticks, processor))
    .reduce((sum, ms) => sum + ms, 0);
  return Number.isNaN(tickedMs) ? threadMs : Math.min(threadMs, tickedMs + SLACK_MS);
}

/** How long a processor has worked since the start of the machine; NaN if /proc does not say. */
function busyMs(lines: string, processor: number): number {
  const fields = new RegExp(`^cpu${processor} (.*)$`, 'm').exec(lines)?.[0].split(' ') ?? [];
  const jiffies = WORK_FIELDS.reduce((sum, field) => sum + Number(fields[field]), 0);
  // A sandbox that does not count says 0.
  return jiffies > 0 ? MS_PER_JIFFY * jiffies : Number.NaN;
}

function readText(file: number | null, into: Buffer): string {
  return file === null ? '' : into.toString('latin1', 0, readSync(file, into, 0, into.length, 0));
}

function openOrNull(path: string): number | null {
  try {
    return openSync(path, 'r');
  } catch {
    return null;
  }
}
