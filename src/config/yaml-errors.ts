// The parser's errors in words for people. Its own messages quote pieces of the text, which may be secrets,
// so they are not passed on. Only the first error counts: the others mostly follow from it.

import { type Document, type ErrorCode, type Scalar, visit, type YAMLError } from 'yaml';

type Words = readonly [message: string, hint?: string];

export interface SyntaxMistake {
  readonly offset: number;
  readonly words: Words;
}

const UNFINISHED: Words = [
  'something is missing here',
  'check quotes and brackets, and that a `:` and a space follow each key',
];
const NOT_YAML: Words = ['this is not YAML', 'check indentation, quotes and brackets around it'];

const WORDS: Readonly<Partial<Record<ErrorCode, Words>>> = {
  ALIAS_PROPS: ['an alias cannot have a tag or an anchor of its own'],
  BAD_ALIAS: [
    'the name of an anchor or alias is not legal',
    'put a value that begins with `*` or `&` in quotes',
  ],
  BAD_DIRECTIVE: ['a line that begins with `%` has no meaning here', 'remove it'],
  BAD_DQ_ESCAPE: [
    'a backslash in double quotes begins an escape, and this one does not exist',
    'write `\\\\`, or use single quotes',
  ],
  BAD_INDENT: ['the indentation does not fit', 'align the keys of one block, and close brackets'],
  BAD_SCALAR_START: ['a value cannot begin with this character', 'put it in quotes'],
  BLOCK_AS_IMPLICIT_KEY: [
    'a second `key: value` is not allowed here',
    'begin a new line, check its indentation, or put the value in quotes',
  ],
  BLOCK_IN_FLOW: ['a block is not allowed within brackets'],
  KEY_OVER_1024_CHARS: ['the key is longer than 1024 characters'],
  MISSING_CHAR: UNFINISHED,
  MULTILINE_IMPLICIT_KEY: ['a key must fit on one line', 'check for a missing `:` above'],
  MULTIPLE_ANCHORS: ['a value can have one anchor only'],
  MULTIPLE_DOCS: ['a second document begins here', 'keep one, and remove the line `---`'],
  MULTIPLE_TAGS: ['a value can have one tag only'],
  NON_STRING_KEY: ['a key must be a plain name'],
  RESOURCE_EXHAUSTION: ['the values are nested too deeply'],
  TAB_AS_INDENT: ['a tab cannot indent', 'use spaces'],
  TAG_RESOLVE_FAILED: ['a YAML tag has no meaning here', 'remove the word with the `!`'],
};

/** The first thing wrong with the document's syntax, if anything is. `text` is what it was parsed from. */
export function syntaxMistake(document: Document.Parsed, text: string): SyntaxMistake | undefined {
  const error = document.errors[0] ?? document.warnings[0];
  if (error === undefined) return undefined;
  const words = WORDS[error.code] ?? NOT_YAML;
  return commonCase(document, text, error) ?? { offset: error.pos[0], words };
}

/** How many characters of the line before an error are examined. */
const LOOK_BACK = 200;

/** Frequent mistakes in this kind of file, for which the parser's error code alone is too vague. */
function commonCase(
  document: Document.Parsed,
  text: string,
  error: YAMLError,
): SyntaxMistake | undefined {
  const [offset] = error.pos;
  const before = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset).slice(-LOOK_BACK);
  if (before.endsWith('$') && text[offset] === '{') {
    const hint = 'put the whole value in double quotes';
    return { offset: offset - 1, words: ['a `${…}` within brackets has to be quoted', hint] };
  }
  const star = /(?<=[:,[-][ ]+)\*\S*\s+$/.exec(before);
  if (star !== null) {
    const hint = "put the whole value in quotes, as in '*/15 * * * *'";
    return { offset: offset - star[0].length, words: ['a value cannot begin with `*`', hint] };
  }
  // The parser's text, not its code, tells a missing quote from other missing characters.
  const isQuote = error.message.startsWith('Missing closing');
  const openQuote = isQuote ? findOpenQuote(document, offset) : undefined;
  if (openQuote === undefined) return undefined;
  return { offset: openQuote, words: ['the quote that opens here is not closed'] };
}

/** Where the quoted scalar begins; the parser names only its end. */
function findOpenQuote(document: Document.Parsed, offset: number): number | undefined {
  let found: number | undefined;
  const look = (_: unknown, node: Scalar): void => {
    const isQuoted = node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE';
    const [start, end] = node.range ?? [0, 0];
    if (isQuoted && start < offset && offset <= end) found = start;
  };
  visit(document, { Scalar: look });
  return found;
}
