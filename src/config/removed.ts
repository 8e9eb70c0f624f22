// Keys and values that a configuration of an earlier commit may have. Until version 1.0, each is a warning that names its
// replacement, not a mistake; a key that moved keeps its value. Whoever removes a key or a value from keys.ts adds a line here.

import { canRead, kindAt, type Refusal, type Violation } from './declare.ts';
import { CONFIG } from './keys.ts';
import {
  type KeyPath,
  levelText,
  valueAt,
  withoutValueAt,
  withValueAt,
  type YamlMap,
} from './paths.ts';
import { ExpandedText } from './secrets.ts';
import type { Yaml } from './yaml.ts';

/** `path` is as `otlp.compression`, or `services[].api.timeout` for each entry. An entry for a block stands for its keys. */
type Removed = { readonly path: string } & (
  | {
      /** The key that keeps the value. Neither is within a list. */
      readonly movedTo: string;
    }
  | {
      /** A value that was removed, and the value that is read instead. */
      readonly was: string;
      readonly use: string;
    }
  | {
      /** What to write, or to know, instead of the key. */
      readonly use: string;
    }
);

// A line counts from the moment when keys.ts no longer has the key or the value.
export const REMOVED: readonly Removed[] = [
  { path: 'otlp.compression', was: 'auto', use: 'gzip' },
  {
    path: 'metrics.limits.services',
    use: 'remove it: metrics.limits.memory bounds the services that no entry names',
  },
  { path: 'logs.shape', use: 'remove it: logs are pulled as archives' },
  { path: 'logs.window.day_close_grace', movedTo: 'logs.day_close_grace' },
  { path: 'logs.window', use: 'remove it: logs are pulled as archives' },
  { path: 'logs.limits.set_aside', use: 'remove it: given-up archives are not kept' },
];

/** The YAML with moved keys in their new places and with the values to use instead of removed ones, which are `found`. */
export function replaceRemoved(
  yaml: Yaml<YamlMap>,
  table: readonly Removed[] = REMOVED,
): { readonly yaml: Yaml<YamlMap>; readonly found: readonly Violation[] } {
  let { root } = yaml;
  const found: Violation[] = [];
  const moved: { readonly from: KeyPath; readonly to: KeyPath }[] = [];
  for (const entry of table) {
    const path = entry.path.split('.');
    const value = valueAt(root, path);
    const kind = kindAt(CONFIG, path);
    if (value === undefined) continue;
    if ('movedTo' in entry) {
      if (kind !== undefined) continue;
      const to = entry.movedTo.split('.');
      const isFree = valueAt(root, to) === undefined;
      root = withoutValueAt(root, path);
      if (isFree) root = withValueAt(root, to, value);
      if (isFree) moved.push({ from: path, to });
      found.push({ path, isAtKey: true, ...movedWords(entry.movedTo, isFree) });
    } else if ('was' in entry) {
      const { was, use } = entry;
      const written = value instanceof ExpandedText ? value.text : value;
      if (written !== was || kind === undefined || canRead(kind, was)) continue;
      root = withValueAt(root, path, use);
      const problem = `the value \`${was}\` was removed, and counts as \`${use}\``;
      found.push({ path, problem, hint: `write \`${use}\`` });
    }
  }
  // A mistake in a moved value is where the value is written.
  const placeOf: Yaml['placeOf'] = (path, part) => {
    const found = moved.find(({ to }) => to.every((name, index) => path[index] === name));
    const written = found && [...found.from, ...path.slice(found.to.length)];
    return yaml.placeOf(written ?? path, part);
  };
  return { yaml: { ...yaml, root, placeOf }, found };
}

function movedWords(to: string, isFree: boolean): Refusal {
  return isFree
    ? { problem: `the key has moved, and counts as \`${to}\``, hint: `write it as \`${to}\`` }
    : { problem: `the key was removed, and \`${to}\` counts`, hint: 'remove it' };
}

/** Tells the unknown keys that were removed from the other violations. */
export function removedKeys(
  found: readonly Violation[],
  table: readonly Removed[] = REMOVED,
): { readonly removed: readonly Violation[]; readonly others: readonly Violation[] } {
  const removed: Violation[] = [];
  const others: Violation[] = [];
  for (const violation of found) {
    const { path, isUnknownKey } = violation;
    const entry = table.find(one => !('was' in one) && one.path === levelText(path));
    if (!isUnknownKey || entry === undefined || !('use' in entry)) others.push(violation);
    else {
      const problem = 'the key was removed, and has no effect';
      removed.push({ path, isAtKey: true, problem, hint: entry.use });
    }
  }
  return { removed, others };
}
