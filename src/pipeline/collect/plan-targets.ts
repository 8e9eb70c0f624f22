// From the configured services to the polls: one target per address, key, headers and way to get there.
// One answer of the service holds every database that its key can see, so the services of one target share
// a single poll; derive tells them apart by their `namespace` label.

import { createHash } from 'node:crypto';
import type { ApiConfig, Config, ServiceConfig } from '../../config/config.ts';
import { shardOf } from '../../lib/shard.ts';
import { apiIdentity } from '../../service/clients.ts';

export interface Target {
  /**
   * Stays the same over restarts, a changed key and added services: state is stored under it. No secret goes
   * into it, so it may be shown.
   */
  readonly id: string;
  /** For people: the host and its services. Holds no secret. */
  readonly name: string;
  /** In the order of the configuration; none where only unconfigured ones may be ours. */
  readonly services: readonly ServiceConfig[];
  /** Their ids, to their indexes in Config.services. */
  readonly configured: ReadonlyMap<string, number>;
  readonly otherShards: OtherShards;
  /** The settings that all of them share. */
  readonly api: ApiConfig;
  /** Below api.baseUrl. */
  readonly path: string;
  readonly intervalMs: number;
}

/** What other shards take of a target's answer. */
export interface OtherShards {
  /** How many of the services that are configured for the same poll. */
  readonly serviceCount: number;
  /** True for every service that is theirs, configured or not. */
  takes(id: string): boolean;
}

const ID_LENGTH = 16;

/**
 * The targets in the order in which their first services are configured. A shard leaves out those of which it takes
 * nothing; where unconfigured services are sent, it may take some of each.
 */
export function planTargets(
  config: Pick<Config, 'services' | 'elsewhere' | 'shard' | 'unconfiguredServices' | 'metrics'>,
): readonly Target[] {
  const { shard, services, elsewhere } = config;
  const own = new Set(services.map(({ id }) => id));
  const others = new Set(elsewhere.map(({ id }) => id));
  const takes = (id: string): boolean =>
    others.has(id) || (!own.has(id) && shardOf(id, shard.count) !== shard.index);
  const isNeeded = ({ own }: Group): boolean =>
    own.length > 0 || config.unconfiguredServices === 'send';
  return groupServices(config)
    .filter(isNeeded)
    .map(({ own, others, first }) => {
      const { path, intervalMs } = config.metrics;
      return {
        id: targetId(first),
        name: targetName(first, own.length),
        services: own.map(([, service]) => service),
        configured: new Map(own.map(([index, { id }]) => [id, index])),
        otherShards: { serviceCount: others.length, takes },
        api: first.api,
        path,
        intervalMs,
      };
    });
}

/** The services that share a poll. */
interface Group {
  /** Of our own, where there are any. */
  readonly first: ServiceConfig;
  /** With their indexes in Config.services. */
  readonly own: [index: number, service: ServiceConfig][];
  readonly others: ServiceConfig[];
}

function groupServices({
  services,
  elsewhere,
}: Pick<Config, 'services' | 'elsewhere'>): readonly Group[] {
  const groups = new Map<string, Group>();
  const groupOf = (service: ServiceConfig): Group => {
    const identity = apiIdentity(service.api);
    const group = groups.get(identity) ?? { first: service, own: [], others: [] };
    groups.set(identity, group);
    return group;
  };
  for (const [index, service] of services.entries()) groupOf(service).own.push([index, service]);
  for (const service of elsewhere) groupOf(service).others.push(service);
  return [...groups.values()];
}

/**
 * The key must not be part of it (neither its text, nor a digest that would change when it is rotated). The
 * first service represents the group: a service belongs to one target only, and its id is unique.
 */
function targetId(first: ServiceConfig): string {
  const identity = JSON.stringify([first.api.baseUrl, first.id]);
  return createHash('sha256').update(identity).digest('hex').slice(0, ID_LENGTH);
}

function targetName(first: ServiceConfig, ownCount: number): string {
  const host = URL.parse(first.api.baseUrl)?.host ?? '';
  if (ownCount === 0) return `${host} (services that are not configured)`;
  return `${host} (${first.name}${ownCount === 1 ? '' : ` and ${ownCount - 1} more`})`;
}
