// A program whose event loop takes one long turn: `long-turn.ts MILLISECONDS`. It counts work, not processor time, which
// also passes while the machine is stopped.

import { lookAtThread, workedMs } from '../../support/worked-time.ts';

const LONGEST_MS = 20_000;
const wantedMs = Number(process.argv[2]);

function work(): void {
  const start = lookAtThread();
  const endMs = performance.now() + LONGEST_MS;
  while (performance.now() < endMs && workedMs(start, lookAtThread()) < wantedMs);
}

setTimeout(work, 100);
setTimeout(() => undefined, 500);
