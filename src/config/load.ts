// Loads a configuration file in steps: text, YAML tree, standard variables, keys, rules. It collects the mistakes of all
// steps and throws one OperatorError. The last step cannot fail: it merges the global `api` with that of each entry, sets
// the endpoint of each signal, and makes relative paths absolute.

import { dirname, resolve } from 'node:path';
import { bug, OperatorError, type Mistake } from '../errors.ts';
import { dealShards } from '../lib/shard.ts';
import type { Signal } from '../model/batch.ts';
import type {
  ApiConfig,
  Config,
  OtlpConfig,
  OtlpKeys,
  OtlpSignalConfig,
  Secret,
  ServiceConfig,
} from './config.ts';
import { kindAt, readKey, type Violation } from './declare.ts';
import { type Judgement, warningsOf } from './examine.ts';
import { CONFIG, GRPC_ENDPOINT, type ApiKeys, type ConfigKeys, type ServiceEntry } from './keys.ts';
import {
  layerVariables,
  type LayeredTree,
  readOtelVariables,
  type OtelVariables,
} from './otel-variables.ts';
import { limitsOfMemory, type MemoryReadings, readMemory } from './memory-limits.ts';
import { isPlainMap, UNREADABLE, valueAt, type KeyPath } from './places.ts';
import { orderMistakes, violationMistakes, type JudgedTree } from './problems.ts';
import { ruleViolations } from './rules.ts';
import type { TextSources } from './secrets.ts';
import { readTextFile, TEXT_FILE_BYTES_MAX, type ReadTextFile } from './text-file.ts';
import { readYamlTree, type YamlTree } from './yaml-tree.ts';

export interface LoadOptions {
  /** Shown in messages as it is given; relative paths in the file start at its directory. */
  readonly file: string;
  /** Kept: secrets that come from a variable are read again from it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Reads the file and those that it refers to; by default from the file system. */
  readonly readFile?: ReadTextFile;
  /** What the system says of the memory; null: nothing. loadConfig() asks it by default. */
  readonly memory?: MemoryReadings | null;
}

/** Reads and judges a configuration file. Throws one OperatorError with every mistake in it. */
export function loadConfig(options: LoadOptions): Config {
  return judgeFile(options).config;
}

/** The same with its sources, for `check`. */
export function judgeFile(options: LoadOptions): Judgement {
  const { file, readFile = readTextFile } = options;
  const found = readFile(resolve(file));
  if ('text' in found) return judgeText(found.text, { memory: readMemory(), ...options });
  throw new OperatorError([
    {
      code: 'E_CONFIG_READ',
      message: `cannot read the configuration ${JSON.stringify(file)}: ${found.problem}`,
      hint: 'name a YAML file with `--config`; config/minimal.yaml is one to start from',
    },
  ]);
}

/** The same for a text that was read elsewhere. `options.file` need not exist. */
export function parseConfig(text: string, options: LoadOptions): Config {
  return judgeText(text, options).config;
}

function judgeText(text: string, options: LoadOptions): Judgement {
  const { file, environment, readFile = readTextFile, memory = null } = options;
  const sources = { directory: dirname(resolve(file)), environment, readFile };
  const tree = readTree(text, file, sources);
  const variables = readOtelVariables(sources);
  const { root } = tree;
  if (!isPlainMap(root)) {
    throw new OperatorError([...tree.mistakes, ...rootMistakes(root, tree, file)]);
  }
  return judge(root, { file, tree, variables, memory });
}

/** The configuration that consists of defaults alone. */
export function defaultConfig(): Config {
  const text = 'api: {base_url: "http://localhost", key: none}\nservices: [{id: local}]\n';
  return parseConfig(text, { file: 'defaults', environment: {} });
}

function readTree(text: string, file: string, sources: TextSources): YamlTree {
  if (Buffer.byteLength(text) > TEXT_FILE_BYTES_MAX) {
    const message = `cannot read the configuration ${JSON.stringify(file)}: the file is larger than 1 MiB`;
    throw new OperatorError([{ code: 'E_CONFIG_READ', message }]);
  }
  const isFileKey = (path: KeyPath): boolean => kindAt(CONFIG, path)?.isFile === true;
  return readYamlTree(text.replace(/^\uFEFF/, ''), { file, sources, isFileKey });
}

