// A simple bridge of the packages that the README names: undici gets the page, parse-prometheus-text-format parses it,
// the SDK's data model holds it, and the official exporter sends it. It shares nothing with src/. The differential tests
// compare our translation with it, and the bench uses it as its baseline:
//   node test/reference/plain-stack.ts --url URL --key-file FILE --otlp http://localhost:4318 --interval 15s
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type HrTime, ValueType } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import parse, { type Family, type Metric } from 'parse-prometheus-text-format';
import { request } from 'undici';

export interface PlainOptions {
  /** The time of samples without a timestamp; `startMs` is the start time of all points. */
  readonly nowMs: number;
  readonly startMs: number;
  readonly resource: Readonly<Record<string, string>>;
}

/** One page as the SDK's data. Throws when the parser rejects the page. */
export function plainTranslate(page: string, options: PlainOptions): ResourceMetrics {
  return {
    // One resource for the whole page: the exporter takes one per request.
    resource: resourceFromAttributes(options.resource),
    scopeMetrics: [
      {
        scope: { name: 'plain-stack' },
        metrics: parse(page).flatMap(family => toMetrics(family, options)),
      },
    ],
  };
}

function toMetrics(family: Family, options: PlainOptions): MetricData[] {
  const { name, metrics } = family;
  const scalar = (
    suffix: string,
    isCounter: boolean,
    read: (metric: Metric) => string | undefined,
  ) =>
    scalarMetric(
      { ...family, name: name + suffix },
      isCounter,
      scalarPoints(metrics, read, options),
    );
  switch (family.type) {
    case 'HISTOGRAM':
      return [histogramMetric(family, options)];
    case 'SUMMARY':
      // The SDK has no summaries: they become gauges by quantile, a sum and a count.
      return [
        scalarMetric(
          family,
          false,
          metrics.flatMap(metric => quantilePoints(metric, options)),
        ),
        scalar('_sum', true, metric => metric.sum),
        scalar('_count', true, metric => metric.count),
      ];
    case 'COUNTER':
      return [scalar('', true, metric => metric.value)];
    default:
      return [scalar('', false, metric => metric.value)];
  }
}

function scalarMetric(
  family: Family,
  isCounter: boolean,
  dataPoints: DataPoint<number>[],
): MetricData {
  const shared = {
    descriptor: {
      name: family.name,
      description: family.help,
      unit: '',
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPoints,
  };
  return isCounter
    ? { ...shared, dataPointType: DataPointType.SUM, isMonotonic: true }
    : { ...shared, dataPointType: DataPointType.GAUGE };
}

function scalarPoints(
  metrics: readonly Metric[],
  read: (metric: Metric) => string | undefined,
  options: PlainOptions,
): DataPoint<number>[] {
  return metrics.flatMap(metric => {
    const text = read(metric);
    return text === undefined ? [] : [dataPoint(metric, toNumber(text), options)];
  });
}

function quantilePoints(metric: Metric, options: PlainOptions): DataPoint<number>[] {
  return Object.entries(metric.quantiles ?? {}).map(([quantile, text]) =>
    dataPoint({ ...metric, labels: { ...metric.labels, quantile } }, toNumber(text), options),
  );
}

function histogramMetric(family: Family, options: PlainOptions): MetricData {
  return {
    descriptor: {
      name: family.name,
      description: family.help,
      unit: '',
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPointType: DataPointType.HISTOGRAM,
    dataPoints: family.metrics.map(metric => dataPoint(metric, toHistogram(metric), options)),
  };
}

function toHistogram(metric: Metric): Histogram {
  const buckets = Object.entries(metric.buckets ?? {})
    .map(([le, count]) => ({ bound: toNumber(le), count: toNumber(count) }))
    .sort((a, b) => a.bound - b.bound);
  return {
    buckets: {
      boundaries: buckets.map(({ bound }) => bound).filter(Number.isFinite),
      // The page's counts are cumulative, the SDK's are not.
      counts: buckets.map(({ count }, i) => count - (buckets[i - 1]?.count ?? 0)),
    },
    count: toNumber(metric.count ?? '0'),
    sum: toNumber(metric.sum ?? '0'),
  };
}

function dataPoint<T>(metric: Metric, value: T, options: PlainOptions): DataPoint<T> {
  const timeMs = Number(metric.timestamp_ms ?? options.nowMs);
  return {
    startTime: toHrTime(options.startMs),
    endTime: toHrTime(timeMs),
    attributes: metric.labels ?? {},
    value,
  };
}

function toHrTime(timeMs: number): HrTime {
  return [Math.floor(timeMs / 1000), (timeMs % 1000) * 1e6];
}

function toNumber(text: string): number {
  return Number(text.replace(/inf$/i, 'Infinity'));
}

interface PlainStack {
  /** Scrapes a page and sends it; returns the number of points. */
  cycle(): Promise<number>;
  close(): Promise<void>;
}

/** `otlp` is the back end's base address. */
export function createPlainStack(url: string, key: string, otlp: string): PlainStack {
  const exporter = new OTLPMetricExporter({
    url: `${otlp.replace(/\/$/, '')}/v1/metrics`,
    compression: CompressionAlgorithm.GZIP,
  });
  const startMs = Date.now();
  return {
    cycle: async () => {
      const nowMs = Date.now();
      const { statusCode, body } = await request(url, { headers: { 'x-api-key': key } });
      const page = await body.text();
      if (statusCode !== 200) throw new Error(`${url} answered ${String(statusCode)}`);
      const resource = { 'service.name': 'plain-stack' };
      const metrics = plainTranslate(page, { nowMs, startMs, resource });
      const result = await new Promise<ExportResult>(resolve => exporter.export(metrics, resolve));
      if (result.code !== ExportResultCode.SUCCESS) throw result.error ?? new Error('not exported');
      return countPoints(metrics);
    },
    close: () => exporter.shutdown(),
  };
}

function countPoints({ scopeMetrics }: ResourceMetrics): number {
  const metrics = scopeMetrics.flatMap(scope => scope.metrics);
  return metrics.reduce((sum, metric) => sum + metric.dataPoints.length, 0);
}

const USAGE = 'usage: plain-stack.ts --url URL --key-file FILE --otlp URL [--interval 15s]';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      url: { type: 'string' },
      'key-file': { type: 'string' },
      otlp: { type: 'string' },
      interval: { type: 'string', default: '15s' },
    },
  });
  const { url, otlp, 'key-file': keyFile } = values;
  const interval = /^(\d+)(ms|s|m)$/.exec(values.interval);
  if (url === undefined || otlp === undefined || keyFile === undefined || interval === null) {
    throw new Error(USAGE);
  }
  const intervalMs =
    Number(interval[1]) * { ms: 1, s: 1000, m: 60_000 }[interval[2] as 'ms' | 's' | 'm'];
  const stack = createPlainStack(url, readFileSync(keyFile, 'utf8').trim(), otlp);
  for (let nextMs = Date.now(); ; nextMs += intervalMs) {
    await sleep(Math.max(0, nextMs - Date.now()));
    try {
      console.log(`${String(await stack.cycle())} points`);
    } catch (error) {
      console.error(String(error));
    }
  }
}

if (import.meta.main) await main();
