// The digest of a statement: statements that differ only in literals, in the length of lists, in white space, comments
// and the case of their words have the same fingerprint. In: a statement whose literals are `?`, as redact.ts writes it.
// Out: its fingerprint and its summary. One pass over the text; it never throws.
//
//   - Comments go, but for those that the engine executes (`/*! … */`).
//   - Words are in lower case; names in backticks and quotes stay.
//   - NULL, TRUE and FALSE are literals.
//   - `in (…)` of literals is `in (?+)`; so are the rows of `values` that hold only literals. Rows of the same shape are one.
//   - `asc` goes.
//   - `limit ?, ?` and `limit ? offset ?` are `limit ?`.
//   - One blank separates tokens, and none stands inside parentheses, before a comma, or before the arguments of a function.

import { hash } from 'node:crypto';

/** The longest text of a fingerprint, in characters; longer ones are cut for display, not for the digest. */
export const FINGERPRINT_TEXT_MAX = 4096;
/** By the semantic conventions, a summary has at most 255 characters. */
const SUMMARY_MAX = 255;
const DIGEST_LENGTH = 16;

export interface Fingerprint {
  /** The first 64 bits of the SHA-256 of the whole fingerprint, in hex. */
  readonly digest: string;
  /** Cut to FINGERPRINT_TEXT_MAX. */
  readonly text: string;
  /** The operations and their tables, as `SELECT orders customers`: `db.query.summary`. */
  readonly summary: string;
}

const WORD = String.raw`[\w$\x80-\uffff]+`;
const TOKEN = new RegExp(
  [
    // Comments that the engine does not execute, and the marks of those that it does.
    String.raw`/\*(?!M?!)[^]*?(?:\*/|$)`,
    String.raw`/\*M?!\d*|\*/`,
    String.raw`--(?=[\x00- ]|$)[^\n]*|#[^\n]*`,
    String.raw`[\x00- ]+`,
    // Words with their schema, also parameters and variables.
    String.raw`[@:]*${WORD}(?:\.${WORD})*`,
    '`[^`]*`?',
    String.raw`->>?|[<>!:]?=+>?|<>|\|\||&&|.`,
  ].join('|'),
  'gsu',
);
const LITERALS: ReadonlySet<string> = new Set(['null', 'true', 'false']);
/** A parenthesis after one of these words begins a list or an expression, and no arguments. */
const BEFORE_LIST: ReadonlySet<string> = new Set(
  'in values value and or not where on from select join as exists union all any some by set using when then else between like case over into having with'.split(
    ' ',
  ),
);

export function fingerprintOf(statement: string): Fingerprint {
  const tokens = tokensOf(statement);
  const full = spaced(shortened(tokens));
  return {
    digest: hash('sha256', full).slice(0, DIGEST_LENGTH),
    text: full.length > FINGERPRINT_TEXT_MAX ? `${full.slice(0, FINGERPRINT_TEXT_MAX)}…` : full,
    summary: summaryOf(tokens),
  };
}

function tokensOf(statement: string): readonly string[] {
  const tokens: string[] = [];
  for (const [token] of statement.matchAll(TOKEN)) {
    const [first = ''] = token;
    if (first <= ' ' || first === '#' || token.startsWith('--')) continue;
    if (token.startsWith('/*') && !/^\/\*M?!/.test(token)) continue;
    const word = first === '`' ? token : token.toLowerCase();
    tokens.push(LITERALS.has(word) ? '?' : word);
  }
  while (tokens.at(-1) === ';') tokens.pop();
  return tokens;
}

/** Replaces lists of literals, and rows of the same shape, by one. */
function shortened(tokens: readonly string[]): readonly string[] {
  const out: string[] = [];
  for (let at = 0; at < tokens.length; ) {
    const token = tokens[at++] ?? '';
    // It is the default.
    if (token === 'asc') continue;
    out.push(token);
    if (token === 'in' && tokens[at] === '(') {
      const end = closing(tokens, at);
      if (!isLiterals(tokens, at + 1, end)) continue;
      out.push('(', '?+', ')');
      at = end + 1;
    } else if ((token === 'values' || token === 'value') && tokens[at] === '(') {
      at = pushRows(tokens, at, out);
    } else if (token === 'limit' && tokens[at] === '?') {
      out.push('?');
      at +=
        (tokens[at + 1] === ',' || tokens[at + 1] === 'offset') && tokens[at + 2] === '?' ? 3 : 1;
    }
  }
  return out;
}

