// What keeps the process small: every trick that is played on V8 and the C library, and what each was measured to give.
// The flags are those of the image's and the unit's command lines; a checkout runs without them.
//
//   --liftoff-only                  12 MB: undici's WebAssembly is not compiled a second time
//   --max-semi-space-size=1         5 MB: young garbage is collected in pieces of 1 MB
//   --no-opt --no-maglev            10 MB: no optimizing compilers until there is work for them (compileForWork)
//   --expose-gc                     3 to 4 MB: one collection after the start (collectStartGarbage); and as much as a
//                                   large page, where there is little memory (collectPageGarbage)
//   MALLOC_ARENA_MAX=1,             250 MB of 895 with a million series: large blocks go back to the system
//   MALLOC_MMAP_THRESHOLD_=262144
//
// What a sidecar saves, a fleet must not pay for: a process that reads much gets the compilers and a larger heap.
// docs/decisions/0030-memory-and-pauses.md has the measurements.

import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import type { Clock } from './clock.ts';

/** Worth compiling well: within so long, pages of about 4,000 series in all, or 8,000 lines of logs. */
const WORK_BYTES_MIN = 2 ** 20;
const WORK_WINDOW_MS = 10_000;

let isWell = false;
let windowEndMs = 0;
let windowBytes = 0;

/** Takes how much was read, before the work on it. Many small pages count like a large one. */
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
 * From now on V8 optimizes as it does by default, functions that were hot before included. (A limit on the size of what is
 * optimized, lifted later, would leave those in baseline code for good: decoding a page took ten times as long.)
 */
export function compileWell(): void {
  if (isWell) return;
  isWell = true;
  setFlagsFromString('--opt');
  setFlagsFromString('--maglev');
}

/** Growth of the heap for work with much garbage; see keepHeapSmall(). */
const SMALL_PERCENT = 30;
const PERCENT_MAX = 200;
const PERCENT_STEP = 10;
/** V8 itself lets a small heap grow by 8 MB: rounds of less than this need no more room. */
const ROUND_BYTES_MIN = 2 ** 20;
const ROUNDS = 16;
const ROOM_BYTES_MAX = 48 * 2 ** 20;

let isSmall = false;
let lastPercent = 0;

/**
 * From now on the heap grows by a third of what is alive, instead of by up to four times: for work that makes much
 * garbage for a long time and keeps little. It costs a full collection now and then, most of it beside the main thread.
 */
export function keepHeapSmall(): void {
  isSmall = true;
  setGrowth(SMALL_PERCENT);
}

/**
 * Makes room for what rounds of work read from sockets. V8 counts those bytes, in buffers of 64 KiB each, as growth of
 * the heap: without the room, every 8 MB of them cost a full collection. Small rounds change nothing.
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

/** By then the first pages have been delivered, and the next ones are seldom due. */
const SETTLED_MS = 5000;

/**
 * Gives back what starting has left behind. Loading and the first pages leave V8 a heap that is a quarter garbage, and a
 * process that does little would keep that for an hour: it is collected once, in 30 to 50 ms while nothing is due.
 * Nothing happens after a stop, and where much is read, whose garbage is V8's to judge.
 */
export async function collectStartGarbage(clock: Clock, stop: AbortSignal): Promise<void> {
  await clock.sleep(SETTLED_MS, stop);
  if (stop.aborted || isWell) return;
  // "Last resort" also drops code that has not run again, which is most of what starting has compiled.
  globalThis.gc?.({ type: 'major', flavor: 'last-resort', execution: 'sync' });
}

/**
 * Gives back what work on a large page has left behind, at once: buffers outside of V8's heap, which it does not hurry to
 * collect. Takes 20 to 100 ms; for pages that are large for the memory that there is.
 */
export function collectPageGarbage(): void {
  globalThis.gc?.({ type: 'major', execution: 'sync' });
}

/** The same after a page that was refused for its size: the heap itself becomes small again. Takes up to 300 ms. */
export function collectRefusedPage(): void {
  globalThis.gc?.({ type: 'major', flavor: 'last-resort', execution: 'sync' });
}
