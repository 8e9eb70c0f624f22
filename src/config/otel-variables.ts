// The standard variables of OpenTelemetry exporters, read here and nowhere else. They apply where the YAML
// has no value; a variable of one signal beats the general one. An empty variable counts as none.
// Specification: OpenTelemetry protocol exporter, resource SDK ("Specifying resource information via an
// environment variable").

import { resolve } from 'node:path';
import type { Mistake } from '../errors.ts';
import type { Signal } from '../model/batch.ts';
import { isPlainMap, valueAt, type KeyPath } from './places.ts';
import { ExpandedText, expandPath, type Expansion, type TextSources } from './secrets.ts';

/** A value as the YAML would have it, or why there is none. */
type Reading = { readonly value: unknown } | { readonly problem: string; readonly hint?: string };
type Read = (text: string, sources: TextSources) => Reading;

/** One variable that is set. */
interface Variable {
  readonly name: string;
  readonly reading: Reading;
}

/** By path below `otlp`, as `tls.ca`. */
type Layer = ReadonlyMap<string, Variable>;

export interface OtelVariables {
  readonly general: Layer;
  readonly layers: Readonly<Record<Signal, Layer>>;
  /** Of OTEL_RESOURCE_ATTRIBUTES, without those that each service has of its own. */
  readonly attributes: Readonly<Record<string, string>>;
  /** What is wrong with OTEL_RESOURCE_ATTRIBUTES; that of the others shows where they are used. */
  readonly mistakes: readonly Mistake[];
}

const asIs: Read = text => ({ value: text });
const lowerCase: Read = text => ({ value: text.toLowerCase() });

/** What follows OTEL_EXPORTER_OTLP_ or OTEL_EXPORTER_OTLP_<SIGNAL>_, and the key that it sets. */
const VARIABLES: readonly (readonly [suffix: string, key: string, read: Read])[] = [
  ['ENDPOINT', 'endpoint', asIs],
  ['HEADERS', 'headers', readPairs],
  ['PROTOCOL', 'protocol', lowerCase],
  ['COMPRESSION', 'compression', lowerCase],
  ['TIMEOUT', 'timeout', readMilliseconds],
  ['CERTIFICATE', 'tls.ca', readFilePath],
  ['CLIENT_CERTIFICATE', 'tls.cert', readFilePath],
  ['CLIENT_KEY', 'tls.key', readFilePath],
];
const TEMPORALITY = ['TEMPORALITY_PREFERENCE', 'temporality', lowerCase] as const;
const PREFIX = 'OTEL_EXPORTER_OTLP_';
const OWN_ATTRIBUTES = new Set(['service.name', 'service.instance.id']);

/** Reads all of them. */
export function readOtelVariables(sources: TextSources): OtelVariables {
  const layer = (prefix: string, table: typeof VARIABLES): Layer => {
    const layer = new Map<string, Variable>();
    for (const [suffix, key, read] of table) {
      const variable = readVariable(prefix + suffix, read, sources);
      if (variable !== undefined) layer.set(key, variable);
    }
    return layer;
  };
  const metrics = layer(`${PREFIX}METRICS_`, [...VARIABLES, TEMPORALITY]);
  const layers = { metrics, logs: layer(`${PREFIX}LOGS_`, VARIABLES) };
  return { general: layer(PREFIX, VARIABLES), layers, ...readAttributes(sources) };
}

function readVariable(name: string, read: Read, sources: TextSources): Variable | undefined {
  const text = sources.environment[name]?.trim() ?? '';
  return text === '' ? undefined : { name, reading: read(text, sources) };
}

function readAttributes(sources: TextSources): Pick<OtelVariables, 'attributes' | 'mistakes'> {
  const variable = readVariable('OTEL_RESOURCE_ATTRIBUTES', readPairs, sources);
  if (variable === undefined) return { attributes: {}, mistakes: [] };
  const { name, reading } = variable;
  if ('problem' in reading) return { attributes: {}, mistakes: [variableMistake(name, reading)] };
  const pairs = Object.entries(reading.value as Record<string, string>);
  const attributes = Object.fromEntries(pairs.filter(([name]) => !OWN_ATTRIBUTES.has(name)));
  return { attributes, mistakes: [] };
}

