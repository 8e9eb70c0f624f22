// The daemon reads all 185 series of the catalog, as the simulated service shows them over ten minutes,
// and pages of a real exporter before and after its database went down. Real back ends then hold all series and values.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pageLines, renderPage } from '../../src/simulator/page.ts';
import { demoServices, labelsOf, type SimulatedSeries, World } from '../../src/simulator/world.ts';
import { ADDED_SERIES } from '../support/otlp-points.ts';
import { bridgePages } from './story/bridge-pages.ts';
import { stores } from './story/stores.ts';
import { expectSame, isNear, pageLabels } from './support/compare.ts';
import { readPage, seriesKey } from './support/exposition.ts';
import { checkoutFolder } from './support/folder.ts';
import { Parts } from './support/part.ts';
import { askPromql, askPromqlByMinute } from './support/promql.ts';

const MINUTE_MS = 60_000;
const endMs = Math.floor(Date.now() / MINUTE_MS - 1) * MINUTE_MS;
const minutes = Array.from({ length: 11 }, (_, minute) => endMs - (10 - minute) * MINUTE_MS);
const startMs = minutes[0] ?? 0;

const world = new World({
  services: demoServices(),
  seed: 7,
  originMs: startMs - 60 * MINUTE_MS,
  refreshMs: MINUTE_MS,
  proxyLagMs: 20_000,
});
world.restart('orders-0', startMs + 5.5 * MINUTE_MS);
const lines = pageLines(world.series);
const simulatedPages = minutes.map(timeMs => renderPage(world, lines, timeMs));

/** The sum of all uptimes on the last page, which no earlier page has. */
const uptimes = world.series
  .filter(({ name }) => name === 'engine_global_status_uptime')
  .reduce((sum, series) => sum + world.valueOf(series, endMs), 0);

const CAPTURE_ID = 'dbcaptured0001';
const capture = (name: string): string =>
  readFileSync(join(checkoutFolder, 'test/fixtures/captures', name), 'utf8');
const alive = capture('engine.prom');
const down = capture('engine_dbdown.prom');

const backEnds = await stores('otlp: {translation_strategy: NoTranslation}\n');

describe.each(backEnds)('$name holds', ({ name, skip, start }) => {
  const label = name === 'Prometheus' ? 'instance' : '"service.instance.id"';
  const captured = `{${label}="${CAPTURE_ID}"}`;
  const isEqual = name === 'Prometheus' ? Object.is : isNear;
  const parts = new Parts();
  let url = '';

  beforeAll(async () => {
    if (skip !== null) return;
    const running = parts.keep(await start());
    url = running.url;
    const isSaid = async (query: string, value: number, atMs?: number): Promise<boolean> => {
      const [sample] = await askPromql(url, query, atMs);
      return sample?.value === value;
    };
    await bridgePages({
      sources: [
        { services: world.services.map(({ id }) => id), pages: simulatedPages },
        { services: [CAPTURE_ID], pages: [...Array.from({ length: 5 }, () => alive), down] },
      ],
      otlpUrl: running.otlpUrl,
      hasArrived: async () => {
        await running.flush();
        return (
          (await isSaid('sum(engine_global_status_uptime)', uptimes, endMs)) &&
          (await isSaid(`engine_up${captured}`, 0))
        );
      },
    });
  });
  afterAll(() => parts.stop());

  test.skipIf(skip !== null)('each of the 185 series with its value at every minute', async () => {
    const stored = await askPromqlByMinute(url, '{topology_type!=""}', [startMs, endMs]);
    const arrived = new Map(stored.map(({ metric, values }) => [keyOf(metric), values]));
    expect(new Set(world.series.map(({ name }) => name)).size).toBe(185);
    expect([...arrived.keys()].sort()).toEqual(world.series.map(keyOfSimulated).sort());
    const wrong = world.series.flatMap(series =>
      minutes.flatMap(timeMs => {
        const sent = world.valueOf(series, world.sampleTimeMs(series.server, timeMs));
        const found = arrived.get(keyOfSimulated(series))?.get(timeMs) ?? Number.NaN;
        return isEqual(sent, found) ? [] : [`${keyOfSimulated(series)} ${sent} became ${found}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test.skipIf(skip !== null)('every series of a captured page', async () => {
    const samples = await askPromql(url, `last_over_time(${captured}[10m])`);
    const page = new Map([...readPage(alive), ...readPage(down)]);
    const arrived = samples.filter(({ metric }) => !ADDED_SERIES.has(metric['__name__'] ?? ''));
    const found = arrived.filter(({ metric }) => metric['__name__'] !== 'target_info');
    expect(page.size).toBeGreaterThan(1100);
    expectSame(page, new Map(found.map(({ metric, value }) => [keyOf(metric), value])), isEqual);
  });

  test.skipIf(skip !== null)('of the captured database what its last page says', async () => {
    const check = async (query: string, wanted: readonly number[]): Promise<void> => {
      const samples = await askPromql(url, query);
      expect(
        samples.map(({ value }) => value),
        query,
      ).toEqual(wanted);
    };
    await check(`up${captured}`, [1]);
    await check(`engine_up${captured}`, [0]);
    // The database is down: the last page shows no connections. The pages before show 2 of 151, 125 s after its start.
    await check(`engine_global_status_threads_connected${captured}`, []);
    const before = (name: string): string => `last_over_time(${name}${captured}[10m])`;
    const connected = before('engine_global_status_threads_connected');
    await check(`${connected} / ${before('engine_global_variables_max_connections')}`, [2 / 151]);
    await check(before('engine_global_status_uptime'), [125]);
    await check(before('engine_global_status_queries'), [387]);
    await check(`increase(engine_global_status_slow_queries${captured}[10m])`, [0]);
  });
});

/** The key of a stored series, with the name and labels on the page. */
function keyOf(metric: Readonly<Record<string, string>>): string {
  return seriesKey(metric['__name__'] ?? '', pageLabels(metric));
}

function keyOfSimulated(series: SimulatedSeries): string {
  const { namespace: _id, ...labels } = Object.fromEntries(labelsOf(series));
  return seriesKey(series.name, labels);
}
