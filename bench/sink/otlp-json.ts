// Reads a metrics request in JSON into Received, as the official exporter's own transport sends it.

import type { MetricsRequestJson } from '../../src/pipeline/encode/otlp-shape.ts';
import { FOLLOWED_METRIC, type Received, SeriesHash } from './received.ts';

export function readOtlpJson(body: Buffer, received: Received): void {
  const request = JSON.parse(body.toString('utf8')) as MetricsRequestJson;
  const hash = new SeriesHash();
  for (const { resource, scopeMetrics = [] } of request.resourceMetrics ?? []) {
    const around = JSON.stringify(resource);
    for (const metric of scopeMetrics.flatMap(({ metrics = [] }) => metrics)) {
      const name = metric.name ?? '';
      if (received.isAdded(name)) continue;
      const data = metric.gauge ?? metric.sum ?? metric.histogram;
      for (const point of data?.dataPoints ?? []) {
        const timeMs = Math.round(Number(point.timeUnixNano) / 1e6);
        for (const value of valuesOf(point)) received.sample(timeMs, value);
        const identity = Buffer.from(`${around}${name}${JSON.stringify(point.attributes)}`);
        const view = new DataView(identity.buffer, identity.byteOffset, identity.length);
        received.point(hash.reset().add(view, 0, identity.length).value);
        if (name !== FOLLOWED_METRIC) continue;
        const namespace = point.attributes?.find(({ key }) => key === 'namespace');
        const [value = 0] = valuesOf(point);
        received.follow(timeMs, namespace?.value?.stringValue ?? '', value);
      }
    }
  }
}

interface AnyPoint {
  readonly asDouble?: number | string;
  readonly asInt?: string | number;
  readonly count?: string | number;
  readonly sum?: number | string;
  readonly bucketCounts?: readonly (string | number)[];
}

/** A histogram as the samples of the text: cumulative buckets, count, sum. */
function valuesOf(point: AnyPoint): number[] {
  const { asDouble, asInt, bucketCounts } = point;
  if (bucketCounts === undefined) return [Number(asDouble ?? asInt)];
  let cumulative = 0;
  const buckets = bucketCounts.map(count => (cumulative += Number(count)));
  return [...buckets, Number(point.count), Number(point.sum)];
}
