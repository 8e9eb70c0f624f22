// How a key of the configuration is declared: its name in the YAML, the kind of its value, its default, and what it is
// for. keys.ts declares them all. Everything else follows from the declarations: how the YAML is read, the messages,
// the types in config.ts, the JSON Schema, the example and the table of keys (tools/config-schema.ts writes the last three).

import { withoutUrlSecrets } from '../lib/printable.ts';
import { isPlainMap, UNREADABLE, valueAt, type KeyPath, type YamlMap } from './paths.ts';
import { ExpandedText, maskText } from './secrets.ts';

/** Why a name or a value is refused: words that follow `key: `, and what to do about it. */
export interface Refusal {
  readonly problem: string;
  readonly hint?: string | undefined;
}

/** A value as the YAML would have it, or why it cannot be used. */
export type Setting = ({ readonly value: unknown } | Refusal) & {
  /** What messages name instead of a place in the file, such as the variable; undefined: nothing. */
  readonly source?: string;
};

/** Values by the paths of their keys, such as `otlp.tls.ca`. */
export type Layer = ReadonlyMap<string, Setting>;

export interface Violation extends Refusal {
  readonly path: KeyPath;
  /** The message points at the key, not at its value. A missing key is reported at its block. */
  readonly isAtKey?: true;
  readonly isUnknownKey?: true;
}

export type Report = (violation: Violation) => void;
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A kind of value: how it is read, and how it is described to people and editors. */
export interface Kind<out T> {
  /** Completes `expected …`. */
  readonly expected: string;
  readonly json: () => JsonSchema;
  /** undefined when something is wrong, which is then reported. */
  readonly read: (value: unknown, path: KeyPath, report: Report) => T | undefined;
  /** The kind of the elements of a list, or of a map whose keys the user chooses. */
  readonly element?: Kind<unknown>;
  /** The map that is allowed instead of a list. */
  readonly instead?: AnyBlock;
  /** The text is the path of a file that holds the value, as `${file:PATH}` does. */
  readonly isFile?: true;
  /** The value is never shown. */
  readonly isSecret?: true;
}

/** A map of known keys, by their names in the program. */
export interface Block<out T> extends Kind<T> {
  readonly keys: { readonly [Name in keyof T]-?: Key<T[Name]> };
}

/** One key. about() gives it its description. */
export interface Key<out T> {
  readonly name: string;
  readonly kind: Kind<T>;
  readonly presence: 'defaulted' | 'optional' | 'required';
  /** As in the YAML; undefined for a block, and for a key without a default. */
  readonly default: unknown;
  /** The value in the example; undefined for a block, and for a key that the example leaves out. */
  readonly example: unknown;
  /** The description in sentences; '' where the name is enough. */
  readonly text: string;
  /** True if a change needs a restart. */
  readonly isFixed: boolean;
  /** The same key with a description. */
  readonly about: (text: string) => Key<T>;
  /** The same for a key whose change needs a restart. */
  readonly aboutFixed: (text: string) => Key<T>;
}

type KeyFields<T> = Pick<Key<T>, 'name' | 'kind' | 'presence'> & Partial<Key<T>>;

function makeKey<T>(fields: KeyFields<T>): Key<T> {
  const about = (text: string, isFixed: boolean): Key<T> =>
    makeKey({ ...fields, text: text.replaceAll(/\s+/g, ' ').trim(), isFixed });
  return {
    default: undefined,
    example: undefined,
    text: '',
    isFixed: false,
    ...fields,
    about: text => about(text, false),
    aboutFixed: text => about(text, true),
  };
}

/** A block has no fallback, because each of its keys has its own default. */
export function key<T>(
  name: string,
  kind: Kind<T>,
  fallback?: unknown,
  example: unknown = fallback,
): Key<T> {
  return makeKey({ name, kind, presence: 'defaulted', default: fallback, example });
}

export function requiredKey<T>(name: string, kind: Kind<T>, example: unknown): Key<T> {
  return makeKey({ name, kind, presence: 'required', example });
}

export function optionalKey<T>(name: string, kind: Kind<T>, example: unknown): Key<T | undefined> {
  return makeKey<T | undefined>({ name, kind, presence: 'optional', example });
}

