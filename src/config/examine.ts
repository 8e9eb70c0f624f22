// The findings of `check` in a valid configuration: frequent mistakes that only a person can judge, and the effective
// value of every key. Secrets and the results of references stay hidden.

import { isLoopbackHost } from '../lib/loopback.ts';
import { nearest } from '../lib/nearest.ts';
import { withoutUrlSecrets } from '../lib/printable.ts';
import type { Signal } from '../model/batch.ts';
import { BACKUP_TYPES, RESTORE_METHODS } from './backup-words.ts';
import { type Config, isUsed } from './config.ts';
import { isBlock, kindAt, readAt, type Kind, type Violation } from './declare.ts';
import { CONFIG, metrics, otlp } from './keys.ts';
import { LOG_TYPES } from './log-keys.ts';
import type { Layered } from './layers.ts';
import { isPlainMap, isSet, pathText, valueAt, type KeyPath } from './paths.ts';
import { profileWarnings } from './profile.ts';
import { apiPaths } from './rules.ts';
import { ExpandedText, maskText } from './secrets.ts';
import { formatDuration } from './units.ts';

/** A valid configuration, and what it was made from. */
export interface Judgement {
  readonly config: Config;
  readonly layers: Readonly<Record<Signal, Layered>>;
}

// Frequent mistakes.

/** The warnings of what a person has set for one signal. In a container, `localhost` is the container itself. */
export function warningsOf(
  judgement: Judgement,
  signal: Signal,
  isContainer: boolean,
): Violation[] {
  const { root, given } = judgement.layers[signal];
  return [
    ...endpointWarnings(root, given),
    ...plainHeaderWarnings(judgement, signal),
    ...defaultEndpointWarnings(judgement, signal),
    ...baseUrlWarnings(given),
    ...autoWarnings(given),
    ...wordWarnings(given),
    ...resourceWarnings(judgement),
    ...(isUsed(judgement.config, signal) ? profileWarnings(given, signal) : []),
    ...scalarsOf(given, []).flatMap(([path, value]) => scalarWarnings(path, value)),
    ...(isContainer ? addresses(given).flatMap(localhostWarning) : []),
  ];
}

const ENDPOINTS = ['endpoint', 'metrics_endpoint', 'logs_endpoint'] as const;

/** The addresses that are set, with their paths. */
function addresses(root: unknown): readonly (readonly [path: KeyPath, url: URL])[] {
  const paths = [
    ...apiPaths(root).map(path => [...path, 'base_url']),
    ...ENDPOINTS.map(name => ['otlp', name]),
  ];
  return paths.flatMap(path => {
    const value = valueAt(root, path);
    const url = URL.parse(value instanceof ExpandedText ? value.text : String(value));
    return url === null ? [] : [[path, url] as const];
  });
}

function endpointWarnings(root: unknown, given: unknown): Violation[] {
  const protocol = readAt(root, ['otlp', 'protocol'], otlp.keys.protocol);
  const isGrpc = protocol === 'grpc';
  const [wrong, right] = isGrpc ? ['4318', '4317'] : ['4317', '4318'];
  return addresses(given).flatMap(([path, url]): Violation[] => {
    if (path[0] !== 'otlp') return [];
    const found: Violation[] = [];
    const signalPath = /\/v1\/(?:metrics|logs|traces)\/?$/.exec(url.pathname)?.[0];
    if (path[1] === 'endpoint' && !isGrpc && signalPath !== undefined) {
      const problem = `prom2otlp appends /v1/metrics and /v1/logs to this URL, which already ends in ${signalPath}`;
      found.push({ path, problem, hint: 'remove the path, or set `metrics_endpoint` instead' });
    }
    if (url.port === wrong) {
      const problem = `port ${wrong} is usually for OTLP over ${isGrpc ? 'HTTP' : 'gRPC'}, and the protocol is ${protocol}`;
      const other = isGrpc ? 'http/protobuf' : 'grpc';
      found.push({ path, problem, hint: `use port ${right}, or \`protocol: ${other}\`` });
    }
    return found;
  });
}

