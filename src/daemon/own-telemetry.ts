// Sends the program's own metrics as OTLP. Once per interval the reader of the OpenTelemetry SDK
// collects all counters from a MetricProducer, and the official exporter's base class passes the
// result to a delegate, which encodes it as protobuf. The counters are not instruments of the SDK,
// because a second aggregation of their values took half of the time. The bytes go to the queue;
// the account has them like the bytes of a service with the name `prom2otlp`. A failure never ends
// the process: it is counted and logged, and the next interval has the same numbers. Import this
// file on demand: the SDK takes memory.

import { hash, randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { ExportResultCode, hrTimeToMilliseconds, millisToHrTime } from '@opentelemetry/core';
import {
  AggregationTemporalityPreference,
  OTLPMetricExporterBase,
} from '@opentelemetry/exporter-metrics-otlp-http';
import type { IOtlpExportDelegate } from '@opentelemetry/otlp-exporter-base';
import { ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type MetricProducer,
  MeterProvider,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import type { Config } from '../config/config.ts';
import { causeText } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counter, Counters, CounterSeries } from '../lib/counters.ts';
import type { ThrottledLog } from '../lib/log.ts';
import { programVersion } from '../lib/version.ts';
import { batchOf, OWN_SERVICE } from '../model/batch.ts';
import { endedSince, endsOf, type Gauge, writeGauges } from '../pipeline/encode/gauges.ts';
import { WireWriter } from '../pipeline/encode/wire.ts';
import type { StateKind } from '../pipeline/queue/commit.ts';
import type { Queue } from '../pipeline/queue/queue.ts';

export interface OwnTelemetryOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly log: ThrottledLog;
  readonly queue: Pick<Queue, 'commit'>;
  /** From instanceId(). */
  readonly instance: string;
  /** Wall clock: when the counters began, at the start of the process. */
  readonly startedAtMs: number;
}

/** Close it before the queue. */
export interface OwnTelemetry {
  /** Sends all counters to the queue now; never rejects. */
  flush(): Promise<void>;
  /** Sends all counters to the queue for the last time, and stops; never rejects. */
  close(): Promise<void>;
}

const EXPORT_TIMEOUT_MS_MAX = 30_000;

export const OWN_TELEMETRY_COUNTERS = {
  failures: {
    name: 'prom2otlp_telemetry_failures_total',
    help: "Requests of prom2otlp's own telemetry that could not be queued.",
  },
} as const;

/** Starts the interval. Its timer does not keep the process alive. */
export function startTelemetry(options: OwnTelemetryOptions): OwnTelemetry {
  const { config, clock, counters, log, instance, startedAtMs } = options;
  const { intervalMs } = config.telemetry;
  const { failures } = counters.of(OWN_TELEMETRY_COUNTERS);
  const fail = (error: unknown): void => {
    failures.add(1);
    log.warn(
      'telemetry',
      { cause: causeText(error) },
      'cannot queue own telemetry: the next request has these numbers',
    );
  };
  const memory = memoryOf(counters, clock, startedAtMs);
  const isDelta = config.otlp.temporality === 'delta';
  const store = async (metrics: ResourceMetrics): Promise<void> => {
    const ends = endsOf(gaugesOf(metrics));
    const ended = endedSince(memory.sent, ends);
    const { growth, reading } = growthSince(memory.last, metrics, clock);
    await queueMetrics(isDelta ? growth : metrics, ended, options);
    memory.sent = ends;
    memory.last = reading;
  };
  const exporter = new OTLPMetricExporterBase(createDelegate(store, fail), {
    // Without this, the package reads the environment.
    temporalityPreference: TEMPORALITIES[config.otlp.temporality],
  });
  const resource = resourceFromAttributes({
    ...config.telemetry.attributes,
    'service.name': config.telemetry.serviceName,
    'service.version': programVersion(),
    'service.instance.id': instance,
  });
  const producer = createProducer(counters, clock, resource, memory.first);
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: Math.min(intervalMs, EXPORT_TIMEOUT_MS_MAX),
    metricProducers: [producer],
  });
  const provider = new MeterProvider({ resource, readers: [reader] });
  let closed: Promise<void> | undefined;
  return {
    flush: () => (closed === undefined ? provider.forceFlush().catch(fail) : Promise.resolve()),
    close: () => (closed ??= provider.shutdown().catch(fail)),
  };
}

/**
 * The same after a restart, and different for any two daemons, also in two clusters: the host, an id
 * that the queue keeps, and the shard. Without a directory, or if it cannot be read, a digest of the
 * path is the id; two daemons with the same path then differ by their hosts only.
 */
