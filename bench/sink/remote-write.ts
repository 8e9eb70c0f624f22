// Reads a remote write request (version 1, protobuf) into Received: time series 1 with labels 1 and samples 2.
// https://prometheus.io/docs/specs/prw/remote_write_spec/

import { Fields, readInt64 } from './protobuf.ts';
import { FOLLOWED_METRIC, type Received, SeriesHash } from './received.ts';

/** The NaN that ends a series. */
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

  /** Labels are sorted, the name comes first; samples follow. */
  #readSeries(): void {
    const series = this.#series.enter(this.#request.start, this.#request.end);
    const hash = this.#hash.reset();
    let name = '';
    while (series.next()) {
      if (series.number === 1) {
        hash.add(series.view, series.start, series.end);
        if (name === '') name = this.#readLabel(series)[1];
        if (this.#received.isAdded(name)) return;
      } else if (series.number === 2) this.#readSample(series, name);
    }
  }

  #readSample({ start, end, bytes, view }: Fields, name: string): void {
    const fields = this.#inner.enter(start, end);
    let [timeMs, value, isStale] = [0, 0, false];
    while (fields.next()) {
      if (fields.number === 1) {
        value = fields.double();
        const [low, high] = [
          view.getUint32(fields.start, true),
          view.getUint32(fields.start + 4, true),
        ];
        isStale = low === STALE_LOW && high === STALE_HIGH;
      } else if (fields.number === 2) timeMs = readInt64(bytes, fields.start);
    }
    if (isStale) return;
    this.#received.sample(timeMs, value);
    this.#received.point(this.#hash.value);
    if (name === FOLLOWED_METRIC) this.#received.follow(timeMs, this.#namespace(), value);
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