/** Headers that look secret, or credentials, that leave this machine over plain http. */
function plainHeaderWarnings({ config, layers }: Judgement, signal: Signal): Violation[] {
  const { given: root } = layers[signal];
  const own = `${signal}_endpoint`;
  const name = isSet(root, ['otlp', own]) ? own : 'endpoint';
  const found = addresses(root).find(([path]) => path[0] === 'otlp' && path[1] === name);
  const isSecret = Object.keys(config.otlp[signal].headers).some(name => SECRET_HEADER.test(name));
  const key = config.otlp.auth === null ? 'headers' : 'auth';
  if (found === undefined || !(isSecret || key === 'auth') || !isUsed(config, signal)) return [];
  const [path, url] = found;
  if (url.protocol !== 'http:' || isLoopbackHost(url.hostname)) return [];
  const problem = `the secrets in \`otlp.${key}\` go to this URL without encryption`;
  return [{ path, problem, hint: 'use https://' }];
}

/** The other signal goes to the default address: likely a mistake if this one has its own. */
function defaultEndpointWarnings({ config, layers }: Judgement, signal: Signal): Violation[] {
  const other = signal === 'metrics' ? 'logs' : 'metrics';
  const { given: root, sourceOf } = layers[other];
  const isFromProfile = sourceOf(['otlp', 'endpoint']) !== undefined;
  const hasAddress =
    isFromProfile || ['endpoint', `${other}_endpoint`].some(name => isSet(root, ['otlp', name]));
  const path = ['otlp', `${signal}_endpoint`];
  if (hasAddress || !isUsed(config, other) || !isSet(layers[signal].given, path)) return [];
  const problem = `only ${signal} go to this URL, and ${other} to the default address`;
  const hint = `set \`${other}_endpoint\`, or \`endpoint\` for both`;
  return [{ path, problem, hint }];
}

function baseUrlWarnings(root: unknown): Violation[] {
  const page = readAt(root, ['metrics', 'path'], metrics.keys.path) ?? '';
  return addresses(root).flatMap(([path, { pathname }]) => {
    if (path[0] === 'otlp' || page === '' || !pathname.replace(/\/$/, '').endsWith(page)) return [];
    const problem = `prom2otlp appends metrics.path to this URL, which already ends in ${page}`;
    return [{ path, problem, hint: 'remove it from the URL' }];
  });
}

function autoWarnings(root: unknown): Violation[] {
  const services = readAt(root, ['services'], CONFIG.keys.services);
  const intervalMs = readAt(root, ['metrics', 'interval'], metrics.keys.intervalMs);
  if (services === undefined || !('goneAfterMs' in services) || intervalMs === undefined) return [];
  if (services.goneAfterMs >= 3 * intervalMs) return [];
  const path = ['services', 'auto', 'gone_after'];
  const problem = `a service that is missing from one or two pages is gone: gone_after is shorter than three intervals (${formatDuration(3 * intervalMs)})`;
  return [{ path, problem, hint: 'lengthen it' }];
}

/** Words of the service that are near to a usual one: perhaps a typing mistake, but only the service knows its words. */
function wordWarnings(root: unknown): Violation[] {
  const formats = valueAt(root, ['logs', 'formats']);
  const types = [...LOG_TYPES, ...(isPlainMap(formats) ? Object.keys(formats) : [])];
  return [
    ...nearWords(root, ['logs', 'types'], types),
    ...nearWords(root, ['backups', 'restorable'], BACKUP_TYPES),
    ...nearWords(root, ['backups', 'methods'], RESTORE_METHODS),
  ];
}

function nearWords(root: unknown, path: KeyPath, known: readonly string[]): Violation[] {
  const words = valueAt(root, path);
  if (!Array.isArray(words)) return [];
  return words.flatMap((word: unknown, index) => {
    if (typeof word !== 'string' || known.includes(word)) return [];
    const near = nearest(word, known);
    if (near === undefined) return [];
    const problem = `${JSON.stringify(word)} is near to the usual word ${JSON.stringify(near)}`;
    return [{ path: [...path, index], problem, hint: 'correct it, unless your service says so' }];
  });
}

/** Before 0.2.0, the variable added its attributes to the databases, unless their entries had them. */
function resourceWarnings({ config, layers }: Judgement): Violation[] {
  const path = ['telemetry', 'attributes'];
  if (layers.metrics.sourceOf(path) === undefined) return [];
  const { services, elsewhere, auto, telemetry } = config;
  const all = [...services, ...elsewhere, ...(auto === null ? [] : [auto])];
  const missing = Object.keys(telemetry.attributes).filter(name =>
    all.some(({ attributes }) => !Object.hasOwn(attributes, name)),
  );
  if (missing.length === 0) return [];
  const problem = `the attributes of this variable describe prom2otlp, and no longer the databases: ${missing.join(', ')}`;
  const hint = 'write those that the databases need under `attributes` in the configuration';
  return [{ path, problem, hint }];
}

