// Reads a metrics request in protobuf into Received, by the field numbers of opentelemetry/proto/metrics/v1. It shares
// nothing with src/, so that a fault there cannot hide itself here.

import { Fields } from './protobuf.ts';
import type { Received } from './received.ts';
import { SeriesHash } from './series.ts';

const NO_RECORDED_VALUE = 1;

/** The fields of a metric that hold its data points, with the kind of the points. */
const DATA: Readonly<Record<number, 'number' | 'histogram' | 'summary'>> = {
  5: 'number',
  7: 'number',
  9: 'histogram',
  11: 'summary',
};

export function readOtlpProtobuf(body: Buffer, received: Received): void {
  new Reader(body, received).request();
}

class Reader {
  readonly #received: Received;
  /** One reader of fields for each level of nesting. */
  readonly #request: Fields;
  readonly #resourceMetrics: Fields;
  readonly #scopeMetrics: Fields;
  readonly #metricFields: Fields;
  readonly #data: Fields;
  readonly #point: Fields;
  readonly #inner: Fields;
  readonly #hash = new SeriesHash();
  readonly #resource = new SeriesHash();
  readonly #metric = new SeriesHash();
  #service = '';
  #isFollowed = false;

  constructor(body: Buffer, received: Received) {
    this.#received = received;
    this.#request = new Fields(body);
    this.#resourceMetrics = new Fields(body);
    this.#scopeMetrics = new Fields(body);
    this.#metricFields = new Fields(body);
    this.#data = new Fields(body);
    this.#point = new Fields(body);
    this.#inner = new Fields(body);
  }

  request(): void {
    const request = this.#request;
    const resourceMetrics = this.#resourceMetrics;
    const scopeMetrics = this.#scopeMetrics;
    request.enter(0, request.bytes.length);
    while (request.next()) {
      if (request.number !== 1) continue;
      this.#enterResource(resourceMetrics.enter(request.start, request.end));
      resourceMetrics.enter(request.start, request.end);
      while (resourceMetrics.next()) {
        if (resourceMetrics.number !== 2) continue;
        scopeMetrics.enter(resourceMetrics.start, resourceMetrics.end);
        while (scopeMetrics.next()) if (scopeMetrics.number === 2) this.#readMetric(scopeMetrics);
      }
    }
  }