function variableMistake(
  key: string,
  { problem: message, ...rest }: Exclude<Reading, { value: unknown }>,
): Mistake {
  return { code: 'E_CONFIG_ENV', key, message, ...rest };
}

/** The tree with the variables of one signal below `otlp` wherever the YAML has no value. */
export interface LayeredTree {
  readonly root: Readonly<Record<string, unknown>>;
  readonly variableOf: (path: KeyPath) => string | undefined;
  /** Of the variables that apply. */
  readonly mistakes: readonly Mistake[];
}

export function layerVariables(
  root: Readonly<Record<string, unknown>>,
  signal: Signal,
  variables: OtelVariables,
): LayeredTree {
  const given = root['otlp'] ?? {};
  if (!isPlainMap(given)) return { root, variableOf: () => undefined, mistakes: [] };
  const otlp: Record<string, unknown> = { ...given };
  const names = new Map<string, string>();
  const mistakes: Mistake[] = [];
  for (const [key, { name, reading }] of signalLayer(given, signal, variables)) {
    const path = key.split('.');
    if (!isSilent(given, path)) continue;
    if ('problem' in reading) {
      mistakes.push(variableMistake(name, reading));
      continue;
    }
    names.set(key, name);
    const [first = '', second] = path;
    const block = otlp[first] as object | null | undefined;
    otlp[first] = second === undefined ? reading.value : { ...block, [second]: reading.value };
  }
  const variableOf = (path: KeyPath): string | undefined => {
    if (path[0] !== 'otlp') return undefined;
    return names.get(path.slice(1, 3).join('.')) ?? names.get(String(path[1]));
  };
  return { root: { ...root, otlp }, variableOf, mistakes };
}

/** An endpoint of one signal is used as it is, so it becomes that key, unless the YAML names any. */
function signalLayer(given: object, signal: Signal, variables: OtelVariables): Layer {
  const { endpoint, ...own } = Object.fromEntries(variables.layers[signal]);
  const layer = new Map([...variables.general, ...Object.entries(own)]);
  if (endpoint !== undefined && isSilent(given, ['endpoint'])) {
    layer.set(`${signal}_endpoint`, endpoint);
  }
  return layer;
}

/** True when the YAML has no value: absent, or null where that means "not set". A wrong value is a value. */
function isSilent(given: object, path: readonly string[]): boolean {
  if (!isPlainMap(valueAt(given, path.slice(0, -1)) ?? {})) return false;
  const value = valueAt(given, path);
  const [block = ''] = path;
  const isNullable = path.length === 2 || block === 'headers' || block.endsWith('_endpoint');
  return value === undefined || (value === null && isNullable);
}

/** `name=value,name=value`, both percent-encoded where needed. */
function readPairs(text: string): Reading {
  const pairs: [string, string][] = [];
  for (const part of text.split(',')) {
    if (part.trim() === '') continue;
    const at = part.indexOf('=');
    const name = decode(part.slice(0, Math.max(at, 0)).trim());
    const value = decode(part.slice(at + 1).trim());
    if (at === -1 || name === undefined || name === '' || value === undefined) {
      const nth = String(pairs.length + 1);
      return {
        problem: `expected name=value pairs separated by commas; pair ${nth} is not one`,
        hint: 'encode `%`, `,` and `=` within them as %25, %2C and %3D',
      };
    }
    pairs.push([name, value]);
  }
  return { value: Object.fromEntries(pairs) };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function readMilliseconds(text: string): Reading {
  if (/^\d{1,9}$/.test(text)) return { value: `${text}ms` };
  return { problem: `expected milliseconds such as 10000, got ${JSON.stringify(text)}` };
}

/** The path of a PEM file, relative to the working directory as in every program that reads the variable. */
function readFilePath(text: string, sources: TextSources): Reading {
  const expandAgain = (): Expansion => expandPath(resolve(text), sources);
  const expansion = expandAgain();
  if ('text' in expansion) return { value: new ExpandedText(text, expansion.text, expandAgain) };
  return { problem: expansion.problems[0] };
}
