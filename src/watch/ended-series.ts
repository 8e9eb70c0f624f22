// Remembers which series of a service were sent with a value, so that one that has none any more is marked as ended,
// once: a back end would show its last value for minutes otherwise.

import type { Gauge, GaugePoint } from '../pipeline/encode/gauges.ts';

/** A series that was sent, with what is needed to end it. */
interface Sent {
  readonly gauge: Gauge;
  readonly attributes: GaugePoint['attributes'];
}

export class EndedSeries {
  #sent: ReadonlyMap<string, Sent> = new Map();

  /** The gauges, and a marker for each series of the last call that is not among them. */
  complete(gauges: readonly Gauge[]): readonly Gauge[] {
    const before = this.#sent;
    const sent = new Map(gauges.flatMap(seriesOf));
    this.#sent = sent;
    const ended = [...before].filter(([key]) => !sent.has(key)).map(([, series]) => series);
    const markers = ended.map(({ gauge, attributes }) => ({
      ...gauge,
      points: [{ attributes, value: null }],
    }));
    return [...gauges, ...markers];
  }
}

function seriesOf(gauge: Gauge): (readonly [key: string, sent: Sent])[] {
  return gauge.points.map(({ attributes }) => [
    JSON.stringify([gauge.name, attributes]),
    { gauge, attributes },
  ]);
}
