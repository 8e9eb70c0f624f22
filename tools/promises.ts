// Writes what the program promises to keep (docs/operate/versions.md) into test/fixtures/promises/VERSION.json: keys, verbs,
// the shapes of their JSON, own metrics, environment variables and file formats. Run `node tools/promises.ts` before a
// release. A test compares the present with the last release, and finds what is gone.

import { globSync, readFileSync, writeFileSync } from 'node:fs';
import type { Action, Verb } from '../src/cli/verb.ts';
import { loadVerbs } from '../src/cli/verbs.ts';
import { isBlock, type Key, type Kind } from '../src/config/declare.ts';
import { CONFIG } from '../src/config/keys.ts';
import { OTEL_NAMES } from '../src/config/otel-variables.ts';
import { programVersion } from '../src/lib/version.ts';
import { STATE_VERSION as DIGESTS_VERSION } from '../src/logs/digests/digests.ts';
import { STATE_VERSION as LOGS_VERSION } from '../src/logs/stored-state.ts';
import { FORMAT_VERSION } from '../src/pipeline/queue/schema.ts';
import { VARIABLES } from './cli-docs.ts';
import { COUNTER_SECTIONS } from './own-counters.ts';

/** A fact that must stay as it is, a list whose entries must stay, or facts by name. */
export type Promised =
  | string
  | number
  | boolean
  | null
  | readonly Promised[]
  | { readonly [name: string]: Promised };

/** By kind (`keys`, `metrics`, …) and name. */
export type Promises = Readonly<Record<string, Readonly<Record<string, Promised>>>>;

const ROOT = new URL('..', import.meta.url);

export async function promises(): Promise<Promises> {
  const verbs = await loadVerbs();
  const named = verbs.flatMap(verb => verb.actions.map(action => [verb, action] as const));
  return {
    keys: Object.fromEntries(keysOf(CONFIG, '')),
    verbs: Object.fromEntries(
      named.map(([verb, action]) => [nameOf(verb, action), verbFacts(verb, action)]),
    ),
    json: jsonShapes(named.map(one => nameOf(...one))),
    metrics: Object.fromEntries(
      COUNTER_SECTIONS.flatMap(({ counters }) => counters).map(({ name, kind, labelNames }) => [
        name,
        { type: kind, unit: unitOf(name), labels: labelNames },
      ]),
    ),
    variables: Object.fromEntries(
      [...VARIABLES.map(([name]) => name), ...OTEL_NAMES].map(name => [name, true]),
    ),
    formats: { queue: FORMAT_VERSION, logs: LOGS_VERSION, digests: DIGESTS_VERSION },
  };
}

function nameOf({ name }: Verb, action: Action): string {
  return `${name} ${action.name}`.trim();
}

function keysOf(kind: Kind<unknown>, path: string): [string, Promised][] {
  const { element, instead } = kind;
  const inner: [string, Promised][] =
    element === undefined
      ? []
      : isBlock(element)
        ? keysOf(element, `${path}[]`)
        : [[`${path}[]`, { accepts: acceptedBy(element) }]];
  const map = instead === undefined ? [] : keysOf(instead, path);
  if (!isBlock(kind)) return [...inner, ...map];
  return Object.values(kind.keys).flatMap(key => {
    const own = path === '' ? key.name : `${path}.${key.name}`;
    return [[own, keyFacts(key)], ...keysOf(key.kind, own)];
  });
}

function keyFacts({ kind, presence, default: fallback }: Key<unknown>): Promised {
  const accepts = acceptedBy(kind);
  return presence === 'required'
    ? { accepts }
    : { accepts, default: (fallback ?? null) as Promised };
}

/** The choices, or the kind of the value. */
function acceptedBy({ element, expected, json }: Kind<unknown>): readonly string[] {
  const schema = JSON.stringify(json());
  const choices = /"enum":(\[[^\]]*\])/.exec(schema)?.[1] ?? '[]';
  const words =
    element === undefined
      ? (JSON.parse(choices) as string[])
      : [schema.includes('"type":["array"') ? 'a list' : 'a map'];
  const isNullable = element === undefined && schema.includes('"type":"null"');
  const all = words.length > 0 ? words : [expected.replace(/ such as .*/, '')];
  return isNullable ? [...all, 'null'] : all;
}

function verbFacts(verb: Verb, action: Action): Promised {
  const options = Object.entries(action.options).flatMap(([name, option]) => {
    const facts = { value: option.value.split('|'), default: option.default ?? null };
    const short = option.short === undefined ? [] : [[`-${option.short}`, `--${name}`] as const];
    const alias =
      option.alias === undefined ? [] : [[`--${option.alias.name}`, `--${name}`] as const];
    return [[`--${name}`, facts] as const, ...short, ...alias];
  });
  return {
    options: Object.fromEntries(options),
    words: action.words === undefined ? [] : [action.words.value, action.words.count],
    exits: Object.keys(verb.exits),
  };
}

/** The last part of the name, before `_total`, as the conventions of Prometheus have it; '' for a number of things. */
function unitOf(name: string): string {
  return /_(seconds|bytes|ratio)(?:_total)?$/.exec(name)?.[1] ?? '';
}

/** The paths of each verb's JSON and their types, as the transcripts of `--format json` have them. */
function jsonShapes(names: readonly string[]): Record<string, Promised> {
  const shapes = new Map<string, Map<string, Set<string>>>();
  const longest = names.toSorted((a, b) => b.length - a.length);
  for (const file of globSync('test/transcripts/*/*.txt', { cwd: ROOT.pathname }).sort())
    for (const { command, output } of jsonOutputs(readFileSync(new URL(file, ROOT), 'utf8'))) {
      const name = longest.find(one => ` ${command} `.includes(` ${one} `));
      if (name === undefined) continue;
      const shape = shapes.get(name) ?? new Map<string, Set<string>>();
      shapes.set(name, shape);
      for (const value of output) addShape(shape, '', value);
    }
  const sorted = [...shapes].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    sorted.map(([name, shape]) => [
      name,
      Object.fromEntries([...shape].map(([path, types]) => [path, [...types].sort()])),
    ]),
  );
}

