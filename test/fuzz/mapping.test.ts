// Properties of the points that must hold for any sequence of pages.
import { assert, boolean, constantFrom, property, record } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defaultConfig } from '../../src/config/load.ts';
import type { PageLimits } from '../../src/model/page-rules.ts';
import { OUTCOME, ROLE, type SeriesTable } from '../../src/model/series-table.ts';
import { seriesIn } from '../../src/pipeline/derive/options.ts';
import { keyOfRow } from '../../src/pipeline/decode/series-key.ts';
import { amountOf, attributesText, type OtlpPoint } from '../support/otlp-points.ts';
import { shownPoint, Target, type TargetOptions } from '../support/target.ts';
import { FORGOTTEN_NS } from '../support/wire-sanity.ts';
import { type PageEvent, scrape, SERVERS, tell, type ToldPage, worlds } from './page-world.ts';
import { PARAMETERS } from './parameters.ts';

const options = record({
  mapping: constantFrom('semantic' as const, 'strict' as const),
  temporality: constantFrom('cumulative' as const, 'delta' as const),
  unconfigured: constantFrom('drop' as const, 'send' as const),
  honorTimestamps: boolean(),
  staleMarkers: boolean(),
  dropsPod: boolean(),
  hasRepeats: boolean(),
});
type Options = typeof options extends import('fast-check').Arbitrary<infer T> ? T : never;

const { limits: LIMITS } = defaultConfig().metrics;

function targetOf(chosen: Options, more: Partial<PageLimits> = {}, startTimes = true): Target {
  const { mapping, honorTimestamps, staleMarkers, dropsPod } = chosen;
  const dropLabels = dropsPod ? ['pod'] : [];
  const limits = { ...LIMITS, ...more };
  const targetOptions: TargetOptions = {
    services: ['a', 'b'],
    metrics: { mapping, honorTimestamps, staleMarkers, dropLabels, limits, startTimes },
    temporality: chosen.temporality,
    unconfigured: chosen.unconfigured,
  };
  return new Target(targetOptions);
}

/** The identity of a point's series at a back end. */
function seriesOf(point: OtlpPoint): string {
  return JSON.stringify([point.resource, point.scope, point.metric, point.attributes]);
}

function check(holds: (world: readonly PageEvent[], chosen: Options) => void): void {
  assert(property(worlds, options, holds), PARAMETERS);
}

const timeOf = (point: OtlpPoint): bigint => BigInt(point.timeNs);

