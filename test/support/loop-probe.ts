// Loaded into the program before it starts (`node --import`): notes every long pause of its event loop as a line of JSON
// in the file that LOOP_PAUSES names. The looks cost processor time, so the bench never uses a probed process to measure
// that.
//
// `cpuMs` is the main thread's own work within the pause. Only `wallMs` has the waits: for the disk (fsync), for a
// processor that runs another program, and for a stopped virtual machine.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { lookAtThread, workedMs } from './worked-time.ts';

export interface LoopPause {
  /** The end of the pause, by the wall clock. */
  readonly atMs: number;
  readonly wallMs: number;
  readonly cpuMs: number;
}

export const LOOP_PROBE: string = fileURLToPath(import.meta.url);

const LOOK_MS = 1;
/** Shorter pauses are not noted. */
const NOTED_MS = 5;

export function readPauses(file: string): readonly LoopPause[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return lines.filter(line => line !== '').map(line => JSON.parse(line) as LoopPause);
}

const file = process.env['LOOP_PAUSES'];
if (file !== undefined) {
  let lastMs = performance.now();
  let last = lookAtThread();
  const look = (): void => {
    const wallMs = performance.now() - lastMs - LOOK_MS;
    const now = lookAtThread();
    const cpuMs = workedMs(last, now);
    if (Math.max(wallMs, cpuMs) > NOTED_MS)
      appendFileSync(file, `${JSON.stringify({ atMs: Date.now(), wallMs, cpuMs })}\n`);
    [lastMs, last] = [performance.now(), now];
  };
  setInterval(look, LOOK_MS).unref();
}
