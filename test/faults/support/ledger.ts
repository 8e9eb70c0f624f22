// Compares the points that a back end got with the pages that the source served: finds points that are missing, wrong,
// double or out of order, and starts that have moved. It knows only the guarantees of the program, not how it works:
//
// - a page arrives whole or not at all; not at all only if the process was killed while it read the page, if the scrape
//   failed and `up` says so, or if the account says so
// - each point has the value and the time of its page; each series has its points in order, each of them once
// - a start does not move; a delta begins where the one before ended
// - after a kill, deltas begin with a baseline, and a page that is still the same may come once more

import { ADDED_SERIES, amountOf, type OtlpPoint } from '../../support/otlp-points.ts';
import type { Life } from './bridge.ts';
import { distributionOf, type Series, type ServedPage, type Source } from './source.ts';

export interface LedgerOptions {
  readonly isDelta?: boolean;
  /** The program's clock is wrong and pages have no stamps: a page is found by its values instead of its time. */
  readonly isTimeUnknown?: boolean;
}

export interface Findings {
  /** Points of the source's series on pages that had to arrive. */
  readonly expected: number;
  /** The different points that came, including the bridge's own. */
  readonly received: number;
  /** Expected points that did not come. */
  readonly missing: number;
  readonly wrong: number;
  readonly duplicates: number;
  /** Requests with duplicates. */
  readonly duplicateRequests: number;
  readonly outOfOrder: number;
  readonly movedStarts: number;
  /** Pages that a killed process was reading or storing, and that did not arrive. */
  readonly interruptedPages: number;
  /** Pages for which an `up` of 0 came instead, because the machine was too busy to read them in time. */
  readonly failedPages: number;
  /** The first findings, in words. */
  readonly examples: readonly string[];
}

/** The most pages that a kill can cost: one that is being read, and the one before, which is being stored. */
const UNSTORED_MAX = 2;
/** The longest time between the beginning of a scrape and its page: the program's timeout, plus rounding. */
const SCRAPE_MS_MAX = 1100;
const EXAMPLES_MAX = 10;

interface Track {
  readonly times: Set<number>;
  lastMs: number;
  startNs: string;
}

export class Ledger {
  readonly #source: Source;
  readonly #options: LedgerOptions;
  readonly #series: ReadonlyMap<string, Series>;
  readonly #tracks = new Map<string, Track>();
  /** The series that have arrived, by service and page number. */
  readonly #arrived = new Map<string, Map<number, Set<number>>>();
  readonly #examples: string[] = [];
  readonly #pageByTime = new Map<number, ServedPage>();
  /** The times at which `up` was 0, by service. */
  readonly #failures = new Map<string, Set<number>>();
  readonly #markers: { serviceId: string; timeMs: number; what: string }[] = [];
  #received = 0;
  #wrong = 0;
  #duplicates = 0;
  #duplicateRequests = 0;
  #outOfOrder = 0;
  #movedStarts = 0;

  constructor(source: Source, options: LedgerOptions = {}) {
    this.#source = source;
    this.#options = options;
    this.#series = new Map(source.series.map(one => [`${one.metric} ${one.attributes}`, one]));
  }

  /** Takes the points of one request. */
  take(points: readonly OtlpPoint[]): void {
    const before = this.#duplicates;
    for (const point of points) this.#takePoint(point);
    if (this.#duplicates > before) this.#duplicateRequests++;
  }

  /** The number of different points so far. */
  get received(): number {
    return this.#received;
  }

  findings(lives: readonly Life[]): Findings {
    const compared = this.#compare(lives);
    const strayMarkers = this.#markers.filter(
      ({ serviceId, timeMs }) => !this.#hasFailed(serviceId, timeMs),
    );
    for (const { what } of strayMarkers) this.#tell(`${what}: a marker of staleness`);
    return {
      ...compared,
      received: this.#received,
      wrong: this.#wrong + strayMarkers.length,
      duplicates: this.#duplicates,
      duplicateRequests: this.#duplicateRequests,
      outOfOrder: this.#outOfOrder,
      movedStarts: this.#movedStarts,
      examples: this.#examples,
    };
  }

  /**
   * The points of pages that the program could not read in time, if the `up` that would report it was given up, too. The
   * program's account has the number of samples that it has read.
   */
  unreadPoints(samplesRead: number, { failedPages, interruptedPages }: Findings): number {
    const { options, samplesPerService, readings, series } = this.#source;
    const services = options.services.length;
    const readCount = samplesRead / (services * samplesPerService);
    const told = failedPages + interruptedPages * services;
    return Math.max(0, (readings.length - readCount) * services - told) * series.length;
  }

