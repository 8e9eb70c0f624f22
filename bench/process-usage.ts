// Reads the processor time and memory of a process from /proc. /proc/PID/stat counts processor time in ticks of 10 ms.
// The clocks of the threads count nanoseconds, and are used instead if they agree with the ticks, that is, if no thread
// has ended meanwhile: ticks are too coarse for a process that works little.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessUsage {
  /** User and system time since its start: by the kernel's ticks, and by the clocks of its present threads. */
  readonly tickedMs: number;
  readonly threadsMs: number;
  readonly residentBytes: number;
  /** The resident memory that no file backs, so without the pages of programs and libraries. */
  readonly anonymousBytes: number;
  readonly peakBytes: number;
}

const TICK_MS = 1000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
/** User and system time are each cut to whole ticks, at both looks. */
const TICKS_APART_MAX = 4;

/** Throws when there is no such process. */
export function processUsage(pid: number): ProcessUsage {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    tickedMs: tickedMs(pid),
    threadsMs: threadsMs(pid),
    residentBytes: kibibytes(status, 'VmRSS'),
    anonymousBytes: kibibytes(status, 'RssAnon'),
    peakBytes: kibibytes(status, 'VmHWM'),
  };
}

/** Processor time between two looks at a process. */
export function cpuMsBetween(from: ProcessUsage, to: ProcessUsage): number {
  const ticked = to.tickedMs - from.tickedMs;
  const threads = to.threadsMs - from.threadsMs;
  return Math.abs(ticked - threads) <= TICKS_APART_MAX * TICK_MS ? threads : ticked;
}

function tickedMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // Splits only the text after the name, which may contain spaces. These are fields 14 and 15 of proc(5).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

function threadsMs(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8');
      nanoseconds += Number(text.split(' ')[0]);
    } catch {
      // The thread has ended meanwhile.
    }
  }
  return nanoseconds / 1e6;
}

function kibibytes(status: string, name: string): number {
  return 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
}