/** Pushes each shape of row once; returns where the rows end. */
function pushRows(tokens: readonly string[], start: number, out: string[]): number {
  const shapes = new Set<string>();
  for (let at = start; ; at++) {
    const end = closing(tokens, at);
    const row = isLiterals(tokens, at + 1, end) ? ['(', '?+', ')'] : tokens.slice(at, end + 1);
    const shape = row.join(' ');
    if (!shapes.has(shape)) {
      if (shapes.size > 0) out.push(',');
      out.push(...row);
      shapes.add(shape);
    }
    at = end + 1;
    if (tokens[at] !== ',' || tokens[at + 1] !== '(') return at;
  }
}

/** The index of the parenthesis that closes the one at `open`; the last index if there is none. */
function closing(tokens: readonly string[], open: number): number {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    if (tokens[at] === '(') depth++;
    else if (tokens[at] === ')' && --depth === 0) return at;
  }
  return tokens.length - 1;
}

/** Whether only literals, their signs and commas are between two indices, and at least one. */
function isLiterals(tokens: readonly string[], from: number, end: number): boolean {
  if (tokens[end] !== ')' || from >= end) return false;
  for (let at = from; at < end; at++) {
    const token = tokens[at];
    if (token !== '?' && token !== ',' && token !== '-' && token !== '+') return false;
  }
  return true;
}

function spaced(tokens: readonly string[]): string {
  let text = '';
  let before = '';
  for (const token of tokens) {
    if (text !== '' && isApart(before, token)) text += ' ';
    text += token;
    before = token;
  }
  return text;
}

function isApart(before: string, token: string): boolean {
  if (token === ',' || token === ')' || token === ';' || before === '(') return false;
  if (before === '.' || token === '.') return false;
  if (token !== '(') return true;
  return !/^[`\w$\x80-\uffff]/.test(before) || BEFORE_LIST.has(before);
}

const OPERATIONS: ReadonlySet<string> = new Set(
  'select insert update delete replace call do load truncate create alter drop show set use analyze optimize lock rename commit rollback begin'.split(
    ' ',
  ),
);
/** A table follows one of these words. */
const BEFORE_TABLE: ReadonlySet<string> = new Set([
  'from',
  'join',
  'into',
  'update',
  'table',
  'call',
]);
/** These may stand between such a word and the table. */
const MODIFIERS: ReadonlySet<string> = new Set([
  'low_priority',
  'ignore',
  'delayed',
  'quick',
  'only',
  'if',
  'exists',
  'not',
  'table',
]);
const TABLE = /^(?:`[^`]+`|[A-Za-z_\x80-\uffff$][\w$.\x80-\uffff]*)$/;

function summaryOf(tokens: readonly string[]): string {
  const parts: string[] = [];
  let isTableNext = false;
  for (const [at, token] of tokens.entries()) {
    if (token === '(') isTableNext = false;
    if (OPERATIONS.has(token)) {
      if (!isOperation(tokens, at)) continue;
      parts.push(token.toUpperCase());
      isTableNext = BEFORE_TABLE.has(token);
    } else if (BEFORE_TABLE.has(token)) isTableNext = true;
    else if (isTableNext && token !== ',' && !MODIFIERS.has(token)) {
      if (TABLE.test(token)) parts.push(nameOf(tokens, at));
      // A comma joins tables, but a name may come between: `from a x, b y` names only `a`.
      isTableNext = tokens[at + 1] === ',';
    }
  }
  let summary = '';
  for (const part of parts) {
    const next = summary === '' ? part : `${summary} ${part}`;
    if (next.length > SUMMARY_MAX) break;
    summary = next;
  }
  return summary;
}

/** `on duplicate key update`, `for update` and the like are no operations. */
function isOperation(tokens: readonly string[], at: number): boolean {
  const before = tokens[at - 1] ?? '';
  if (tokens[at] === 'update') return before !== 'key' && before !== 'for' && before !== 'on';
  if (tokens[at] === 'delete') return before !== 'on';
  if (tokens[at] === 'set' || tokens[at] === 'use') return at === 0;
  if (tokens[at] === 'replace' || tokens[at] === 'insert') return tokens[at + 1] !== '(';
  return tokens[at] === 'select' || tokens[at] === 'call' || at === 0;
}

/** The name at an index with its schema, without backticks. */
function nameOf(tokens: readonly string[], at: number): string {
  const parts = [tokens[at] ?? ''];
  for (let i = at + 1; tokens[i] === '.' && tokens[i + 1] !== undefined; i += 2)
    parts.push(tokens[i + 1] ?? '');
  return parts.join('.').replaceAll('`', '');
}