  #takePoint(point: OtlpPoint): void {
    const { serviceId, metric, attributes, timeNs, value } = point;
    const key = `${serviceId} ${metric} ${attributes}`;
    const timeMs = Number(BigInt(timeNs) / 1_000_000n);
    const track = this.#tracks.get(key) ?? { times: new Set(), lastMs: 0, startNs: '' };
    this.#tracks.set(key, track);
    if (track.times.has(timeMs)) {
      this.#duplicates++;
      return;
    }
    this.#received++;
    track.times.add(timeMs);
    if (timeMs < track.lastMs) {
      this.#outOfOrder++;
      this.#tell(`${key}: ${String(timeMs)} came after ${String(track.lastMs)}`);
    }
    if (metric === 'up' && value === 0)
      this.#failures.set(serviceId, (this.#failures.get(serviceId) ?? new Set()).add(timeMs));
    const series = this.#series.get(`${metric} ${attributes}`);
    if (series !== undefined) this.#check(point, series, track, timeMs);
    else if (!ADDED_SERIES.has(metric)) this.#wrongPoint(`${key}: no such series`);
    track.lastMs = Math.max(track.lastMs, timeMs);
  }

  #check(point: OtlpPoint, series: Series, track: Track, timeMs: number): void {
    const { serviceId } = point;
    const what = `${serviceId} ${series.metric} ${series.attributes} at ${String(timeMs)}`;
    if (point.flags !== 0) {
      this.#markers.push({ serviceId, timeMs, what });
      return;
    }
    const page = this.#pageOf(point, series, timeMs);
    if (page === undefined) return this.#wrongPoint(`${what}: no page had this time`);
    const byPage = this.#arrived.get(serviceId) ?? new Map<number, Set<number>>();
    this.#arrived.set(serviceId, byPage);
    const arrived = byPage.get(page.number) ?? new Set();
    byPage.set(page.number, arrived.add(series.index));
    const isCounting = series.kind === 'counter' || series.kind === 'histogram';
    if (isCounting && this.#options.isDelta === true)
      return this.#checkDelta(point, series, { track, page, what });
    this.#checkAmount(point, series, this.#source.valueAt(series, page), what);
    if (isCounting) this.#checkStart(point, series, track, what);
  }

  #checkStart(
    { startNs, timeNs }: OtlpPoint,
    { isDated }: Series,
    track: Track,
    what: string,
  ): void {
    if (track.startNs === '') {
      track.startNs = startNs;
      const bootMs = this.#source.bootMs;
      const startMs = Number(BigInt(startNs) / 1_000_000n);
      // Without an uptime, a counter starts at its first page, which may have been given up.
      const isPage = !this.#source.options.isStamped || this.#pageByTime.has(startMs);
      const isRight = isDated
        ? startMs >= bootMs - this.#scrapeMs && startMs <= bootMs + 1000
        : isPage && BigInt(startNs) <= BigInt(timeNs);
      if (isRight) return;
    } else if (track.startNs === startNs) return;
    this.#movedStarts++;
    this.#tell(`${what}: starts at ${startNs}, not ${track.startNs}`);
  }

  #checkDelta(
    point: OtlpPoint,
    series: Series,
    { track, page, what }: { track: Track; page: ServedPage; what: string },
  ): void {
    const startMs = Number(BigInt(point.startNs) / 1_000_000n);
    const from = this.#pageByTime.get(startMs);
    const isBaseline =
      from !== undefined &&
      startMs > track.lastMs &&
      this.#firstPages(page => this.#arrived.get(point.serviceId)?.has(page) === true).has(
        from.number,
      );
    if (from === undefined || (track.lastMs !== 0 && track.lastMs !== startMs && !isBaseline)) {
      this.#movedStarts++;
      this.#tell(
        `${what}: starts at ${String(startMs)}, the one before ended at ${String(track.lastMs)}`,
      );
      return;
    }
    const want = this.#source.valueAt(series, page) - this.#source.valueAt(series, from);
    this.#checkAmount(point, series, want, what);
  }

  #checkAmount(point: OtlpPoint, { kind }: Series, want: number, what: string): void {
    const [is, wanted] =
      kind === 'histogram'
        ? [point.distribution, distributionOf(want)]
        : [String(point.value), String(want)];
    if (is !== wanted) this.#wrongPoint(`${what}: ${is} instead of ${wanted}`);
  }

  #pageOf(point: OtlpPoint, series: Series, timeMs: number): ServedPage | undefined {
    const { isStamped } = this.#source.options;
    if (isStamped) {
      if (this.#pageByTime.size !== this.#source.pages.size)
        for (const page of this.#source.pages.values()) this.#pageByTime.set(page.timeMs, page);
      return this.#pageByTime.get(timeMs);
    }
    const pages = [...this.#source.pages.values()];
    if (this.#options.isTimeUnknown === true) {
      const value = amountOf(point);
      const same = pages.filter(page => this.#source.valueAt(series, page) === value);
      // Two pages may have the same uptime: takes the page that is nearer in time.
      const farMs = (page: ServedPage): number => Math.abs(page.timeMs - timeMs);
      return same.sort((a, b) => farMs(a) - farMs(b))[0];
    }
    // Takes the first page that was served after the scrape began.
    return pages.find(({ timeMs: atMs }) => atMs >= timeMs && atMs - timeMs <= this.#scrapeMs);
  }

  #compare(
    lives: readonly Life[],
  ): Pick<Findings, 'expected' | 'missing' | 'interruptedPages' | 'failedPages'> {
    let expected = 0;
    let missing = 0;
    let failedPages = 0;
    const interrupted = new Set<number>();
    for (const service of this.#source.options.services) {
      const byPage = this.#arrived.get(service) ?? new Map<number, Set<number>>();
      const first = Math.min(...byPage.keys());
      const unread = this.#unreadPages(service);
      const baselines = this.#firstPages(page => byPage.has(page));
      for (const page of this.#source.pages.values()) {
        const arrived = byPage.get(page.number);
        if (arrived === undefined && this.#isInterrupted(page, lives)) {
          interrupted.add(page.number);
          continue;
        }
        if (arrived === undefined && unread.has(page.number)) {
          failedPages++;
          continue;
        }
        const wanted = this.#wantedOf(page, first, baselines);
        const found = wanted.filter(({ index }) => arrived?.has(index) === true).length;
        expected += wanted.length;
        missing += wanted.length - found;
        if (found < wanted.length)
          this.#tell(
            `${service}: ${String(wanted.length - found)} points of page ${String(page.number)} are missing`,
          );
      }
    }
    return { expected, missing, interruptedPages: interrupted.size, failedPages };
  }

  /** Samples without stamps get the time at which the scrape began: at most this long before the page was served. */
  get #scrapeMs(): number {
    return this.#source.options.isStamped ? 0 : SCRAPE_MS_MAX;
  }

  /** The series that must arrive of a page. With deltas, a first page is only the baseline of the next one. */
  #wantedOf(
    { number }: ServedPage,
    first: number,
    baselines: ReadonlySet<number>,
  ): readonly Series[] {
    const { series } = this.#source;
    const isBaseline = number === first || baselines.has(number);
    return this.#options.isDelta === true && isBaseline ? series.filter(isCurrent) : series;
  }

  /** The first pages of each process, up to the first one that arrived. */
  #firstPages(hasArrived: (page: number) => boolean): ReadonlySet<number> {
    const pages = new Set<number>();
    const begun = new Set<number>();
    for (const { life, page } of this.#source.readings) {
      if (begun.has(life)) continue;
      pages.add(page);
      if (hasArrived(page)) begun.add(life);
    }
    return pages;
  }

  #hasFailed(serviceId: string, timeMs: number): boolean {
    return this.#failures.get(serviceId)?.has(timeMs) === true;
  }

  /** True if every process that read the page was killed before it had to store the page. */
  #isInterrupted({ number }: ServedPage, lives: readonly Life[]): boolean {
    const { readings } = this.#source;
    const readers = new Set(readings.filter(({ page }) => page === number).map(({ life }) => life));
    return [...readers].every(reader => {
      const pages = readings.filter(({ life }) => life === reader).map(({ page }) => page);
      const isKilled = lives.some(life => life.number === reader && life.isKilled);
      return isKilled && pages.indexOf(number) >= pages.length - UNSTORED_MAX;
    });
  }

  /** The pages of scrapes that failed, according to `up`: for each of them, the first page after its beginning. */
  #unreadPages(service: string): ReadonlySet<number> {
    const pages = new Set<number>();
    const times = [...(this.#failures.get(service) ?? [])].sort((a, b) => a - b);
    const readings = [...this.#source.readings];
    for (const timeMs of times) {
      const at = readings.findIndex(({ atMs }) => atMs >= timeMs);
      for (const { page } of at === -1 ? [] : readings.splice(at, 1)) pages.add(page);
    }
    return pages;
  }

  #wrongPoint(words: string): void {
    this.#wrong++;
    this.#tell(words);
  }

  #tell(words: string): void {
    if (this.#examples.length < EXAMPLES_MAX) this.#examples.push(words);
  }
}

/** True for series that send their current value even with deltas. */
function isCurrent({ kind }: Series): boolean {
  return kind === 'gauge' || kind === 'uptime';
}
