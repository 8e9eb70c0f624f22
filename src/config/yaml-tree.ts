// Turns the text of the YAML into plain data with a place for every key. Handles duplicate keys, references and
// aliases; the declarations in keys.ts give the keys their meaning. No text makes it throw.
//
// The tree is built here, not by the parser's own conversion. So an alias is the same value as its anchor, not a
// copy, and nested aliases do not multiply. And the parser's duplicate check takes minutes for a hostile file.

import {
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  visit,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import type { Mistake } from '../errors.ts';
import { type KeyPath, pathText, type Place, Places, UNREADABLE } from './places.ts';
import {
  expand,
  ExpandedText,
  expandPath,
  type Expansion,
  hasReference,
  type TextSources,
} from './secrets.ts';

export interface YamlTree<Root = unknown> {
  readonly file: string;
  /** Maps, lists, scalars, ExpandedText and UNREADABLE; null for an empty file. */
  readonly root: Root;
  readonly places: Places;
  readonly mistakes: readonly Mistake[];
}

interface YamlTreeOptions {
  readonly file: string;
  readonly sources: TextSources;
  /** Keys whose text is the path of a file that holds the value, as with `${file:PATH}`. */
  readonly isFileKey: (path: KeyPath) => boolean;
}

const DEPTH_MAX = 32;
/** Values in the file, an alias counted with all values of its anchor. */
const NODES_MAX = 200_000;
const TAGS = /^tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq)$/;

interface Anchored {
  readonly value: unknown;
  readonly nodes: number;
}

interface Builder extends YamlTreeOptions {
  readonly places: Places;
  readonly mistakes: Mistake[];
  readonly anchors: Map<string, Anchored>;
  nodes: number;
}

/** Reads one YAML document. With a syntax error there is no tree (`root` is UNREADABLE) and one mistake. */
export function readYamlTree(text: string, options: YamlTreeOptions): YamlTree {
  const lines = new LineCounter();
  const places = new Places(offset => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  });
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    schema: 'core',
    stringKeys: true,
    uniqueKeys: false,
  });
  const { file } = options;
  const syntax = syntaxMistake(document, text);
  if (syntax !== undefined) {
    const [message, hint] = syntax.words;
    const words = { message, ...(hint !== undefined && { hint }) };
    const place = places.at(syntax.offset);
    const mistake: Mistake = { ...words, file, ...place };
    return { file, root: UNREADABLE, places, mistakes: [mistake] };
  }
  places.set([], { value: startOf(document.contents) ?? 0 });
  const builder = { ...options, places, mistakes: [], anchors: new Map(), nodes: 0 };
  const root = buildNode(document.contents, [], builder);
  return { file, root, places, mistakes: builder.mistakes };
}

function buildNode(node: Node | null, path: KeyPath, builder: Builder): unknown {
  if (node === null) return null;
  if (isAlias(node)) return takeAnchored(node.source, path, builder);
  if (path.length > DEPTH_MAX) return report(builder, path, 'the values are nested too deeply');
  if (isFull(1, path, builder)) return UNREADABLE;
  if (node.tag !== undefined && !TAGS.test(node.tag)) {
    const hint = 'remove the word with the `!`';
    return report(builder, path, 'a YAML tag has no meaning here', { hint });
  }
  const before = builder.nodes;
  const value = buildValue(node, path, builder);
  if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined) {
    builder.anchors.set(node.anchor, { value, nodes: builder.nodes - before + 1 });
  }
  return value;
}

function buildValue(node: Node, path: KeyPath, builder: Builder): unknown {
  if (isMap(node)) return buildMap(node, path, builder);
  if (isScalar(node)) return buildScalar(node, path, builder);
  if (!isSeq(node)) return UNREADABLE;
  return node.items.map((item, index) => {
    const child = item as Node;
    const childPath = [...path, index];
    builder.places.set(childPath, { value: startOf(child) ?? 0 });
    return buildNode(child, childPath, builder);
  });
}

