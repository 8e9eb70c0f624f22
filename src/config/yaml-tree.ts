// From the text of the YAML to plain data with a place for every key. Duplicate keys, references and aliases
// are dealt with here; what the keys mean is the schema's part. Nothing in the text makes this throw.
//
// The tree is built by hand, not by the parser's own conversion: an alias is the value of its anchor, not a
// copy, so that no nesting of aliases multiplies; and its duplicate check takes minutes for a hostile file.

import { LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import type { Document, Node, Pair, Scalar, YAMLMap } from 'yaml';
import type { Mistake, OperatorErrorCode } from '../errors.ts';
import { Places, pathText, type KeyPath } from './places.ts';
import {
  ExpandedText,
  expand,
  expandPath,
  hasReference,
  type Expansion,
  type TextSources,
} from './secrets.ts';
import { syntaxMistake } from './yaml-syntax.ts';

/** Stands for a value that could not be made; the mistake has been reported already. */
export const UNREADABLE: unique symbol = Symbol('unreadable');

export interface YamlTree {
  /** Maps, lists, scalars, ExpandedText and UNREADABLE; null for an empty file. */
  readonly root: unknown;
  readonly places: Places;
  readonly mistakes: readonly Mistake[];
}

export interface YamlTreeOptions {
  readonly file: string;
  readonly sources: TextSources;
  /** Keys whose text is the path of a file that holds the value, as if `${file:PATH}` stood there. */
  readonly isFileKey: (path: KeyPath) => boolean;
}

const DEPTH_MAX = 32;
/** Values in the file, an alias counted as all that it stands for. */
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
  const document = parse(text, lines);
  const syntax = syntaxMistake(document, text);
  if (syntax !== undefined) {
    const mistake = { ...syntax.mistake, file: options.file, ...places.at(syntax.offset) };
    return { root: UNREADABLE, places, mistakes: [mistake] };
  }
  places.set([], { value: startOf(document.contents) ?? 0 });
  const builder = { ...options, places, mistakes: [], anchors: new Map(), nodes: 0 };
  return { root: buildNode(document.contents, [], builder), places, mistakes: builder.mistakes };
}

function parse(text: string, lineCounter: LineCounter): Document.Parsed {
  return parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    schema: 'core',
    stringKeys: true,
    uniqueKeys: false,
  });
}

function buildNode(node: Node | null, path: KeyPath, builder: Builder): unknown {
  if (node === null) return null;
  if (isAlias(node)) return takeAnchored(node.source, path, builder);
  if (path.length > DEPTH_MAX) return report(builder, path, 'the values are nested too deeply');
  if (isFull(1, path, builder)) return UNREADABLE;
  if (node.tag !== undefined && !TAGS.test(node.tag)) {
    return report(builder, path, 'a YAML tag has no meaning here', 'remove the word with the `!`');
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
      reportDuplicate(builder, childPath, offset);
      continue;
    }
    const isEmpty = isScalar(pair.value) && pair.value.source === '' && pair.value.value === null;
    const value = isEmpty ? offset : (startOf(pair.value) ?? offset);
    builder.places.set(childPath, { key: offset, value });
    if (name === '' || name === '__proto__') {
      report(builder, childPath, 'this cannot be a key', 'write a name before the colon', KEY);
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
    for (const problem of expansion.problems) report(builder, path, problem, undefined, SECRET);
    return UNREADABLE;
  }
  // An unquoted scalar that expands to nothing is what nothing after the colon is: null.
  if (expansion.text === '' && node.type === 'PLAIN') return null;
  return new ExpandedText(value, expansion.text, expandAgain);
}

/** A value of a file key that is the content itself, or is read through a reference anyway. */
function isInline(value: string): boolean {
  return value.trim() === '' || value.includes('-----BEGIN') || hasReference(value);
}

/** The alias is the very value of its anchor. An anchor is not known within its own value. */
function takeAnchored(name: string, path: KeyPath, builder: Builder): unknown {
  const anchored = builder.anchors.get(name);
  if (anchored === undefined) {
    const hint = 'put a value that begins with `*` in quotes';
    return report(builder, path, `no anchor \`&${name}\` stands before this alias`, hint);
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

const KEY: OperatorErrorCode = 'E_CONFIG_KEY';
const SECRET: OperatorErrorCode = 'E_CONFIG_SECRET';

function reportDuplicate(builder: Builder, path: KeyPath, offset: number): void {
  const first = builder.places.ofKey(path);
  builder.mistakes.push({
    code: KEY,
    message: `the key stands here for the second time, after line ${String(first.line)}`,
    hint: 'remove one of them',
    file: builder.file,
    key: pathText(path),
    ...builder.places.at(offset),
  });
}

function report(
  builder: Builder,
  path: KeyPath,
  message: string,
  ...[hint, code = 'E_CONFIG_SYNTAX']: [hint?: string | undefined, code?: OperatorErrorCode]
): typeof UNREADABLE {
  builder.mistakes.push({
    code,
    message,
    ...(hint === undefined ? {} : { hint }),
    file: builder.file,
    key: pathText(path),
    ...builder.places.ofValue(path),
  });
  return UNREADABLE;
}

function startOf(node: Node | null | undefined): number | undefined {
  return node?.range?.[0];
}
