// The configuration as derive needs it, made once per target.

import type { CatalogLookup } from '../../catalog/lookup.ts';
import type { Config, MetricsConfig } from '../../config/config.ts';
import type { OtherShards } from '../../model/page.ts';
import { SeriesBudget } from './budget.ts';

export interface DeriveOptions
  extends Pick<
    MetricsConfig,
    | 'mapping'
    | 'overrides'
    | 'rename'
    | 'include'
    | 'exclude'
    | 'units'
    | 'honorTimestamps'
    | 'startTimes'
    | 'staleMarkers'
    | 'staleAfterMs'
    | 'badShare'
    | 'intervalMs'
  > {
  readonly lookup: CatalogLookup;
  /** Only for `delta`: `lowmemory` means cumulative for scraped data. */
  readonly isDelta: boolean;
  readonly serviceSamplesMax: number;
  /** Shared by all targets. */
  readonly budget: SeriesBudget;
  readonly dropLabels: ReadonlySet<string>;
  /** The services of this target: id to index into Config.services. */
  readonly configured: ReadonlyMap<string, number>;
  readonly unconfigured: Config['unconfiguredServices'];
  /** Absent if there is one shard. */
  readonly otherShards?: OtherShards;
}

/** The options of one target; `configured`: its services in this process. */
export function deriveOptions(
  config: Pick<Config, 'metrics' | 'otlp' | 'unconfiguredServices'>,
  lookup: CatalogLookup,
  configured: ReadonlyMap<string, number>,
  otherShards?: OtherShards,
  budget: SeriesBudget = new SeriesBudget(config.metrics.limits),
): DeriveOptions {
  return {
    ...config.metrics,
    lookup,
    isDelta: config.otlp.temporality === 'delta',
    serviceSamplesMax: config.metrics.limits.serviceSamples,
    budget,
    dropLabels: new Set(config.metrics.dropLabels),
    configured,
    unconfigured: config.unconfiguredServices,
    ...(otherShards === undefined ? {} : { otherShards }),
  };
}

/**
 * The service id of a namespace. A page without namespaces belongs to its target's only service; ''
 * if several services share the page, in any shard.
 */
export function serviceIdOf(namespace: string, options: DeriveOptions): string {
  if (namespace !== '') return namespace;
  const [only = ''] = options.configured.keys();
  const count = options.configured.size + (options.otherShards?.serviceCount ?? 0);
  return count === 1 ? only : '';
}
