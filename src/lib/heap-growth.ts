// How far V8 lets the heap grow before it collects what is dead.

import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** Growth for work with much garbage; see keepHeapSmall(). */
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