describe('of any sequence of pages', () => {
  // The target itself checks that times increase, that streams do not overlap, and that a marker ends only a series that
  // has a value.
  test('what is sent is sane', () => {
    check((world, chosen) => {
      const target = targetOf(chosen);
      for (const told of tell(world, chosen.hasRepeats)) scrape(target, told);
    });
  });

  test('while the start of a cumulative series stays, its value never falls', () => {
    check((world, chosen) => {
      if (chosen.mapping === 'strict') return;
      const target = targetOf({ ...chosen, temporality: 'cumulative' });
      const last = new Map<string, OtlpPoint>();
      for (const told of tell(world, chosen.hasRepeats))
        for (const point of scrape(target, told).points) {
          if (!point.isMonotonic || point.flags === 1) continue;
          const before = last.get(seriesOf(point));
          last.set(seriesOf(point), point);
          if (before?.startNs !== point.startNs) continue;
          if (timeOf(point) - timeOf(before) >= FORGOTTEN_NS) continue;
          const pair = `${shownPoint(before)} then ${shownPoint(point)}`;
          expect(Number(point.value) >= Number(before.value), pair).toBe(true);
        }
    });
  });

  test('deltas add up to the cumulative values', () => {
    check((world, given) => {
      // A baseline gets no marker: with markers, the two temporalities would accept different samples. Where another series
      // takes over an identity, cumulative sends its count with a new start, and delta a baseline.
      const chosen = { ...given, staleMarkers: false, dropsPod: false };
      const pages = [...tell(world, false)];
      // Deltas wait for an uptime that a page lacks, cumulative values do not: here neither uses it.
      const cumulative = grownBy(
        targetOf({ ...chosen, temporality: 'cumulative' }, {}, false),
        pages,
      );
      const target = targetOf({ ...chosen, temporality: 'delta' }, {}, false);
      const sums = new Map<string, number>();
      for (const told of pages)
        for (const point of scrape(target, told).points) {
          if (point.temporality !== 'delta') continue;
          expect(amountOf(point), shownPoint(point)).toBeGreaterThanOrEqual(0);
          sums.set(seriesOf(point), (sums.get(seriesOf(point)) ?? 0) + amountOf(point));
        }
      for (const [series, sum] of sums) {
        const { first, growth, isForgotten } = cumulative.get(series) ?? NEVER_SENT;
        if (isForgotten) continue;
        // The first point is sent whole, or is the baseline.
        expect([growth, growth + first], series).toContain(sum);
      }
    });
  });

  test('what is refused for want of room claims nothing, and the limit of series holds', () => {
    check((world, given) => {
      const chosen = { ...given, staleMarkers: false, honorTimestamps: false };
      const pages = [...tell(withChurn(world), false)];
      const shown = shownBy(pages);
      for (const temporality of ['cumulative', 'delta'] as const) {
        const target = targetOf({ ...chosen, temporality }, FEW_SERIES);
        const claimed = new Map<string, number>();
        for (const told of pages) {
          const { points } = scrape(target, told);
          expect(seriesIn(target.translation.table)).toBeLessThanOrEqual(FEW_SERIES.series);
          for (const point of points) {
            if (point.temporality !== 'delta') continue;
            const server = /server_name=(\w+)/.exec(point.attributes)?.[1] ?? '';
            const key = counterKey(point.serviceId, server, point.metric);
            claimed.set(key, (claimed.get(key) ?? 0) + amountOf(point));
          }
        }
        for (const [key, sum] of claimed) {
          // Without their label, two pods share a series, whose value depends on the pods that are present.
          if (chosen.dropsPod && key.endsWith(' c_total')) continue;
          expect(sum, key).toBeLessThanOrEqual(shown.get(key) ?? Number.NaN);
        }
      }
    });
  });

  test('the account holds every sample line, by service', () => {
    check((world, chosen) => {
      const target = targetOf(chosen);
      for (const told of tell(world, chosen.hasRepeats)) {
        const { translated, reads } = scrape(target, told);
        if (told.event.kind !== 'page') {
          expect(reads).toEqual({});
          continue;
        }
        const byService = new Map<string, number>();
        for (const { service, count } of translated.derived.reads)
          byService.set(service, (byService.get(service) ?? 0) + count);
        for (const service of new Set([
          ...told.goodLines.keys(),
          ...told.badLines.keys(),
          ...byService.keys(),
        ]))
          expect(byService.get(service) ?? 0, service).toBe(
            (told.goodLines.get(service) ?? 0) + (told.badLines.get(service) ?? 0),
          );
        const bad = [...told.badLines.values()].reduce((sum, count) => sum + count, 0);
        expect(translated.page).toMatchObject({ badLines: bad });
        expect(reads['bad_line'] ?? 0).toBe(bad);
      }
    });
  });

  test("the oracle reads exactly the table's data from the request", () => {
    check((world, chosen) => {
      const target = targetOf(chosen);
      for (const told of tell(world, false)) {
        const seen = scrape(target, told);
        const sent = [...seen.points, ...seen.own].map(pointText).sort();
        expect(sent).toEqual(tablePoints(target.translation.table, chosen).sort());
        const { services } = seen.translated.derived;
        const { parts } = seen.translated.batch;
        expect(Object.fromEntries(services.map(({ id, points }) => [id, points]))).toEqual(
          Object.fromEntries(parts.map(({ service, points }) => [service, points])),
        );
      }
    });
  });
});

/** For two configured services. */
const FEW_SERIES = { series: 10, serviceSamples: 8 };

/**
 * Keeps only some lines of each page, and others on the next one: series end and return, all within an hour. Counters
 * fall only at restarts.
 */
function withChurn(world: readonly PageEvent[]): readonly PageEvent[] {
  return world.map((event, page) => ({
    ...event,
    flushes: [],
    gapSeconds: Math.min(event.gapSeconds, 60),
    outcomes: event.outcomes.map((outcome, i) => ({
      ...outcome,
      // A sample with the stamp of the previous sample does not count for its page.
      lag: null,
      growth: Math.abs(outcome.growth),
      isAbsent: outcome.isAbsent || (i + page) % 3 !== 0,
    })),
  }));
}

interface Grown {
  first: number;
  last: number;
  startNs: string;
  lastNs: bigint;
  growth: number;
  isForgotten: boolean;
}

const NEVER_SENT = { first: Number.NaN, growth: Number.NaN, isForgotten: false };

/** The first value of each cumulative series on these pages, and its growth since then, resets included. */
function grownBy(target: Target, pages: readonly ToldPage[]): ReadonlyMap<string, Grown> {
  const grown = new Map<string, Grown>();
  for (const told of pages)
    for (const point of scrape(target, told).points) {
      if (point.temporality !== 'cumulative' || point.flags === 1) continue;
      const value = amountOf(point);
      const lastNs = timeOf(point);
      const series = grown.get(seriesOf(point));
      if (series === undefined) {
        const growth = { growth: 0, isForgotten: false };
        const { startNs } = point;
        grown.set(seriesOf(point), { first: value, last: value, startNs, lastNs, ...growth });
        continue;
      }
      // The whole value of a new stream is growth, unless it starts at its own time: then its growth is unknown.
      const isNew = point.startNs !== series.startNs;
      const isKnown = point.startNs !== point.timeNs;
      if (isNew) series.growth += isKnown ? value : 0;
      else series.growth += value < series.last ? value : value - series.last;
      series.startNs = point.startNs;
      if (lastNs - series.lastNs >= FORGOTTEN_NS) series.isForgotten = true;
      series.last = value;
      series.lastNs = lastNs;
    }
  return grown;
}

