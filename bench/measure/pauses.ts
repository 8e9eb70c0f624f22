// Reads the pauses that loop-probe.ts noted in one process, and finds the longest: the time its event loop was not free.

import { readPauses } from '../../test/support/loop-probe.ts';

export interface Pauses {
  /** The longest work without a turn of the event loop; 0 when none was noted. */
  readonly cpuMsMax: number;
  /** The longest pause, including waits for the disk and for a processor. */
  readonly wallMsMax: number;
  /** The longest work on the pages before the window. */
  readonly firstPagesCpuMsMax: number;
}

/** The longest pauses in the window, and between the first page and the window. */
export function longestPauses(file: string, firstPageMs: number, windowStartMs: number): Pauses {
  const pauses = readPauses(file);
  const within = pauses.filter(({ atMs }) => atMs >= windowStartMs);
  const before = pauses.filter(({ atMs }) => atMs >= firstPageMs && atMs < windowStartMs);
  return {
    cpuMsMax: Math.max(0, ...within.map(({ cpuMs }) => cpuMs)),
    wallMsMax: Math.max(0, ...within.map(({ wallMs }) => wallMs)),
    firstPagesCpuMsMax: Math.max(0, ...before.map(({ cpuMs }) => cpuMs)),
  };
}
