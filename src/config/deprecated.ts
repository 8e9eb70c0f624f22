// Keys and values that an earlier version had. Each is accepted, works as its replacement, and is a warning that names it;
// `check --fix` rewrites it (yaml-edit.ts). Whoever renames or removes a key or a value in keys.ts adds a line here. The
// line stays as long as docs/operate/versions.md promises.

import { canRead, kindAt, type Refusal, type Violation } from './declare.ts';
import { CONFIG } from './keys.ts';
import {
  type KeyPath,
  pathsAt,
  pathText,
  valueAt,
  withoutValueAt,
  withValueAt,
  type YamlMap,
} from './paths.ts';
import { ExpandedText } from './secrets.ts';
import type { Yaml } from './yaml.ts';

/** `path` is as `otlp.compression`, or `services[].api.timeout` for each entry. An entry for a block means its keys. */
export type Deprecated = {
  readonly path: string;
  /** The first version without the key or the value. */
  readonly since: string;
} & (
  | {
      /** The key that keeps the value; within the same entry if `path` is within a list. */
      readonly replacedBy: string;
      /** Values that the new key calls otherwise. */
      readonly values?: Readonly<Record<string, string>>;
    }
  | {
      /** The key stays; of these values, others are read instead. */
      readonly values: Readonly<Record<string, string>>;
    }
  | {
      /** The key has no effect, and this is why. */
      readonly unused: string;
    }
);

// A line counts from the moment when keys.ts no longer has the key or the value. A key comes before its block.
export const DEPRECATED: readonly Deprecated[] = [
  { path: 'otlp.compression', since: '0.2.0', values: { auto: 'gzip' } },
  {
    path: 'metrics.limits.services',
    since: '0.2.0',
    unused: 'metrics.limits.memory bounds the services that no entry names',
  },
  { path: 'logs.shape', since: '0.2.0', unused: 'logs are pulled as archives' },
  {
    path: 'logs.window.day_close_grace',
    since: '0.2.0',
    replacedBy: 'logs.day_close_grace',
  },
  { path: 'logs.window', since: '0.2.0', unused: 'logs are pulled as archives' },
  { path: 'logs.limits.set_aside', since: '0.2.0', unused: 'given-up archives are not kept' },
];

/** What happens to one deprecated key or value of a file. */
export interface Step {
  readonly entry: Deprecated;
  readonly from: KeyPath;
  /** `from` if only the value changes; null if the key goes. */
  readonly to: KeyPath | null;
  /** The value that another replaces; null: it stays as it is. */
  readonly change: { readonly was: string; readonly value: string } | null;
  /** The file has the new key too. */
  readonly isConflict: boolean;
  /** The value is written as it is, not by a reference such as `${env:NAME}`. */
  readonly isWritten: boolean;
}

/** What to do about a key at a path of the data; null if the key and its value are legal. */
export function stepOf(entry: Deprecated, from: KeyPath, root: YamlMap): Step | null {
  const given = valueAt(root, from);
  const isWritten = !(given instanceof ExpandedText);
  const was = isWritten ? given : given.text;
  const value = 'values' in entry && typeof was === 'string' ? entry.values?.[was] : undefined;
  const change = value === undefined ? null : { was: String(was), value };
  const kind = kindAt(CONFIG, from);
  const step = { entry, from, change, isWritten, isConflict: false };
  const isKey = 'replacedBy' in entry || 'unused' in entry;
  if (isKey && kind !== undefined) return null;
  if ('unused' in entry) return { ...step, to: null };
  if ('replacedBy' in entry) {
    const to = sameEntries(entry.replacedBy, from);
    return { ...step, to, isConflict: valueAt(root, to) !== undefined };
  }
  if (change === null || kind === undefined || canRead(kind, was)) return null;
  return { ...step, to: from };
}

/** The data with one replacement; of a key in both spellings, the new one. */
export function afterStep(root: YamlMap, { from, to, change, isConflict }: Step): YamlMap {
  const value: unknown = change?.value ?? valueAt(root, from);
  const left = to === from ? root : withoutValueAt(root, from);
  return to === null || isConflict ? left : withValueAt(left, to, value);
}

/** The path of a key, with the indexes of another path in place of its `[]`. */
function sameEntries(key: string, path: KeyPath): KeyPath {
  const indexes = path.filter(part => typeof part === 'number');
  return key
    .split('.')
    .flatMap(part => (part.endsWith('[]') ? [part.slice(0, -2), indexes.shift() ?? 0] : [part]));
}

export interface Replaced {
  readonly yaml: Yaml<YamlMap>;
  readonly warnings: readonly Violation[];
  /** Of keys that the file has in both spellings. */
  readonly mistakes: readonly Violation[];
}

/** The YAML as if it had the replacements, each with a warning. */
export function replaceDeprecated(
  yaml: Yaml<YamlMap>,
  table: readonly Deprecated[] = DEPRECATED,
): Replaced {
  let { root } = yaml;
  const steps: Step[] = [];
  for (const entry of table)
    for (const from of pathsAt(root, entry.path)) {
      const step = stepOf(entry, from, root);
      if (step === null) continue;
      root = afterStep(root, step);
      steps.push(step);
    }
  // A mistake in a moved value is where the value is written.
  const placeOf: Yaml['placeOf'] = (path, part) => {
    const step = steps.find(({ to }) => to?.every((name, index) => path[index] === name));
    const written = step && !step.isConflict && [...step.from, ...path.slice(step.to?.length)];
    return yaml.placeOf(written || path, part);
  };
  const violations = steps.map(step => ({
    path: step.from,
    ...(step.to !== step.from && { isAtKey: true as const }),
    ...(step.isConflict ? conflictWords(step, yaml) : wordsOf(step)),
  }));
  return {
    yaml: { ...yaml, root, placeOf },
    warnings: violations.filter((_, index) => steps[index]?.isConflict === false),
    mistakes: violations.filter((_, index) => steps[index]?.isConflict === true),
  };
}

function wordsOf({ entry, from, to, change, isWritten }: Step): Refusal {
  const fix = '`prom2otlp check --fix`';
  if ('unused' in entry)
    return {
      problem: `no effect since ${entry.since}: ${entry.unused}`,
      hint: `remove it, as ${fix} does`,
    };
  const since = `deprecated since ${entry.since}`;
  const rewrites = change === null || isWritten ? `; ${fix} rewrites it` : '';
  if (to === from && change !== null) {
    const problem = `the value \`${change.was}\` is ${since}`;
    return { problem, hint: `use \`${change.value}\`${rewrites}` };
  }
  const value = change === null ? '' : `: ${change.value}`;
  return { problem: since, hint: `use \`${pathText(to ?? [])}${value}\`${rewrites}` };
}

function conflictWords({ to }: Step, yaml: Yaml): Refusal {
  const line = String(yaml.placeOf(to ?? [], 'key').line);
  const problem = `the former name of \`${pathText(to ?? [])}\`, which line ${line} has too`;
  return { problem, hint: 'keep one of them' };
}
