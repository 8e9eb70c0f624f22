// Paths into the configuration, and the values at them.

import { follow } from '../lib/json.ts';

/** A path into the configuration: keys and list indexes. */
export type KeyPath = readonly PropertyKey[];

/** A map of the YAML. */
export type YamlMap = Readonly<Record<string, unknown>>;

/** Replaces a value that cannot be read; the mistake has already been reported. */
export const UNREADABLE: unique symbol = Symbol('unreadable');

/** The path as a user writes it: `services[0].api.key`. */
export function pathText(path: KeyPath): string {
  return path.map(partText).join('').replace(/^\./, '');
}

/** The path with any index as `[]`: `services[].api.key`. */
export function levelText(path: KeyPath): string {
  const parts = path.map(part => (typeof part === 'number' ? '[]' : `.${String(part)}`));
  return parts.join('').replace(/^\./, '');
}

function partText(part: PropertyKey): string {
  if (typeof part === 'number') return `[${String(part)}]`;
  const name = String(part);
  return /^[\w-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

/** The value at a path of plain data; undefined where there is none. */
export function valueAt(root: unknown, path: KeyPath): unknown {
  return follow(path, root);
}

/** The paths of the values that a text such as `services[].api.key` names; `[]` is each entry of a list. */
export function pathsAt(root: unknown, text: string): readonly KeyPath[] {
  let found: readonly KeyPath[] = [[]];
  for (const part of text.split('.')) {
    const isList = part.endsWith('[]');
    const named = found.map(path => [...path, isList ? part.slice(0, -2) : part]);
    found = isList
      ? named.flatMap(path => entriesAt(root, path).map((_, index) => [...path, index]))
      : named;
  }
  return found.filter(path => valueAt(root, path) !== undefined);
}

function entriesAt(root: unknown, path: KeyPath): readonly unknown[] {
  const value = valueAt(root, path);
  return Array.isArray(value) ? value : [];
}

/** True if there is a value at a path; null means that there is none. */
export function isSet(root: unknown, path: KeyPath): boolean {
  return (valueAt(root, path) ?? null) !== null;
}

/** True for a map of the YAML; false for lists, scalars and expanded scalars. */
export function isPlainMap(value: unknown): value is YamlMap {
  const isObject = typeof value === 'object' && value !== null;
  return isObject && Object.getPrototypeOf(value) === Object.prototype;
}

/** A copy of the map with the value at the path, in new blocks where there are none; as it is if a block is no map. */
export function withValueAt(map: YamlMap, path: KeyPath, value: unknown): YamlMap {
  const [name = '', ...rest] = path.map(partOf);
  if (rest.length === 0) return { ...map, [name]: value };
  const own = map[name] ?? {};
  if (Array.isArray(own))
    return { ...map, [name]: changed(own, rest, (one, inner) => withValueAt(one, inner, value)) };
  return isPlainMap(own) ? { ...map, [name]: withValueAt(own, rest, value) } : map;
}

/**
 * A copy of the map without the value at the path, and without the blocks around it that become empty, but with every
 * entry of a list.
 */
export function withoutValueAt(map: YamlMap, path: KeyPath): YamlMap {
  const [name = '', ...rest] = path.map(partOf);
  const { [name]: own, ...others } = map;
  if (rest.length > 0 && Array.isArray(own))
    return { ...map, [name]: changed(own, rest, withoutValueAt) };
  if (rest.length === 0 || !isPlainMap(own)) return others;
  const left = withoutValueAt(own, rest);
  return Object.keys(left).length === 0 ? others : { ...map, [name]: left };
}

function partOf(part: PropertyKey): string {
  return String(part);
}

/** The list with one entry, the first part of the path, changed. */
function changed(
  list: readonly unknown[],
  [index, ...rest]: readonly string[],
  change: (entry: YamlMap, rest: KeyPath) => YamlMap,
): readonly unknown[] {
  return list.map((one, at) => (String(at) === index && isPlainMap(one) ? change(one, rest) : one));
}
