// The header of a line that is not in its log's own format: of the programs whose output the log also has, and of
// neighbouring engines. In: a line. Out: its time and level, null if it has neither. Such a line begins a record:
//
//   2026-03-04 09:05:34+00:00 [Warn] [Entrypoint]: …     a time first, in any form; also in brackets
//   Mar  4 09:05:33 db-0 engined[12]: …
//   tool 09:05:34.12 INFO  ==> …                         a name first
//   SCRIPT: [ERROR] … (20260304 09:35:44.756)            a name and a level, the time at the end

import { readTimeOfLine, type WrittenTime } from './any-time.ts';
import { severityOf } from './record-lines.ts';

export interface LineHeader {
  /** Null if the line has none. */
  readonly time: WrittenTime | null;
  /** As it is written; '' if there is none. */
  readonly level: string;
  /** Where the text after the time begins. */
  readonly messageAt: number;
}

const COLOUR = /\p{Cc}\[[\d;]*m/gu;
/** Before a time: the number of a thread, or a bracket. */
const BEFORE_TIME = /(?:\[\d+\] )?\[?(?=[\dA-Z])/y;
const AFTER_TIME = /\]?(?=[ \t]|$)/y;
const NAME_AND_LEVEL = /^[\w.-]{1,64}: \[(\w{1,16})\]/;
const NAME_AND_TIME = /^[\w.-]{1,64} (?=\d\d:\d\d:\d\d)/;
const TIME_AT_END = /\((?=\d{8} \d\d:\d\d:\d\d(?:\.\d+)?\)$)/;
/** The level is one of the first brackets, or the first or second word. */
const BRACKET = /\[(\w{1,16})\]/g;
const WORD = /^[ \t|-]*(?:\S{1,40}[ \t]+)?([A-Z]{2,9})(?=[ \t:]|$)/;
const LEVEL_WITHIN = 100;
/** A line begins a record only if this much of it shows that. */
const LOOK_AT = 200;

/** Null for a line without time and level. */
export function readLineHeader(line: string): LineHeader | null {
  const isColoured = line.includes('\u001b');
  const text = isColoured ? line.slice(0, LOOK_AT).replaceAll(COLOUR, '') : line;
  const atFirst = timeFirst(text);
  if (atFirst !== null) {
    const level = levelOf(text.slice(atFirst.end, atFirst.end + LEVEL_WITHIN));
    return { time: atFirst, level, messageAt: isColoured ? 0 : atFirst.end };
  }
  const named = NAME_AND_TIME.exec(text);
  if (named !== null) {
    const time = readTimeOfLine(text, named[0].length);
    const level = time === null ? '' : levelOf(text.slice(time.end, time.end + LEVEL_WITHIN));
    if (level !== '') return { time, level, messageAt: 0 };
  }
  const level = NAME_AND_LEVEL.exec(text)?.[1] ?? '';
  const time = timeAtEnd(line);
  if (severityOf(level) > 0) return { time, level, messageAt: 0 };
  return time === null ? null : { time, level: '', messageAt: 0 };
}

function timeFirst(text: string): WrittenTime | null {
  BEFORE_TIME.lastIndex = 0;
  if (!BEFORE_TIME.test(text)) return null;
  const time = readTimeOfLine(text, BEFORE_TIME.lastIndex);
  if (time === null) return null;
  AFTER_TIME.lastIndex = time.end;
  return AFTER_TIME.test(text) ? time : null;
}

function timeAtEnd(line: string): WrittenTime | null {
  if (!line.endsWith(')')) return null;
  const tail = line.slice(-LEVEL_WITHIN);
  const at = TIME_AT_END.exec(tail)?.index;
  return at === undefined ? null : readTimeOfLine(tail, at + 1);
}

function levelOf(text: string): string {
  for (const [, word = ''] of text.matchAll(BRACKET)) if (severityOf(word) > 0) return word;
  const word = WORD.exec(text)?.[1] ?? '';
  return severityOf(word) > 0 ? word : '';
}