/** The type of the value that a kind reads. */
export type ValueOf<K> = K extends Kind<infer T> ? T : never;

type Values<Keys> = {
  readonly [Name in keyof Keys]: Keys[Name] extends Key<infer T> ? T : never;
};

/**
 * A map of known keys; any other key is wrong. Nothing after the colon is the empty map, so that a block whose keys are
 * all commented out stays legal.
 */
export function block<Keys extends Readonly<Record<string, Key<unknown>>>>(
  keys: Keys,
): Block<Values<Keys>> {
  const declared = Object.entries<Key<unknown>>(keys);
  const names = new Set(declared.map(([, { name }]) => name));
  return {
    expected: 'a map of keys',
    keys: keys as unknown as Block<Values<Keys>>['keys'],
    json: () => ({
      type: ['object', 'null'],
      properties: Object.fromEntries(declared.map(([, key]) => [key.name, jsonOfKey(key)])),
      additionalProperties: false,
    }),
    read: (value, path, report) => {
      const map = mapAt(value, path, report);
      if (map === undefined) return undefined;
      const read = declared.map(([property, key]) => {
        const own = Object.hasOwn(map, key.name) ? map[key.name] : undefined;
        return [property, readKey(key, own, [...path, key.name], report)];
      });
      for (const name of Object.keys(map).filter(name => !names.has(name)))
        report({ ...UNKNOWN_KEY, path: [...path, name] });
      return Object.fromEntries(read) as Values<Keys>;
    },
  };
}

export const MISSING: Refusal = { problem: 'missing' };
const UNKNOWN_KEY = {
  problem: 'unknown key',
  isAtKey: true,
  isUnknownKey: true,
} as const;

/** Reads the value of a key, or its default where there is none. */
function readKey<T>(key: Key<T>, value: unknown, path: KeyPath, report: Report): T {
  // If T excludes undefined, an undefined result means that a mistake was reported: it is not used.
  const read = (value: unknown): T => readValue(key.kind, value, path, report) as T;
  if (value !== undefined) return read(value);
  if (key.presence === 'defaulted') return read(key.default);
  if (key.presence === 'required') {
    const hint = `add ${key.kind.expected}`;
    report({ ...MISSING, path, hint });
  }
  return undefined as T;
}

function readValue<T>(kind: Kind<T>, value: unknown, path: KeyPath, report: Report): T | undefined {
  // The mistake that made the value unreadable has already been reported.
  return value === UNREADABLE ? undefined : kind.read(value, path, report);
}

/** The value of a key by itself; undefined when something is wrong with it. */
export function readAlone<T>(key: Key<T>, value: unknown): T | undefined {
  let isRight = true;
  const read = readKey(key, value, [], () => (isRight = false));
  return isRight && isReadable(value) ? read : undefined;
}

/** The value at a path as its key reads it, the default where there is none; undefined when it is wrong. */
export function readAt<T>(root: unknown, path: KeyPath, key: Key<T>): T | undefined {
  return readAlone(key, valueAt(root, path) ?? undefined);
}

/** True if a value of this kind can be this one. */
export function canRead(kind: Kind<unknown>, value: unknown): boolean {
  let isRight = true;
  kind.read(value, [], () => (isRight = false));
  return isRight;
}

/** True if neither the value nor anything in it is UNREADABLE. */
function isReadable(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isReadable);
  return isPlainMap(value) ? Object.values(value).every(isReadable) : value !== UNREADABLE;
}

/** Nothing after the colon is the empty list. */
export function list<T>(element: Kind<T>): Kind<readonly T[]> {
  return {
    expected: 'a list',
    element,
    json: () => ({ type: ['array', 'null'], items: element.json() }),
    read: (value = [], path, report) => {
      if (value === null) return [];
      if (Array.isArray(value))
        return value.map((one, index) => readValue(element, one, [...path, index], report) as T);
      const hint = typeof value === 'object' ? undefined : 'put it in brackets: `[…]`';
      report({ path, problem: `expected a list, got ${showValue(value, true)}`, hint });
      return undefined;
    },
  };
}

