// The findings of `check` in a valid configuration: frequent mistakes that only a person can judge, and the effective
// value of every key with its origin. Secrets and the results of references stay hidden.

import { isLoopbackHost } from '../lib/loopback.ts';
import { withoutUrlSecrets } from '../lib/printable.ts';
import type { Signal } from '../model/batch.ts';
import { type Config, isUsed } from './config.ts';
import { isBlock, kindAt, type Kind, type Violation } from './declare.ts';
import { CONFIG, GRPC_ENDPOINT, metrics, otlp } from './keys.ts';
import type { LayeredTree } from './otel-variables.ts';
import { isPlainMap, isSet, pathText, valueAt, type KeyPath } from './places.ts';
import { apiPaths, readAt } from './rules.ts';
import { ExpandedText, maskText } from './secrets.ts';
import { formatDuration, formatQuantity, SIZE } from './units.ts';

/** A valid configuration, and what it was made from. */
export interface Judgement {
  readonly config: Config;
  readonly trees: Readonly<Record<Signal, LayeredTree>>;
}

// Frequent mistakes.

/** The warnings of one signal's tree. In a container, `localhost` is the container itself. */
export function warningsOf(
  judgement: Judgement,
  signal: Signal,
  isContainer: boolean,
): Violation[] {
  const { root } = judgement.trees[signal];
  return [
    ...endpointWarnings(root),
    ...plainHeaderWarnings(judgement, signal),
    ...defaultEndpointWarnings(judgement, signal),
    ...baseUrlWarnings(root),
    ...autoWarnings(root),
    ...scalarsOf(root, []).flatMap(([path, value]) => scalarWarnings(path, value)),
    ...(isContainer ? addresses(root).flatMap(localhostWarning) : []),
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

function endpointWarnings(root: unknown): Violation[] {
  const protocol = readAt(root, ['otlp', 'protocol'], otlp.keys.protocol);
  const isGrpc = protocol === 'grpc';
  const [wrong, right] = isGrpc ? ['4318', '4317'] : ['4317', '4318'];
  return addresses(root).flatMap(([path, url]): Violation[] => {
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
function plainHeaderWarnings({ config, trees }: Judgement, signal: Signal): Violation[] {
  const { root } = trees[signal];
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
function defaultEndpointWarnings({ config, trees }: Judgement, signal: Signal): Violation[] {
  const other = signal === 'metrics' ? 'logs' : 'metrics';
  const { root } = trees[other];
  const hasAddress = ['endpoint', `${other}_endpoint`].some(name => isSet(root, ['otlp', name]));
  const path = ['otlp', `${signal}_endpoint`];
  if (hasAddress || !isUsed(config, other) || !isSet(trees[signal].root, path)) return [];
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
  /** `default`, `memory`, the place in the file, or the name of a variable. */
  readonly from: string;
}

/** Every key that has a value, in the order of the declarations; for logs only where a variable differs. */
export function effectiveValues({ config, trees }: Judgement): readonly EffectiveValue[] {
  const lowered = new Map(config.memory.lowered.map(one => [one.key, one.value]));
  const show = (tree: LayeredTree, path: KeyPath, fallback: unknown): EffectiveValue[] => {
    const key = pathText(path);
    const given = valueAt(tree.root, path);
    if (given !== undefined) {
      const { line } = tree.places.ofValue(path);
      const from = tree.variableOf(path) ?? `${tree.file}:${line}`;
      return [{ key, value: shown(given, kindAt(CONFIG, path)), from }];
    }
    const limit = lowered.get(key);
    if (limit !== undefined) return [{ key, value: sizeText(key, limit), from: 'memory' }];
    const signal = tree === trees.logs ? 'logs' : 'metrics';
    const value = derived(key, signal, config) ?? fallback;
    return value === undefined ? [] : [{ key, value: shown(value, undefined), from: 'default' }];
  };
  const walk = (tree: LayeredTree, kind: Kind<unknown>, path: KeyPath): EffectiveValue[] => {
    if (!isBlock(kind)) return [];
    return Object.values(kind.keys).flatMap(({ name, kind, default: fallback }) => {
      const own = [...path, name];
      const given = valueAt(tree.root, own);
      if (isBlock(kind) && (isPlainMap(given) || fallback !== null)) return walk(tree, kind, own);
      const { element } = kind;
      if (Array.isArray(given) && element !== undefined && isBlock(element))
        return given.flatMap((_, index) => walk(tree, element, [...own, index]));
      if (kind.instead !== undefined && isPlainMap(given)) return walk(tree, kind.instead, own);
      if (isPlainMap(given))
        return Object.keys(given).flatMap(one => show(tree, [...own, one], undefined));
      return show(tree, own, fallback);
    });
  };
  const ofLogs = walk(trees.logs, CONFIG, []);
  const all = walk(trees.metrics, CONFIG, []);
  const known = new Set(all.map(one => JSON.stringify(one)));
  const others = ofLogs.filter(one => !known.has(JSON.stringify(one)));
  return [...all, ...others.map(one => ({ ...one, key: `${one.key} (logs)` }))];
}

/** The default of a key whose default depends on another key. */
function derived(key: string, signal: Signal, { otlp, metrics }: Config): string | undefined {
  if (key === 'api.timeout' && metrics.intervalMs < 10_000)
    return formatDuration(metrics.intervalMs);
  return key === 'otlp.endpoint' && otlp[signal].protocol === 'grpc' ? GRPC_ENDPOINT : undefined;
}

function sizeText(key: string, amount: number): string {
  return /\.(?:memory|body)$/.test(key) ? formatQuantity(amount, SIZE) : String(amount);
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
