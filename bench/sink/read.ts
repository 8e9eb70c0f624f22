// Reads the requests of the contenders into Received: OTLP metrics in protobuf and JSON, and remote write. protobufjs and
// the messages below decode protobuf, so a fault in src cannot hide itself here. Attributes stay encoded, because a
// million points at every poll must cost the bench little.

import protobuf from 'protobufjs';
import { isAdded, type Received, SeriesHash } from './received.ts';

const { root } = protobuf.parse(`
  syntax = "proto3";
  message Request { repeated ResourceMetrics resource_metrics = 1; }
  message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
  message Resource { repeated bytes attributes = 1; }
  message ScopeMetrics { repeated Metric metrics = 2; }
  message Metric {
    string name = 1;
    NumberData gauge = 5;
    NumberData sum = 7;
    HistogramData histogram = 9;
    SummaryData summary = 11;
  }
  message NumberData { repeated NumberPoint data_points = 1; }
  message HistogramData { repeated HistogramPoint data_points = 1; }
  message SummaryData { repeated SummaryPoint data_points = 1; }
  message NumberPoint {
    fixed64 time_unix_nano = 3;
    oneof value { double as_double = 4; sfixed64 as_int = 6; }
    repeated bytes attributes = 7;
    uint32 flags = 8;
  }
  message HistogramPoint {
    fixed64 time_unix_nano = 3;
    fixed64 count = 4;
    double sum = 5;
    repeated fixed64 bucket_counts = 6;
    repeated bytes attributes = 9;
    uint32 flags = 10;
  }
  message SummaryPoint {
    fixed64 time_unix_nano = 3;
    fixed64 count = 4;
    double sum = 5;
    repeated Quantile quantile_values = 6;
    repeated bytes attributes = 7;
    uint32 flags = 8;
  }
  message Quantile { double value = 2; }
  message WriteRequest { repeated TimeSeries timeseries = 1; }
  message TimeSeries { repeated bytes labels = 1; repeated Sample samples = 2; }
  message Label { string name = 1; string value = 2; }
  message Sample { double value = 1; int64 timestamp = 2; }
`);
const request = root.lookupType('Request');
const writeRequest = root.lookupType('WriteRequest');
const label = root.lookupType('Label');

/** The members of a request that count, as protobufjs and JSON.parse give them. */
interface MetricsRequest {
  readonly resourceMetrics?: readonly {
    readonly resource?: { readonly attributes?: readonly Attribute[] } | null;
    readonly scopeMetrics?: readonly { readonly metrics?: readonly Metric[] }[];
  }[];
}

type DataName = 'gauge' | 'sum' | 'histogram' | 'summary';
type Metric = { readonly name?: string } & {
  readonly [Name in DataName]?: { readonly dataPoints?: readonly Point[] } | null;
};

interface Point {
  readonly timeUnixNano?: Whole;
  readonly attributes?: readonly Attribute[];
  readonly flags?: number;
  readonly asDouble?: number | string;
  readonly asInt?: Whole;
  readonly count?: Whole;
  readonly sum?: number | string;
  readonly bucketCounts?: readonly Whole[];
  readonly quantileValues?: readonly { readonly value?: number }[];
}

/** 64 bits: an object of protobufjs, or text in JSON. */
type Whole = { toNumber(): number } | string | number;
/** An attribute: encoded, or from JSON. */
type Attribute = Uint8Array | object;

const NO_RECORDED_VALUE = 1;

export function readOtlpProtobuf(body: Buffer, received: Received): void {
  readMetrics(request.decode(body) as MetricsRequest, received);
}

export function readOtlpJson(body: Buffer, received: Received): void {
  readMetrics(JSON.parse(body.toString()) as MetricsRequest, received);
}

function readMetrics({ resourceMetrics = [] }: MetricsRequest, received: Received): void {
  const around = new SeriesHash();
  for (const { resource, scopeMetrics = [] } of resourceMetrics) {
    const ofResource = resource?.attributes ?? [];
    for (const metric of scopeMetrics.flatMap(({ metrics = [] }) => metrics)) {
      const { name = '', gauge, sum, histogram, summary } = metric;
      if (isAdded(name)) continue;
      addAttributes(around.reset().add(name), ofResource);
      const data = gauge ?? sum ?? histogram ?? summary;
      for (const point of data?.dataPoints ?? []) readPoint(point, around, received);
    }
  }
}

const hash = new SeriesHash();

function readPoint(point: Point, around: SeriesHash, received: Received): void {
  const { timeUnixNano = 0, attributes = [], flags = 0 } = point;
  if ((flags & NO_RECORDED_VALUE) !== 0) return;
  // A double rounds nanoseconds by at most some hundreds of them.
  const timeMs = Math.round(wholeOf(timeUnixNano) / 1e6);
  addAttributes(hash.copy(around), attributes);
  for (const [part, value] of valuesOf(point).entries()) received.sample(hash, timeMs, value, part);
}

/** The samples that a point was made from: of a histogram, its cumulative buckets, then count and sum. */
function valuesOf(point: Point): readonly number[] {
  const { asDouble, asInt, count, sum = 0, bucketCounts = [], quantileValues = [] } = point;
  // protobufjs gives members that are not on the wire by the prototype, with a default.
  if (count === undefined)
    return [Object.hasOwn(point, 'asInt') ? wholeOf(asInt ?? 0) : Number(asDouble ?? 0)];
  let cumulative = 0;
  const buckets = bucketCounts.map(bucket => (cumulative += wholeOf(bucket)));
  const quantiles = quantileValues.map(({ value = 0 }) => value);
  return [...buckets, ...quantiles, wholeOf(count), Number(sum)];
}

export function readRemoteWrite(body: Buffer, received: Received): void {
  const { timeseries } = writeRequest.decode(body) as unknown as {
    readonly timeseries: readonly {
      /** Sorted by name: `__name__` comes first. */
      readonly labels: readonly Uint8Array[];
      readonly samples: readonly { readonly value: number; readonly timestamp: Whole }[];
    }[];
  };
  for (const { labels, samples } of timeseries) {
    const [name = Buffer.of()] = labels;
    if (isAdded((label.decode(name) as unknown as { value: string }).value)) continue;
    addAttributes(hash.reset(), labels);
    for (const { value, timestamp } of samples) {
      // The marker of a series that has ended. Pages have no NaN.
      if (Number.isNaN(value)) continue;
      received.sample(hash, wholeOf(timestamp), value);
    }
  }
}

function addAttributes(to: SeriesHash, attributes: readonly Attribute[]): void {
  for (const each of attributes) to.add(each instanceof Uint8Array ? each : JSON.stringify(each));
}

function wholeOf(value: Whole): number {
  return typeof value === 'object' ? value.toNumber() : Number(value);
}
