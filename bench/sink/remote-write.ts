// Reads a remote write request (version 1, protobuf) into Received. Field 1 of a request is a time series, whose field 1
// is a label and field 2 a sample.
// https://prometheus.io/docs/specs/prw/remote_write_spec/

import { Fields, readInt64 } from './protobuf.ts';
import type { MetricName, Received } from './received.ts';
import { SeriesHash } from './series.ts';

/** The two halves of the staleness marker, a NaN that ends a series. */
const STALE_LOW = 2;
const STALE_HIGH = 0x7ff00000;

export function readRemoteWrite(body: Buffer, received: Received): void {
  new Reader(body, received).request();
}

class Reader {
  readonly #received: Received;
  readonly #request: Fields;
  readonly #series: Fields;
  readonly #inner: Fields;
  readonly #hash = new SeriesHash();

  constructor(body: Buffer, received: Received) {
    this.#received = received;
    this.#request = new Fields(body).enter(0, body.length);
    this.#series = new Fields(body);
    this.#inner = new Fields(body);
  }

  request(): void {
    while (this.#request.next()) if (this.#request.number === 1) this.#readSeries();
  }

  /** Labels are sorted, the name comes first; samples follow. The labels of a series are always the same bytes. */
  #readSeries(): void {
    const series = this.#series.enter(this.#request.start, this.#request.end);
    let metric: MetricName | null = null;
    let labelsStart = 0;
    let labelsEnd = 0;
    while (series.next()) {
      if (series.number === 1) {
        if (metric === null) {
          metric = this.#judgeName(series);
          if (metric.isAdded) return;
          labelsStart = series.start;
        }
        labelsEnd = series.end;
      } else if (series.number === 2) {
        this.#hash.reset().add(series.view, labelsStart, labelsEnd);
        this.#readSample(series, metric?.isFollowed === true);
      }
    }
  }

  /** The value of the first label. */
  #judgeName({ start, end }: Fields): MetricName {
    const fields = this.#inner.enter(start, end);
    while (fields.next()) if (fields.number === 2) break;
    return this.#received.names.judge(fields);
  }

  #readSample({ start, end, bytes, view }: Fields, isFollowed: boolean): void {
    const fields = this.#inner.enter(start, end);
    let timeMs = 0;
    let value = 0;
    let isStale = false;
    while (fields.next()) {
      if (fields.number === 1) {
        value = fields.double();
        isStale =
          view.getUint32(fields.start, true) === STALE_LOW &&
          view.getUint32(fields.start + 4, true) === STALE_HIGH;
      } else if (fields.number === 2) timeMs = readInt64(bytes, fields.start);
    }
    if (isStale) return;
    this.#received.sample(timeMs, value);
    this.#received.point(this.#hash);
    if (isFollowed) this.#received.follow(timeMs, this.#namespace(), value);
  }

  #namespace(): string {
    const { bytes, start, end } = this.#request;
    const series = new Fields(bytes).enter(start, end);
    while (series.next()) {
      const [name, value] = series.number === 1 ? this.#readLabel(series) : ['', ''];
      if (name === 'namespace') return value;
    }
    return '';
  }

  #readLabel({ start, end }: Fields): readonly [name: string, value: string] {
    const fields = this.#inner.enter(start, end);
    let [name, value] = ['', ''];
    while (fields.next()) {
      if (fields.number === 1) name = fields.text();
      if (fields.number === 2) value = fields.text();
    }
    return [name, value];
  }
}
