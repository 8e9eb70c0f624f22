// The text in which a reader's state is stored with the cursor: what it is, then the state as JSON on one line,
// then the text of the open record as it is, so that escaping cannot swell it. Reading it never throws: what
// another version wrote is as good as nothing.

import type { LocalTime } from './local-time.ts';
import type { RecordLines } from './record-lines.ts';

/** What a reader holds beside its own state. */
export interface ReaderParts {
  readonly lines: RecordLines;
  readonly localTime: LocalTime;
}

/** '' when nothing is open and there is nothing to remember. */
export function saveState(format: string, state: object | null, parts: ReaderParts): string {
  const { lines, localTime } = parts;
  const { lastMs } = localTime;
  if (state === null && lines.isEmpty && Number.isNaN(lastMs)) return '';
  const order = Number.isNaN(lastMs) ? [] : [lastMs];
  return `${format} ${JSON.stringify([state, lines.saved(), ...order])}\n${lines.raw}`;
}

/** Puts the record's lines and the order of times back; gives the state, or null where there is none. */
export function restoreState<State extends object>(
  format: string,
  saved: string,
  { lines, localTime }: ReaderParts,
): State | null {
  lines.restore([], '');
  localTime.lastMs = Number.NaN;
  const lineEnd = saved.indexOf('\n');
  if (lineEnd < 0 || !saved.startsWith(`${format} `)) return null;
  try {
    const [state, segments, lastMs] = JSON.parse(saved.slice(format.length + 1, lineEnd));
    lines.restore(segments, saved.slice(lineEnd + 1));
    if (typeof lastMs === 'number') localTime.lastMs = lastMs;
    return state;
  } catch {
    return null;
  }
}
