// Loads a configuration file in steps: text, YAML tree, standard variables, keys, rules. It collects the mistakes of all
// steps and throws one OperatorError. The last step cannot fail: it merges the global `api` with the `api` of each entry,
// sets the endpoint of each signal, and makes relative paths absolute.

import { dirname, resolve } from 'node:path';
import { bug, OperatorError, type Mistake } from '../errors.ts';
import { dealShards } from '../lib/shard.ts';
import { type Signal, SIGNALS } from '../model/batch.ts';
import type { ApiConfig, Config, OtlpConfig, OtlpSignalConfig, ServiceConfig } from './config.ts';
import { kindAt, readAlone, type Violation } from './declare.ts';
import { type Judgement, warningsOf } from './examine.ts';
import type { ListenAddress } from './http-kinds.ts';
import {
  CONFIG,
  GRPC_ENDPOINT,
  status as statusKeys,
  type ApiKeys,
  type ConfigKeys,
  type ServiceEntry,
} from './keys.ts';
import {
  keyFor,
  layerVariables,
  type LayeredTree,
  readOtelVariables,
  SIGNAL_KEYS,
  type OtelVariables,
} from './otel-variables.ts';
import { limitsOfMemory, type MemoryReadings, readMemory } from './memory-limits.ts';
import { isPlainMap, isSet, UNREADABLE, valueAt, type KeyPath, type YamlMap } from './places.ts';
import { orderMistakes, violationMistakes } from './problems.ts';
import { type ProxyVariables, readProxyVariables } from './proxy-variables.ts';
import { removedKeys, replaceRemoved } from './removed.ts';
import { ruleViolations } from './rules.ts';
import { tokenUrlOf } from './service-account.ts';
import type { TextSources } from './secrets.ts';
import { readTextFile, TEXT_FILE_BYTES_MAX, type ReadTextFile } from './text-file.ts';
import { readYamlTree, type YamlTree } from './yaml-tree.ts';

export interface LoadOptions {
  /** Shown in messages as it is given; relative paths in the file start at its directory. */
  readonly file: string;
  /** Is kept, because secrets that come from variables are read again. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Reads the file and the files that it refers to; by default from the file system. */
  readonly readFile?: ReadTextFile;
  /** The memory as the system reports it; null: unknown. loadConfig() asks the system by default. */
  readonly memory?: MemoryReadings | null;
}

/** Reads and judges a configuration file. Throws one OperatorError with every mistake in it. */
export function loadConfig(options: LoadOptions): Config {
  return judgeFile(options).config;
}

/** Like loadConfig(), with the trees that the configuration was made from, for `check`. */
export function judgeFile(options: LoadOptions): Judgement {
  const { file, readFile = readTextFile } = options;
  const found = readFile(resolve(file));
  if ('text' in found) return judgeText(found.text, { memory: readMemory(), ...options });
  throw new OperatorError([
    {
      message: `cannot read the configuration ${JSON.stringify(file)}: ${found.problem}`,
      hint: 'name a YAML file with `--config`; config/minimal.yaml is one to start from',
    },
  ]);
}

/**
 * The address of the status server, also in a file with mistakes elsewhere, which a running daemon does not take over.
 * Null if it cannot be read.
 */
export function readStatusAddress(options: LoadOptions): ListenAddress | null {
  const { file, environment, readFile = readTextFile } = options;
  const found = readFile(resolve(file));
  if (!('text' in found)) return null;
  const sources = { directory: dirname(resolve(file)), environment, readFile };
  const { root } = readTree(found.text, file, sources);
  const { listen } = statusKeys.keys;
  return isPlainMap(root) ? (readAlone(listen, valueAt(root, ['status', 'listen'])) ?? null) : null;
}

/** Like loadConfig(), for a text that was read elsewhere. `options.file` need not exist. */
export function parseConfig(text: string, options: LoadOptions): Config {
  return judgeText(text, options).config;
}

function judgeText(text: string, options: LoadOptions): Judgement {
  const { file, environment, readFile = readTextFile, memory = null } = options;
  const sources = { directory: dirname(resolve(file)), environment, readFile };
  const tree = readTree(text, file, sources);
  const { root } = tree;
  if (!isPlainMap(root)) throw new OperatorError([...tree.mistakes, ...rootMistakes(tree)]);
  const variables = readOtelVariables(sources);
  const proxies = readProxyVariables(environment);
  const read = (signal: Signal): SignalRead => readFor(signal, { ...tree, root }, variables);
  const [metrics, logs] = [read('metrics'), read('logs')];
  const mistakes = [...metrics.mistakes, ...logs.mistakes];
  if (mistakes.length > 0) throw new OperatorError(orderMistakes(mistakes));
  const { attributes } = variables;
  const resolved = resolveConfig({ metrics, logs }, { attributes, proxies }, memory);
  const warnings = [...metrics.warnings, ...logs.warnings, ...proxies.warnings];
  const config = { ...resolved, warnings: orderMistakes(warnings) };
  return { config, trees: { metrics: metrics.tree, logs: logs.tree } };
}

