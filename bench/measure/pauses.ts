// What pause-probe.ts noted of one process: the longest time that its event loop was not free.

import { existsSync, readFileSync } from 'node:fs';

interface Pause {
  readonly atMs: number;
  readonly wallMs: number;
  readonly cpuMs: number;
}

export interface Pauses {
  /** The longest work without a turn of the event loop; 0 when none was noted. */
  readonly cpuMsMax: number;
  /** The same with the waits: for the disk, and for a processor. */
  readonly wallMsMax: number;
  /** The longest work on the pages before the window. */
  readonly firstPagesCpuMsMax: number;
}

/** Of the window, and of the time between the first page and it. */
export function readPauses(file: string, firstPageMs: number, windowStartMs: number): Pauses {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  const pauses = lines.map(line => JSON.parse(line) as Pause);
  const within = pauses.filter(({ atMs }) => atMs >= windowStartMs);
  const before = pauses.filter(({ atMs }) => atMs >= firstPageMs && atMs < windowStartMs);
  return {
    cpuMsMax: Math.max(0, ...within.map(({ cpuMs }) => cpuMs)),
    wallMsMax: Math.max(0, ...within.map(({ wallMs }) => wallMs)),
    firstPagesCpuMsMax: Math.max(0, ...before.map(({ cpuMs }) => cpuMs)),
  };
}
