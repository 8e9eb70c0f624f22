// Rules about several keys at once. A rule takes the values by their paths and reads each as its key declares it. So it
// finds its mistake even if other keys of the same block are wrong. A rule ignores a value that cannot be read: the key
// reports that.

import { isLoopbackHost } from '../lib/loopback.ts';
import { findBadPair } from '../lib/pem.ts';
import type { Signal } from '../model/batch.ts';
import { MISSING, readAt, showValue, type Violation } from './declare.ts';
import {
  api,
  CONFIG,
  metrics,
  otlp,
  otlpAuth,
  otlpTls,
  prefixes,
  service,
  shard,
  status,
} from './keys.ts';
import { isPlainMap, isSet, valueAt, type KeyPath } from './paths.ts';
import { endpointIsOwn } from './profile.ts';
import { groupWithout } from '../model/page-rules.ts';
import { formatDuration } from './units.ts';

type Rule = (root: unknown, signal: Signal) => Violation[];

/** The violations in the YAML, together with the variables of a signal. */
export function ruleViolations(root: unknown, signal: Signal): Violation[] {
  return RULES.flatMap(rule => rule(root, signal));
}

const RULES: readonly Rule[] = [
  servicesAreThere,
  idsAreUnique,
  autoIsAlone,
  keyIsThere,
  keyTravelsSafely,
  timeoutFitsInterval,
  prefixesAreApart,
  overridesChangeSomething,
  renamesHaveEffect,
  headersAreUnique,
  authIsOne,
  authIsAlone,
  statusIsGuarded,
  shardExists,
  certificateHasKey,
  certificateFitsKey,
  compressionSuitsGrpc,
  endpointSuitsGrpc,
  endpointIsOwn,
];

/** The paths of the entries of `services`. */
function entryPaths(root: unknown): KeyPath[] {
  const services = valueAt(root, ['services']);
  return Array.isArray(services) ? services.map((_, index) => ['services', index]) : [];
}

/** The paths where `api` is allowed: the global one, one in each entry, and those of `services: auto`. */
export function apiPaths(root: unknown): KeyPath[] {
  return [['api'], ...ownApiPaths(root)];
}

function ownApiPaths(root: unknown): KeyPath[] {
  const found = valueAt(root, ['services', 'auto', 'api']);
  const path = (index: number): KeyPath => ['services', 'auto', 'api', index];
  if (Array.isArray(found)) return found.map((_, index) => path(index));
  return entryPaths(root).map(entry => [...entry, 'api']);
}

function servicesAreThere(root: unknown): Violation[] {
  const services = valueAt(root, ['services']);
  const isEmpty = services === null || (Array.isArray(services) && services.length === 0);
  const hint = 'add one entry per database service, as `services: [{id: dbpgf12345678}]`';
  return isEmpty ? [{ path: ['services'], problem: 'the list is empty', hint }] : [];
}

function idsAreUnique(root: unknown): Violation[] {
  const seen = new Map<string, number>();
  return entryPaths(root).flatMap((entry, index) => {
    const path = [...entry, 'id'];
    const id = readAt(root, path, service.keys.id);
    if (id === undefined) return [];
    const first = seen.get(id);
    if (first === undefined) {
      seen.set(id, index);
      return [];
    }
    const problem = `${showValue(valueAt(root, path))} is already the id of services[${String(first)}]`;
    return [{ path, problem, hint: 'remove one of the two entries' }];
  });
}

/** `services: auto` finds the services on the metrics page, and takes or excludes each of them. */
function autoIsAlone(root: unknown): Violation[] {
  const services = readAt(root, ['services'], CONFIG.keys.services);
  if (services === undefined || !('goneAfterMs' in services)) return [];
  const found: Violation[] = [];
  const { unconfiguredServices } = CONFIG.keys;
  if (readAt(root, ['unconfigured_services'], unconfiguredServices) === 'send') {
    const problem = '`send` would send the services that `services: auto` leaves out';
    found.push({ path: ['unconfigured_services'], problem, hint: 'remove it' });
  }
  if (readAt(root, ['metrics', 'enabled'], metrics.keys.isEnabled) === false) {
    const problem = '`services: auto` finds the services on the metrics page';
    const hint = 'remove it, or list the services';
    found.push({ path: ['metrics', 'enabled'], problem, hint });
  }
  return found;
}

/** Every service needs a key: the global one or its own. */
function keyIsThere(root: unknown): Violation[] {
  if (valueAt(root, ['api', 'key']) !== undefined) return [];
  const owns = ownApiPaths(root);
  const hasOwn = (own: KeyPath): boolean => valueAt(root, [...own, 'key']) !== undefined;
  if (owns.length > 0 && owns.every(hasOwn)) return [];
  const hint = 'add `key: ${file:/path}`, or give every entry of services an `api.key` of its own';
  return [{ ...MISSING, path: ['api', 'key'], hint }];
}

