// Groups the configured services into targets: services with the same address, key, headers and
// proxy share one target. One answer holds every service that its key can see, so a target needs
// one poll; derive separates the services by their `namespace` label.

import { createHash } from 'node:crypto';
import type { ApiConfig, Config, ServiceConfig } from '../../config/config.ts';
import { shardOf } from '../../lib/shard.ts';
import type { OtherShards } from '../../model/page.ts';
import { apiIdentity } from '../../service/clients.ts';

export interface Target {
  /**
   * The key of the stored state: it survives restarts, a changed key and added services. It
   * contains no secret, so it may be shown.
   */
  readonly id: string;
  /** For people: the host and its services. Contains no secret. */
  readonly name: string;
  /** In configuration order; empty if only unconfigured services may belong to this shard. */
  readonly services: readonly ServiceConfig[];
  /** Service ids to indexes into Config.services. */
  readonly configured: ReadonlyMap<string, number>;
  readonly otherShards: OtherShards;
  /** The settings that all these services share. */
  readonly api: ApiConfig;
  /** Below api.baseUrl. */
  readonly path: string;
  readonly intervalMs: number;
}

const ID_LENGTH = 16;
/** In place of the first service; no id has a blank. */
const AUTO = 'services: auto';

type PlannedConfig = Pick<
  Config,
  'services' | 'elsewhere' | 'auto' | 'shard' | 'unconfiguredServices' | 'metrics'
>;

/**
 * Targets in the order of their first configured services. A shard omits targets without a service
 * of its own, unless it sends unconfigured services: any target may have some of these. With
 * `services: auto` there is one target, also before its first service is found.
 */
export function planTargets(config: PlannedConfig): readonly Target[] {
  const { shard, services, elsewhere, auto } = config;
  const own = new Set(services.map(({ id }) => id));
  const others = new Set(elsewhere.map(({ id }) => id));
  const takes = (id: string): boolean =>
    others.has(id) || (!own.has(id) && shardOf(id, shard.count) !== shard.index);
  const { path, intervalMs } = config.metrics;
  if (auto !== null)
    return [
      {
        id: targetId(auto.api, AUTO),
        name: `${URL.parse(auto.api.baseUrl)?.host ?? ''} (all services of the key)`,
        services,
        configured: new Map(services.map(({ id }, index) => [id, index])),
        otherShards: { serviceCount: 1, takes },
        api: auto.api,
        path,
        intervalMs,
      },
    ];
  const isNeeded = ({ own }: Group): boolean =>
    own.length > 0 || config.unconfiguredServices === 'send';
  return groupServices(config)
    .filter(isNeeded)
    .map(({ own, others, first }) => ({
      id: targetId(first.api, first.id),
      name: targetName(first, own.length),
      services: own.map(([, service]) => service),
      configured: new Map(own.map(([index, { id }]) => [id, index])),
      otherShards: { serviceCount: others.length, takes },
      api: first.api,
      path,
      intervalMs,
    }));
}

/** The services that share a poll. */
interface Group {
  /** One of this shard's services if there are any. */
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
 * Independent of the API key: neither its text nor a digest that would change on rotation. The
 * first service represents the group: its id is unique, and a service belongs to one target only.
 */
function targetId({ baseUrl }: ApiConfig, first: string): string {
  const identity = JSON.stringify([baseUrl, first]);
  return createHash('sha256').update(identity).digest('hex').slice(0, ID_LENGTH);
}

/** The ids under which a target's state may be stored because another of its services was the first then. */
export function otherIdsOf({ id, api, services }: Target): readonly string[] {
  const ids = services.map(service => targetId(api, service.id));
  return ids.includes(id) ? ids.filter(one => one !== id) : [];
}

function targetName(first: ServiceConfig, ownCount: number): string {
  const host = URL.parse(first.api.baseUrl)?.host ?? '';
  if (ownCount === 0) return `${host} (services that are not configured)`;
  return `${host} (${first.name}${ownCount === 1 ? '' : ` and ${ownCount - 1} more`})`;
}
