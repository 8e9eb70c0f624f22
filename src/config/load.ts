// Loads a configuration file in steps: text, YAML, layers, keys, rules. It collects the mistakes of all
// steps and throws one OperatorError. The last step cannot fail: it merges the global `api` with the `api` of each entry,
// sets the endpoint of each signal, and makes relative paths absolute.

import { dirname, resolve } from 'node:path';
import { bug, OperatorError, type Mistake } from '../errors.ts';
import { dealShards } from '../lib/shard.ts';
import { type Signal, SIGNALS } from '../model/batch.ts';
import {
  type ApiConfig,
  type Config,
  type OtlpConfig,
  type OtlpSignalConfig,
  type ServiceConfig,
  tokenUrlOf,
} from './config.ts';
import { kindAt, readAlone, type Violation } from './declare.ts';
import { type Replaced, replaceDeprecated } from './deprecated.ts';
import { type Judgement, warningsOf } from './examine.ts';
import {
  CONFIG,
  status as statusKeys,
  type ApiKeys,
  type ConfigKeys,
  type ServiceEntry,
} from './keys.ts';
import { type Layered, layersOf } from './layers.ts';
import { keyFor, readOtelVariables, SIGNAL_KEYS } from './otel-variables.ts';
import { type MemoryReadings, readMemory } from './memory-limits.ts';
import { isPlainMap, isSet, UNREADABLE, valueAt, type KeyPath } from './paths.ts';
import { orderMistakes, violationMistakes } from './problems.ts';
import { type ProxyVariables, readProxyVariables } from './proxy-variables.ts';
import { ruleViolations } from './rules.ts';
import type { TextSources } from './secrets.ts';
import { readTextFile, TEXT_FILE_BYTES_MAX, type ReadTextFile } from './text-file.ts';
import { readYaml, type Yaml } from './yaml.ts';

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

/** Like loadConfig(), with the layers that the configuration was made from, for `check`. */
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

/** Where the status server listens, and the token for its pages. */
export type StatusAccess = Pick<Config['status'], 'host' | 'port' | 'token'>;

/**
 * How to reach the status server, also by a file with mistakes elsewhere, which a running daemon does not take over. Null
 * if the address cannot be read; a token that cannot be read counts as none.
 */
export function readStatusAccess(options: LoadOptions): StatusAccess | null {
  const { file, environment, readFile = readTextFile } = options;
  const found = readFile(resolve(file));
  if (!('text' in found)) return null;
  const sources = { directory: dirname(resolve(file)), environment, readFile };
  const { root } = readText(found.text, file, sources);
  if (!isPlainMap(root)) return null;
  const { keys } = statusKeys;
  const address = readAlone(keys.listen, valueAt(root, ['status', 'listen']));
  const token = readAlone(keys.token, valueAt(root, ['status', 'token'])) ?? null;
  return address === undefined ? null : { ...address, token };
}

/** Like loadConfig(), for a text that was read elsewhere. `options.file` need not exist. */
export function parseConfig(text: string, options: LoadOptions): Config {
  return judgeText(text, options).config;
}

function judgeText(text: string, options: LoadOptions): Judgement {
  const { file, environment, readFile = readTextFile, memory = null } = options;
  const sources = { directory: dirname(resolve(file)), environment, readFile };
  const tree = readText(text, file, sources);
  const { root } = tree;
  if (!isPlainMap(root)) throw new OperatorError([...tree.mistakes, ...rootMistakes(tree)]);
  const variables = readOtelVariables(sources);
  const replaced = replaceDeprecated({ ...tree, root });
  const read = (signal: Signal): SignalRead =>
    readKeys(signal, layersOf(replaced.yaml, signal, variables, memory), replaced);
  const [metrics, logs] = [read('metrics'), read('logs')];
  const mistakes = [...metrics.mistakes, ...logs.mistakes];
  if (mistakes.length > 0) throw new OperatorError(orderMistakes(mistakes));
  const proxies = readProxyVariables(environment);
  const resolved = resolveConfig({ metrics, logs }, proxies.proxyFor);
  const warnings = [...metrics.warnings, ...logs.warnings, ...proxies.warnings];
  const config = { ...resolved, warnings: orderMistakes(warnings) };
  return { config, layers: { metrics: metrics.layers, logs: logs.layers } };
}

