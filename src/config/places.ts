// The line and column of each key of the YAML, by its path, so that every message can name them.

import { follow } from '../lib/json-pointer.ts';

/** A path into the configuration: keys and list indexes. */
export type KeyPath = readonly PropertyKey[];

/** A map of the YAML. */
export type YamlMap = Readonly<Record<string, unknown>>;

/** Replaces a value that cannot be read; the mistake has already been reported. */
export const UNREADABLE: unique symbol = Symbol('unreadable');

/** Line and column, both from 1; columns count UTF-16 units. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** The offsets of a node in the text: of its key (none in a list) and of its value. */
export interface NodeOffsets {
  readonly key?: number;
  readonly value: number;
}

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

/** True if there is a value at a path; null means that there is none. */
export function isSet(root: unknown, path: KeyPath): boolean {
  return (valueAt(root, path) ?? null) !== null;
}

/** True for a map of the YAML; false for lists, scalars and expanded scalars. */
export function isPlainMap(value: unknown): value is YamlMap {
  const isObject = typeof value === 'object' && value !== null;
  return isObject && Object.getPrototypeOf(value) === Object.prototype;
}

/** Filled by the reader of the YAML. A path without a node gets the place of the nearest node around it. */
export class Places {
  readonly #nodes = new Map<string, NodeOffsets>();
  readonly at: (offset: number) => Place;

  constructor(at: (offset: number) => Place) {
    this.at = at;
  }

  set(path: KeyPath, offsets: NodeOffsets): void {
    this.#nodes.set(nodeKey(path), offsets);
  }

  ofValue(path: KeyPath): Place {
    return this.#find(path, node => node.value);
  }

  /** The key's place, or the value's where it has no key: in a list and at the root. */
  ofKey(path: KeyPath): Place {
    return this.#find(path, node => node.key ?? node.value);
  }

  #find(path: KeyPath, pick: (node: NodeOffsets) => number): Place {
    for (let length = path.length; length >= 0; length--) {
      const node = this.#nodes.get(nodeKey(path.slice(0, length)));
      if (node === undefined) continue;
      // For a node around the missing one, the key is a better place than the start of the value.
      return this.at(length === path.length ? pick(node) : (node.key ?? node.value));
    }
    return { line: 1, column: 1 };
  }
}

function nodeKey(path: KeyPath): string {
  return path.map(String).join('\u0000');
}
