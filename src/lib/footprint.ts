// Keeps the process small: all settings of V8 and the C library, with their measured effect. The flags are set on the
// command lines of the image and the unit; a checkout runs without them. The state below is global because V8's flags
// are.
//
//   --liftoff-only                  12 MB: undici's WebAssembly is not compiled a second time
//   --max-semi-space-size=1         5 MB: young garbage is collected in pieces of 1 MB
//   --no-opt                        10 MB: no optimizing compiler until there is work for it (compileForWork)
//   --no-maglev                     10 MB of a process that optimizes, and a twentieth of its time: V8 would compile hot
//                                   functions twice
//   --expose-gc                     3 to 4 MB: one collection after the start (collectStartGarbage); and the size of a
//                                   large page, if there is little memory (collectGarbage)
//   MALLOC_ARENA_MAX=1,             250 MB of 895 with a million series: large blocks are returned to the system
//   MALLOC_MMAP_THRESHOLD_=262144
//
// Savings for a sidecar must not slow down a fleet: a process that reads much gets the compilers and a larger heap.
// docs/how-it-works/decisions/0030-memory-and-pauses.md has the measurements.

import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import type { Clock } from './clock.ts';

/** Optimizing pays off for this many bytes in the window: about 4,000 series, or 8,000 lines of logs. */
const WORK_BYTES_MIN = 2 ** 20;
const WORK_WINDOW_MS = 10_000;

let isWell = false;
let windowEndMs = 0;
let windowBytes = 0;

/** Call it with the number of bytes read, before the work on them. Many small pages count like a large one. */
export function compileForWork(bytes: number): void {
  if (isWell) return;
  const nowMs = performance.now();
  if (nowMs >= windowEndMs) {
    windowEndMs = nowMs + WORK_WINDOW_MS;
    windowBytes = 0;
  }
  windowBytes += bytes;
  if (windowBytes >= WORK_BYTES_MIN) compileWell();
}

/**
 * From now on V8 optimizes, including functions that are already hot. (If instead a size limit for optimized functions
 * were lifted here, these would stay in baseline code permanently: decoding took ten times as long.)
 */
export function compileWell(): void {
  if (isWell) return;
  isWell = true;
  setFlagsFromString('--opt');
}

/** Growth of the heap for work with much garbage; see keepHeapSmall(). */
const SMALL_PERCENT = 30;
const PERCENT_MAX = 200;
const PERCENT_STEP = 10;
/** V8 lets a small heap grow by 8 MB anyway: smaller rounds need no more room. */
const ROUND_BYTES_MIN = 2 ** 20;
const ROUNDS = 16;
const ROOM_BYTES_MAX = 48 * 2 ** 20;

let isSmall = false;
let lastPercent = 0;

/**
 * From now on the heap grows by a third of the live bytes instead of up to four times: for long work with much garbage
 * and little to keep. It costs occasional full collections, mostly off the main thread.
 */
export function keepHeapSmall(): void {
  isSmall = true;
  setGrowth(SMALL_PERCENT);
}

/**
 * Makes room for reads from sockets. V8 counts their buffers of 64 KiB as growth of the heap: without the room, every
 * 8 MB cost a full collection. Small rounds change nothing.
 */
export function makeRoomForReads(roundBytes: number): void {
  if (isSmall || roundBytes < ROUND_BYTES_MIN) return;
  const roomBytes = Math.min(ROUNDS * roundBytes, ROOM_BYTES_MAX);
  const share = (100 * roomBytes) / getHeapStatistics().used_heap_size;
  const percent = Math.round(share / PERCENT_STEP) * PERCENT_STEP;
  setGrowth(Math.min(Math.max(percent, SMALL_PERCENT), PERCENT_MAX));
}

function setGrowth(percent: number): void {
  if (percent === lastPercent) return;
  lastPercent = percent;
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

/** After this time the first pages are delivered, and the next ones are rarely due. */
const SETTLED_MS = 5000;

/**
 * Collects the garbage of the start once, in 30 to 50 ms while nothing is due: a quarter of the heap, which a process
 * with little work would keep for an hour. Does nothing after a stop, or if much is read, when V8 collects by itself.
 */
export async function collectStartGarbage(clock: Clock, stop: AbortSignal): Promise<void> {
  await clock.sleep(SETTLED_MS, stop);
  if (stop.aborted || isWell) return;
  // `last-resort` also frees code that has not run again, which is most of the code compiled for the start.
  collectGarbage('last-resort');
}

/**
 * Collects the garbage of a large page at once: buffers outside of V8's heap, which V8 collects late. Takes 20 to
 * 100 ms; for pages that are large for the available memory. `last-resort` also shrinks the heap, and takes up to
 * 300 ms: after a page that was refused for its size.
 */
export function collectGarbage(flavor: 'regular' | 'last-resort'): void {
  globalThis.gc?.({ type: 'major', flavor, execution: 'sync' });
}