function rootMistakes(root: unknown, { places }: YamlTree, file: string): Mistake[] {
  if (root === UNREADABLE) return [];
  const [message, hint] =
    root === null
      ? ['the file is empty', 'start from config/minimal.yaml']
      : ['expected a map of keys at the top level', 'begin with `api:` and `services:`'];
  return [{ code: 'E_CONFIG_SYNTAX', message, hint, file, ...places.ofValue([]) }];
}

interface Sources {
  readonly file: string;
  readonly tree: YamlTree;
  readonly variables: OtelVariables;
  /** What the system says of the memory; null: limits are as they were read. */
  readonly memory: MemoryReadings | null;
}

/** The block `otlp` is read twice, because variables may differ per signal; what repeats is shown once. */
function judge(root: Readonly<Record<string, unknown>>, sources: Sources): Judgement {
  const { file, tree, variables } = sources;
  const layered = (signal: Signal): JudgedTree => ({
    ...layerVariables(root, signal, variables),
    file,
    places: tree.places,
  });
  const metrics = layered('metrics');
  const logs = layered('logs');
  const found: Record<Signal, Violation[]> = { metrics: [], logs: [] };
  const keys = CONFIG.read(metrics.root, [], violation => found.metrics.push(violation));
  found.metrics.push(...ruleViolations(metrics.root, 'metrics'));
  const logsOtlp = readKey(CONFIG.keys.otlp, logs.root['otlp'], ['otlp'], violation =>
    found.logs.push(violation),
  );
  found.logs.push(...ruleViolations(logs.root, 'logs'));
  const mistakes = [
    ...tree.mistakes,
    ...variables.mistakes,
    ...metrics.mistakes,
    ...logs.mistakes,
    ...violationMistakes(found.metrics, metrics),
    ...violationMistakes(found.logs, logs),
  ];
  if (mistakes.length > 0 || keys === undefined) throw new OperatorError(orderMistakes(mistakes));
  const trees = { metrics, logs };
  const read = { keys, root: metrics.root, logsOtlp, logsRoot: logs.root, trees };
  return { config: resolveConfig(read, sources), places: tree.places, trees };
}

/** Likely mistakes in a valid configuration. `isContainer`: the process runs in a container. */
export function warningMistakes(
  { config: { file }, places, trees }: Judgement,
  isContainer: boolean,
): readonly Mistake[] {
  return orderMistakes(
    Object.values(trees).flatMap(tree =>
      violationMistakes(warningsOf(tree, isContainer), { ...tree, file, places }),
    ),
  );
}

interface ReadKeys {
  /** The YAML with the variables of metrics, as it was read and as plain data. */
  readonly keys: ConfigKeys;
  readonly root: unknown;
  /** The same for the block `otlp` with the variables of logs. */
  readonly logsOtlp: OtlpKeys;
  readonly logsRoot: unknown;
  readonly trees: Judgement['trees'];
}

function resolveConfig(read: ReadKeys, { file, variables, memory: readings }: Sources): Config {
  const { keys, root } = read;
  const { api: _api, services: entries, queue, status, ...others } = keys;
  const directory = queue.directory === null ? null : resolve(dirname(file), queue.directory);
  const global = { ...keys.api, timeoutMs: globalTimeoutMs(root, keys) };
  const { attributes } = variables;
  const isAuto = 'goneAfterMs' in entries;
  const services = isAuto ? [] : listedServices(entries, global, attributes);
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
    auto: isAuto ? { ...entries, attributes, api: mergeApi(global, {}) } : null,
    memory,
    metrics: { ...keys.metrics, limits },
    otlp: resolveOtlp(read),
    queue: { ...queue, directory },
    status: { ...status.listen, token: status.token },
  };
}

function listedServices(
  entries: readonly ServiceEntry[],
  global: ApiKeys,
  attributes: Readonly<Record<string, string>>,
): ServiceConfig[] {
  // Entries without own keys share one object, so that its key is read again only once.
  let shared: ApiConfig | undefined;
  return entries.map(entry => ({
    id: entry.id,
    name: entry.name ?? entry.id,
    attributes: { ...attributes, ...entry.attributes },
    api: usesGlobal(entry) ? (shared ??= mergeApi(global, {})) : mergeApi(global, entry.api),
  }));
}