export async function instanceId(
  { queue: { directory }, file, shard }: Config,
  queue: Pick<Queue, 'restoreState' | 'commit'>,
  host: string,
): Promise<string> {
  const share = shard.count === 1 ? '' : `#${String(shard.index)}`;
  const id = directory === null ? null : await keptId(queue);
  // A path would tell readers of the back end too much.
  const digest = hash('sha256', directory ?? resolve(file));
  return `${host}:${id ?? digest.slice(0, 2 * ID_BYTES)}${share}`;
}

const ID_BYTES = 4;
const ID: StateKind<string> = {
  kind: 'instance',
  lost: 'the id of this daemon is lost: its own telemetry has a new one',
  read: blob => (blob.length === 2 * ID_BYTES ? blob.toString('latin1') : null),
};
const ID_KEY = 'id';

/** A random id, made at the first start; null if it cannot be kept. */
async function keptId(queue: Pick<Queue, 'restoreState' | 'commit'>): Promise<string | null> {
  const kept = await queue.restoreState(ID, ID_KEY);
  if (kept !== null) return kept ?? null;
  const id = randomBytes(ID_BYTES).toString('hex');
  const state = [{ kind: ID.kind, key: ID_KEY, blob: Buffer.from(id) }];
  const { kind } = await queue.commit({ batches: [], state, reads: [] });
  return kind === 'failed' ? null : id;
}

const TEMPORALITIES = {
  cumulative: AggregationTemporalityPreference.CUMULATIVE,
  delta: AggregationTemporalityPreference.DELTA,
  lowmemory: AggregationTemporalityPreference.LOWMEMORY,
} as const;