/** A map whose keys the user chooses; `judge` returns the problem of a key, or undefined for a legal one. */
export function mapOf<T>(
  judge: (name: string) => Refusal | undefined,
  element: Kind<T>,
): Kind<Readonly<Record<string, T>>> {
  return {
    expected: 'a map',
    element,
    json: () => ({ type: ['object', 'null'], additionalProperties: element.json() }),
    read: (value, path, report) => {
      const map = mapAt(value, path, report);
      if (map === undefined) return undefined;
      const legal = Object.entries(map).filter(([name]) => {
        const refusal = judge(name);
        if (refusal === undefined) return true;
        report({ ...refusal, path: [...path, name], isAtKey: true });
        return false;
      });
      return Object.fromEntries(
        legal.map(([name, one]) => [name, readValue(element, one, [...path, name], report) as T]),
      );
    },
  };
}

function mapAt(value: unknown, path: KeyPath, report: Report): YamlMap | undefined {
  if (value === undefined || value === null) return {};
  if (isPlainMap(value)) return value;
  // A scalar in place of a map may be a secret in the wrong place, so its text does not show.
  report({ path, problem: `expected a map of keys, got ${showValue(value, true)}` });
  return undefined;
}

export function orNull<T>(kind: Kind<T>): Kind<T | null> {
  return {
    ...kind,
    json: () => {
      const json = kind.json();
      return isAnyText(json) ? { type: ['string', 'null'] } : { anyOf: [json, { type: 'null' }] };
    },
    read: (value, path, report) => (value === null ? null : kind.read(value, path, report)),
  };
}

function isAnyText(json: JsonSchema): boolean {
  return json['type'] === 'string' && Object.keys(json).length === 1;
}

/** The same kind, or null for no limit, which is read as Infinity. */
export function orUnlimited(kind: Kind<number>): Kind<number> {
  return {
    ...orNull(kind),
    read: (value, path, report) => (value === null ? Infinity : kind.read(value, path, report)),
  };
}

/** The input of a leaf. `text` is set only for texts and for the results of references. */
export interface LeafInput {
  readonly value: unknown;
  readonly text: string | undefined;
  /** Set when the value came out of references. */
  readonly expanded: ExpandedText | undefined;
  /** The value in words for a message; never the text of a secret. */
  readonly shown: string;
}

export type Reading<T> = { readonly value: T } | Refusal;

export interface LeafOptions<T> extends Pick<Kind<T>, 'expected' | 'isSecret' | 'isFile'> {
  readonly json: JsonSchema;
  readonly read: (input: LeafInput) => Reading<T> | undefined;
  readonly suggest?: (input: LeafInput) => string | undefined;
}

const REFERENCE_JSON = { type: 'string', pattern: '\\$\\{(file|env):[^}]+\\}' };

/** A single value: a scalar of the YAML, or an ExpandedText, whose text is read like a text in the YAML. */
export function leaf<T>(options: LeafOptions<T>): Kind<T> {
  const { json, read: _read, suggest: _suggest, ...facts } = options;
  return {
    ...facts,
    json: () => (isAnyText(json) ? json : { anyOf: [json, REFERENCE_JSON] }),
    read: (value, path, report) => {
      const reading = readLeaf(value, options);
      if ('value' in reading) return reading.value;
      report({ path, ...reading });
      return undefined;
    },
  };
}

function readLeaf<T>(value: unknown, options: LeafOptions<T>): Reading<T> {
  const expanded = value instanceof ExpandedText ? value : undefined;
  const text = expanded?.text ?? (typeof value === 'string' ? value : undefined);
  const shown = showValue(value, options.isSecret === true);
  const input = { value, text, expanded, shown };
  const reading = options.read(input);
  if (reading !== undefined) return reading;
  // A suggestion repeats part of the value, which must not show when it came out of a reference.
  const meant = expanded === undefined ? options.suggest?.(input) : undefined;
  const suggestion = meant !== undefined && isLegal(meant, options) ? meant : undefined;
  return {
    problem: `expected ${options.expected}, got ${shown}`,
    hint: suggestion === undefined ? quoteHint(input, options) : `did you mean \`${suggestion}\`?`,
  };
}

