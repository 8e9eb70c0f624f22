// What the daemon makes of each target of its configuration: a scraper, the rules by which its pages are translated,
// and the Resource of each service on them. A daemon that replaces another takes the memory of a target from it.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { createCatalogLookup } from '../catalog/lookup.ts';
import type { ApiConfig, Config, ServiceConfig } from '../config/config.ts';
import { bug } from '../errors.ts';
import type { BodyBufferPool } from '../lib/body-buffer.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import type { RestoredState } from '../model/memory.ts';
import { SeriesTable } from '../model/series-table.ts';
import { Scraper } from '../pipeline/collect/scrape.ts';
import type { Target } from '../pipeline/collect/plan-targets.ts';
import { SeriesBudget } from '../pipeline/derive/budget.ts';
import { deriveOptions } from '../pipeline/derive/options.ts';
import { readState, saveState } from '../pipeline/derive/state.ts';
import type { ResourceIdentity } from '../pipeline/encode/identity.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import type { PipelineTarget, Translation } from '../pipeline.ts';
import type { ServiceClients } from '../service/clients.ts';
import type { TargetLog } from '../status/target-log.ts';
import type { Timeline } from '../status/timeline.ts';

export interface TargetContext {
  readonly config: Config;
  readonly clock: Clock;
  readonly parts: {
    readonly counters: Counters;
    readonly clients: ServiceClients;
    readonly buffers: BodyBufferPool;
    readonly queue: Pick<Queue, 'stats'>;
  };
  /** Of all targets. */
  readonly budget: SeriesBudget;
  /** Notes every scrape. */
  readonly timeline: Timeline;
}

/** A target in the running pipeline. Throws an OperatorError when the key would not be safe with its settings. */
export function pipelineTarget(log: TargetLog, context: TargetContext): PipelineTarget {
  const { config, clock, parts } = context;
  const { target } = log;
  const { counters, buffers } = parts;
  const client = parts.clients.get(target.api);
  const bodyBytesMax = (): number => {
    const { limits } = config.metrics;
    return Math.min(limits.bodyBytes, context.budget.bodyBytesFor(log.table));
  };
  return {
    id: target.id,
    scraper: new Scraper({ target, client, bodyBytesMax, buffers, clock, counters }),
    translation: translationOf(target, config, log.table, context.budget),
    onTranslated: (result, translated) => {
      log.note(result, translated);
      const { facts, durationMs = 0, reason = '' } = log.last ?? {};
      const samples = facts?.samples ?? 0;
      const queued = parts.queue.stats('metrics').points;
      const isFailed = reason !== '';
      context.timeline.note(clock.monotonicMs(), { samples, durationMs, isFailed, queued });
    },
  };
}

/** Where a service is reached, as its Resource has it. */
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
): Translation {
  budget.add(table, target.configured.size + target.otherShards.serviceCount);
  const server = serverOf(target.api);
  const resourceOf = (index: number): ResourceIdentity => {
    const slot = table.services[index] ?? bug(`no service ${index}`);
    const entry = config.services[slot.configIndex];
    const { name = slot.id, attributes = {} } = entry ?? {};
    return { name, id: slot.id, attributes, server };
  };
  return {
    table,
    isKept: config.queue.directory !== null,
    limits: config.metrics.limits,
    derive: deriveOptions(
      config,
      createCatalogLookup(config.metrics.prefixes),
      target.configured,
      target.otherShards,
      budget,
    ),
    encode: {
      isDelta: config.otlp.temporality === 'delta',
      namespace: config.metrics.namespace,
      dropLabels: new Set(config.metrics.dropLabels),
      resourceOf,
    },
  };
}

/** A service as its metrics name it, for whatever else is sent about it. */
export interface ServiceResource {
  readonly identity: ResourceIdentity;
  readonly info: ReadonlyMap<string, string>;
}

/** With the labels of target_info that its last page had, as its metrics have them. */
export function resourceOf(service: ServiceConfig, targets: readonly TargetLog[]): ServiceResource {
  const { id, name, attributes, api } = service;
  const identity = { name, id, attributes, server: serverOf(api) };
  for (const { table } of targets) {
    const slot = table.services[table.serviceById.get(id) ?? -1];
    if (slot !== undefined) return { identity, info: slot.info };
  }
  return { identity, info: new Map() };
}

/**
 * What a replaced daemon knows of a target's series, in the form in which it would be stored for the next process; null
 * when nothing is known. The table must not be used again.
 */
export async function memoryOf(table: SeriesTable): Promise<RestoredState | null> {
  // All of it is needed, also the part that is stored already.
  table.savedStarts = null;
  const steps = saveState(table);
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) await nextTurn();
  const { starts, marks } = step.value;
  return starts === undefined ? null : readState(starts, marks);
}