function createProducer(
  counters: Counters,
  clock: Clock,
  resource: ResourceMetrics['resource'],
  first: Reading,
): MetricProducer {
  const read = (counter: Counter, endTime: HrTime): MetricData => {
    const { name, help, kind, series } = counter;
    const dataPoints = series.map(entry => ({
      startTime: first.startTime,
      endTime,
      attributes: attributesOf(counter, entry),
      value: entry.value,
    }));
    const base = {
      descriptor: { name, description: help, unit: unitOf(name), valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPoints,
    };
    return kind === 'counter'
      ? { ...base, dataPointType: DataPointType.SUM, isMonotonic: true }
      : { ...base, dataPointType: DataPointType.GAUGE };
  };
  return {
    collect: () => {
      const endTime = millisToHrTime(clock.nowMs());
      settleStart(first, clock);
      const metrics = counters
        .list()
        .map(counter => read(counter, endTime))
        .filter(({ dataPoints }) => dataPoints.length > 0);
      const scopeMetrics = [{ scope: { name: OWN_SERVICE }, metrics }];
      return Promise.resolve({ resourceMetrics: { resource, scopeMetrics }, errors: [] });
    },
  };
}

/** Labels as attributes, made once for each series. */
const knownAttributes = new WeakMap<CounterSeries, Attributes>();

function attributesOf({ labelNames }: Counter, entry: CounterSeries): Attributes {
  const found = knownAttributes.get(entry);
  if (found !== undefined) return found;
  const labels = labelNames.map((label, i) => [label, entry.labelValues[i] ?? '']);
  const attributes = Object.fromEntries(labels) as Attributes;
  knownAttributes.set(entry, attributes);
  return attributes;
}

interface Reading {
  startTime: HrTime;
  /** The same time by the monotonic clock. */
  readonly startedMs: number;
  readonly values: ReadonlyMap<string, number>;
}

/** What outlives a reload, as the counters do. */
interface Memory {
  /** The start of the counters: of cumulative sums. */
  readonly first: Reading;
  /** The last queued values: delta sums grow from them, also after a change of the temporality. */
  last: Reading;
  /** The gauges of the last request: those that are missing in the next one have ended. */
  sent: ReturnType<typeof endsOf>;
}

const memories = new WeakMap<Counters, Memory>();

function memoryOf(counters: Counters, clock: Clock, startedAtMs: number): Memory {
  const known = memories.get(counters);
  if (known !== undefined) return known;
  // The clock may have been set back since.
  const beganAtMs = Math.min(startedAtMs, clock.nowMs());
  const startTime = millisToHrTime(beganAtMs);
  const startedMs = clock.monotonicMs() - (clock.nowMs() - beganAtMs);
  const first = { startTime, startedMs, values: new Map<string, number>() };
  const memory: Memory = { first, last: { ...first }, sent: new Map() };
  memories.set(counters, memory);
  return memory;
}

/** Corrects the start time after the clock was set back: no point may start after its time. */
function settleStart(reading: Reading, clock: Clock): void {
  const nowMs = clock.nowMs();
  if (hrTimeToMilliseconds(reading.startTime) <= nowMs) return;
  reading.startTime = millisToHrTime(nowMs - (clock.monotonicMs() - reading.startedMs));
}

/** The metrics with the growth of the sums since a reading (a sum that has fallen began again), and the next reading. */
function growthSince(
  last: Reading,
  metrics: ResourceMetrics,
  clock: Clock,
): { readonly growth: ResourceMetrics; readonly reading: Reading } {
  settleStart(last, clock);
  const startedMs = clock.monotonicMs();
  const values = new Map(last.values);
  let { startTime } = last;
  const growthOf = (metric: MetricData): MetricData => {
    if (metric.dataPointType !== DataPointType.SUM) return metric;
    const dataPoints = metric.dataPoints.map(point => {
      const key = JSON.stringify([metric.descriptor.name, point.attributes]);
      const before = last.values.get(key) ?? 0;
      values.set(key, point.value);
      startTime = point.endTime;
      const value = point.value < before ? point.value : point.value - before;
      return { ...point, startTime: last.startTime, value };
    });
    return { ...metric, aggregationTemporality: AggregationTemporality.DELTA, dataPoints };
  };
  const scopeMetrics = metrics.scopeMetrics.map(scope => ({
    ...scope,
    metrics: scope.metrics.map(growthOf),
  }));
  return { growth: { ...metrics, scopeMetrics }, reading: { startTime, startedMs, values } };
}

/** The unit is the last word of a name, before `_total`. */
function unitOf(name: string): string {
  const unit = /_(bytes|seconds)(?:_total)?$/.exec(name)?.[1];
  if (unit === undefined) return '';
  return unit === 'bytes' ? 'By' : 's';
}

/** A delegate that stores one request at a time: after a timeout the reader calls again. */
function createDelegate(
  store: (metrics: ResourceMetrics) => Promise<void>,
  fail: (error: unknown) => void,
): IOtlpExportDelegate<ResourceMetrics> {
  let isBusy = false;
  const exportOnce = async (metrics: ResourceMetrics): Promise<ExportResultCode> => {
    try {
      if (isBusy) throw new Error('the previous request is still in progress');
      isBusy = true;
      await store(metrics).finally(() => (isBusy = false));
      return ExportResultCode.SUCCESS;
    } catch (error) {
      fail(error);
      return ExportResultCode.FAILED;
    }
  };
  return {
    export: (metrics, done) => void exportOnce(metrics).then(code => done({ code })),
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
    // The package's metrics about itself are not used.
    setMetrics: () => undefined,
  };
}

/** The gauges among the metrics, without values: a point without a value marks the end of a series. */
function gaugesOf({ scopeMetrics }: ResourceMetrics): readonly Gauge[] {
  return scopeMetrics
    .flatMap(scope => scope.metrics)
    .filter(({ dataPointType }) => dataPointType === DataPointType.GAUGE)
    .map(({ descriptor: { name, description, unit }, dataPoints }) => {
      const labels = dataPoints.map(({ attributes }) => attributes as Record<string, string>);
      const points = labels.map(one => ({ attributes: Object.entries(one), value: null }));
      return { name, description, unit, points };
    });
}

function encodeEnds(
  { attributes }: ResourceMetrics['resource'],
  ended: readonly Gauge[],
  timeMs: number,
): Uint8Array {
  const writer = new WireWriter(1024);
  const info = new Map(Object.entries(attributes as Readonly<Record<string, string>>));
  const [name, id] = ['service.name', 'service.instance.id'].map(key => info.get(key) ?? '');
  const identity = { name: name ?? '', id: id ?? '', attributes: {}, server: null };
  writeGauges(writer, { identity, info, scope: OWN_SERVICE, prefix: '' }, ended, timeMs);
  return writer.written();
}

async function queueMetrics(
  metrics: ResourceMetrics,
  ended: readonly Gauge[],
  { clock, queue }: OwnTelemetryOptions,
): Promise<void> {
  const bytes = ProtobufMetricsSerializer.serializeRequest(metrics);
  if (bytes === undefined) throw new Error('the encoder returns no bytes');
  // Concatenated requests are one valid request in protobuf.
  const ends = ended.length === 0 ? [] : [encodeEnds(metrics.resource, ended, clock.nowMs())];
  const payload = Buffer.concat([bytes, ...ends]);
  const points = metrics.scopeMetrics
    .flatMap(scope => scope.metrics)
    .reduce((sum, { dataPoints }) => sum + dataPoints.length, ended.length);
  const madeAtMs = clock.nowMs();
  const batch = batchOf(OWN_SERVICE, points, { signal: 'metrics', payload, madeAtMs });
  const outcome = await queue.commit({ batches: [batch], state: [], reads: [] });
  if (outcome.kind === 'failed') throw new Error(outcome.message);
}
