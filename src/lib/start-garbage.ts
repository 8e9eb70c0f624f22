// Gives back what starting has left behind. Loading and the first pages leave V8 a heap that is a quarter garbage, and a
// process that does little would keep that for an hour. Where node was started with --expose-gc, as by the image and the
// unit, that is collected once: 3 to 4 MB of a sidecar, for 30 to 50 ms of work while nothing is due.

import type { Clock } from './clock.ts';
import { isCompiledWell } from './compile-effort.ts';

/** By then the first pages have been delivered, and the next ones are seldom due. */
const SETTLED_MS = 5000;

/** Ends when that is done, or not to be done: after a stop, and where much is read, whose garbage is V8's to judge. */
export async function collectStartGarbage(clock: Clock, stop: AbortSignal): Promise<void> {
  await clock.sleep(SETTLED_MS, stop);
  if (stop.aborted || isCompiledWell()) return;
  // "Last resort" also drops code that has not run again, which is most of what starting has compiled.
  globalThis.gc?.({ type: 'major', flavor: 'last-resort', execution: 'sync' });
}