/** Plain http shows the key to everybody on the network path. Loopback has no network path. */
function keyTravelsSafely(root: unknown): Violation[] {
  const [global = [], ...owns] = apiPaths(root);
  return (owns.length === 0 ? [global] : owns).flatMap(own => {
    const owner = (key: string): KeyPath =>
      valueAt(root, [...own, key]) === undefined ? ['api', key] : [...own, key];
    const path = owner('base_url');
    const url = readAt(root, path, api.keys.baseUrl);
    if (url === undefined || readAt(root, owner('insecure'), api.keys.isInsecureAllowed) !== false)
      return [];
    const { protocol, hostname } = new URL(url);
    if (protocol === 'https:' || isLoopbackHost(hostname)) return [];
    const problem = 'plain http shows the key to everybody on the network path';
    const hint = 'use https, or set `insecure: true` in the configuration to allow it';
    return [{ path, problem, hint }];
  });
}

/** A scrape must be over before the next begins. load.ts shortens the default timeout by itself. */
function timeoutFitsInterval(root: unknown): Violation[] {
  if (readAt(root, ['metrics', 'enabled'], metrics.keys.isEnabled) === false) return [];
  const intervalMs = readAt(root, ['metrics', 'interval'], metrics.keys.intervalMs);
  return apiPaths(root).flatMap(own => {
    const path = [...own, 'timeout'];
    if (valueAt(root, path) === undefined) return [];
    const timeoutMs = readAt(root, path, api.keys.timeoutMs);
    if (intervalMs === undefined || timeoutMs === undefined || timeoutMs <= intervalMs) return [];
    const [timeout, interval] = [formatDuration(timeoutMs), formatDuration(intervalMs)];
    const problem = `metrics scrape timeout ${timeout} is longer than metrics.interval ${interval}`;
    return [{ path, problem, hint: 'shorten the timeout or lengthen the interval' }];
  });
}

function prefixesAreApart(root: unknown): Violation[] {
  const owners = new Map<string, string>();
  return Object.entries(prefixes.keys).flatMap(([family, key]) => {
    const path = ['metrics', 'prefixes', family];
    const list = readAt(root, path, key);
    if (list === undefined) return [];
    if (list.length === 0)
      return [{ path, problem: 'the list is empty', hint: 'name at least one prefix' }];
    return list.flatMap((prefix, index): Violation[] => {
      const owner = owners.get(prefix);
      if (owner === undefined) {
        owners.set(prefix, family);
        return [];
      }
      const place = [...path, index];
      const problem = `${showValue(valueAt(root, place) ?? prefix)} already belongs to ${owner}`;
      return [{ path: place, problem, hint: 'a prefix belongs to one family only' }];
    });
  });
}

/** Refuses rules without an effect or with a missing group. */
function renamesHaveEffect(root: unknown): Violation[] {
  const path = ['metrics', 'rename'];
  const rename = readAt(root, path, metrics.keys.rename) ?? [];
  return rename.flatMap((rule, index): Violation[] => {
    const wrong = groupWithout(rule);
    const isIdle =
      rule.name === null && Object.keys({ ...rule.labels, ...rule.attributes }).length === 0;
    if (wrong === null && !isIdle) return [];
    const hint = wrong === null ? 'add name, labels or attributes' : 'add a group in parentheses';
    const problem =
      wrong === null ? 'the rule changes nothing' : `the expression has no group for ${wrong}`;
    return [{ path: [...path, index], problem, hint }];
  });
}

function overridesChangeSomething(root: unknown): Violation[] {
  const overrides = valueAt(root, ['metrics', 'overrides']);
  if (!Array.isArray(overrides)) return [];
  return overrides.flatMap((override: unknown, index): Violation[] => {
    if (typeof override !== 'object' || override === null) return [];
    const { match: _match, ...set } = override as Record<string, unknown>;
    if (Object.values(set).some(value => value !== null)) return [];
    const path = ['metrics', 'overrides', index];
    const hint = 'add `type`, `unit`, `description` or `uptime_series`';
    return [{ path, problem: 'the entry overrides nothing', hint }];
  });
}

/** Names of headers do not depend on case, so two names that differ only in case are the same header. */
function headersAreUnique(root: unknown): Violation[] {
  const problem = 'duplicate header: names of headers do not depend on case';
  const hint = 'remove one of them';
  return [...otlpHeaders(), ...apiPaths(root).map(path => [...path, 'headers'])].flatMap(path => {
    const names = Map.groupBy(Object.keys(valueAt(root, path) ?? {}), name => name.toLowerCase());
    const repeated = [...names.values()].flatMap(([, ...others]) => others);
    return repeated.map(name => ({ path: [...path, name], problem, hint, isAtKey: true }) as const);
  });
}

