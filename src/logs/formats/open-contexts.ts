// What may be open where a text ends that goes on later: its end is read once for each context in which it may begin. In:
// contexts and a text. Out: the contexts at its end. If the text ends within a line, its last characters are kept, because
// they may be one token with what follows.

/** The contexts in which what follows may begin, after `carry`. */
export interface OpenEnd<Context extends string> {
  readonly contexts: readonly Context[];
  readonly carry: string;
}

type EndOf<Context extends string> = (begin: Context, text: string) => Context;

/** At least this much of a line without its end is kept: more than the longest words that close a quotation. */
const CARRY_LENGTH = 256;
const CARRY_LENGTH_MAX = 1024;
/** Characters that may be one token with what follows. */
const JOINS = /[\\'"`/*#-]/;

/** The contexts at the end of a text that may begin in several. */
export function contextsAfter<Context extends string>(
  begins: readonly Context[],
  text: string,
  endOf: EndOf<Context>,
): readonly Context[] {
  return [...new Set(begins.map(begin => endOf(begin, text)))];
}

/** The end of a text, whose last line may go on. */
export function openEnd<Context extends string>(
  begins: readonly Context[],
  text: string,
  isWithinLine: boolean,
  endOf: EndOf<Context>,
): OpenEnd<Context> {
  if (!isWithinLine) return { contexts: contextsAfter(begins, `${text}\n`, endOf), carry: '' };
  const at = carryStart(text);
  return { contexts: contextsAfter(begins, text.slice(0, at), endOf), carry: text.slice(at) };
}

function carryStart(text: string): number {
  const first = Math.max(0, text.length - CARRY_LENGTH_MAX);
  let at = Math.max(0, text.length - CARRY_LENGTH);
  while (at > first && JOINS.test(text.charAt(at - 1))) at--;
  return at;
}

/** The text of a line that goes on, without its last token: not one that punctuation has ended. */
export function withoutLastToken(text: string, placeholder: string): string {
  return text.replace(/[^\s.;:)\]]+$/, placeholder);
}
