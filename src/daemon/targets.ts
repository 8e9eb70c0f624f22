// Builds the parts of each target from the configuration: its scraper, the rules for its pages, and
// the Resource of each service on them.

import { createCatalogLookup } from '../catalog/lookup.ts';
import type { ApiConfig, Config, ServiceConfig } from '../config/config.ts';
import { bug } from '../errors.ts';
import type { BodyBufferPool } from '../lib/body-buffer.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import { SeriesTable } from '../model/series-table.ts';
import { Scraper, scrapeReport, type ScrapeResult } from '../pipeline/collect/scrape.ts';
import type { Target } from '../pipeline/collect/plan-targets.ts';
import { deriveOptions, entriesOf, SeriesBudget } from '../pipeline/derive/options.ts';
import type { ResourceIdentity, ServiceResource } from '../pipeline/encode/identity.ts';
import type { PointState } from '../pipeline/queue/account.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import type { TranslateMeter } from '../pipeline/translate-meter.ts';
import type { PipelineTarget, Translation } from '../pipeline.ts';
import type { ServiceClients } from '../service/clients.ts';
import { pastOfTarget } from './backfill.ts';
import type { Discovery } from './discovery.ts';
import { reportDrift } from './drift-report.ts';
import type { Inventory } from './inventory.ts';
import type { TargetLog } from './target-log.ts';
import type { PointSums, Timeline } from './timeline.ts';

export interface TargetContext {
  readonly config: Config;
  readonly clock: Clock;
  readonly parts: {
    readonly counters: Counters;
    readonly clients: ServiceClients;
    readonly buffers: BodyBufferPool;
    readonly queue: Pick<Queue, 'size' | 'account' | 'readState'>;
  };
  /** Shared by all targets. */
  readonly budget: SeriesBudget;
  readonly entries: ReadonlySet<string>;
  /** Notes every scrape; so does `discovery`, which is null if the services are listed. */
  readonly timeline: Timeline;
  readonly meter: TranslateMeter;
  readonly discovery: Discovery | null;
  readonly inventory: Inventory | null;
}

/**
 * A target in the pipeline, with its place among the targets. Throws an OperatorError if its settings would expose the
 * key.
 */
export function pipelineTarget(
  log: TargetLog,
  index: number,
  context: TargetContext,
): PipelineTarget<ScrapeResult> {
  const { config, clock, parts } = context;
  const { target } = log;
  const { counters, buffers } = parts;
  const client = parts.clients.get(target.api);
  const report = parts.clients.report(target.api, scrapeReport(target, { client, clock }));
  const bodyBytesMax = (): number => context.budget.bodyBytesFor(log.table);
  const translation = translationOf(
    target,
    config,
    log.table,
    context.budget,
    context.entries,
    id => context.inventory?.isStopped(id) ?? false,
  );
  return {
    id: target.id,
    scraper: new Scraper({ target, client, report, bodyBytesMax, buffers, clock, counters }),
    translation,
    past: pastOfTarget({ target, log, client, config, queue: parts.queue, clock, counters }),
    onTranslated: (result, translated) => {
      context.meter.count(target.id, translated.page, translated.derived);
      const drift = translated.reason === '' ? reportDrift(log.table, translation.derive) : null;
      if (drift !== null) {
        context.meter.countDrift(drift.added);
        log.drift = drift.families;
      }
      log.note(result, translated);
      context.discovery?.note(index, log.table, result, translated);
      context.inventory?.note(target.id, translated.derived.services);
      const { samples, lastDurationMs, lastReason: reason } = log.status;
      if (result.kind === 'page') {
        const { lastMessage: message, hint } = log.status;
        if (reason === '') report.succeeded();
        else report.failed({ reason, message, hint });
      }
      context.timeline.note({
        target: target.id,
        atMs: clock.nowMs(),
        samples,
        durationMs: lastDurationMs ?? 0,
        isFailed: reason !== '',
        queued: parts.queue.size('metrics').points,
        sums: () => pointSums(parts.queue.account.total()),
      });
    },
  };
}

function pointSums(total: ReadonlyMap<string, number>): PointSums {
  const get = (state: PointState): number => total.get(`point/${state}`) ?? 0;
  const lost = get('rejected') + get('set_aside') + get('evicted');
  return { made: get('made'), accepted: get('accepted'), lost };
}

function serverOf({ baseUrl }: ApiConfig): ResourceIdentity['server'] {
  const url = new URL(baseUrl);
  return {
    address: url.hostname,
    port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    scheme: url.protocol.slice(0, -1),
  };
}

/** The table and the rules for one target's pages. */
export function translationOf(
  target: Target,
  config: Config,
  table: SeriesTable = new SeriesTable(),
  budget: SeriesBudget = new SeriesBudget(config.metrics.limits),
  entries: ReadonlySet<string> = entriesOf(config),
  isStopped: (id: string) => boolean = () => false,
): Translation {
  budget.measure(table);
  const server = serverOf(target.api);
  const resourceOf = (index: number): ResourceIdentity => {
    const slot = table.services[index] ?? bug(`no service ${index}`);
    const entry = config.services[slot.configIndex];
    const { name = slot.id, attributes = {} } = entry ?? {};
    return { name, id: slot.id, attributes, server };
  };
  const lookup = createCatalogLookup(config.metrics.prefixes);
  const { configured, otherShards } = target;
  const derive = deriveOptions(config, lookup, configured, otherShards, budget, entries);
  const judged = { ...derive, isStopped };
  const isKept = config.queue.directory !== null;
  return { table, isKept, derive: judged, encode: { ...derive, resourceOf } };
}

/** The Resource for the logs and backup gauges of a service: the same as for its metrics, which `log` has. */
export function resourceOf(
  service: ServiceConfig,
  log: Pick<TargetLog, 'table'> | undefined,
): ServiceResource {
  const { id, name, attributes, api } = service;
  const identity = { name, id, attributes, server: serverOf(api) };
  const slot = log?.table.services[log.table.serviceById.get(id) ?? -1];
  return { identity, info: slot?.info ?? new Map() };
}
