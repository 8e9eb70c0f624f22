// How much V8 compiles. Its two optimizing compilers take 10 MB of a process that has used them once, most of it their
// own pages of Node's program. The image and the unit start without them (--max-optimized-bytecode-size=0): who reads
// little does well without, and who reads much gets them back here.

import { setFlagsFromString } from 'node:v8';

/** V8's own limit of what is optimized, in bytes of bytecode. */
const OPTIMIZED_BYTES_MAX = 61_440;
/** Worth compiling well: within so long, pages of about 4,000 series in all, or 8,000 lines of logs. */
const WORK_BYTES_MIN = 2 ** 20;
const WORK_WINDOW_MS = 10_000;

let isWell = false;
let windowEndMs = 0;
let windowBytes = 0;

/** False while little has been read in any ten seconds since the start. */
export function isCompiledWell(): boolean {
  return isWell;
}

/** Told how much was read, before the work on it. Many small pages count like a large one. */
export function compileForWork(bytes: number): void {
  const nowMs = performance.now();
  if (nowMs >= windowEndMs) {
    windowEndMs = nowMs + WORK_WINDOW_MS;
    windowBytes = 0;
  }
  windowBytes += bytes;
  if (windowBytes >= WORK_BYTES_MIN) compileWell();
}

/** From now on V8 optimizes as it does by default. */
export function compileWell(): void {
  if (isWell) return;
  isWell = true;
  setFlagsFromString(`--max-optimized-bytecode-size=${OPTIMIZED_BYTES_MAX}`);
}
