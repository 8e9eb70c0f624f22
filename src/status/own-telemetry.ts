// The bridge's own counters as OTLP, by way of the OpenTelemetry SDK: the SDK observes every counter of the list
// once per interval, and the official exporter's base class hands it to a delegate that makes protobuf of it. The
// bytes go to `sink`, which is our queue: one queue, one sender, one set of keys and certificates for everything.
// Nothing here throws into the process: a failure is counted, `onFailure` gets it, and the next interval tries again.
// Import it on demand: the SDK costs memory that a bridge without own telemetry need not spend.

import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Meter } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import {
  AggregationTemporalityPreference,
  OTLPMetricExporterBase,
} from '@opentelemetry/exporter-metrics-otlp-http';
import type { IOtlpExportDelegate } from '@opentelemetry/otlp-exporter-base';
import { ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import type { Config } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import { type Counter, COUNTER_SERIES_MAX, type Counters } from '../lib/counters.ts';
import type { Logger } from '../lib/log.ts';
import type { Throttle } from '../lib/throttle.ts';
import { programVersion } from '../lib/version.ts';
import type { Batch } from '../model/batch.ts';
import type { Queue } from '../pipeline/queue/queue.ts';

/** Takes over one request; the payload is the sink's own. Called by one interval at a time. */
type OwnTelemetrySink = (payload: Buffer, points: number) => Promise<void>;

export interface OwnTelemetryOptions {
  readonly counters: Counters;
  readonly intervalMs: number;
  readonly temporality: 'cumulative' | 'delta' | 'lowmemory';
  readonly resource: Readonly<Record<string, string>>;
  readonly sink: OwnTelemetrySink;
  /** Called at most once per interval. */
  readonly onFailure: (error: Error) => void;
}

export interface OwnTelemetry {
  /** Observes and hands over now, without waiting for the interval; it never rejects. */
  flush(): Promise<void>;
  /** Hands over what has been counted to the end, then stops; it never rejects. */
  close(): Promise<void>;
}

const EXPORT_TIMEOUT_MS_MAX = 30_000;
const SCOPE = 'prom2otlp';

/** Starts the interval; its timer does not keep the process alive. */
export function startOwnTelemetry(options: OwnTelemetryOptions): OwnTelemetry {
  const { counters, intervalMs, temporality, resource, onFailure } = options;
  const failures = counters.counter(
    'prom2otlp_telemetry_failures_total',
    "Requests of prom2otlp's own telemetry that could not be queued.",
  );
  const fail = (error: unknown): void => {
    failures.add(1);
    onFailure(toError(error));
  };
  const delegate = createDelegate(options.sink, {
    beforeExport: () => adopt(),
    onFailure: fail,
  });
  const exporter = new OTLPMetricExporterBase(delegate, {
    // Named here so that the package does not look into the environment.
    temporalityPreference: TEMPORALITIES[temporality],
  });
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: Math.min(intervalMs, EXPORT_TIMEOUT_MS_MAX),
    // The counters are bounded already; the SDK's own bound must not be the lower one.
    cardinalityLimits: { default: 2 * COUNTER_SERIES_MAX },
  });
  const provider = new MeterProvider({
    resource: resourceFromAttributes(resource),
    readers: [reader],
  });
  const adopt = createAdopter(counters, provider.getMeter(SCOPE));
  adopt();
  let closed: Promise<void> | undefined;
  return {
    flush: () => (closed === undefined ? provider.forceFlush().catch(fail) : Promise.resolve()),
    close: () => (closed ??= provider.shutdown().catch(fail)),
  };
}

const TEMPORALITIES = {
  cumulative: AggregationTemporalityPreference.CUMULATIVE,
  delta: AggregationTemporalityPreference.DELTA,
  lowmemory: AggregationTemporalityPreference.LOWMEMORY,
} as const;

/** Makes instruments of the counters that have none yet: a part that starts later registers its own later. */
function createAdopter(counters: Counters, meter: Meter): () => void {
  const adopted = new Set<Counter>();
  return () => {
    for (const counter of counters.list()) {
      if (adopted.has(counter)) continue;
      adopted.add(counter);
      instrument(meter, counter);
    }
  };
}

