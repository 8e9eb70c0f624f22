// What a process has used, from /proc. Processor time is that of /proc/PID/stat, in ticks of 10 ms. Where the clocks of its
// threads, in nanoseconds, agree with it (no thread has ended meanwhile), these are taken instead: a tick is much for a
// process that works for some of them only.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessUsage {
  /** User and system, since its start: as the kernel's ticks, and as the clocks of the threads that there are. */
  readonly tickedMs: number;
  readonly threadsMs: number;
  readonly residentBytes: number;
  /** Of the resident memory, what no file holds: the share of programs and libraries is apart. */
  readonly anonymousBytes: number;
  readonly peakBytes: number;
}

const TICK_MS = 1000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
/** User and system time are cut to whole ticks each, at both ends. */
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
  // Behind the name, which may hold blanks: fields 14 and 15 of proc(5).
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
      // It has ended meanwhile.
    }
  }
  return nanoseconds / 1e6;
}

function kibibytes(status: string, name: string): number {
  return 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
}
