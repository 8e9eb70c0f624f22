// The text in which a reader's state is stored with the cursor: what it is, then the state as JSON on one line,
// then the text of the open record as it is, so that escaping cannot swell it. Reading it never throws: what
// another version wrote is as good as nothing.

import type { RecordLines } from './record-lines.ts';

/** '' when nothing is open and there is nothing to remember. */
export function saveState(format: string, state: object | null, lines: RecordLines): string {
  if (state === null && lines.isEmpty) return '';
  return `${format} ${JSON.stringify([state, lines.saved()])}\n${lines.raw}`;
}

/** Puts the record's lines back; gives the state, or null where there is none. */
export function restoreState<State extends object>(
  format: string,
  saved: string,
  lines: RecordLines,
): State | null {
  lines.restore([], '');
  const lineEnd = saved.indexOf('\n');
  if (lineEnd < 0 || !saved.startsWith(`${format} `)) return null;
  try {
    const [state, segments] = JSON.parse(saved.slice(format.length + 1, lineEnd));
    lines.restore(segments, saved.slice(lineEnd + 1));
    return state;
  } catch {
    return null;
  }
}
