// Reads the text of the YAML into plain data. `${file:…}` and `${env:…}` are expanded here; the declarations in keys.ts
// give the keys their meaning. The parser's own nodes have the places. No text makes it throw.

import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
  type ErrorCode,
  type Scalar,
  type YAMLError,
} from 'yaml';
import type { Mistake } from '../errors.ts';
import { isPlainMap, type KeyPath, pathText, UNREADABLE } from './paths.ts';
import { expand, ExpandedText, expandPath, hasReference, type TextSources } from './secrets.ts';

/** Line and column, both from 1; columns count UTF-16 units. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface Yaml<Root = unknown> {
  readonly file: string;
  /** Maps, lists, scalars, ExpandedText and UNREADABLE; null for an empty file. An alias is the value of its anchor. */
  readonly root: Root;
  readonly mistakes: readonly Mistake[];
  /** The place of a value, or of its key; of the nearest node around it where there is none. */
  readonly placeOf: (path: KeyPath, part?: 'key' | 'value') => Place;
}

export interface YamlOptions {
  readonly file: string;
  readonly sources: TextSources;
  /** Keys whose text is the path of a file that holds the value, as with `${file:PATH}`. */
  readonly isFileKey: (path: KeyPath) => boolean;
}

type Parsed = Document.Parsed;

/** How often aliases may repeat an anchor, those within anchors multiplied. */
const ALIASES_MAX = 10_000;

/** Reads one YAML document. With a syntax error, `root` is UNREADABLE and there is one mistake. */
export function readYaml(text: string, options: YamlOptions): Yaml {
  const { file } = options;
  const lines = new LineCounter();
  const document: Parsed = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    schema: 'core',
    stringKeys: true,
    // The parser's own check compares each key with each other, and does not say where the first one is.
    uniqueKeys: false,
  });
  const at = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const placeOf: Yaml['placeOf'] = (path, part = 'value') => at(offsetOf(document, path, part));
  const unreadable = (offset: number, message: string, hint?: string): Yaml => {
    const words = { message, ...(hint !== undefined && { hint }) };
    return { file, root: UNREADABLE, mistakes: [{ ...words, file, ...at(offset) }], placeOf };
  };
  const syntax = syntaxMistake(document, text);
  if (syntax !== undefined) return unreadable(syntax.offset, ...syntax.words);
  const { mistakes, unknownAlias } = checkNodes(document, file, at);
  if (unknownAlias !== null) {
    const problem = `no anchor \`&${unknownAlias.name}\` comes before this alias`;
    return unreadable(unknownAlias.offset, problem, 'put a value that begins with `*` in quotes');
  }
  let given: unknown;
  try {
    given = document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch {
    return unreadable(0, `aliases repeat values more than ${String(ALIASES_MAX)} times`);
  }
  const report = (path: KeyPath, message: string): void => {
    mistakes.push({ message, file, key: pathText(path), ...placeOf(path) });
  };
  return { file, root: expandAll(given, [], { ...options, document, report }), mistakes, placeOf };
}

interface Check {
  readonly mistakes: Mistake[];
  readonly unknownAlias: { readonly name: string; readonly offset: number } | null;
}

/** Takes repeated keys out of the document and reports them. Finds the first alias without an anchor before it. */
function checkNodes(document: Parsed, file: string, at: (offset: number) => Place): Check {
  const mistakes: Mistake[] = [];
  const anchors = new Set<string>();
  let unknownAlias: Check['unknownAlias'] = null;
  visit(document, {
    Alias: (_, { source: name, range }, around) => {
      const isWithin = around.some(node => 'anchor' in node && node.anchor === name);
      if (anchors.has(name) && !isWithin) return undefined;
      unknownAlias = { name, offset: range?.[0] ?? 0 };
      return visit.BREAK;
    },
    Value: (_, node, around) => {
      if (node.anchor !== undefined) anchors.add(node.anchor);
      if (!isMap(node)) return;
      for (const { name, ...mistake } of takeRepeated(node, at))
        mistakes.push({ ...mistake, file, key: pathText([...pathOf([...around, node]), name]) });
    },
  });
  return { mistakes, unknownAlias };
}

