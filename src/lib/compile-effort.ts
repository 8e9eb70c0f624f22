// How much V8 compiles. Its two optimizing compilers take 10 MB of a process that has used them once, most of it their
// own pages of Node's program. The image and the unit start without them (--max-optimized-bytecode-size=0): who reads
// little at a time does well without, and who reads much gets them back here.

import { setFlagsFromString } from 'node:v8';

/** V8's own limit of what is optimized, in bytes of bytecode. */
const OPTIMIZED_BYTES_MAX = 61_440;
/** Worth compiling well: a page of about 4,000 series, or 8,000 lines of logs. */
const WORK_BYTES_MIN = 2 ** 20;

let isWell = false;

/** False while little has been read at a time, since the start. */
export function isCompiledWell(): boolean {
  return isWell;
}

/** Told how much is read at one time, before the work on it: from the first that is much, all is compiled well. */
export function compileForWork(bytes: number): void {
  if (bytes >= WORK_BYTES_MIN) compileWell();
}

/** From now on V8 optimizes as it does by default. */
export function compileWell(): void {
  if (isWell) return;
  isWell = true;
  setFlagsFromString(`--max-optimized-bytecode-size=${OPTIMIZED_BYTES_MAX}`);
}