function buildMap(node: YAMLMap, path: KeyPath, builder: Builder): Record<string, unknown> {
  const map: Record<string, unknown> = {};
  for (const pair of node.items as Pair<Node, Node | null>[]) {
    const name = isScalar(pair.key) && typeof pair.key.value === 'string' ? pair.key.value : '';
    const childPath = [...path, name];
    const offset = startOf(pair.key) ?? startOf(pair.value) ?? 0;
    if (Object.hasOwn(map, name)) {
      const first = builder.places.ofKey(childPath);
      const message = `duplicate key: the first one is in line ${String(first.line)}`;
      const place = builder.places.at(offset);
      report(builder, childPath, message, { hint: 'remove one of them', place });
      continue;
    }
    const isEmpty = isScalar(pair.value) && pair.value.source === '' && pair.value.value === null;
    const value = isEmpty ? offset : (startOf(pair.value) ?? offset);
    builder.places.set(childPath, { key: offset, value });
    if (name === '<<') {
      const hint = 'write the keys out, or use an alias for a whole block';
      report(builder, childPath, 'merge keys are not supported', { hint });
      continue;
    }
    if (name === '' || name === '__proto__') {
      const hint = 'write a name before the colon';
      report(builder, childPath, 'this cannot be a key', { hint });
      continue;
    }
    map[name] = buildNode(pair.value, childPath, builder);
  }
  return map;
}

function buildScalar(node: Scalar, path: KeyPath, builder: Builder): unknown {
  const { value } = node;
  if (typeof value !== 'string') return value;
  const { sources } = builder;
  const isPath = builder.isFileKey(path) && !isInline(value);
  if (!isPath && !hasReference(value)) return value;
  const expandAgain = (): Expansion =>
    isPath ? expandPath(value, sources) : expand(value, sources);
  const expansion = expandAgain();
  if ('problems' in expansion) {
    for (const problem of expansion.problems) report(builder, path, problem);
    return UNREADABLE;
  }
  // An unquoted scalar that expands to an empty text is null, like an empty value in the YAML.
  if (expansion.text === '' && node.type === 'PLAIN') return null;
  return new ExpandedText(value, expansion.text, expandAgain);
}

/** A value of a file key that is the content itself, or is read through a reference anyway. */
function isInline(value: string): boolean {
  return value.trim() === '' || value.includes('-----BEGIN') || hasReference(value);
}

/** The alias is the same value as its anchor. An anchor is not known within its own value. */
function takeAnchored(name: string, path: KeyPath, builder: Builder): unknown {
  const anchored = builder.anchors.get(name);
  if (anchored === undefined) {
    const hint = 'put a value that begins with `*` in quotes';
    return report(builder, path, `no anchor \`&${name}\` comes before this alias`, { hint });
  }
  return isFull(anchored.nodes, path, builder) ? UNREADABLE : anchored.value;
}

function isFull(added: number, path: KeyPath, builder: Builder): boolean {
  const wasFull = builder.nodes > NODES_MAX;
  builder.nodes += added;
  if (builder.nodes <= NODES_MAX) return false;
  if (!wasFull) report(builder, path, `the file holds more than ${String(NODES_MAX)} values`);
  return true;
}

/** Reports a mistake, at the place of the value unless `how` has another place. */
function report(
  { mistakes, file, places }: Builder,
  path: KeyPath,
  message: string,
  how: Pick<Mistake, 'hint'> & { readonly place?: Place } = {},
): typeof UNREADABLE {
  const { place = places.ofValue(path), ...hint } = how;
  mistakes.push({ message, ...hint, file, key: pathText(path), ...place });
  return UNREADABLE;
}

function startOf(node: Node | null | undefined): number | undefined {
  return node?.range?.[0];
}

// The parser's errors in words for people. Its own messages quote pieces of the text, which may be secrets,
// so they are not passed on. Only the first error counts: the others mostly follow from it.

type Words = readonly [message: string, hint?: string];

interface SyntaxMistake {
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
