// What to say about a key that does not exist at its level: the key that was probably meant, or the block
// that it belongs to.

import { configJsonSchema, keysByLevel } from './json-schema.ts';
import { nearest } from './nearest.ts';
import type { KeyPath } from './places.ts';

const SHOWN_MAX = 3;

let levels: ReadonlyMap<string, readonly string[]> | undefined;

/** The key of the block at `path` that an unknown one is probably meant to be. */
export function meantKey(path: KeyPath, key: string): string | undefined {
  levels ??= keysByLevel(configJsonSchema());
  return nearest(key, levels.get(levelText(path)) ?? []);
}

/** The hint for an unknown key in the block at `path`. */
export function unknownKeyHint(path: KeyPath, key: string): string {
  levels ??= keysByLevel(configJsonSchema());
  const level = levelText(path);
  const near = meantKey(path, key);
  if (near !== undefined) return `did you mean \`${near}\`?`;
  const elsewhere = levelsWith(key, level, levels);
  if (elsewhere.length > 0) return belongsText(key, elsewhere);
  const meant = nearest(key, [...new Set([...levels.values()].flat())]);
  const [place] = meant === undefined ? [] : levelsWith(meant, level, levels);
  if (meant !== undefined && place !== undefined) {
    return `did you mean \`${place === '' ? meant : `${place}.${meant}`}\`?`;
  }
  return `the keys here are ${(levels.get(level) ?? []).join(', ')}`;
}

function levelText(path: KeyPath): string {
  const parts = path.map(part => (typeof part === 'number' ? '[]' : `.${String(part)}`));
  return parts.join('').replace(/^\./, '');
}

/** The levels that have the key, the nearest to `level` first. */
function levelsWith(
  key: string,
  level: string,
  levels: ReadonlyMap<string, readonly string[]>,
): string[] {
  const found = [...levels].filter(([, keys]) => keys.includes(key)).map(([path]) => path);
  const shared = (path: string): number => {
    const [a, b] = [path.split('.'), level.split('.')];
    const end = a.findIndex((part, i) => part !== b[i]);
    return end === -1 ? a.length : end;
  };
  const depth = (path: string): number => path.split('.').length;
  return found.sort((a, b) => shared(b) - shared(a) || depth(a) - depth(b));
}

function belongsText(key: string, places: readonly string[]): string {
  const [first = '', ...others] = places
    .slice(0, SHOWN_MAX)
    .map(place => (place === '' ? 'the top level' : `\`${place}\``));
  const rest = others.length === 0 ? '' : ` (or ${others.join(', ')})`;
  return `\`${key}\` belongs under ${first}${rest}`;
}
