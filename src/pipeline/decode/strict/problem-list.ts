// What the strict readers have found wrong, in the order it was found: bounded, so that a page of another format
// altogether gives no more than PROBLEMS_MAX entries.

import { type Problem, PROBLEMS_MAX } from '../../../model/page.ts';

/** Collects problems; `add` counts lines from 1 and takes byte offsets within the line. */
export class ProblemList {
  readonly problems: Problem[] = [];

  /** True when nothing more is taken: the reader may stop. */
  get isFull(): boolean {
    return this.problems.length >= PROBLEMS_MAX;
  }

  add(line: number, offset: number, reason: string): void {
    if (!this.isFull) this.problems.push({ line, column: offset + 1, reason });
  }
}

/** A word of the page as a message can show it: quoted, and not longer than a line bears. */
export function shown(word: string): string {
  return JSON.stringify(word.length > 40 ? `${word.slice(0, 40)}…` : word);
}