function usesGlobal({ api }: ServiceEntry): boolean {
  return Object.values(api).every(value => value === undefined);
}

/** A shorter interval shortens the default timeout. A timeout in the file stays; rules.ts refuses a longer one. */
function globalTimeoutMs(root: unknown, { api, metrics }: ConfigKeys): number {
  const timeoutMs = api.timeoutMs ?? bug('api.timeout has no default');
  const isDefault = valueAt(root, ['api', 'timeout']) === undefined;
  return isDefault ? Math.min(timeoutMs, metrics.intervalMs) : timeoutMs;
}

function mergeApi(global: ApiKeys, own: Partial<ApiKeys>): ApiConfig {
  return {
    baseUrl: own.baseUrl ?? global.baseUrl ?? bug('no base URL'),
    key: own.key ?? global.key ?? bug('no key'),
    headers: mergeHeaders(global.headers ?? {}, own.headers ?? {}),
    timeoutMs: own.timeoutMs ?? global.timeoutMs ?? bug('no timeout'),
    ca: own.ca === undefined ? (global.ca ?? null) : own.ca,
    proxy: own.proxy === undefined ? (global.proxy ?? null) : own.proxy,
    isInsecureAllowed: own.isInsecureAllowed ?? global.isInsecureAllowed ?? false,
  };
}

type Headers = Readonly<Record<string, Secret>>;

function mergeHeaders(global: Headers, own: Headers): Headers {
  const names = new Set(Object.keys(own).map(name => name.toLowerCase()));
  const kept = Object.entries(global).filter(([name]) => !names.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...own };
}

function resolveOtlp({ root, logsRoot, keys: { otlp }, logsOtlp, trees }: ReadKeys): OtlpConfig {
  const { concurrency, maxRequestBytes, temporality } = otlp;
  return {
    metricsEndpoint: endpointOf('metrics', otlp, root),
    logsEndpoint: endpointOf('logs', logsOtlp, logsRoot),
    metrics: { ...signalKeys(otlp), names: namesOf('metrics', otlp, trees.metrics) },
    logs: { ...signalKeys(logsOtlp), names: namesOf('logs', logsOtlp, trees.logs) },
    concurrency,
    maxRequestBytes,
    temporality,
  };
}

function signalKeys(otlp: OtlpKeys): OtlpSignalConfig {
  const { protocol, compression, headers, timeoutMs, tls } = otlp;
  return { protocol, compression, headers, timeoutMs, tls };
}

/** Keys that hints name, and that a variable may set. */
const NAMED = [
  'endpoint',
  'headers',
  'protocol',
  'compression',
  'timeout',
  'tls.ca',
  'tls.cert',
  'tls.key',
];

function namesOf(
  signal: Signal,
  { headers }: OtlpKeys,
  { root, variableOf }: LayeredTree,
): Readonly<Record<string, string>> {
  const names = NAMED.flatMap(name => {
    const key = `otlp.${name}`;
    const own = name === 'endpoint' ? `otlp.${signal}_endpoint` : key;
    const used = (valueAt(root, own.split('.')) ?? null) === null ? key : own;
    const isUnset = name === 'headers' && Object.keys(headers).length === 0;
    const shown = variableOf(used.split('.')) ?? (isUnset ? `${key} (there are none)` : used);
    return shown === key ? [] : [[key, shown] as const];
  });
  return Object.fromEntries(names);
}

/** The signal's own endpoint, unchanged; else the general one with the signal's path, which gRPC does not have. */
function endpointOf(signal: Signal, otlp: OtlpKeys, root: unknown): string {
  const own = signal === 'metrics' ? otlp.metricsEndpoint : otlp.logsEndpoint;
  if (own !== null) return own;
  if (otlp.protocol !== 'grpc') return `${otlp.endpoint}/v1/${signal}`;
  return valueAt(root, ['otlp', 'endpoint']) === undefined ? GRPC_ENDPOINT : otlp.endpoint;
}
