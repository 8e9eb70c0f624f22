// One target as the daemon has it: pages and failures in, points out, through the whole of translate(). Points are
// shown as short texts, with times in seconds after T0, so that a test states what it expects in one line:
//
//   sum queries{server_name=a} 5 @60 from -100      a cumulative counter; `delta` and `updown` in the same way
//   gauge threads{} 7 @60                            no start
//   histogram h{} count=3 sum=1.5 le1:1 inf:2 @60    `stale` instead of numbers for a marker
import { deepEqual, ok } from 'node:assert/strict';
import { createCatalogLookup } from '../../src/catalog/lookup.ts';
import { defaultConfig } from '../../src/config/load.ts';
import type { Config, MetricsConfig } from '../../src/config/config.ts';
import type { ExpositionFormat, OtherShards } from '../../src/model/page.ts';
import { SeriesTable } from '../../src/model/series-table.ts';
import { deriveOptions, SeriesBudget } from '../../src/pipeline/derive/options.ts';
import { saveStarts, saveWhole } from '../../src/pipeline/derive/state.ts';
import { readState } from '../../src/pipeline/derive/state-form.ts';
import type { ServiceOutcome } from '../../src/pipeline/derive/derive.ts';
import type { ResourceIdentity } from '../../src/pipeline/encode/identity.ts';
import { WireWriter } from '../../src/pipeline/encode/wire.ts';
import { type Scraped, translate, type Translated, type Translation } from '../../src/pipeline.ts';
import { oracleDecodeMetrics } from '../reference/oracle.ts';
import { ADDED_SERIES, type OtlpPoint, otlpPoints } from './otlp-points.ts';
import { expectSane, WireSanity } from './wire-sanity.ts';

/** 2026-03-04 09:00 UTC. */
export const T0: number = Date.UTC(2026, 2, 4, 9);

export interface TargetOptions {
  /** Ids of the configured services; by default only `local`. */
  readonly services?: readonly string[];
  readonly metrics?: Partial<MetricsConfig>;
  readonly temporality?: Config['otlp']['temporality'];
  readonly unconfigured?: Config['unconfiguredServices'];
  readonly identity?: Partial<ResourceIdentity>;
  readonly otherShards?: OtherShards;
  /** Whether this test corrects a wrong clock; otherwise no time may go back. */
  readonly mayGoBack?: boolean;
  /** Knows what the target before this one has sent; by default, nothing was sent before. */
  readonly sanity?: WireSanity;
  /** Shared with other targets. */
  readonly budget?: SeriesBudget;
}

/** The clocks of a scrape that differ from the scrape's time, in seconds after T0. */
export interface Clocks {
  readonly wall?: number;
  readonly monotonic?: number;
  readonly server?: number;
  readonly format?: ExpositionFormat;
}

/** The results of one scrape. */
export interface Seen {
  /** The points made from the page, in the order of the request. */
  readonly points: readonly OtlpPoint[];
  /** The bridge's own series: `up` and `scrape_*`. */
  readonly own: readonly OtlpPoint[];
  /** The points as texts. */
  readonly shown: readonly string[];
  readonly translated: Translated;
  /** Samples by outcome, all services together. */
  readonly reads: Readonly<Record<string, number>>;
}

export class Target {
  readonly translation: Translation;
  readonly #writer = new WireWriter();
  readonly #sanity: WireSanity;

  constructor(options: TargetOptions = {}) {
    const { mayGoBack = false, sanity = new WireSanity({ mayGoBack }) } = options;
    this.#sanity = sanity;
    const config = configOf(options);
    const ids = options.services ?? ['local'];
    const table = new SeriesTable();
    const lookup = createCatalogLookup(config.metrics.prefixes);
    const configured = new Map(ids.map((id, index) => [id, index]));
    const budget = options.budget ?? new SeriesBudget(config.metrics.limits);
    const derive = deriveOptions(config, lookup, configured, options.otherShards, budget);
    this.translation = {
      table,
      isKept: false,
      derive,
      encode: {
        ...derive,
        resourceOf: index => {
          const id = table.services[index]?.id ?? '';
          return { name: id, id, attributes: {}, server: null, ...options.identity };
        },
      },
    };
  }

  /** A good answer, `seconds` after T0. In a text, `@5` at the end of a line is a timestamp 5 s after T0. */
  page(seconds: number, text: string | Buffer, clocks: Clocks = {}): Seen {
    return this.#run(scrapedPage(seconds, text, clocks));
  }