/** The configuration that consists of defaults alone. */
export function defaultConfig(): Config {
  const text = 'api: {base_url: "http://localhost", key: none}\nservices: [{id: local}]\n';
  return parseConfig(text, { file: 'defaults', environment: {} });
}

function readTree(text: string, file: string, sources: TextSources): YamlTree {
  if (Buffer.byteLength(text) > TEXT_FILE_BYTES_MAX) {
    const message = `cannot read the configuration ${JSON.stringify(file)}: the file is larger than 1 MiB`;
    throw new OperatorError([{ message }]);
  }
  const isFileKey = (path: KeyPath): boolean => kindAt(CONFIG, path)?.isFile === true;
  return readYamlTree(text.replace(/^\uFEFF/, ''), { file, sources, isFileKey });
}

function rootMistakes({ root, places, file }: YamlTree): Mistake[] {
  if (root === UNREADABLE) return [];
  const [message, hint] =
    root === null
      ? ['the file is empty', 'start from config/minimal.yaml']
      : ['expected a map of keys at the top level', 'begin with `api:` and `services:`'];
  return [{ message, hint, file, ...places.ofValue([]) }];
}

/** The configuration with the variables of one signal. */
interface SignalRead {
  readonly signal: Signal;
  readonly tree: LayeredTree;
  /** Valid only if there are no mistakes. */
  readonly keys: ConfigKeys;
  readonly mistakes: readonly Mistake[];
  /** Of keys and values that were removed, and of variables that are not understood. */
  readonly warnings: readonly Mistake[];
}

/** Variables may differ per signal, so the whole tree is read for each; repeated mistakes are shown once. */
function readFor(signal: Signal, given: YamlTree<YamlMap>, variables: OtelVariables): SignalRead {
  const replaced = replaceRemoved(given.root);
  const tree = layerVariables({ ...given, root: replaced.root }, signal, variables);
  const found: Violation[] = [];
  const read = CONFIG.read(tree.root, [], violation => found.push(violation));
  found.push(...ruleViolations(tree.root, signal));
  const { removed, others } = removedKeys(found);
  const mistakes = [...tree.mistakes, ...violationMistakes(others, tree)];
  const gone = violationMistakes([...replaced.found, ...removed], tree);
  const warnings = [...gone, ...tree.warnings];
  return { signal, tree, keys: read ?? bug('the root is a map'), mistakes, warnings };
}

/** Likely mistakes in a valid configuration. `isContainer`: the process runs in a container. */
export function warningMistakes(judgement: Judgement, isContainer: boolean): readonly Mistake[] {
  const { trees } = judgement;
  const found = SIGNALS.map(signal =>
    violationMistakes(warningsOf(judgement, signal, isContainer), trees[signal]),
  );
  return orderMistakes([...judgement.config.warnings, ...found.flat()]);
}

/** The variables that set no key. */
interface VariableParts extends Pick<OtelVariables, 'attributes'> {
  readonly proxies: ProxyVariables;
}

function resolveConfig(
  { metrics, logs }: Readonly<Record<Signal, SignalRead>>,
  { attributes, proxies }: VariableParts,
  readings: MemoryReadings | null,
): Omit<Config, 'warnings'> {
  const { keys, tree } = metrics;
  const { file, root } = tree;
  const { api: _api, services: entries, queue, status, ...others } = keys;
  const directory = queue.directory === null ? null : resolve(dirname(file), queue.directory);
  const global = { ...keys.api, timeoutMs: globalTimeoutMs(root, keys) };
  const isAuto = 'goneAfterMs' in entries;
  const services = isAuto ? [] : listedServices(entries, global, { attributes, proxies });
  const shards = dealShards(
    services.map(({ id }) => id),
    keys.shard.count,
  );
  const isOurs = ({ id }: ServiceConfig): boolean => shards.get(id) === keys.shard.index;
  const { limits, memory } = limitsOfMemory(keys.metrics.limits, root, readings);
  return {
    ...others,
    file,
    services: services.filter(isOurs),
    elsewhere: services.filter(service => !isOurs(service)),
    auto: isAuto ? { ...entries, attributes, api: mergeApi(global, {}, proxies) } : null,
    memory,
    metrics: { ...keys.metrics, limits },
    otlp: resolveOtlp(metrics, logs, proxies),
    queue: { ...queue, directory },
    status: { ...status.listen, token: status.token },
  };
}

