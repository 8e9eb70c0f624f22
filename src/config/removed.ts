// Keys and values that a configuration of an earlier commit may have. Until version 1.0, each is a warning that names its
// replacement, not a mistake. Whoever removes a key or a value from keys.ts adds a line here.

import { isUnreadableBy, kindAt, type Violation } from './declare.ts';
import { CONFIG } from './keys.ts';
import { levelText, valueAt, type YamlMap } from './paths.ts';
import { ExpandedText } from './secrets.ts';

interface Removed {
  /** As `otlp.compression`, or `services[].api.timeout` for each entry. An entry for a block stands for its keys. */
  readonly path: string;
  /** The value that was removed; without it, the key was. */
  readonly was?: string;
  /** For a value: the value that is read instead. For a key: what to write, or to know, instead. */
  readonly use: string;
}

// A line counts from the moment when keys.ts no longer has the key or the value.
export const REMOVED: readonly Removed[] = [
  { path: 'otlp.compression', was: 'auto', use: 'gzip' },
  {
    path: 'metrics.limits.services',
    use: 'remove it: metrics.limits.memory bounds the services that no entry names',
  },
  { path: 'logs.shape', use: 'remove it: logs are pulled as archives' },
  {
    path: 'logs.window',
    use: 'remove it, and write its day_close_grace, if it has one, as `logs.day_close_grace`',
  },
  { path: 'logs.limits.set_aside', use: 'remove it: given-up archives are not kept' },
];

/** The map with the values to use instead of removed ones, which are `found`. */
export function replaceRemoved(
  given: YamlMap,
  table: readonly Removed[] = REMOVED,
): { readonly root: YamlMap; readonly found: readonly Violation[] } {
  let root = given;
  const found: Violation[] = [];
  for (const { path: text, was, use } of table) {
    const path = text.split('.');
    const value = valueAt(given, path);
    const written = value instanceof ExpandedText ? value.text : value;
    const kind = kindAt(CONFIG, path);
    if (was === undefined || written !== was || kind === undefined) continue;
    if (!isUnreadableBy(kind, was)) continue;
    root = withValue(root, path, use);
    const problem = `the value \`${was}\` was removed, and counts as \`${use}\``;
    found.push({ path, problem, hint: `write \`${use}\`` });
  }
  return { root, found };
}

function withValue(map: YamlMap, [name = '', ...rest]: readonly string[], value: unknown): YamlMap {
  const inner = (): YamlMap => withValue(map[name] as YamlMap, rest, value);
  return { ...map, [name]: rest.length === 0 ? value : inner() };
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
    const entry = table.find(({ path: one, was }) => was === undefined && one === levelText(path));
    if (!isUnknownKey || entry === undefined) others.push(violation);
    else {
      const problem = 'the key was removed, and has no effect';
      removed.push({ path, isAtKey: true, problem, hint: entry.use });
    }
  }
  return { removed, others };
}