function instrument(meter: Meter, counter: Counter): void {
  const { name, help, kind, labelNames } = counter;
  const options = { description: help, unit: unitOf(name) };
  const observable =
    kind === 'counter'
      ? meter.createObservableCounter(name, options)
      : meter.createObservableGauge(name, options);
  observable.addCallback(result => {
    for (const { labelValues, value } of counter.series.values()) {
      const labels = labelNames.map((label, i) => [label, labelValues[i] ?? '']);
      result.observe(value, Object.fromEntries(labels));
    }
  });
}

/** Our names carry the unit last. */
function unitOf(name: string): string {
  const unit = /_(bytes|seconds)(?:_total)?$/.exec(name)?.[1];
  if (unit === undefined) return '';
  return unit === 'bytes' ? 'By' : 's';
}

interface DelegateHooks {
  readonly beforeExport: () => void;
  readonly onFailure: (error: unknown) => void;
}

function createDelegate(
  sink: OwnTelemetrySink,
  hooks: DelegateHooks,
): IOtlpExportDelegate<ResourceMetrics> {
  let isBusy = false;
  const deliver = async (metrics: ResourceMetrics): Promise<void> => {
    // The reader gives up on a slow sink and comes again; requests must not pile up.
    if (isBusy)
      throw new Error('cannot queue own telemetry: the previous request is still in progress');
    isBusy = true;
    try {
      hooks.beforeExport();
      const bytes = ProtobufMetricsSerializer.serializeRequest(metrics);
      if (bytes === undefined) throw new Error('cannot encode own telemetry: no bytes');
      const payload = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      await sink(payload, countPoints(metrics));
    } finally {
      isBusy = false;
    }
  };
  return {
    export: (metrics: ResourceMetrics, done: (result: ExportResult) => void): void => {
      deliver(metrics).then(
        () => done({ code: ExportResultCode.SUCCESS }),
        (error: unknown) => {
          hooks.onFailure(error);
          done({ code: ExportResultCode.FAILED, error: toError(error) });
        },
      );
    },
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
    // The package's metrics about itself: not asked for.
    setMetrics: () => undefined,
  };
}

function countPoints({ scopeMetrics }: ResourceMetrics): number {
  let points = 0;
  for (const { metrics } of scopeMetrics) {
    for (const { dataPoints } of metrics) points += dataPoints.length;
  }
  return points;
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

// The bridge's own telemetry goes the way of a service's: the same queue, sender and account, under the name `prom2otlp`.

interface TelemetryOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly logger: Logger;
  readonly throttle: Throttle;
  readonly queue: Queue;
}

/** Its name in the account, and its service.name at the back end. */
export const OWN_SERVICE = 'prom2otlp';

/** Starts it; close it before the queue. */
export function startTelemetry(options: TelemetryOptions): OwnTelemetry {
  const { config, clock, counters, logger, throttle, queue } = options;
  return startOwnTelemetry({
    counters,
    intervalMs: config.telemetry.intervalMs,
    temporality: config.otlp.temporality,
    resource: {
      'service.name': OWN_SERVICE,
      'service.version': programVersion(),
      'service.instance.id': instanceId(config, hostname()),
    },
    sink: async (payload, points) => {
      const part = { service: OWN_SERVICE, points, offset: 0, length: payload.length };
      const batch: Batch = { signal: 'metrics', payload, parts: [part], madeAtMs: clock.nowMs() };
      const outcome = await queue.commit({ batches: [batch], state: [], reads: [] });
      if (outcome.kind === 'failed') throw new Error(outcome.message);
    },
    onFailure: error =>
      throttle.run('telemetry', swallowedCount =>
        logger.warn(
          { cause: error.message, swallowedCount },
          'cannot queue own telemetry: the next request has these numbers',
        ),
      ),
  });
}

/**
 * The same after a restart and different for any two bridges that run at the same time: the host, and the directory
 * that only one process can hold; without a directory, the file of the configuration.
 */
export function instanceId({ queue, file, shard }: Config, host: string): string {
  const place = queue.directory ?? resolve(file);
  const share = shard.count === 1 ? '' : `#${String(shard.index)}`;
  return `${host}:${place}${share}`;
}
