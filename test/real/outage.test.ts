// The daemon during an outage of a real server, its restart and the loss of the exporter: every served page arrives
// whole, each series that vanished is marked as ended exactly once, and counters get a new start.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../support/program.ts';
import { ADDED_SERIES } from '../support/otlp-points.ts';
import { collector } from './parts/collector.ts';
import { exporter, type ExporterRunning } from './parts/exporter.ts';
import { type FrontRunning, startFront } from './parts/front.ts';
import { mariadb, type MariadbRunning } from './parts/mariadb.ts';
import { API_KEY, configureBridge, startBridge } from './support/bridge.ts';
import { expectSame } from './support/compare.ts';
import { pointKey, readPage, seriesKey, type PageSeries } from './support/exposition.ts';
import { Parts, reasonToSkip } from './support/part.ts';
import { readReceived, type ReceivedPoint } from './support/received.ts';

const skip = await reasonToSkip([mariadb, exporter, collector]);

const UP = 'mysql_up';
const QUESTIONS = 'mysql_global_status_questions';

interface Scrape {
  readonly timeMs: number;
  readonly added: ReadonlyMap<string, number>;
  readonly series: ReadonlyMap<string, number>;
  readonly points: readonly ReceivedPoint[];
  /** The keys of the staleness markers. */
  readonly ended: readonly string[];
}

describe.skipIf(skip !== null)('a daemon through an outage', () => {
  const parts = new Parts();
  let pages: ReadonlyMap<string, PageSeries>[];
  let scrapes: Scrape[];
  let exitCode: number | null;

  beforeAll(async () => {
    const database = parts.keep(await mariadb.start({}));
    const source = parts.keep(await exporter.start({ databasePort: database.port }));
    const door = parts.keep(await startFront({ exporterUrl: source.url, key: API_KEY }));
    const sink = parts.keep(await collector.start({}));
    const services = [{ id: 'dbreal0000001', name: 'primary', front: door }];
    const file = await configureBridge({
      services,
      otlp: { endpoint: sink.httpUrl },
      metrics: { interval: '1s' },
    });
    const bridge = parts.keep(await startBridge(file, services));
    await play(database, source, door);
    await bridge.stop();
    exitCode = await bridge.exited;
    await sink.stop();
    pages = door.pages.map(({ body }) => readPage(body));
    scrapes = byScrape(await readReceived(sink.output));
  });
  afterAll(() => parts.stop());

  test('the daemon ends cleanly', () => {
    expect(exitCode).toBe(0);
  });

  test('every page that was served has arrived, in its order', () => {
    const good = scrapes.filter(({ added }) => added.get('up') === 1);
    // The page that the daemon was fetching when it got the signal to stop may be missing.
    expect(pages.length - good.length).toBeLessThanOrEqual(1);
    for (const [index, { series }] of good.entries()) expectSame(pages[index] ?? new Map(), series);
    const times = scrapes.map(({ timeMs }) => timeMs);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  test('a series that disappears between two pages is marked as ended, once', () => {
    let before: ReadonlyMap<string, number> = new Map();
    let marked = 0;
    for (const [index, scrape] of scrapes.entries()) {
      const gone = new Set(before.keys());
      for (const { name, labels, isStale } of scrape.points) {
        if (!isStale) gone.delete(seriesKey(name, labels));
      }
      expect([...scrape.ended].sort(), `scrape ${index}`).toEqual([...gone].sort());
      before = new Map(
        scrape.points.filter(p => !p.isStale).map(p => [seriesKey(p.name, p.labels), 1]),
      );
      marked += gone.size;
    }
    expect(marked).toBeGreaterThan(1000);
  });

  test('while the exporter is gone, the service is down and nothing else is reported for it', () => {
    const failed = scrapes.filter(({ added }) => added.get('up') === 0);
    expect(failed.length).toBeGreaterThanOrEqual(2);
    for (const { series } of failed) expect(series.size).toBe(0);
    const last = pages.at(-1);
    expect(new Set(failed[0]?.ended)).toEqual(new Set([...(last?.values() ?? [])].map(pointKey)));
    expect(failed[1]?.ended).toEqual([]);
  });

  test('counters start again with the server, and never before', () => {
    const starts = scrapes.flatMap(({ points, timeMs }) =>
      points
        .filter(point => point.name === QUESTIONS && !point.isStale)
        .map(({ startMs, series }) => ({ startMs, timeMs, value: [...series.values()][0] ?? NaN })),
    );
    const distinct = [...new Set(starts.map(({ startMs }) => startMs))];
    expect(distinct).toHaveLength(2);
    const [first = NaN, second = NaN] = distinct;
    const before = starts.filter(({ startMs }) => startMs === first);
    const after = starts.filter(({ startMs }) => startMs === second);
    expect(second).toBeGreaterThan(before.at(-1)?.timeMs ?? NaN);
    expect(second).toBeLessThanOrEqual(after[0]?.timeMs ?? NaN);
    expect(after[0]?.value).toBeLessThan(before.at(-1)?.value ?? NaN);
    for (const run of [before, after]) {
      expect(run.map(({ value }) => value)).toEqual(run.map(r => r.value).sort((a, b) => a - b));
    }
  });
});

/** Waits for three pages, kills the server for two pages, resumes it for three pages, then stops the exporter. */
async function play(
  database: MariadbRunning,
  source: ExporterRunning,
  door: FrontRunning,
): Promise<void> {
  const upOf = (body: string): number | undefined => readPage(body).get(seriesKey(UP, {}))?.value;
  const served = (up: number, from: number): number =>
    door.pages.slice(from).filter(({ body }) => upOf(body) === up).length;
  await until('three pages', () => served(1, 0) >= 3, 60_000);
  const halted = door.pages.length;
  await database.halt('SIGKILL');
  await until('two pages without it', () => served(0, halted) >= 2, 60_000);
  const resumed = door.pages.length;
  await database.resume();
  await until('three pages with it', () => served(1, resumed) >= 3, 60_000);
  await source.stop();
  const failures = door.failures();
  await until('no page', () => door.failures() >= failures + 3, 60_000);
}

function byScrape(points: readonly ReceivedPoint[]): Scrape[] {
  return [...new Set(points.map(({ timeMs }) => timeMs))].map(timeMs => {
    const all = points.filter(point => point.timeMs === timeMs);
    const own = all.filter(({ name }) => !ADDED_SERIES.has(name));
    const added = all.filter(({ name }) => ADDED_SERIES.has(name));
    return {
      timeMs,
      points: own,
      series: new Map(own.flatMap(({ series }) => [...series])),
      added: new Map(added.map(({ name, series }) => [name, [...series.values()][0] ?? NaN])),
      ended: own.filter(({ isStale }) => isStale).map(p => seriesKey(p.name, p.labels)),
    };
  });
}
