// Edits one key in the text of a YAML document: gives it another value, renames it, moves it, or removes it. All other
// lines stay as they are; comments on the key's lines go along. The caller checks what the new text says.

import {
  type Document,
  isCollection,
  isMap,
  isNode,
  isScalar,
  parseDocument,
  type Pair,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { type KeyPath, isPlainMap, pathsAt, pathText, type YamlMap } from './paths.ts';
import { isDeepStrictEqual } from 'node:util';
import { afterStep, DEPRECATED, type Deprecated, type Step, stepOf } from './deprecated.ts';

/** A key and the map that it is in. */
interface Level {
  readonly map: YAMLMap;
  readonly pair: Pair;
  /** The offsets of the key's name. */
  readonly start: number;
  readonly keyEnd: number;
  /** The offset behind its value, without a comment. */
  readonly end: number;
  /** Its map is in braces. */
  readonly isFlow: boolean;
}

export interface Edit {
  readonly from: KeyPath;
  /** `from` if the key stays; null if it goes. Blocks around it that become empty go too. */
  readonly to: KeyPath | null;
  /** The text of the new value; undefined: it stays. */
  readonly value: string | undefined;
}

function parseText(text: string): Document.Parsed {
  return parseDocument(text, { schema: 'core', stringKeys: true });
}

/** The line of a key, from 1; 0 if there is none. */
function lineOf(text: string, path: KeyPath): number {
  const level = levelsTo(text, path).at(-1);
  return level ? text.slice(0, level.start).split('\n').length : 0;
}

/** null for a layout that this cannot edit. */
function editYaml(text: string, { from, to, value }: Edit): string | null {
  const levels = levelsTo(text, from);
  const own = levels.at(-1);
  if (!own) return null;
  const name = to?.at(-1);
  const pair = name === undefined ? null : pairText(text, own, String(name), value);
  const begins = (path: KeyPath): boolean => path.every((part, index) => part === from[index]);
  if (to?.length === from.length && begins(to.slice(0, -1)) && pair !== null)
    return splice(text, own.start, own.end, pair);
  const target = to && blockFor(text, to);
  const isWithin = begins(to?.slice(0, target?.depth) ?? []);
  let cut = levels.length - 1;
  const first = target && isWithin ? target.depth : 0;
  while (cut > first && levels[cut - 1] && levels[cut]?.map.items.length === 1) cut--;
  const outer = levels[cut];
  if (!outer) return null;
  if (to === null || target === null || pair === null) return replaced(text, outer, own, null);
  if (isWithin && to.length === cut + 1) return replaced(text, outer, own, pair);
  const { depth, map } = target;
  const key = isWithin ? levels[depth]?.pair.key : map?.items.at(-1)?.key;
  const anchor = map && isScalar(key) ? levelIn(text, map, String(key.value)) : null;
  const blocks = to.slice(depth, -1).map(String);
  return anchor && moved(text, { outer, own, anchor, blocks, pair });
}

function splice(text: string, start: number, end: number, by: string): string {
  return text.slice(0, start) + by + text.slice(end);
}

/** Null in place of the index of a list, and where there is no such key. */
function levelsTo(text: string, path: KeyPath): (Level | null)[] {
  const document = parseText(text);
  return path.map((part, index) => {
    const map = document.getIn(path.slice(0, index), true);
    return isMap(map) ? levelIn(text, map, part) : null;
  });
}

function levelIn(text: string, map: YAMLMap, name: PropertyKey): Level | null {
  const pair = map.items.find(({ key }) => isScalar(key) && key.value === name);
  if (pair === undefined) return null;
  const { range } = pair.key as Scalar;
  const [start = 0, keyEnd = 0] = range ?? [];
  const end = text.slice(0, Math.max(endOf(pair.value), keyEnd + 1)).trimEnd().length;
  return { map, pair, start, keyEnd, end, isFlow: map.flow === true };
}

/** The parser counts the comment behind a block as a part of the block. */
function endOf(node: unknown): number {
  if (!isNode(node)) return 0;
  const last: unknown = isCollection(node) && node.flow !== true ? node.items.at(-1) : undefined;
  if (last === undefined) return node.range?.[1] ?? 0;
  if (isNode(last)) return endOf(last);
  const { key, value } = last as Pair;
  return Math.max(endOf(key), endOf(value));
}

/** The key with another name and, unless undefined, another value; both in the quotes that they had. */
function pairText(text: string, own: Level, name: string, value: string | undefined): string {
  const quoted = (offset: number, word: string): string => {
    const quote = /^["']/.exec(text.slice(offset))?.[0] ?? '';
    return quote + word + quote;
  };
  const key = quoted(own.start, name);
  if (value === undefined) return key + text.slice(own.keyEnd, own.end);
  const start = isNode(own.pair.value) ? (own.pair.value.range?.[0] ?? own.end) : own.end;
  return key + text.slice(own.keyEnd, start) + quoted(start, value);
}

/** The text with `pair` in place of the key `own` and of the blocks around it up to `outer`; null: without. */
function replaced(text: string, outer: Level, own: Level, pair: string | null): string | null {
  if (outer.isFlow) {
    const [start, end] = pair === null ? flowSpan(outer) : [outer.start, outer.end];
    return hasComment(text, start, end, own) ? null : splice(text, start, end, pair ?? '');
  }
  const lines = linesOf(text, outer, own, pair);
  return lines && splice(text, lines.start, lines.end, indented(lines.texts, lines.indent));
}

/** The pair, and the comma behind or before it. */
function flowSpan({ map, pair, start, end }: Level): readonly [start: number, end: number] {
  const at = map.items.indexOf(pair);
  const [before, behind] = [map.items[at - 1], map.items[at + 1]];
  if (behind !== undefined) return [start, (behind.key as Scalar).range?.[0] ?? end];
  return [before === undefined ? start : Math.max(endOf(before.key), endOf(before.value)), end];
}

/** There is a comment around the key; in braces, nobody can tell which key it is about. */
function hasComment(text: string, start: number, end: number, own: Level): boolean {
  return `${text.slice(start, own.start)}${text.slice(own.end, end)}`.includes('#');
}

/** Whole lines, without their indentation. */
interface Lines {
  readonly start: number;
  readonly end: number;
  readonly indent: number;
  readonly texts: readonly string[];
}

/** The lines of the key and of the blocks around it: their comments and, unless it goes, `pair`. */
function linesOf(text: string, outer: Level, own: Level, pair: string | null): Lines | null {
  const start = lineStart(text, outer.start);
  const end = lineEnd(text, outer.end);
  const behind = text.slice(outer.end, end).trimEnd();
  const isWhole = text.slice(start, outer.start).trim() === '' && /^\s*(?:#.*)?$/.test(behind);
  if (!isWhole) return null;
  // Of a key in braces, also those behind it.
  const around = `${text.slice(start, own.start)}\n${text.slice(own.end, outer.end)}`;
  const before = around.match(/#.*/g) ?? [];
  const margin = own.isFlow ? 0 : own.start - lineStart(text, own.start);
  const texts =
    pair?.replaceAll(new RegExp(`\n {0,${String(margin)}}`, 'g'), '\n').split('\n') ?? [];
  const last = `${texts.pop() ?? ''}${pair === null ? behind.trim() : behind}`;
  const all = [...before, ...texts, ...(last === '' ? [] : [last])];
  return { start, end, indent: outer.start - start, texts: all.map(line => line.trimEnd()) };
}

interface Move {
  /** What goes: the key `own`, or the outermost block that becomes empty. */
  readonly outer: Level;
  readonly own: Level;
  /** The key that it comes behind. */
  readonly anchor: Level;
  /** The new blocks around it. */
  readonly blocks: readonly string[];
  readonly pair: string;
}

function moved(text: string, { outer, own, anchor, blocks, pair }: Move): string | null {
  const cut = cutOf(text, outer, own, pair);
  if (cut === null) return null;
  const { start, end, rows } = cut;
  if (anchor.isFlow) {
    if (!outer.isFlow) return null;
    const inner = blocks.reduceRight((one, block) => `${block}: {${one}}`, pair);
    return twice(text, [start, end, ''], [anchor.end, anchor.end, `, ${inner}`]);
  }
  const indent = anchor.start - lineStart(text, anchor.start);
  const heads = blocks.map((block, index) => `${' '.repeat(2 * index)}${block}:`);
  const inner = rows.map(row => ' '.repeat(2 * blocks.length) + row);
  const at = lineEnd(text, anchor.end);
  const added = (text[at - 1] === '\n' ? '' : '\n') + indented([...heads, ...inner], indent);
  return twice(text, [start, end, ''], [at, at, added]);
}

/** Where the key is, with the comments directly above it, and the lines that it becomes elsewhere. */
function cutOf(
  text: string,
  outer: Level,
  own: Level,
  pair: string,
): { readonly start: number; readonly end: number; readonly rows: readonly string[] } | null {
  if (outer.isFlow) {
    const [start, end] = flowSpan(outer);
    return hasComment(text, start, end, own) ? null : { start, end, rows: [pair] };
  }
  const lines = linesOf(text, outer, own, pair);
  if (lines === null) return null;
  const above: string[] = [];
  let { start } = lines;
  while (start > 0) {
    const line = text.slice(lineStart(text, start - 1), start);
    if (!line.startsWith(`${' '.repeat(lines.indent)}#`)) break;
    above.unshift(line.trim());
    start -= line.length;
  }
  return { start, end: lines.end, rows: [...above, ...lines.texts] };
}

/** The innermost block around a path that exists, behind the first `depth` parts. It is null in a text that is no map. */
function blockFor(
  text: string,
  path: KeyPath,
): { readonly depth: number; readonly map: YAMLMap | null } {
  const document = parseText(text);
  for (let depth = path.length - 1; depth >= 0; depth--) {
    const map = document.getIn(path.slice(0, depth), true);
    if (isMap(map)) return { depth, map };
  }
  return { depth: 0, map: null };
}

type Splice = readonly [start: number, end: number, by: string];

/** Both edits; null if they overlap. */
function twice(text: string, one: Splice, two: Splice): string | null {
  const [first, last] = one[0] <= two[0] ? [one, two] : [two, one];
  if (first[1] > last[0]) return null;
  return splice(splice(text, ...last), ...first);
}

function indented(lines: readonly string[], indent: number): string {
  return lines.map(line => (line === '' ? '\n' : `${' '.repeat(indent)}${line}\n`)).join('');
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/** Behind the line break, or the end of the text. */
function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end < 0 ? text.length : end + 1;
}

// Rewrites the deprecated keys and values in the text of a configuration, for `check --fix`. It edits only the lines that
// have them: comments, order and layout of all others stay. An edit counts only if the new text says what the data with
// the replacement say; otherwise (an anchor that is used elsewhere, say) the key is left to the user.

export interface Fixed {
  readonly text: string;
  /** Such as `- line 4: logs.window.day_close_grace`; the only values are those that deprecated.ts declares. */
  readonly changes: readonly string[];
  /** The deprecated keys that stay. */
  readonly left: readonly string[];
}

/** `text` is that of a valid configuration. */
export function fixText(text: string, table: readonly Deprecated[] = DEPRECATED): Fixed {
  // Windows ends its lines with two characters, and may begin the file with a mark.
  const isTwo = text.includes('\r\n') && !/(?:^|[^\r])\n/.test(text);
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const own = text.slice(mark.length);
  const before = isTwo ? own.replaceAll('\r\n', '\n') : own;
  let fixed = before;
  const done: Step[] = [];
  const left: string[] = [];
  for (const entry of table)
    for (const from of pathsAt(dataOf(fixed), entry.path)) {
      const data = dataOf(fixed) ?? {};
      const step = stepOf(entry, from, data);
      if (step === null) continue;
      // A block does not go while one of its keys has to move.
      const isKept = left.some(key => key.startsWith(`${pathText(from)}.`));
      const edited = isKept ? null : editYaml(fixed, { ...step, value: step.change?.value });
      if (edited !== null && isDeepStrictEqual(dataOf(edited), afterStep(data, step))) {
        fixed = edited;
        done.push(step);
      } else left.push(pathText(from));
    }
  done.sort((a, b) => lineOf(before, a.from) - lineOf(before, b.from));
  const changes = done.flatMap(step => changeOf(step, before, fixed));
  return { text: mark + (isTwo ? fixed.replaceAll('\n', '\r\n') : fixed), changes, left };
}

function changeOf({ from, to, change }: Step, before: string, after: string): string[] {
  const show = (sign: string, text: string, path: KeyPath, value: string | undefined): string => {
    const shown = value === undefined ? '' : `: ${value}`;
    return `${sign} line ${String(lineOf(text, path))}: ${pathText(path)}${shown}`;
  };
  const old = show('-', before, from, change?.was);
  return to === null ? [old] : [old, show('+', after, to, change?.value)];
}

/** As plain data, without the values of references; undefined if it is not YAML. */
function dataOf(text: string): YamlMap | undefined {
  const document = parseText(text);
  if (document.errors.length > 0) return undefined;
  try {
    // The file was judged, so its aliases are not too many.
    const data: unknown = document.toJS({ maxAliasCount: -1 });
    return isPlainMap(data) ? data : undefined;
  } catch {
    // An alias has lost its anchor.
    return undefined;
  }
}
