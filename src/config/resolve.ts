// The last step: the global `api` and each entry's own become one, both signals get their endpoints, relative
// paths become absolute. Everything has been judged before; nothing fails here.

import { dirname, resolve } from 'node:path';
import { bug } from '../errors.ts';
import { dealShards } from '../lib/shard.ts';
import type { Signal } from '../model/batch.ts';
import type { ApiConfig, Config, OtlpConfig, Secret, ServiceConfig } from './config.ts';
import { GRPC_ENDPOINT } from './defaults.ts';
import { valueAt } from './places.ts';
import type { ConfigKeys } from './schema.ts';
import type { ApiKeys, ServiceEntry } from './schema/api-block.ts';
import type { OtlpKeys } from './schema/otlp-block.ts';

export interface ResolveInput {
  readonly file: string;
  /** The YAML with the variables of metrics, as plain data and as it was read. */
  readonly root: unknown;
  readonly keys: ConfigKeys;
  /** The same for the block `otlp` with the variables of logs. */
  readonly logsRoot: unknown;
  readonly logsOtlp: OtlpKeys;
  /** Attributes for every service, of OTEL_RESOURCE_ATTRIBUTES. */
  readonly attributes: Readonly<Record<string, string>>;
}

export function resolveConfig(input: ResolveInput): Config {
  const { file, keys } = input;
  const { queue } = keys;
  const directory = queue.directory === null ? null : resolve(dirname(file), queue.directory);
  const services = resolveServices(input);
  const { index, count } = keys.shard;
  const ids = services.map(({ id }) => id);
  const shards = dealShards(ids, count);
  const isOurs = ({ id }: ServiceConfig): boolean => shards.get(id) === index;
  return {
    file,
    services: services.filter(isOurs),
    elsewhere: services.filter(service => !isOurs(service)),
    unconfiguredServices: keys.unconfigured_services,
    metrics: keys.metrics,
    logs: keys.logs,
    backups: keys.backups,
    otlp: resolveOtlp(input),
    queue: { ...queue, directory },
    status: keys.status,
    telemetry: keys.telemetry,
    shard: keys.shard,
    log: keys.log,
  };
}

function resolveServices({ root, keys, attributes }: ResolveInput): ServiceConfig[] {
  const global = { ...keys.api, timeoutMs: globalTimeoutMs(root, keys) };
  // One object for all entries that have nothing of their own, so that its key is read again once for all.
  const shared = keys.services.some(usesGlobal) ? mergeApi(global, {}) : undefined;
  return keys.services.map(entry => ({
    id: entry.id,
    name: entry.name ?? entry.id,
    attributes: { ...attributes, ...entry.attributes },
    api: usesGlobal(entry) && shared !== undefined ? shared : mergeApi(global, entry.api),
  }));
}

function usesGlobal({ api }: ServiceEntry): boolean {
  return Object.values(api).every(value => value === undefined);
}

/** The default timeout gives way to a shorter interval; one that is written down does not (rules.ts). */
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

function resolveOtlp({ root, logsRoot, keys, logsOtlp }: ResolveInput): OtlpConfig {
  const { otlp } = keys;
  return {
    metricsEndpoint: endpointOf('metrics', otlp, root),
    logsEndpoint: endpointOf('logs', logsOtlp, logsRoot),
    metrics: otlp.signal,
    logs: logsOtlp.signal,
    concurrency: otlp.concurrency,
    maxRequestBytes: otlp.maxRequestBytes,
    temporality: otlp.temporality,
  };
}

/** A signal's own endpoint as it is; else the general one with the signal's path, which gRPC does not have. */
function endpointOf(signal: Signal, otlp: OtlpKeys, root: unknown): string {
  const own = signal === 'metrics' ? otlp.metricsEndpoint : otlp.logsEndpoint;
  if (own !== null) return own;
  if (otlp.signal.protocol !== 'grpc') return `${otlp.endpoint}/v1/${signal}`;
  return valueAt(root, ['otlp', 'endpoint']) === undefined ? GRPC_ENDPOINT : otlp.endpoint;
}