/** The path of the last of nodes that are each within the one before. */
function pathOf(nodes: readonly unknown[]): KeyPath {
  return nodes.flatMap((node, index): KeyPath => {
    if (isPair(node)) return isScalar(node.key) ? [String(node.key.value)] : [];
    return isSeq(node) && index + 1 < nodes.length ? [node.items.indexOf(nodes[index + 1])] : [];
  });
}

function takeRepeated(
  map: YAMLMap,
  at: (offset: number) => Place,
): (Mistake & { readonly name: string })[] {
  const first = new Map<unknown, number>();
  const mistakes: (Mistake & { readonly name: string })[] = [];
  map.items = map.items.filter(({ key }) => {
    const [name, offset] = [isScalar(key) ? key.value : key, startOf(key)];
    const before = first.get(name);
    if (before === undefined) first.set(name, offset);
    else {
      const message = `duplicate key: the first one is in line ${String(at(before).line)}`;
      mistakes.push({ name: String(name), message, hint: 'remove one of them', ...at(offset) });
    }
    return before === undefined;
  });
  return mistakes;
}

interface Expander extends YamlOptions {
  readonly document: Parsed;
  readonly report: (path: KeyPath, message: string) => void;
}

function expandAll(value: unknown, path: KeyPath, expander: Expander): unknown {
  if (typeof value === 'string') return expandText(value, path, expander);
  if (Array.isArray(value))
    return value.map((one, index) => expandAll(one, [...path, index], expander));
  if (!isPlainMap(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([name, one]) => [name, expandAll(one, [...path, name], expander)]),
  );
}

function expandText(value: string, path: KeyPath, expander: Expander): unknown {
  const { sources, document, report } = expander;
  const isPath = expander.isFileKey(path) && !isInline(value);
  if (!isPath && !hasReference(value)) return value;
  const expandAgain = (): ReturnType<typeof expand> =>
    isPath ? expandPath(value, sources) : expand(value, sources);
  const expansion = expandAgain();
  if ('problems' in expansion) {
    for (const problem of expansion.problems) report(path, problem);
    return UNREADABLE;
  }
  const node = nodeAt(document, path);
  // An unquoted scalar that expands to an empty text is null, like an empty value in the YAML.
  if (expansion.text === '' && isScalar(node) && node.type === 'PLAIN') return null;
  return new ExpandedText(value, expansion.text, expandAgain);
}

/** A value of a file key that is the content itself, or is read through a reference anyway. */
function isInline(value: string): boolean {
  return value.trim() === '' || value.includes('-----BEGIN') || hasReference(value);
}

function offsetOf(document: Parsed, path: KeyPath, part: 'key' | 'value'): number {
  const parent = path.length === 0 ? undefined : nodeAt(document, path.slice(0, -1));
  const pair = isMap(parent) ? pairsOf(parent).get(path.at(-1)) : undefined;
  const node = nodeAt(document, path);
  if (pair === undefined && !isNode(node))
    return path.length === 0 ? 0 : offsetOf(document, path.slice(0, -1), 'key');
  // An empty value has no place of its own.
  const isEmpty = !isNode(node) || (isScalar(node) && node.source === '' && node.value === null);
  return startOf(pair !== undefined && (part === 'key' || isEmpty) ? pair.key : node);
}

function nodeAt(document: Parsed, path: KeyPath): unknown {
  let node: unknown = document.contents;
  for (const part of path) {
    if (isMap(node)) node = pairsOf(node).get(part)?.value;
    else node = isSeq(node) ? node.items[Number(part)] : undefined;
  }
  return node;
}

const PAIRS = new WeakMap<YAMLMap, ReadonlyMap<unknown, Pair>>();

/** By name. The parser's own search reads the whole map: for the places of many mistakes, minutes. */
function pairsOf(map: YAMLMap): ReadonlyMap<unknown, Pair> {
  const known = PAIRS.get(map);
  if (known !== undefined) return known;
  const pairs = new Map(map.items.map(pair => [isScalar(pair.key) ? pair.key.value : null, pair]));
  PAIRS.set(map, pairs);
  return pairs;
}

function startOf(node: unknown): number {
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
}

// The parser's errors in words for people. Its own messages quote pieces of the text, which may be secrets,
// so they are not passed on. Only the first error counts: the others mostly follow from it.

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
function syntaxMistake(document: Document.Parsed, text: string): SyntaxMistake | undefined {
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
