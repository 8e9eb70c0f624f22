// What derive needs to know of the configuration, made once per target.

import type { CatalogLookup } from '../../catalog/lookup.ts';
import type { Config, MetricsConfig } from '../../config/config.ts';
import type { OtherShards } from '../collect/plan-targets.ts';
import { SeriesBudget } from './budget.ts';

export interface DeriveOptions
  extends Pick<
    MetricsConfig,
    | 'mapping'
    | 'overrides'
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
  /** True for `delta` alone: `lowmemory` means cumulative for what is scraped. */
  readonly isDelta: boolean;
  readonly serviceSamplesMax: number;
  /** Shared by all targets. */
  readonly budget: SeriesBudget;
  readonly dropLabels: ReadonlySet<string>;
  /** The services of this target: id to index into Config.services. */
  readonly configured: ReadonlyMap<string, number>;
  readonly unconfigured: Config['unconfiguredServices'];
  /** Absent while there is one shard. */
  readonly otherShards?: OtherShards;
}

/** The options of one target: `configured` are the services behind it that this process takes. */
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

/** The service that a page without namespaces belongs to; null where several share it, in whichever shard. */
export function soleService({ configured, otherShards }: DeriveOptions): string | null {
  const [only] = configured.keys();
  const isSole = configured.size + (otherShards?.serviceCount ?? 0) === 1;
  return isSole ? (only ?? null) : null;
}