/** A suggestion that is wrong itself would only lead to the next mistake. */
function isLegal<T>(text: string, options: LeafOptions<T>): boolean {
  const bare = text === 'true' || text === 'false' ? text === 'true' : Number(text);
  return [text, bare].some(value => isReadBy(value, options));
}

/** A hint for a value such as `12345`, which is a number in YAML, but would be legal as a text. */
function quoteHint<T>({ value }: LeafInput, options: LeafOptions<T>): string | undefined {
  const isBare = typeof value === 'number' || typeof value === 'boolean';
  return isBare && isReadBy(String(value), options) ? 'put it in quotes' : undefined;
}

function isReadBy<T>(value: string | number | boolean, { read }: LeafOptions<T>): boolean {
  const reading = read({ value, text: String(value), expanded: undefined, shown: '' });
  return reading !== undefined && 'value' in reading;
}

const SHOWN_LENGTH_MAX = 80;

/** A value in words for a message: quoted and cut short, without the credentials of a URL. */
export function showValue(value: unknown, isSecret = false): string {
  if (value === null || value === undefined) return 'nothing';
  if (value instanceof ExpandedText)
    return `the value of ${showText(isSecret ? maskText(value.template) : value.template)}`;
  if (Array.isArray(value)) return 'a list';
  switch (typeof value) {
    case 'string':
      return isSecret ? 'a text' : showText(value);
    case 'number':
      return isSecret ? 'a number' : `the number ${String(value)}`;
    case 'boolean':
      return isSecret ? 'true or false' : String(value);
    default:
      return 'a map';
  }
}

function showText(text: string): string {
  const clean = withoutUrlSecrets(text);
  const short =
    clean.length <= SHOWN_LENGTH_MAX ? clean : `${clean.slice(0, SHOWN_LENGTH_MAX - 1)}…`;
  return JSON.stringify(short);
}

/** The description of a key in the example, in editors and in the table of keys. */
export function wordsOf({ text, presence, isFixed }: Key<unknown>): string {
  const required = presence === 'required' ? ' Required.' : '';
  return `${text}${required}${isFixed ? ' A change needs a restart.' : ''}`;
}

function jsonOfKey(key: Key<unknown>): JsonSchema {
  const words = wordsOf(key);
  return {
    ...(words !== '' && { description: words }),
    ...(key.default !== undefined && { default: key.default }),
    ...key.kind.json(),
  };
}

export type AnyBlock = Kind<unknown> & { readonly keys: Readonly<Record<string, Key<unknown>>> };

export function isBlock(kind: Kind<unknown>): kind is AnyBlock {
  return 'keys' in kind;
}

/** Every block by its path, as `metrics.limits` or `services[].api`, outer ones first; the root is ``. */
function blocksByLevel(root: Kind<unknown>): ReadonlyMap<string, AnyBlock> {
  const levels = new Map<string, AnyBlock>();
  const walk = (kind: Kind<unknown>, path: string): void => {
    if (kind.element !== undefined) walk(kind.element, `${path}[]`);
    if (kind.instead !== undefined) walk(kind.instead, path);
    if (!isBlock(kind)) return;
    levels.set(path, kind);
    for (const { name, kind: own } of Object.values(kind.keys))
      walk(own, path === '' ? name : `${path}.${name}`);
  };
  walk(root, '');
  return levels;
}

/** The names of the keys of every block. */
export function keysByLevel(root: Kind<unknown>): ReadonlyMap<string, readonly string[]> {
  const levels = [...blocksByLevel(root)];
  return new Map(
    levels.map(([path, { keys }]) => [path, Object.values(keys).map(({ name }) => name)]),
  );
}

/** The kind of the value at a path; undefined where no key is declared. */
export function kindAt(root: Kind<unknown>, path: KeyPath): Kind<unknown> | undefined {
  let kind: Kind<unknown> | undefined = root;
  for (const part of path) {
    if (kind === undefined) return undefined;
    if (typeof part === 'number') kind = kind.element;
    else {
      const map: Kind<unknown> = kind.instead ?? kind;
      kind = isBlock(map)
        ? Object.values(map.keys).find(({ name }) => name === part)?.kind
        : map.element;
    }
  }
  return kind;
}