function otlpHeaders(): KeyPath[] {
  return [[], ['metrics'], ['logs']].map(signal => ['otlp', ...signal, 'headers']);
}

/** `auth` names exactly one way. */
function authIsOne(root: unknown): Violation[] {
  const path = ['otlp', 'auth'];
  const auth = valueAt(root, path);
  if (!isPlainMap(auth)) return [];
  const ways = Object.values(otlpAuth.keys).map(({ name }) => name);
  const set = ways.filter(name => isSet(root, [...path, name]));
  if (set.length === 1) return [];
  const problem =
    set.length === 0 ? '`auth` names no way' : `\`auth\` names ${set.join(' and ')} at once`;
  return [{ path, problem, hint: `set one of ${ways.join(', ')}` }];
}

/** `auth` sets the header Authorization itself. */
function authIsAlone(root: unknown): Violation[] {
  if (!isSet(root, ['otlp', 'auth'])) return [];
  const problem = '`otlp.auth` sets this header itself';
  const hint = 'remove one of them';
  return otlpHeaders().flatMap(path =>
    Object.keys(valueAt(root, path) ?? {})
      .filter(name => name.toLowerCase() === 'authorization')
      .map(name => ({ path: [...path, name], problem, hint, isAtKey: true }) as const),
  );
}

function certificateHasKey(root: unknown): Violation[] {
  const hasCert = isSet(root, ['otlp', 'tls', 'cert']);
  if (hasCert === isSet(root, ['otlp', 'tls', 'key'])) return [];
  const [set, other] = hasCert ? ['cert', 'key'] : ['key', 'cert'];
  const problem = `\`${set}\` needs \`${other}\``;
  return [{ path: ['otlp', 'tls', set], problem, hint: `add \`${other}\`` }];
}

function certificateFitsKey(root: unknown): Violation[] {
  const path = ['otlp', 'tls', 'cert'];
  const cert = readAt(root, path, otlpTls.keys.cert) ?? null;
  const key = readAt(root, ['otlp', 'tls', 'key'], otlpTls.keys.key) ?? null;
  const cause = cert === null || key === null ? null : findBadPair(cert, key.reveal());
  if (cause === null) return [];
  const problem = `cannot use \`cert\` with \`key\`: ${cause}`;
  return [{ path, problem, hint: 'check that key is the private key of cert' }];
}

function compressionSuitsGrpc(root: unknown): Violation[] {
  const path = ['otlp', 'compression'];
  if (!isGrpc(root) || readAt(root, path, otlp.keys.compression) !== 'zstd') return [];
  return [{ path, problem: 'gRPC does not support zstd', hint: 'use `gzip` or `none`' }];
}

/** An address for gRPC is a host and a port. A path most likely belongs to OTLP over HTTP, at another port. */
function endpointSuitsGrpc(root: unknown, signal: Signal): Violation[] {
  if (!isGrpc(root)) return [];
  const own = signal === 'metrics' ? otlp.keys.metricsEndpoint : otlp.keys.logsEndpoint;
  const key = isSet(root, ['otlp', own.name]) ? own : otlp.keys.endpoint;
  const path = ['otlp', key.name];
  const url = readAt<string | null>(root, path, key) ?? null;
  if (url === null) return [];
  const { origin, pathname, search } = new URL(url);
  if (pathname === '/' && search === '') return [];
  const problem = 'an endpoint for gRPC has no path';
  return [{ path, problem, hint: `write ${showValue(origin)}, with the port for gRPC` }];
}

function isGrpc(root: unknown): boolean {
  return readAt(root, ['otlp', 'protocol'], otlp.keys.protocol) === 'grpc';
}

function statusIsGuarded(root: unknown): Violation[] {
  const path = ['status', 'listen'];
  const address = readAt(root, path, status.keys.listen);
  const isGuarded = isSet(root, ['status', 'token']);
  if (address === undefined || isGuarded || isLoopbackHost(address.host)) return [];
  const problem = 'other machines can reach this address, and there is no token';
  return [{ path, problem, hint: 'set `status.token`, or listen on 127.0.0.1' }];
}

function shardExists(root: unknown): Violation[] {
  const path = ['shard', 'index'];
  const index = readAt(root, path, shard.keys.index);
  const count = readAt(root, ['shard', 'count'], shard.keys.count);
  if (index === undefined || count === undefined || index < count) return [];
  const problem = `the index ${String(index)} is not below the count ${String(count)}`;
  return [{ path, problem, hint: 'indexes begin at 0' }];
}