/** The configuration that consists of defaults alone. */
export function defaultConfig(): Config {
  const text = 'api: {base_url: "http://localhost", key: none}\nservices: [{id: local}]\n';
  return parseConfig(text, { file: 'defaults', environment: {} });
}

function readText(text: string, file: string, sources: TextSources): Yaml {
  if (Buffer.byteLength(text) > TEXT_FILE_BYTES_MAX) {
    const message = `cannot read the configuration ${JSON.stringify(file)}: the file is larger than 1 MiB`;
    throw new OperatorError([{ message }]);
  }
  const isFileKey = (path: KeyPath): boolean => kindAt(CONFIG, path)?.isFile === true;
  return readYaml(text.replace(/^\uFEFF/, ''), { file, sources, isFileKey });
}

function rootMistakes({ root, placeOf, file }: Yaml): Mistake[] {
  if (root === UNREADABLE) return [];
  const [message, hint] =
    root === null
      ? ['the file is empty', 'start from config/minimal.yaml']
      : ['expected a map of keys at the top level', 'begin with `api:` and `services:`'];
  return [{ message, hint, file, ...placeOf([]) }];
}

/** The configuration with the layers of one signal. */
interface SignalRead {
  readonly signal: Signal;
  readonly layers: Layered;
  /** Valid only if there are no mistakes. */
  readonly keys: ConfigKeys;
  readonly mistakes: readonly Mistake[];
  /** Of deprecated keys and values, and of variables that are not understood. */
  readonly warnings: readonly Mistake[];
}

/** Variables may differ per signal, so all keys are read for each; repeated mistakes are shown once. */
function readKeys(signal: Signal, layers: Layered, replaced: Replaced): SignalRead {
  const found: Violation[] = [...replaced.mistakes];
  const read = CONFIG.read(layers.root, [], violation => found.push(violation));
  found.push(...ruleViolations(layers.root, signal));
  const mistakes = [...layers.mistakes, ...violationMistakes(found, layers)];
  const warnings = [...violationMistakes(replaced.warnings, layers), ...layers.warnings];
  return { signal, layers, keys: read ?? bug('the root is a map'), mistakes, warnings };
}

/** Likely mistakes in a valid configuration. `isContainer`: the process runs in a container. */
export function warningMistakes(judgement: Judgement, isContainer: boolean): readonly Mistake[] {
  const found = SIGNALS.map(signal =>
    violationMistakes(warningsOf(judgement, signal, isContainer), judgement.layers[signal]),
  );
  return orderMistakes([...judgement.config.warnings, ...found.flat()]);
}

type ProxyFor = ProxyVariables['proxyFor'];

function resolveConfig(
  { metrics, logs }: Readonly<Record<Signal, SignalRead>>,
  proxyFor: ProxyFor,
): Omit<Config, 'warnings'> {
  const { keys, layers } = metrics;
  const { file, memory } = layers;
  const { api, attributes, services: entries, queue, status, ...others } = keys;
  const { listen, ...statusRest } = status;
  const directory = queue.directory === null ? null : resolve(dirname(file), queue.directory);
  const isAuto = 'goneAfterMs' in entries;
  const services = isAuto ? [] : listedServices({ entries, global: api, attributes }, proxyFor);
  const shards = dealShards(
    services.map(({ id }) => id),
    keys.shard.count,
  );
  const isOurs = ({ id }: ServiceConfig): boolean => shards.get(id) === keys.shard.index;
  return {
    ...others,
    file,
    services: services.filter(isOurs),
    elsewhere: services.filter(service => !isOurs(service)),
    auto: isAuto ? { ...entries, attributes, apis: foundApis(entries.apis, api, proxyFor) } : null,
    memory,
    otlp: resolveOtlp(metrics, logs, proxyFor),
    queue: { ...queue, directory },
    status: { ...listen, ...statusRest },
  };
}

/** The APIs of `services: auto`: the global one, unless there are others. */
function foundApis(owns: readonly Partial<ApiKeys>[], global: ApiKeys, proxyFor: ProxyFor) {
  return (owns.length === 0 ? [{}] : owns).map(own => mergeApi(global, own, proxyFor));
}