function listedServices(
  entries: readonly ServiceEntry[],
  global: ApiKeys,
  { attributes, proxies }: VariableParts,
): ServiceConfig[] {
  // Entries without own keys share one object, so that its key is read again only once.
  const shared = mergeApi(global, {}, proxies);
  return entries.map(entry => ({
    id: entry.id,
    name: entry.name ?? entry.id,
    attributes: { ...attributes, ...entry.attributes },
    api: Object.values(entry.api).every(isUnset) ? shared : mergeApi(global, entry.api, proxies),
  }));
}

function isUnset(value: unknown): boolean {
  return value === undefined;
}

/** A shorter interval shortens the default timeout. rules.ts refuses a timeout in the file that exceeds the interval. */
function globalTimeoutMs(root: unknown, { api, metrics }: ConfigKeys): number {
  const timeoutMs = api.timeoutMs ?? bug('api.timeout has no default');
  const isDefault = valueAt(root, ['api', 'timeout']) === undefined;
  return isDefault ? Math.min(timeoutMs, metrics.intervalMs) : timeoutMs;
}

/** All global keys but `key` have defaults; rules.ts ensures that the global block or the entry has `key`. */
function mergeApi(global: ApiKeys, own: Partial<ApiKeys>, proxies: ProxyVariables): ApiConfig {
  const set = Object.fromEntries(Object.entries(own).filter(([, value]) => !isUnset(value)));
  const headers = mergeHeaders(global.headers, own.headers);
  const api = { ...global, ...set, headers } as ApiConfig;
  return { ...api, proxy: api.proxy ?? proxies.proxyFor(api.baseUrl) };
}

type Headers = ApiConfig['headers'];

/** Both; of headers with the same name, whatever the case, our own. */
function mergeHeaders(global: Headers = {}, own: Headers = {}): Headers {
  const names = new Set(Object.keys(own).map(name => name.toLowerCase()));
  const isKept = ([name]: readonly [string, unknown]): boolean => !names.has(name.toLowerCase());
  return { ...Object.fromEntries(Object.entries(global).filter(isKept)), ...own };
}

function resolveOtlp(
  metrics: SignalRead,
  logs: SignalRead,
  { proxyFor }: ProxyVariables,
): OtlpConfig {
  const { concurrency, maxRequestBytes, stuckAfterMs, temporality, auth, proxy } =
    metrics.keys.otlp;
  const tokenUrl = auth === null ? null : tokenUrlOf(auth);
  const tokenProxy = tokenUrl === null ? null : (proxy ?? proxyFor(tokenUrl));
  return {
    metrics: signalConfig(metrics, proxyFor),
    logs: signalConfig(logs, proxyFor),
    auth: auth === null ? null : { ...auth, tokenProxy },
    proxy,
    concurrency,
    maxRequestBytes,
    stuckAfterMs,
    temporality,
  };
}

function signalConfig(read: SignalRead, proxyFor: ProxyVariables['proxyFor']): OtlpSignalConfig {
  const { signal, keys } = read;
  const { protocol, compression, timeoutMs, tls } = keys.otlp;
  const headers = mergeHeaders(keys.otlp.headers, keys.otlp[signal].headers);
  const endpoint = endpointOf(read);
  const proxy = keys.otlp.proxy ?? proxyFor(endpoint);
  return { protocol, compression, headers, timeoutMs, tls, endpoint, proxy, names: namesOf(read) };
}

function namesOf({ signal, keys, tree }: SignalRead): Readonly<Record<string, string>> {
  const { headers, auth } = keys.otlp;
  const { root, variableOf } = tree;
  const names = SIGNAL_KEYS.flatMap(key => {
    const own = keyFor(signal, key);
    const used = isSet(root, own.split('.')) ? own : key;
    if (key === 'otlp.headers' && auth !== null) return [[key, 'otlp.auth'] as const];
    const hasNone = Object.keys({ ...headers, ...keys.otlp[signal].headers }).length === 0;
    const isUnset = key === 'otlp.headers' && hasNone;
    const shown = variableOf(used.split('.')) ?? (isUnset ? `${key} (there are none)` : used);
    return shown === key ? [] : [[key, shown] as const];
  });
  return Object.fromEntries(names);
}

/** The signal's own endpoint, unchanged; else the general one with the signal's path, which gRPC does not have. */
function endpointOf({ signal, keys: { otlp }, tree }: SignalRead): string {
  const own = signal === 'metrics' ? otlp.metricsEndpoint : otlp.logsEndpoint;
  if (own !== null) return own;
  if (otlp.protocol !== 'grpc') return `${otlp.endpoint}/v1/${signal}`;
  return valueAt(tree.root, ['otlp', 'endpoint']) === undefined ? GRPC_ENDPOINT : otlp.endpoint;
}