/** The key of a server's counters of one name: counters of several pods or commands are summed. */
const counterKey = (service: string, server: string, name: string): string =>
  `${service} ${server} ${name}`;

/**
 * The counts that the pages show: the whole first value of each counter, then its growth, and after a restart of its
 * server, or when it falls, its whole value again.
 */
function shownBy(pages: readonly ToldPage[]): ReadonlyMap<string, number> {
  const shown = new Map<string, number>();
  const last = new Map<string, { readonly value: number; readonly restarts: number }>();
  const restarts = new Map<string, number>();
  for (const { event, text } of pages) {
    for (const index of event.restarts) {
      const server = SERVERS[index]?.join(' ') ?? '';
      restarts.set(server, (restarts.get(server) ?? 0) + 1);
    }
    if (event.kind !== 'page') continue;
    for (const [, name, labels, written] of text.matchAll(/^(\w+)(\{.*?\}) ([^ \n]+)/gm)) {
      const [, service, server] = /namespace="(\w+)",server_name="(\w+)"/.exec(labels ?? '') ?? [];
      const value = Number(written);
      if (service === undefined || server === undefined || !Number.isFinite(value)) continue;
      const begun = restarts.get(`${service} ${server}`) ?? 0;
      const before = last.get(`${name}${labels}`);
      const isSame = before?.restarts === begun && before.value <= value;
      last.set(`${name}${labels}`, { value, restarts: begun });
      const key = counterKey(service, server, (name ?? '').replace(/^h_count$/, 'h'));
      shown.set(key, (shown.get(key) ?? 0) + (isSame ? value - before.value : value));
    }
  }
  return shown;
}

function pointText(point: OtlpPoint): string {
  const value = point.flags === 1 ? 'stale' : point.distribution || String(point.value);
  return `${point.serviceId} ${point.metric} ${point.attributes} ${value} ${point.timeNs} ${point.startNs}`;
}

/** The points of a page, worked out from the columns in the plainest way. */
function tablePoints(table: SeriesTable, chosen: Options): string[] {
  const texts: string[] = [];
  for (let row = 0; row < table.count; row++) {
    const outcome = table.outcome[row];
    const metric = table.metrics[table.metric[row] ?? 0];
    const isHead =
      table.head[row] === row &&
      (table.role[row] === ROLE.scalar ||
        table.role[row] === ROLE.synthetic ||
        table.compounds.has(row));
    if (table.keyLength[row] === 0 || metric === undefined || !isHead) continue;
    if (outcome !== OUTCOME.point && outcome !== OUTCOME.stale) continue;
    const { labels } = keyOfRow(table, row);
    const kept =
      table.role[row] === ROLE.synthetic
        ? []
        : labels.filter(
            ([name]) => !['namespace', 'le', ...(chosen.dropsPod ? ['pod'] : [])].includes(name),
          );
    const attributes = attributesText(
      kept.map(([key, stringValue]) => ({ key, value: { stringValue } })),
    );
    const service = table.services[table.blocks[table.block[row] ?? 0]?.service ?? 0]?.id;
    const isStarted = metric.kind === 'sum' || metric.kind === 'histogram';
    const value = outcome === OUTCOME.stale ? 'stale' : valueText(table, row);
    const start = isStarted ? nanoseconds(table.startMs[row]) : '0';
    texts.push(
      `${service} ${metric.sentName} ${attributes} ${value} ${nanoseconds(table.timeMs[row])} ${start}`,
    );
  }
  return texts;
}

function valueText(table: SeriesTable, row: number): string {
  const compound = table.compounds.get(row);
  if (compound === undefined) return String(table.value[row]);
  const value = (part: number): number => table.value[part] ?? 0;
  const buckets = compound.rows.map(
    (part, i) =>
      `le${compound.bounds[i]}:${value(part) - (i === 0 ? 0 : value(compound.rows[i - 1] ?? 0))}`,
  );
  const last = value(compound.count) - value(compound.rows.at(-1) ?? 0);
  return `count=${value(compound.count)} sum=${value(compound.sum)} ${buckets.join(' ')} inf:${last}`;
}

function nanoseconds(ms: number | undefined): string {
  return ms === undefined || Number.isNaN(ms) ? '0' : `${ms}000000`;
}