function listedServices(
  { entries, global, attributes }: ServiceKeys,
  proxyFor: ProxyFor,
): ServiceConfig[] {
  // Entries without own keys share one object, so that its key is read again only once.
  const shared = mergeApi(global, {}, proxyFor);
  return entries.map(entry => ({
    id: entry.id,
    name: entry.name ?? entry.id,
    attributes: { ...attributes, ...entry.attributes },
    api: Object.values(entry.api).every(isUnset) ? shared : mergeApi(global, entry.api, proxyFor),
  }));
}

interface ServiceKeys {
  readonly entries: readonly ServiceEntry[];
  readonly global: ApiKeys;
  readonly attributes: Readonly<Record<string, string>>;
}

function isUnset(value: unknown): boolean {
  return value === undefined;
}

/** All global keys but `key` have defaults; rules.ts ensures that the global block or the entry has `key`. */
function mergeApi(global: ApiKeys, own: Partial<ApiKeys>, proxyFor: ProxyFor): ApiConfig {
  const set = Object.fromEntries(Object.entries(own).filter(([, value]) => !isUnset(value)));
  const headers = mergeHeaders(global.headers, own.headers);
  const api = { ...global, ...set, headers } as ApiConfig;
  return { ...api, proxy: api.proxy ?? proxyFor(api.baseUrl) };
}

type Headers = ApiConfig['headers'];

/** Both; of headers with the same name, whatever the case, our own. */
function mergeHeaders(global: Headers = {}, own: Headers = {}): Headers {
  const names = new Set(Object.keys(own).map(name => name.toLowerCase()));
  const isKept = ([name]: readonly [string, unknown]): boolean => !names.has(name.toLowerCase());
  return { ...Object.fromEntries(Object.entries(global).filter(isKept)), ...own };
}

function resolveOtlp(metrics: SignalRead, logs: SignalRead, proxyFor: ProxyFor): OtlpConfig {
  const { backend, concurrency, stuckAfterMs, temporality, auth, proxy } = metrics.keys.otlp;
  const { maxRequestBytes, maxPoints, maxAttributeLength } = metrics.keys.otlp;
  const tokenUrl = auth === null ? null : tokenUrlOf(auth);
  // A proxy would see the client's secret in a request without TLS, which goes to this machine only.
  const isTls = tokenUrl?.startsWith('https:') === true;
  const tokenProxy = isTls ? (proxy ?? proxyFor(tokenUrl)) : null;
  return {
    metrics: signalConfig(metrics, proxyFor),
    logs: signalConfig(logs, proxyFor),
    auth: auth === null ? null : { ...auth, tokenProxy },
    proxy,
    backend,
    concurrency,
    maxRequestBytes,
    maxPoints,
    maxAttributeLength,
    stuckAfterMs,
    temporality,
  };
}

function signalConfig(read: SignalRead, proxyFor: ProxyFor): OtlpSignalConfig {
  const { signal, keys } = read;
  const { protocol, compression, timeoutMs, tls } = keys.otlp;
  const headers = mergeHeaders(keys.otlp.headers, keys.otlp[signal].headers);
  const endpoint = endpointOf(read);
  const proxy = keys.otlp.proxy ?? proxyFor(endpoint);
  return { protocol, compression, headers, timeoutMs, tls, endpoint, proxy, names: namesOf(read) };
}

function namesOf({ signal, keys, layers }: SignalRead): Readonly<Record<string, string>> {
  const { headers, auth } = keys.otlp;
  const { root, sourceOf } = layers;
  const names = SIGNAL_KEYS.flatMap(key => {
    const own = keyFor(signal, key);
    const used = isSet(root, own.split('.')) ? own : key;
    if (key === 'otlp.headers' && auth !== null) return [[key, 'otlp.auth'] as const];
    const hasNone = Object.keys({ ...headers, ...keys.otlp[signal].headers }).length === 0;
    const isUnset = key === 'otlp.headers' && hasNone;
    const shown = sourceOf(used.split('.')) ?? (isUnset ? `${key} (there are none)` : used);
    return shown === key ? [] : [[key, shown] as const];
  });
  return Object.fromEntries(names);
}

/** The signal's own endpoint, unchanged; else the general one with the signal's path, which gRPC does not have. */
function endpointOf({ signal, keys: { otlp } }: SignalRead): string {
  const own = signal === 'metrics' ? otlp.metricsEndpoint : otlp.logsEndpoint;
  if (own !== null) return own;
  return otlp.protocol === 'grpc' ? otlp.endpoint : `${otlp.endpoint}/v1/${signal}`;
}