/** The commands of a transcript whose whole output is JSON, or lines of JSON. */
function jsonOutputs(
  text: string,
): { readonly command: string; readonly output: readonly unknown[] }[] {
  const variables = [...text.matchAll(/^ {2}\$ (\w+)="?([^"\n]*)"?$/gm)];
  const expand = (line: string): string =>
    variables.reduce((all, [, name = '', value = '']) => all.replaceAll(`$${name}`, value), line);
  return [...text.matchAll(/^ {2}\$ (.*prom2otlp .*)\n((?: {2}[^$|].*\n|  \n)*)/gm)].flatMap(
    ([, typed = '', printed = '']) => {
      const isJson = /--(?:format[ =]json|jsonl?)\b/.test(typed) && !typed.includes(' | ');
      const lines = printed.split('\n').filter(line => !/^ {2}(?:!|\[\d+\]$)/.test(line));
      const output = isJson ? parsed(lines.join('\n')) : [];
      return output.length === 0 ? [] : [{ command: expand(typed), output }];
    },
  );
}

function parsed(printed: string): unknown[] {
  // A transcript has words for what differs from run to run.
  const text = printed.replaceAll(/: <\w+>/g, ': 0');
  for (const parts of [[text], text.trim().split('\n')])
    try {
      return parts.map(part => JSON.parse(part) as unknown);
    } catch {
      // Not a document; perhaps lines. Else a part of the output is made up for the transcript.
    }
  return [];
}

/** Maps whose names come from the data: their names are no promise. */
const FREE =
  /(?:^|\.)(?:attributes|labels|resource|tags|data\[\]|metadata|droppedByReason|counts|account\.services)$/;

function addShape(shape: Map<string, Set<string>>, path: string, value: unknown): void {
  const isObject = typeof value === 'object' && value !== null;
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  shape.set(path, (shape.get(path) ?? new Set()).add(type));
  if (!isObject) return;
  if (Array.isArray(value)) for (const one of value as unknown[]) addShape(shape, `${path}[]`, one);
  else if (!FREE.test(path))
    for (const [name, one] of Object.entries(value))
      addShape(shape, path === '' ? name : `${path}.${name}`, one);
}

/** The names of what was promised `before` and is gone or another now. Something new is never one. */
export function brokenPromises(before: Promises, now: Promises): readonly string[] {
  const broken = Object.entries(before).flatMap(([kind, facts]) =>
    Object.entries(facts).flatMap(([name, fact]) =>
      kind === 'json' || kind === 'verbs'
        ? brokenParts(name, fact, now[kind]?.[name])
        : isKept(fact, now[kind]?.[name])
          ? []
          : [name],
    ),
  );
  return [...new Set(broken)];
}

/** `status --url` for an option, `status: verdict.title` for a member of the JSON, `status` for the rest. */
function brokenParts(verb: string, before: Promised, now: Promised | undefined): readonly string[] {
  if (!isFacts(before) || !isFacts(now)) return [verb];
  return Object.entries(before).flatMap(([part, fact]) => {
    if (isKept(fact, now[part])) return [];
    const options = part === 'options' && isFacts(fact) ? Object.entries(fact) : null;
    const own = now['options'];
    if (options === null) return [part === 'exits' || part === 'words' ? verb : `${verb}: ${part}`];
    return options
      .filter(([name, one]) => !isKept(one, isFacts(own) ? own[name] : undefined))
      .map(([name]) => `${verb} ${name}`);
  });
}

function isFacts(one: Promised | undefined): one is { readonly [name: string]: Promised } {
  return typeof one === 'object' && one !== null && !Array.isArray(one);
}

function isKept(before: Promised, now: Promised | undefined): boolean {
  if (now === undefined) return false;
  if (Array.isArray(before))
    return Array.isArray(now) && before.every(one => now.some(other => isKept(one, other)));
  if (!isFacts(before)) return before === now;
  return isFacts(now) && Object.entries(before).every(([name, one]) => isKept(one, now[name]));
}

/**
 * The broken promises that no line of the changelog names, above the heading of that version, as
 * "Removed: `metrics.foo`" or "Changed: `metrics.foo`".
 */
export function untold(
  broken: readonly string[],
  changelog: string,
  version: string,
): readonly string[] {
  const [since = ''] = changelog.split(`\n## ${version}`);
  return broken.filter(
    name => !since.includes(`Removed: \`${name}\``) && !since.includes(`Changed: \`${name}\``),
  );
}

/** One promise a line, so that a difference is readable. */
export function promisesText(all: Promises): string {
  const kinds = Object.entries(all).map(([kind, facts]) => {
    const rows = Object.entries(facts).map(
      ([name, fact]) => `    ${JSON.stringify(name)}: ${JSON.stringify(fact)}`,
    );
    return `  ${JSON.stringify(kind)}: {\n${rows.join(',\n')}\n  }`;
  });
  return `{\n${kinds.join(',\n')}\n}\n`;
}

if (import.meta.main) {
  const version = programVersion();
  const changelog = readFileSync(new URL('CHANGELOG.md', ROOT), 'utf8');
  if (!changelog.includes(`\n## ${version} (not released)`))
    throw new Error(`the changelog has no "${version} (not released)": a released promise stays`);
  const file = new URL(`test/fixtures/promises/${version}.json`, ROOT);
  writeFileSync(file, promisesText(await promises()));
}
