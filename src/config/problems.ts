// Turns the violations that keys and rules find into the mistakes that a user sees, each with line and column, or with
// the name of the variable that the value came from. For an unknown key, it suggests the key that was probably
// meant, or the block where the key belongs.

import { formatMistake, type Mistake } from '../errors.ts';
import { nearest } from '../lib/nearest.ts';
import { keysByLevel, MISSING, type Violation } from './declare.ts';
import { CONFIG } from './keys.ts';
import type { Layered } from './layers.ts';
import { levelText, pathText, type KeyPath } from './paths.ts';

/** How many mistakes are shown; a file with more is probably another kind of file. */
export const MISTAKES_MAX = 100;

/** The mistakes of one tree. A key that is there, but misspelt, is not reported as missing too. */
export function violationMistakes(found: readonly Violation[], tree: Layered): Mistake[] {
  // A hint costs a comparison with all keys, so there are no more hints than mistakes shown.
  const unknown = found.filter(({ isUnknownKey }) => isUnknownKey).slice(0, MISTAKES_MAX);
  const levels = keysByLevel(CONFIG);
  const hints = new Map(unknown.map(violation => [violation, hintFor(violation.path, levels)]));
  const misspelt = new Set<string>();
  for (const [{ path }, { meant }] of hints)
    if (meant !== undefined) misspelt.add(pathText([...path.slice(0, -1), meant]));
  return found
    .filter(({ problem, path }) => problem !== MISSING.problem || !misspelt.has(pathText(path)))
    .map(violation => toMistake({ ...violation, ...hints.get(violation) }, tree));
}

function toMistake(violation: Violation, tree: Layered): Mistake {
  const { path, problem, hint, isAtKey } = violation;
  const words = { message: problem, ...(hint === undefined ? {} : { hint }) };
  const source = tree.sourceOf(path);
  if (source !== undefined) return { key: source, ...words };
  const { placeOf, file } = tree;
  return { ...words, file, ...placeOf(path, isAtKey ? 'key' : 'value'), key: pathText(path) };
}

/** Sorts mistakes by their places in the file, those of variables last. Removes repeats; shows at most MISTAKES_MAX. */
export function orderMistakes(mistakes: readonly Mistake[]): Mistake[] {
  const unique = [...new Map(mistakes.map(mistake => [formatMistake(mistake), mistake])).values()];
  const last = Number.POSITIVE_INFINITY;
  unique.sort(
    (a, b) =>
      Number(a.line === undefined) - Number(b.line === undefined) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      (a.column ?? last) - (b.column ?? last),
  );
  if (unique.length <= MISTAKES_MAX) return unique;
  const rest = unique.length - MISTAKES_MAX;
  const more: Mistake = { message: `and ${String(rest)} more mistakes` };
  return [...unique.slice(0, MISTAKES_MAX), more];
}

const SHOWN_MAX = 3;
const KEY_LENGTH_MIN = 3;

/** What to do about an unknown key, and the key of the same block that was probably meant. */
function hintFor(
  path: KeyPath,
  levels: ReadonlyMap<string, readonly string[]>,
): { readonly hint: string; readonly meant?: string } {
  const key = String(path.at(-1));
  if (key === '<<') {
    const hint =
      'merge keys are not supported: write the keys out, or use an alias for a whole block';
    return { hint };
  }
  const level = levelText(path.slice(0, -1));
  const here = levels.get(level) ?? [];
  const near = nearest(key, here);
  if (near !== undefined) return { hint: `did you mean \`${near}\`?`, meant: near };
  const elsewhere = levelsWith(key, level, levels);
  if (elsewhere.length > 0) return { hint: belongsText(key, elsewhere) };
  // One or two letters are close to some key by chance.
  const names = key.length < KEY_LENGTH_MIN ? [] : [...new Set([...levels.values()].flat())];
  const meant = nearest(key, names);
  const [place] = meant === undefined ? [] : levelsWith(meant, level, levels);
  if (meant !== undefined && place !== undefined)
    return { hint: `did you mean \`${place === '' ? meant : `${place}.${meant}`}\`?` };
  return { hint: `the keys here are ${here.join(', ')}` };
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
