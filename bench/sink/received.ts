// The sink's record of the samples that arrived: tallies by timestamp, how often each series came, and the values of the
// few series that are followed one by one. Samples that contenders add themselves are left out.

import { addTally, addValue, newTally, type Tally } from '../corpus/checksum.ts';
import { SeriesCounts, type SeriesHash } from './series.ts';

export interface ReceivedReport {
  /** By timestamp, in milliseconds. */
  readonly byTime: ReadonlyMap<number, Tally>;
  readonly total: Tally;
  /** How many series came how many times. */
  readonly seriesByCount: ReadonlyMap<number, number>;
  /** Values by `time name`. */
  readonly followed: ReadonlyMap<string, number>;
}

/** Names of the metrics that contenders add about themselves and their scrapes. */
const ADDED = /^(?:up|scrape_.*|prom2otlp_.*|target_info|otel_scope_info)$/;
const FOLLOWED = 'engine_global_status_questions';

/** Whether a metric is on no page, so that it is left out. */
export function isAdded(name: string): boolean {
  return ADDED.test(name);
}

export function isFollowed(name: string): boolean {
  return name === FOLLOWED;
}

export class Received {
  readonly #byTime = new Map<number, Tally>();
  readonly #counts = new SeriesCounts();
  readonly #followed = new Map<string, number>();
  #lastTimeMs = Number.NaN;
  #lastTally: Tally = newTally();
  #samples = 0;

  sample(timeMs: number, value: number): void {
    if (timeMs !== this.#lastTimeMs) {
      this.#lastTimeMs = timeMs;
      this.#lastTally = this.#byTime.get(timeMs) ?? newTally();
      this.#byTime.set(timeMs, this.#lastTally);
    }
    addValue(this.#lastTally, value);
    this.#samples++;
  }

  /** Counts one point of a series, given by a hash of its identity. */
  point(series: SeriesHash): void {
    this.#counts.add(series);
  }

  follow(timeMs: number, name: string, value: number): void {
    this.#followed.set(`${timeMs} ${name}`, value);
  }

  get samples(): number {
    return this.#samples;
  }

  report(): ReceivedReport {
    const total = newTally();
    for (const tally of this.#byTime.values()) addTally(total, tally);
    const seriesByCount = this.#counts.byCount();
    return { byTime: this.#byTime, total, seriesByCount, followed: this.#followed };
  }
}
