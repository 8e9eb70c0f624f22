// Judges a long run from the requests that a back end took: every page whole or not at all, every point once, in order,
// with the value and the time of its page. To save memory, it keeps counts per page where ledger.ts keeps sets. It uses
// only what the program has sent.

import {
  oracleMetricsMessage,
  type NumberMessage,
  type ResourceMessage,
} from '../../reference/oracle.ts';
import { ADDED_SERIES } from '../../support/otlp-points.ts';
import type { DaySource } from './day-source.ts';

export interface DayFindings {
  /** All points that came, including the bridge's own. */
  readonly points: number;
  /** The numbers of the pages that came, for each service. */
  readonly pages: readonly (readonly number[])[];
  /** Pages that were served but did not come whole, without an `up` of 0 that reports a failed scrape. */
  readonly lost: number;
  readonly wrong: number;
  /** Points that are not later than the point before in their series: out of order, or repeated. */
  readonly outOfOrder: number;
  readonly movedStarts: number;
  /** The first findings, in words. */
  readonly examples: readonly string[];
}

interface Track {
  lastMs: number;
  start: number;
}

const EXAMPLES_MAX = 10;

export class DayLedger {
  readonly #source: DaySource;
  readonly #services: ReadonlyMap<string, number>;
  readonly #series: ReadonlyMap<string, number>;
  readonly #pageAt: ReadonlyMap<number, number>;
  readonly #tracks = new Map<string, Track>();
  /** How many points of a page came, by service and page. */
  readonly #counts: readonly Uint32Array[];
  /** Scrapes that failed, by service. */
  readonly #failures: number[];
  readonly #examples: string[] = [];
  #points = 0;
  #wrong = 0;
  #outOfOrder = 0;
  #movedStarts = 0;

  /** The source may serve no more pages after this. */
  constructor(source: DaySource) {
    const { services } = source.options;
    this.#source = source;
    this.#services = new Map(services.map((id, index) => [id, index]));
    this.#series = new Map(
      source.series.map(({ metric, label }, index) => [
        `${metric} ${label.replaceAll('"', '')}`,
        index,
      ]),
    );
    this.#pageAt = new Map(source.times.map((timeMs, page) => [timeMs, page]));
    this.#counts = services.map(() => new Uint32Array(source.times.length));
    this.#failures = services.map(() => 0);
  }

  /** Takes a request's bytes. */
  take(request: Buffer): void {
    for (const resource of oracleMetricsMessage(request).resourceMetrics)
      this.#takeResource(resource);
  }

  findings(): DayFindings {
    const whole = this.#source.series.length;
    const served = this.#source.times.length;
    let lost = 0;
    const pages = this.#counts.map((counts, service) => {
      const came = [...counts.keys()].filter(page => (counts[page] ?? 0) > 0);
      const torn = counts.findIndex(count => count > 0 && count !== whole);
      if (torn >= 0)
        this.#tell(`service ${service}: page ${torn} came with ${counts[torn]} of ${whole} points`);
      const failed = this.#failures[service] ?? 0;
      const missing = Math.max(0, served - came.length - failed);
      if (missing > 0) {
        const pages = [...counts.keys()].filter(page => counts[page] === 0);
        this.#tell(
          `service ${service}: ${failed} scrapes failed, and missing are ${pages.join(' ')}`,
        );
      }
      lost += missing + (torn >= 0 ? 1 : 0);
      return came;
    });
    return {
      points: this.#points,
      pages,
      lost,
      wrong: this.#wrong,
      outOfOrder: this.#outOfOrder,
      movedStarts: this.#movedStarts,
      examples: this.#examples,
    };
  }

  #takeResource({ resource, scopeMetrics }: ResourceMessage): void {
    const id = resource.attributes.find(({ key }) => key === 'service.instance.id');
    const service = this.#services.get(id?.value.stringValue ?? '') ?? -1;
    for (const { metrics } of scopeMetrics)
      for (const { name, sum, gauge } of metrics)
        for (const point of sum?.dataPoints ?? gauge?.dataPoints ?? [])
          this.#takePoint(service, name, point);
  }

  #takePoint(service: number, metric: string, point: NumberMessage): void {
    this.#points++;
    const timeMs = Math.round(point.timeUnixNano.toNumber() / 1e6);
    const start = point.startTimeUnixNano.toNumber();
    const label = point.attributes.find(({ key }) => key === 'command' || key === 'n');
    const series = `${metric} ${label?.key ?? ''}=${label?.value.stringValue ?? ''}`;
    const track = this.#track(`${String(service)} ${series}`, start);
    if (timeMs <= track.lastMs) {
      this.#outOfOrder++;
      this.#tell(`${service} ${series}: ${timeMs} came after ${track.lastMs}`);
    }
    track.lastMs = timeMs;
    if (ADDED_SERIES.has(metric)) {
      if (metric === 'up' && point.asDouble === 0)
        this.#failures[service] = (this.#failures[service] ?? 0) + 1;
      return;
    }
    if (start !== track.start) {
      this.#movedStarts++;
      this.#tell(`${service} ${series} at ${timeMs}: starts at ${start}`);
    }
    this.#check(service, series, point, timeMs);
  }

  #check(service: number, series: string, point: NumberMessage, timeMs: number): void {
    const index = this.#series.get(series) ?? -1;
    const page = this.#pageAt.get(timeMs) ?? -1;
    const counts = this.#counts[service];
    const want = this.#source.valueAt(service, index, page);
    const isKnown = index >= 0 && page >= 0 && counts !== undefined;
    if (!isKnown || point.flags !== 0 || point.asDouble !== want) {
      this.#wrong++;
      this.#tell(`${service} ${series} at ${timeMs}: ${point.asDouble}, not ${want}`);
    }
    if (isKnown) counts[page] = (counts[page] ?? 0) + 1;
  }

  #track(key: string, start: number): Track {
    const known = this.#tracks.get(key);
    if (known !== undefined) return known;
    const track = { lastMs: 0, start };
    this.#tracks.set(key, track);
    return track;
  }

  #tell(words: string): void {
    if (this.#examples.length < EXAMPLES_MAX) this.#examples.push(words);
  }
}