  /** Reads the resource before the points, since fields may come in any order. */
  #enterResource(resourceMetrics: Fields): void {
    this.#resource.reset();
    this.#service = '';
    while (resourceMetrics.next()) {
      const { number, view, start, end } = resourceMetrics;
      if (number !== 1) continue;
      this.#resource.add(view, start, end);
      const fields = this.#inner.enter(start, end);
      while (fields.next()) {
        const [key, value] = fields.number === 1 ? this.#attribute(fields) : ['', ''];
        if (key === 'service.instance.id') this.#service = value;
      }
    }
  }

  #readMetric({ start, end }: Fields): void {
    const metric = this.#metricFields;
    const data = this.#data;
    if (!this.#enterMetric(metric.enter(start, end))) return;
    metric.enter(start, end);
    while (metric.next()) {
      const kind = DATA[metric.number];
      if (kind === undefined) continue;
      data.enter(metric.start, metric.end);
      while (data.next()) if (data.number === 1) this.#readPoint(data, kind);
    }
  }

  /** Reads the metric's name before its points. Returns false for a metric that the contender has added. */
  #enterMetric(metric: Fields): boolean {
    while (metric.next()) {
      if (metric.number !== 1) continue;
      const { isAdded, isFollowed } = this.#received.names.judge(metric);
      if (isAdded) return false;
      this.#isFollowed = isFollowed;
      this.#metric.reset().add(metric.view, metric.start, metric.end);
      this.#metric.merge(this.#resource.low, this.#resource.high);
      return true;
    }
    return true;
  }

  #readPoint(parent: Fields, kind: 'number' | 'histogram' | 'summary'): void {
    if (kind === 'number') return this.#readNumber(parent);
    if (kind === 'histogram') return this.#readHistogram(parent);
    return this.#readSummary(parent);
  }

  #readNumber(parent: Fields): void {
    const point = this.#point.enter(parent.start, parent.end);
    const { view } = point;
    const hash = this.#startPoint();
    let timeMs = 0;
    let value = 0;
    let flags = 0;
    let service = this.#service;
    while (point.next()) {
      const { number } = point;
      if (number === 3) timeMs = toMs(point.fixed64());
      else if (number === 4) value = point.double();
      else if (number === 6) value = Number(view.getBigInt64(point.start, true));
      else if (number === 8) flags = point.value;
      else if (number === 7) {
        hash.add(view, point.start, point.end);
        if (this.#isFollowed) service = this.#namespace(point) ?? service;
      }
    }
    if ((flags & NO_RECORDED_VALUE) !== 0) return;
    this.#received.sample(timeMs, value);
    this.#received.point(hash);
    if (this.#isFollowed) this.#received.follow(timeMs, service, value);
  }

  /** Reads a histogram as the samples that it was made from: cumulative buckets, then count and sum. */
  #readHistogram(parent: Fields): void {
    const point = this.#point.enter(parent.start, parent.end);
    const { view } = point;
    const hash = this.#startPoint();
    const counts: number[] = [];
    let [timeMs, total, sum, flags] = [0, 0, 0, 0];
    while (point.next()) {
      const { number } = point;
      if (number === 3) timeMs = toMs(point.fixed64());
      else if (number === 4) total = point.fixed64();
      else if (number === 5) sum = point.double();
      else if (number === 6)
        for (let at = point.start; at < point.end; at += 8)
          counts.push(Number(view.getBigUint64(at, true)));
      else if (number === 9) hash.add(view, point.start, point.end);
      else if (number === 10) flags = point.value;
    }
    if ((flags & NO_RECORDED_VALUE) !== 0) return;
    let cumulative = 0;
    for (const count of counts) this.#received.sample(timeMs, (cumulative += count));
    this.#received.sample(timeMs, total);
    this.#received.sample(timeMs, sum);
    this.#received.point(hash);
  }

  #readSummary(parent: Fields): void {
    const point = this.#point.enter(parent.start, parent.end);
    const hash = this.#startPoint();
    const values: number[] = [];
    let [timeMs, flags] = [0, 0];
    while (point.next()) {
      const { number, start, end } = point;
      if (number === 3) timeMs = toMs(point.fixed64());
      else if (number === 4) values.push(point.fixed64());
      else if (number === 5) values.push(point.double());
      else if (number === 6) values.push(this.#quantile(start, end));
      else if (number === 7) hash.add(point.view, start, end);
      else if (number === 8) flags = point.value;
    }
    if ((flags & NO_RECORDED_VALUE) !== 0) return;
    for (const value of values) this.#received.sample(timeMs, value);
    this.#received.point(hash);
  }

  #startPoint(): SeriesHash {
    return this.#hash.reset().merge(this.#metric.low, this.#metric.high);
  }

  #quantile(start: number, end: number): number {
    const fields = this.#inner.enter(start, end);
    let value = 0;
    while (fields.next()) if (fields.number === 2) value = fields.double();
    return value;
  }

  #namespace(attribute: Fields): string | undefined {
    const [key, value] = this.#attribute(attribute);
    return key === 'namespace' ? value : undefined;
  }

  /** KeyValue: key 1, value 2; AnyValue: string 1. */
  #attribute({ bytes, start, end }: Fields): [key: string, value: string] {
    const fields = new Fields(bytes).enter(start, end);
    let [key, value] = ['', ''];
    while (fields.next()) {
      if (fields.number === 1) key = fields.text();
      const inner = new Fields(bytes).enter(fields.start, fields.end);
      if (fields.number === 2 && inner.next() && inner.number === 1) value = inner.text();
    }
    return [key, value];
  }
}

/** Takes nanoseconds as a double, which is rounded by at most some hundreds of nanoseconds. */
function toMs(nanoseconds: number): number {
  return Math.round(nanoseconds / 1e6);
}
