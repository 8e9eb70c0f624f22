// Loaded into ours with `--import` where its event loop is watched: notes every time that the loop was not free for long,
// as lines of JSON in the file that BENCH_PAUSES names. The looks cost processor time, so a probed process is never
// measured for that.
//
// `cpuMs` is the main thread's own work within the pause. Waits for the disk (fsync), for a processor that runs another
// program and for a machine that stands still are in `wallMs` alone.

import { appendFileSync } from 'node:fs';
import { lookAtThread, workedMs } from '../../test/support/worked-time.ts';

const LOOK_MS = 5;
/** Shorter ones are not worth a line. */
const NOTED_MS = 10;

const file = process.env['BENCH_PAUSES'] ?? '';
let lastMs = performance.now();
let last = lookAtThread();

function look(): void {
  const wallMs = performance.now() - lastMs - LOOK_MS;
  const now = lookAtThread();
  if (wallMs > NOTED_MS)
    appendFileSync(
      file,
      `${JSON.stringify({ atMs: Date.now(), wallMs, cpuMs: workedMs(last, now) })}\n`,
    );
  lastMs = performance.now();
  last = now;
}

setInterval(look, LOOK_MS).unref();
