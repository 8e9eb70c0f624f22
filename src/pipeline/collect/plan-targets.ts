// Groups the configured services into targets: services with the same address, key, headers and
// proxy share one target. One answer holds every service that its key can see, so a target needs
// one poll; derive separates the services by their `namespace` label.

import { hash } from 'node:crypto';
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
/** Replaces the id of the first service in the target's id; no service id has a blank. */
const AUTO = 'services: auto';

type PlannedConfig = Pick<
  Config,
  'services' | 'elsewhere' | 'auto' | 'shard' | 'unconfiguredServices' | 'metrics'
>;

/**
 * Targets in the order of their first configured services. A shard omits targets without a service
 * of its own, unless it sends unconfigured services: any target may have some of these. With
 * `services: auto` there is one target for each API, also before its first service is found.
 */
export function planTargets(config: PlannedConfig): readonly Target[] {
  const { shard, services, elsewhere, auto, unconfiguredServices } = config;
  const { path, intervalMs } = config.metrics;
  const ownIds = new Set(services.map(({ id }) => id));
  const otherIds = new Set(elsewhere.map(({ id }) => id));
  const takes = (id: string): boolean =>
    otherIds.has(id) || (!ownIds.has(id) && shardOf(id, shard.count) !== shard.index);
  const targetOf = (
    api: ApiConfig,
    first: string,
    words: string,
    { own, others }: Group,
  ): Target => ({
    id: idOfFirst(api, first),
    name: `${URL.parse(api.baseUrl)?.host ?? ''} (${words})`,
    services: own.map(([, service]) => service),
    configured: new Map(own.map(([index, { id }]) => [id, index])),
    otherShards: { serviceCount: others, takes },
    api,
    path,
    intervalMs,
  });
  if (auto !== null)
    return auto.apis.map((api, index) => {
      const own = [...services.entries()].filter(([, service]) => service.api === api);
      const [first, words] =
        index === 0 ? [AUTO, ''] : [`${AUTO} ${index + 1}`, `, api ${index + 1}`];
      return targetOf(api, first, `all services of the key${words}`, { own, others: 1 });
    });
  const groups = new Map<string, Group & { readonly first: ServiceConfig }>();
  const groupOf = (service: ServiceConfig): Group => {
    const identity = apiIdentity(service.api);
    const group = groups.get(identity) ?? { first: service, own: [], others: 0 };
    groups.set(identity, group);
    return group;
  };
  for (const [index, service] of services.entries()) groupOf(service).own.push([index, service]);
  for (const service of elsewhere) groupOf(service).others++;
  return [...groups.values()]
    .filter(({ own }) => own.length > 0 || unconfiguredServices === 'send')
    .map(({ first: { api, id, name }, ...group }) => {
      const more = group.own.length > 1 ? ` and ${group.own.length - 1} more` : '';
      const words = group.own.length > 0 ? name + more : 'services that are not configured';
      return targetOf(api, id, words, group);
    });
}

/** The services that share a poll: this shard's with their indexes in Config.services, and the number of others. */
interface Group {
  readonly own: [index: number, service: ServiceConfig][];
  others: number;
}

/**
 * Independent of the API key: neither its text nor a digest that would change on rotation. The
 * first service represents the group: its id is unique, and a service belongs to one target only.
 */
export function idOfFirst({ baseUrl }: ApiConfig, first: string): string {
  const identity = JSON.stringify([baseUrl, first]);
  return hash('sha256', identity).slice(0, ID_LENGTH);
}

/** The ids under which a target's state may be stored because another of its services was the first then. */
export function otherIdsOf({ id, api, services }: Target): readonly string[] {
  const ids = services.map(service => idOfFirst(api, service.id));
  return ids.includes(id) ? ids.filter(one => one !== id) : [];
}
