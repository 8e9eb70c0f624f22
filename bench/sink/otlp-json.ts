// Reads a metrics request in JSON, as the official exporter sends it, into Received.

import type { MetricsRequestJson } from '../../src/pipeline/encode/otlp-fields.ts';
import { judgeName, type Received } from './received.ts';
import { SeriesHash } from './series.ts';

export function readOtlpJson(body: Buffer, received: Received): void {
  const request = JSON.parse(body.toString('utf8')) as MetricsRequestJson;
  const hash = new SeriesHash();
  const around = new SeriesHash();
  for (const { resource, scopeMetrics = [] } of request.resourceMetrics ?? []) {
    const resourceText = JSON.stringify(resource);
    for (const metric of scopeMetrics.flatMap(({ metrics = [] }) => metrics)) {
      const name = metric.name ?? '';
      const { isAdded, isFollowed } = judgeName(name);
      if (isAdded) continue;
      around.reset().addTexts(resourceText, name);
      const data = metric.gauge ?? metric.sum ?? metric.histogram;
      for (const point of data?.dataPoints ?? []) {
        const timeMs = Math.round(Number(point.timeUnixNano) / 1e6);
        hash.reset().merge(around.low, around.high);
        readValues(point, value => received.sample(timeMs, value));
        addAttributes(hash, point);
        received.point(hash);
        if (!isFollowed) continue;
        const namespace = point.attributes?.find(({ key }) => key === 'namespace');
        const followedAs = namespace?.value?.stringValue ?? '';
        readValues(point, value => received.follow(timeMs, followedAs, value));
      }
    }
  }
}

interface AnyPoint {
  readonly attributes?: readonly {
    readonly key?: string;
    readonly value?: { readonly stringValue?: string };
  }[];
  readonly asDouble?: number | string;
  readonly asInt?: string | number;
  readonly count?: string | number;
  readonly sum?: number | string;
  readonly bucketCounts?: readonly (string | number)[];
}

function addAttributes(hash: SeriesHash, { attributes = [] }: AnyPoint): void {
  for (const { key = '', value } of attributes)
    hash.addTexts(key, value?.stringValue ?? JSON.stringify(value));
}

/** Reads a histogram as the samples that it was made from: cumulative buckets, count, sum. */
function readValues(point: AnyPoint, take: (value: number) => void): void {
  const { asDouble, asInt, bucketCounts } = point;
  if (bucketCounts === undefined) {
    take(Number(asDouble ?? asInt));
    return;
  }
  let cumulative = 0;
  for (const count of bucketCounts) take((cumulative += Number(count)));
  take(Number(point.count));
  take(Number(point.sum));
}
