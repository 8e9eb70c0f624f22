// Reads the standard variables of OpenTelemetry, which no other file reads: for the exporters, and for the program's own
// telemetry. They apply where the YAML has no value; a variable of one signal overrides the general one. An empty
// variable counts as not set. So does, with a warning, one whose word or number is not understood, as the specification
// says. An unusable address, header or certificate is a mistake: without it the data would go elsewhere, or unguarded.
// Specification: OpenTelemetry protocol exporter, resource SDK ("Specifying resource information via an
// environment variable"), environment variables ("General SDK configuration", "Periodic exporting MetricReader").

import { resolve } from 'node:path';
import type { Mistake } from '../errors.ts';
import { type Signal, SIGNALS } from '../model/batch.ts';
import { kindAt, type Layer, type Refusal, type Setting } from './declare.ts';
import { CONFIG } from './keys.ts';
import { ExpandedText, expandPath, type Expansion, type TextSources } from './secrets.ts';

/** A value as the YAML would have it, or why there is none. */
type Reading = { readonly value: unknown } | Refusal;
type Read = (text: string, sources: TextSources) => Reading | null;

/** `source` is the name of the variable. */
type Variable = Setting & { readonly source: string };

export interface OtelVariables {
  /** For each signal: its variables, else the general ones; and the variables for the program itself. */
  readonly layers: Readonly<Record<Signal, Layer>>;
  /** Variables that are not understood, by the keys that they would set. */
  readonly ignored: readonly Ignored[];
}

type Ignored = readonly [key: string, warning: Mistake];

const asIs: Read = text => ({ value: text });
const lowerCase: Read = text => ({ value: text.toLowerCase() });

/** The suffix after OTEL_EXPORTER_OTLP_ or OTEL_EXPORTER_OTLP_<SIGNAL>_, and the key that the variable sets. */
const VARIABLES: readonly (readonly [suffix: string, key: string, read: Read])[] = [
  ['ENDPOINT', 'otlp.endpoint', asIs],
  ['HEADERS', 'otlp.headers', readPairs],
  ['PROTOCOL', 'otlp.protocol', lowerCase],
  ['COMPRESSION', 'otlp.compression', lowerCase],
  ['TIMEOUT', 'otlp.timeout', readMilliseconds],
  ['CERTIFICATE', 'otlp.tls.ca', readFilePath],
  ['CLIENT_CERTIFICATE', 'otlp.tls.cert', readFilePath],
  ['CLIENT_KEY', 'otlp.tls.key', readFilePath],
];
/** The suffix after OTEL_, for keys without a value per signal. */
const OWN_VARIABLES: typeof VARIABLES = [
  ['EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', 'otlp.temporality', lowerCase],
  // The name by itself beats the one among the attributes.
  ['RESOURCE_ATTRIBUTES', 'telemetry.service_name', readNameAttribute],
  ['RESOURCE_ATTRIBUTES', 'telemetry.attributes', readAttributes],
  ['SERVICE_NAME', 'telemetry.service_name', asIs],
  ['METRIC_EXPORT_INTERVAL', 'telemetry.interval', readMilliseconds],
  ['SDK_DISABLED', 'telemetry.enabled', text => ({ value: text.toLowerCase() !== 'true' })],
  ['LOG_LEVEL', 'log.level', readLogLevel],
];
const PREFIX = 'OTEL_EXPORTER_OTLP_';
/** The keys whose variables are ignored, with a warning, when they are not understood. */
const WORDS: ReadonlySet<string> = new Set([
  'otlp.protocol',
  'otlp.compression',
  'otlp.timeout',
  'otlp.temporality',
  'telemetry.interval',
  'telemetry.attributes',
  'log.level',
]);

/** The names of all variables that are read. */
export const OTEL_NAMES: readonly string[] = [
  ...['', ...SIGNALS.map(signal => `${signal.toUpperCase()}_`)].flatMap(part =>
    VARIABLES.map(([suffix]) => PREFIX + part + suffix),
  ),
  ...new Set(OWN_VARIABLES.map(([suffix]) => `OTEL_${suffix}`)),
];

/** The keys that a variable can set for one signal. */
export const SIGNAL_KEYS: readonly string[] = VARIABLES.map(([, key]) => key);

/** The key of one signal for a general key: only the endpoint has its own, because it is used unchanged. */
export function keyFor(signal: Signal, key: string): string {
  return key === 'otlp.endpoint' ? `otlp.${signal}_endpoint` : key;
}

export function readOtelVariables(sources: TextSources): OtelVariables {
  const ignored: Ignored[] = [];
  const layer = (prefix: string, table: typeof VARIABLES): (readonly [string, Variable])[] =>
    table.flatMap(([suffix, key, read]) => {
      const variable = readVariable(prefix + suffix, read, sources);
      if (variable === undefined) return [];
      const warning = WORDS.has(key) ? warningOf(variable, key) : null;
      if (warning === null) return [[key, variable] as const];
      ignored.push([key, warning]);
      return [];
    });
  const shared = [...layer(PREFIX, VARIABLES), ...layer('OTEL_', OWN_VARIABLES)];
  const layerOf = (signal: Signal): Layer => {
    const own = layer(`${PREFIX}${signal.toUpperCase()}_`, VARIABLES);
    return new Map([...shared, ...own.map(([key, one]) => [keyFor(signal, key), one] as const)]);
  };
  const layers = { metrics: layerOf('metrics'), logs: layerOf('logs') };
  return { layers, ignored };
}

/** Null for a word or number that the key takes. */
function warningOf(variable: Variable, key: string): Mistake | null {
  const { source } = variable;
  if ('problem' in variable) return ignoredMistake(source, variable);
  let found: Mistake | null = null;
  kindAt(CONFIG, key.split('.'))?.read(variable.value, [], refusal => {
    found = ignoredMistake(source, refusal);
  });
  return found;
}

function ignoredMistake(key: string, { problem, hint }: Refusal): Mistake {
  const message = `${problem}; the variable is ignored`;
  return { key, message, ...(hint !== undefined && { hint }) };
}

function readVariable(source: string, read: Read, sources: TextSources): Variable | undefined {
  const text = sources.environment[source]?.trim() ?? '';
  const reading = text === '' ? null : read(text, sources);
  return reading === null ? undefined : { source, ...reading };
}

/** `name=value,name=value`, both percent-encoded where needed. */
function readPairs(text: string): { readonly value: Readonly<Record<string, string>> } | Refusal {
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

function readNameAttribute(text: string): Reading | null {
  const reading = readPairs(text);
  const name = 'value' in reading ? reading.value['service.name'] : undefined;
  return name === undefined ? null : { value: name };
}

/** Without those that the program sets itself. */
function readAttributes(text: string): Reading {
  const reading = readPairs(text);
  if ('problem' in reading) return reading;
  const { 'service.name': _name, 'service.instance.id': _id, ...value } = reading.value;
  return { value };
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

/** Translates a log level of the SDKs into a word of `log.level`. */
function readLogLevel(text: string): Reading {
  const level = text.toLowerCase();
  return { value: { none: 'silent', verbose: 'trace', all: 'trace' }[level] ?? level };
}

/** The path of a PEM file, relative to the working directory as in every program that reads the variable. */
function readFilePath(text: string, sources: TextSources): Reading {
  const expandAgain = (): Expansion => expandPath(resolve(text), sources);
  const expansion = expandAgain();
  if ('text' in expansion) return { value: new ExpandedText(text, expansion.text, expandAgain) };
  return { problem: expansion.problems.join('; ') };
}