function localhostWarning([path, url]: readonly [KeyPath, URL]): Violation[] {
  if (!isLoopbackHost(url.hostname)) return [];
  const problem = `in a container, ${url.hostname} is the container itself`;
  return [{ path, problem, hint: 'name a host that the container can reach' }];
}

function scalarWarnings(path: KeyPath, value: unknown): Violation[] {
  const isSecret = kindAt(CONFIG, path)?.isSecret === true;
  if (typeof value !== 'string') return [];
  if (/\$\{(?:file|env):[^}]*$/.test(value)) {
    const problem = 'a reference begins with `${`, and no `}` ends it';
    return [{ path, problem, hint: 'add the `}`' }];
  }
  if (!isSecret) return [];
  const name = /^\$(?:\{(\w+)\}|(\w+))$/.exec(value);
  if (name !== null) {
    const problem = 'the value is sent as it is written here, with its dollar sign';
    const hint = `write \`\${env:${name[1] ?? name[2] ?? ''}}\` for the value of the variable`;
    return [{ path, problem, hint }];
  }
  if (!isKeyText(path, value)) return [];
  const hint = 'put it into a file, and write `${file:/path}` here, or use `${env:NAME}`';
  return [{ path, problem: 'a secret is written into the configuration', hint }];
}

const SECRET_HEADER = /auth|key|token|secret|password/i;

/** Not every header is secret, and not every proxy has a password. */
function isKeyText(path: KeyPath, value: string): boolean {
  const name = String(path.at(-1));
  if (path.at(-2) === 'headers') return SECRET_HEADER.test(name);
  return name !== 'proxy' || value.includes('@');
}

function scalarsOf(value: unknown, path: KeyPath): (readonly [path: KeyPath, value: unknown])[] {
  if (isPlainMap(value))
    return Object.entries(value).flatMap(([name, one]) => scalarsOf(one, [...path, name]));
  if (Array.isArray(value)) return value.flatMap((one, index) => scalarsOf(one, [...path, index]));
  return [[path, value]];
}

// Effective values.

export interface EffectiveValue {
  readonly key: string;
  readonly value: string;
  readonly isDefault: boolean;
}

/** Every key that has a value, in the order of the declarations; for logs only where a variable differs. */
export function effectiveValues({ layers }: Judgement): readonly EffectiveValue[] {
  const [all, ofLogs] = [valuesIn(layers.metrics.root), valuesIn(layers.logs.root)];
  const known = new Set(all.map(({ key, value }) => JSON.stringify([key, value])));
  const others = ofLogs.filter(({ key, value }) => !known.has(JSON.stringify([key, value])));
  return [...all, ...others.map(one => ({ ...one, key: `${one.key} (logs)` }))];
}

function valuesIn(root: unknown): EffectiveValue[] {
  const show = (path: KeyPath, fallback: unknown): EffectiveValue[] => {
    const usual = fallback === undefined ? undefined : shown(fallback, undefined);
    const given = valueAt(root, path);
    const value = given === undefined ? usual : shown(given, kindAt(CONFIG, path));
    return value === undefined ? [] : [{ key: pathText(path), value, isDefault: value === usual }];
  };
  const walk = (kind: Kind<unknown>, path: KeyPath): EffectiveValue[] => {
    if (!isBlock(kind)) return [];
    return Object.values(kind.keys).flatMap(({ name, kind, default: fallback }) => {
      const own = [...path, name];
      const given = valueAt(root, own);
      if (isBlock(kind) && (isPlainMap(given) || fallback !== null)) return walk(kind, own);
      const { element } = kind;
      if (Array.isArray(given) && element !== undefined && isBlock(element))
        return given.flatMap((_, index) => walk(element, [...own, index]));
      if (kind.instead !== undefined && isPlainMap(given)) return walk(kind.instead, own);
      if (isPlainMap(given))
        return Object.keys(given).flatMap(one => show([...own, one], undefined));
      return show(own, fallback);
    });
  };
  return walk(CONFIG, []);
}

function shown(value: unknown, kind: Kind<unknown> | undefined): string {
  const isSecret = kind?.isSecret === true;
  if (value instanceof ExpandedText)
    return isSecret ? maskText(value.template) : withoutUrlSecrets(value.template);
  if (isSecret && value !== null) return '[secret]';
  if (typeof value === 'string') return withoutUrlSecrets(value);
  return JSON.stringify(value, (_, one: unknown) =>
    one instanceof ExpandedText ? one.template : one,
  );
}
