// Compares the points that a back end got with the pages that the source served: finds points that are missing, wrong,
// double or out of order, and starts that have moved. It knows only the guarantees of the program, not how it works:
//
// - a page arrives whole or not at all; not at all only if the process was killed while it read the page, if the scrape
//   failed and `up` says so, or if the account says so
// - each point has the value and the time of its page; each series has its points in order, each of them once
// - a start does not move; a delta begins where the one before ended
// - after a kill, deltas begin with a baseline, and a page that is still the same may come once more
//
// A day of an outage has 14 million points. So what has arrived is a bit per service, page and series; times are
// remembered only of points that no bit can stand for.

import { ADDED_SERIES, amountOf, type OtlpPoint } from '../../support/otlp-points.ts';
import type { Life } from './bridge.ts';
import type { Series, ServedPage, ServedSource } from './served-source.ts';
import { distributionOf } from './source.ts';

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
  /** The numbers of the pages that came, whole or not, for each service. */
  readonly pages: readonly (readonly number[])[];
  /** The first findings, in words. */
  readonly examples: readonly string[];
}

/** The most pages that a kill can cost: one that is being read, and the one before, which is being stored. */
const UNSTORED_MAX = 2;
/** The longest time between the beginning of a scrape and its page: the program's timeout, plus rounding. */
const SCRAPE_MS_MAX = 1100;
const EXAMPLES_MAX = 10;

/** A series of the source, and the place of its service among those of the source. */
interface Served {
  readonly service: number;
  readonly series: Series;
}

interface Track {
  /** Undefined for series that the source does not have. */
  readonly served: Served | undefined;
  /** The times of the points that have no bit of their own. */
  times: Set<number> | undefined;
  lastMs: number;
  startNs: string;
}

export class Ledger {
  readonly #source: ServedSource;
  readonly #options: LedgerOptions;
  readonly #tracks = new Map<string, Track>();
  /** The series that have arrived, a bit for each: by service and page number. */
  readonly #arrived: readonly Map<number, Uint32Array>[];
  readonly #examples: string[] = [];
  readonly #pageByTime = new Map<number, ServedPage>();
  /** The times at which `up` was 0, by service. */
  readonly #failures = new Map<string, Set<number>>();
  readonly #markers: { point: OtlpPoint; timeMs: number }[] = [];
  #received = 0;
  #wrong = 0;
  #duplicates = 0;
  #duplicateRequests = 0;
  #outOfOrder = 0;
  #movedStarts = 0;