  /** A good answer, of which only the outcomes are read: the checks of very many points take longer than the points. */
  reads(seconds: number, text: string): Readonly<Record<string, number>> {
    const scraped = scrapedPage(seconds, text, {});
    return readsOf(finished(translate(this.translation, scraped, this.#writer)));
  }

  /** A good answer that leads to these points and no others. */
  shows(seconds: number, text: string, ...want: readonly string[]): Seen {
    const seen = this.page(seconds, text);
    deepEqual(seen.shown, want);
    return seen;
  }

  /** A good answer that leads to this point, among others. */
  has(seconds: number, text: string, want: string): Seen {
    const seen = this.page(seconds, text);
    ok(seen.shown.includes(want), `${want} is not among ${seen.shown.join(', ')}`);
    return seen;
  }

  /** A scrape that failed. */
  fail(seconds: number, reason = 'timeout', clocks: Clocks = {}): Seen {
    return this.#run({ kind: 'failure', reason, ...timesOf(seconds, clocks) });
  }

  #run(scraped: Scraped): Seen {
    const translated = finished(translate(this.translation, scraped, this.#writer));
    const request = oracleDecodeMetrics(translated.batch.payload);
    expectSane(this.#sanity, request);
    const all = otlpPoints(request);
    const points = all.filter(({ metric }) => !ADDED_SERIES.has(metric));
    return {
      points,
      own: all.filter(({ metric }) => ADDED_SERIES.has(metric)),
      shown: points.map(shownPoint),
      translated,
      reads: readsOf(translated),
    };
  }
}

function scrapedPage(seconds: number, text: string | Buffer, clocks: Clocks): Scraped {
  const bytes = typeof text === 'string' ? Buffer.from(stamped(text)) : text;
  const isOpenMetrics = /(^|\n)# EOF\n?$/.test(bytes.toString('latin1'));
  const format = clocks.format ?? (isOpenMetrics ? 'openmetrics' : 'text');
  const page = { bytes, format, wireBytes: bytes.length, ...timesOf(seconds, clocks) };
  return { kind: 'page', page };
}

function readsOf({ derived }: Seen['translated']): Record<string, number> {
  const reads: Record<string, number> = {};
  for (const { outcome, count } of derived.reads) reads[outcome] = (reads[outcome] ?? 0) + count;
  return reads;
}

function configOf(options: TargetOptions): Config {
  const config = defaultConfig();
  return {
    ...config,
    metrics: { ...config.metrics, ...options.metrics },
    otlp: { ...config.otlp, temporality: options.temporality ?? 'cumulative' },
    unconfiguredServices: options.unconfigured ?? 'drop',
  };
}

function timesOf(
  seconds: number,
  clocks: Clocks,
): { startedAtMs: number; monotonicMs: number; durationMs: number; serverAtMs: number } {
  const { wall = seconds, monotonic = seconds, server = Number.NaN } = clocks;
  return {
    startedAtMs: T0 + wall * 1000,
    monotonicMs: 5_000_000 + monotonic * 1000,
    durationMs: 250,
    serverAtMs: T0 + server * 1000,
  };
}

/** A point as a text; the head of this file has the format. */
export function shownPoint(point: OtlpPoint): string {
  const kinds = point.isMonotonic ? 'sum' : 'updown';
  const sumKind = point.temporality === 'delta' ? 'delta' : kinds;
  const kind = point.type === 'sum' ? sumKind : point.type;
  const start = point.startNs === '0' ? '' : ` from ${secondsOf(point.startNs)}`;
  const numbers =
    point.type === 'histogram' || point.type === 'summary' ? point.distribution : point.value;
  const shown = point.flags === 1 ? 'stale' : String(numbers);
  return `${kind} ${point.metric}{${point.attributes}} ${shown} @${secondsOf(point.timeNs)}${start}`;
}

function secondsOf(nanoseconds: string): number {
  return Number(BigInt(nanoseconds) / 1_000_000n - BigInt(T0)) / 1000;
}

/** The outcome of one service on a page; by default, of the service `local`. */
export function outcomeOf(seen: Seen, id = 'local'): ServiceOutcome | undefined {
  return seen.translated.derived.services.find(service => service.id === id);
}

/** The result of work that is done in slices. */
export function finished<T>(steps: Generator<void, T>): T {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** The next process after a clean stop of this one. */
export function successorOf(target: Target, options: TargetOptions = {}): Target {
  return heirOf(finished(saveWhole(target.translation.table)), options);
}

/** The next process after this one was killed. */
export function survivorOf(target: Target, options: TargetOptions = {}): Target {
  const { table } = target.translation;
  // saveStarts() leaves out starts that have not changed since they were saved.
  table.savedVersion = null;
  return heirOf(finished(saveStarts(table)) ?? Buffer.alloc(0), options);
}

function heirOf(blob: Buffer, options: TargetOptions): Target {
  const state = readState(blob);
  if (state === null) throw new Error('cannot read the state: it is damaged');
  const next = new Target(options);
  next.translation.table.restored = state;
  return next;
}

function stamped(text: string): string {
  return text.replaceAll(/ @(-?[\d.]+)$/gm, (_, seconds: string) => ` ${at(Number(seconds))}`);
}

/** A timestamp in milliseconds for a line of text 0.0.4. */
export function at(seconds: number): number {
  return T0 + seconds * 1000;
}
