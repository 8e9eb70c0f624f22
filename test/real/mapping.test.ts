// The points that one cycle makes from real pages: compares their types, start times, resources and times with known
// facts about the servers. receiver.test.ts compares the strict mapping with the Collector's own Prometheus receiver.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../support/program.ts';
import { collector } from './parts/collector.ts';
import { configureBridge } from './support/bridge.ts';
import { pointKey, readPage, seriesKey } from './support/exposition.ts';
import { Parts, reasonToSkip } from './support/part.ts';
import { readReceived, type ReceivedPoint } from './support/received.ts';
import { siteParts, startSite, type Site } from './support/site.ts';

const skip = await reasonToSkip([...siteParts, collector]);

/** Untyped on the page; according to the server's manual, they only grow until it restarts. */
const KNOWN_COUNTERS =
  'aborted_clients bytes_received bytes_sent created_tmp_disk_tables innodb_data_written opened_tables queries questions rows_read select_full_join slow_queries sort_rows table_locks_immediate threads_created'.split(
    ' ',
  );

/** Untyped or gauge on the page, and no counters. */
const KNOWN_LEVELS = 'open_files open_tables threads_connected threads_running uptime'.split(' ');

describe.skipIf(skip !== null)('after one cycle', () => {
  let site: Site;
  let points: ReceivedPoint[];
  let startedAtMs: number;
  let endedAtMs: number;

  beforeAll(async () => {
    site = await startSite();
    startedAtMs = Date.now();
    points = await cycleToCollector(site);
    endedAtMs = Date.now();
  });
  afterAll(() => site?.stop());

  const pointsOf = (id: string): ReceivedPoint[] =>
    points.filter(({ resource }) => resource['service.instance.id'] === id);
  const named = (id: string, name: string): ReceivedPoint | undefined =>
    pointsOf(id).find(point => point.name === name);

  test('a declared counter is a cumulative monotonic sum with a start', () => {
    for (const { id, front } of site.services) {
      const page = readPage(front.pages[0]?.body ?? '');
      const counters = [...page.values()].filter(({ type }) => type === 'counter');
      const declared = new Set(counters.map(({ name }) => name));
      const sent = pointsOf(id).filter(({ name }) => declared.has(name));
      expect(sent.length).toBe(counters.length);
      expect(sent.length).toBeGreaterThan(500);
      const wrong = sent.filter(
        ({ type, isMonotonic, isCumulative, startMs, timeMs }) =>
          !(type === 'sum' && isMonotonic && isCumulative && startMs > 0 && startMs <= timeMs),
      );
      expect(wrong).toEqual([]);
    }
  });

  test('the page has a histogram and a summary, and each arrives as such', () => {
    for (const { id, front } of site.services) {
      const page = readPage(front.pages[0]?.body ?? '');
      for (const type of ['histogram', 'summary'] as const) {
        const families = [...page.values()].filter(series => series.type === type);
        const sent = pointsOf(id).filter(point => point.type === type);
        expect(new Set(sent.map(({ name, labels }) => seriesKey(name, labels)))).toEqual(
          new Set(families.map(pointKey)),
        );
        expect(sent.length).toBeGreaterThan(0);
      }
    }
  });

  test('untyped counters of the server are sums that start when the server did', async () => {
    for (const { id, database } of site.services) {
      const uptime = await database.sql(
        "select unix_timestamp(now(6)) - variable_value from information_schema.global_status where variable_name = 'uptime'",
      );
      for (const word of KNOWN_COUNTERS) {
        const point = named(id, `mysql_global_status_${word}`);
        expect(point, word).toMatchObject({
          type: 'sum',
          isMonotonic: true,
          isCumulative: true,
          metadata: { 'prometheus.type': 'unknown' },
        });
        const offSeconds = (point?.startMs ?? 0) / 1000 - Number(uptime);
        expect(Math.abs(offSeconds), word).toBeLessThan(2.5);
      }
    }
  });

  test('a value that goes up and down is not a monotonic sum', () => {
    for (const { id } of site.services) {
      for (const word of KNOWN_LEVELS) {
        const point = named(id, `mysql_global_status_${word}`);
        expect(point, word).toMatchObject({ isMonotonic: false, labels: {} });
      }
    }
  });

  test('a service is one resource, and all of its points have the time of its scrape', () => {
    for (const { id, name, front } of site.services) {
      const own = pointsOf(id);
      const { hostname, port } = new URL(front.url);
      for (const { resource } of own) {
        expect(resource).toEqual({
          'service.name': name,
          'service.instance.id': id,
          'server.address': hostname,
          'server.port': port,
          'url.scheme': 'http',
        });
      }
      const times = [...new Set(own.map(({ timeMs }) => timeMs))];
      expect(times).toHaveLength(1);
      expect(times[0]).toBeGreaterThanOrEqual(startedAtMs);
      expect(times[0]).toBeLessThanOrEqual(endedAtMs);
      expect(own.filter(({ labels }) => 'namespace' in labels)).toEqual([]);
    }
  });
});

/** Runs one cycle of the program, and returns the points that a Collector accepted. */
async function cycleToCollector(site: Site): Promise<ReceivedPoint[]> {
  await using parts = new Parts();
  const running = parts.keep(await collector.start({}));
  const otlp = { endpoint: running.httpUrl };
  const file = await configureBridge({ services: site.services, otlp });
  const result = await run(['once', '--config', file]);
  expect(result, result.stderr).toMatchObject({ code: 0 });
  await running.stop();
  return readReceived(running.output);
}