  constructor(source: ServedSource, options: LedgerOptions = {}) {
    this.#source = source;
    this.#options = options;
    const { services } = source.options;
    this.#arrived = services.map(() => new Map());
    for (const [service, id] of services.entries())
      for (const series of source.series)
        this.#track(`${id} ${series.metric} ${source.attributesOf(series, id)}`, {
          service,
          series,
        });
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
      ({ point, timeMs }) => !this.#hasFailed(point.serviceId, timeMs),
    );
    for (const { point } of strayMarkers) this.#tell(point, 'a marker of staleness');
    return {
      ...compared,
      received: this.#received,
      wrong: this.#wrong + strayMarkers.length,
      duplicates: this.#duplicates,
      duplicateRequests: this.#duplicateRequests,
      outOfOrder: this.#outOfOrder,
      movedStarts: this.#movedStarts,
      pages: this.#arrived.map(byPage => [...byPage.keys()].sort((a, b) => a - b)),
      examples: this.#examples,
    };
  }

  /**
   * The points of pages that the program could not read in time, if the `up` that would report it was given up, too. The
   * program's account has the number of samples that it has read.
   */
  unreadPoints(samplesRead: number, { failedPages, interruptedPages }: Findings): number {
    const { options, readings, series } = this.#source;
    const samplesPerService = series.reduce((sum, { samples }) => sum + samples, 0);
    const services = options.services.length;
    const readCount = samplesRead / (services * samplesPerService);
    const told = failedPages + interruptedPages * services;
    return Math.max(0, (readings.length - readCount) * services - told) * series.length;
  }

  #takePoint(point: OtlpPoint): void {
    const { serviceId, metric, attributes, timeNs, value } = point;
    const timeMs = millisecondsOf(timeNs);
    const track = this.#track(`${serviceId} ${metric} ${attributes}`);
    const { served } = track;
    const page = served && this.#pageOf(point, served, timeMs);
    if (this.#isRepeated(point, track, page, timeMs)) {
      this.#duplicates++;
      return;
    }
    this.#received++;
    if (timeMs < track.lastMs) {
      this.#outOfOrder++;
      this.#tell(point, `came after ${String(track.lastMs)}`);
    }
    if (metric === 'up' && value === 0)
      this.#failures.set(serviceId, (this.#failures.get(serviceId) ?? new Set()).add(timeMs));
    if (served !== undefined) this.#check(point, track, served, page, timeMs);
    else if (!ADDED_SERIES.has(metric)) this.#wrongPoint(point, 'no such series');
    track.lastMs = Math.max(track.lastMs, timeMs);
  }

  /** The track of a series; a new one if it has none. */
  #track(key: string, served?: Served): Track {
    const known = this.#tracks.get(key);
    if (known !== undefined) return known;
    const track = { served, times: undefined, lastMs: 0, startNs: '' };
    this.#tracks.set(key, track);
    return track;
  }

  /** Whether the series had a point at this time; if not, notes the time, unless the bit of its page will. */
  #isRepeated(
    { flags }: OtlpPoint,
    track: Track,
    page: ServedPage | undefined,
    timeMs: number,
  ): boolean {
    if (track.times?.has(timeMs) === true) return true;
    const isOfStamp = this.#source.options.isStamped && page !== undefined;
    if (isOfStamp && track.served !== undefined) {
      const { service, series } = track.served;
      if (hasBit(this.#arrived[service]?.get(page.number), series.index)) return true;
    }
    if (!isOfStamp || flags !== 0) (track.times ??= new Set()).add(timeMs);
    return false;
  }

  #check(
    point: OtlpPoint,
    track: Track,
    served: Served,
    page: ServedPage | undefined,
    timeMs: number,
  ): void {
    if (point.flags !== 0) {
      this.#markers.push({ point, timeMs });
      return;
    }
    if (page === undefined) return this.#wrongPoint(point, 'no page had this time');
    const { service, series } = served;
    this.#note(served, page);
    if (isCounting(series) && this.#options.isDelta === true)
      return this.#checkDelta(point, track, served, page);
    this.#checkAmount(point, series, this.#source.valueAt(series, page, service));
    this.#checkStart(point, series, track);
  }

  #note({ service, series: { index } }: Served, { number }: ServedPage): void {
    const byPage = this.#arrived[service];
    let bits = byPage?.get(number);
    if (bits === undefined) {
      bits = new Uint32Array(Math.ceil(this.#source.series.length / 32));
      byPage?.set(number, bits);
    }
    bits[index >>> 5] = (bits[index >>> 5] ?? 0) | (1 << (index & 31));
  }

  #checkStart(point: OtlpPoint, series: Series, track: Track): void {
    const { startNs } = point;
    const isFirst = track.startNs === '';
    if (isFirst) track.startNs = startNs;
    if (isFirst ? this.#isStart(point, series) : track.startNs === startNs) return;
    this.#movedStarts++;
    this.#tell(point, `starts at ${startNs}, not ${track.startNs}`);
  }

  /** Whether a series may start where its first point says. */
  #isStart({ startNs, timeNs }: OtlpPoint, series: Series): boolean {
    if (!isCounting(series)) return startNs === '0';
    const { bootMs, options } = this.#source;
    const startMs = millisecondsOf(startNs);
    if (series.isDated) return startMs >= bootMs - this.#scrapeMs && startMs <= bootMs + 1000;
    // Without an uptime, a counter starts at its first page, which may have been given up.
    const isPage = !options.isStamped || this.#pageByTime.has(startMs);
    return isPage && BigInt(startNs) <= BigInt(timeNs);
  }

  #checkDelta(point: OtlpPoint, track: Track, served: Served, page: ServedPage): void {
    const { service, series } = served;
    const startMs = millisecondsOf(point.startNs);
    const from = this.#pageByTime.get(startMs);
    const isBaseline =
      from !== undefined &&
      startMs > track.lastMs &&
      this.#firstPages(page => this.#arrived[service]?.has(page) === true).has(from.number);
    if (from === undefined || (track.lastMs !== 0 && track.lastMs !== startMs && !isBaseline)) {
      this.#movedStarts++;
      this.#tell(
        point,
        `starts at ${String(startMs)}, the one before ended at ${String(track.lastMs)}`,
      );
      return;
    }
    const valueAt = (at: ServedPage): number => this.#source.valueAt(series, at, service);
    this.#checkAmount(point, series, valueAt(page) - valueAt(from));
  }

  #checkAmount(point: OtlpPoint, { kind }: Series, want: number): void {
    const [is, wanted] =
      kind === 'histogram' ? [point.distribution, distributionOf(want)] : [point.value, want];
    if (is !== wanted) this.#wrongPoint(point, `${String(is)} instead of ${String(wanted)}`);
  }

  #pageOf(point: OtlpPoint, { service, series }: Served, timeMs: number): ServedPage | undefined {
    const { isStamped } = this.#source.options;
    if (isStamped) {
      if (this.#pageByTime.size !== this.#source.pages.size)
        for (const page of this.#source.pages.values()) this.#pageByTime.set(page.timeMs, page);
      return this.#pageByTime.get(timeMs);
    }
    const pages = [...this.#source.pages.values()];
    if (this.#options.isTimeUnknown === true) {
      const value = amountOf(point);
      const same = pages.filter(page => this.#source.valueAt(series, page, service) === value);
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
    for (const [service, id] of this.#source.options.services.entries()) {
      const byPage = this.#arrived[service] ?? new Map<number, Uint32Array>();
      const first = Math.min(...byPage.keys());
      const unread = this.#unreadPages(id);
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
        const lacking = wanted.filter(({ index }) => !hasBit(arrived, index)).length;
        expected += wanted.length;
        missing += lacking;
        if (lacking > 0)
          this.#example(`${id}: ${lacking} points of page ${page.number} are missing`);
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

  #wrongPoint(point: OtlpPoint, words: string): void {
    this.#wrong++;
    this.#tell(point, words);
  }

  #tell({ serviceId, metric, attributes, timeNs }: OtlpPoint, words: string): void {
    const at = String(millisecondsOf(timeNs));
    this.#example(`${serviceId} ${metric} ${attributes} at ${at}: ${words}`);
  }

  #example(words: string): void {
    if (this.#examples.length < EXAMPLES_MAX) this.#examples.push(words);
  }
}

function hasBit(bits: Uint32Array | undefined, index: number): boolean {
  return (((bits?.[index >>> 5] ?? 0) >>> (index & 31)) & 1) === 1;
}

function millisecondsOf(ns: string): number {
  return Number(BigInt(ns) / 1_000_000n);
}

function isCounting({ kind }: Series): boolean {
  return kind === 'counter' || kind === 'histogram';
}

/** True for series that send their current value even with deltas. */
function isCurrent({ kind }: Series): boolean {
  return kind === 'gauge' || kind === 'uptime';
}
