// Runs one cycle of the program from three real database servers to each real back end. Then compares the data in the
// back end with the served pages, series by series and value by value.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run, until } from '../support/program.ts';
import { ADDED_SERIES } from '../support/otlp-points.ts';
import { collector, type CollectorRunning } from './parts/collector.ts';
import { prometheus } from './parts/prometheus.ts';
import {
  type StoredSeries,
  victoriaMetrics,
  type VictoriaMetricsRunning,
} from './parts/victoria-metrics.ts';
import { API_KEY, configureBridge } from './support/bridge.ts';
import { expectSame, isNear, pageLabels } from './support/compare.ts';
import { knownToOtlp, type PageSeries, readPage, seriesKey } from './support/exposition.ts';
import { Parts, reasonToSkip } from './support/part.ts';
import { askPromql, type PromqlSample } from './support/promql.ts';
import { readReceived, type ReceivedPoint } from './support/received.ts';
import { siteParts, startSite, type Site } from './support/site.ts';

const noSite = await reasonToSkip(siteParts);
const noCollector = await reasonToSkip([collector]);
const noVictoriaMetrics = await reasonToSkip([victoriaMetrics]);
const noPrometheus = await reasonToSkip([prometheus]);

describe.skipIf(noSite !== null)('after one cycle a real back end holds the page', () => {
  let site: Site;
  beforeAll(async () => {
    site = await startSite();
  });
  afterAll(() => site?.stop());

  /** Runs one cycle, and returns the series on the page of each service, by service id. */
  async function cycle(
    otlp: Record<string, unknown>,
    metrics: Record<string, unknown> = {},
  ): Promise<Map<string, Map<string, PageSeries>>> {
    const served = site.services.map(({ front }) => front.pages.length);
    const file = await configureBridge({ services: site.services, otlp, metrics });
    const result = await run(['once', '--config', file]);
    expect(result, result.stderr).toMatchObject({ code: 0 });
    expect(site.services.map(({ front }) => front.pages.length)).toEqual(served.map(n => n + 1));
    return new Map(
      site.services.map(({ id, front }) => [id, readPage(front.pages.at(-1)?.body ?? '')]),
    );
  }

  /** The stored samples of one service, by series, without the series that the bridge adds. Checks those here. */
  function ofService(
    samples: readonly PromqlSample[],
    id: string,
    page: ReadonlyMap<string, PageSeries>,
  ): Map<string, number> {
    const arrived = new Map<string, number>();
    const added = new Map<string, number>();
    for (const { metric, value } of samples) {
      const { __name__: name = '', ...rest } = metric;
      if ((rest['service.instance.id'] ?? rest['instance']) !== id || name === 'target_info')
        continue;
      const labels = pageLabels(rest);
      (ADDED_SERIES.has(name) ? added : arrived).set(seriesKey(name, labels), value);
    }
    expectAdded(added, page);
    return arrived;
  }

  function expectAdded(
    added: ReadonlyMap<string, number>,
    page: ReadonlyMap<string, PageSeries>,
  ): void {
    expect([...added.keys()].sort()).toEqual([...ADDED_SERIES].map(n => seriesKey(n, {})).sort());
    expect(added.get(seriesKey('up', {}))).toBe(1);
    expect(added.get(seriesKey('scrape_samples_scraped', {}))).toBe(page.size);
  }

  async function withCollector(
    use: (running: CollectorRunning) => Promise<void>,
  ): Promise<ReceivedPoint[]> {
    await using parts = new Parts();
    const running = parts.keep(await collector.start({}));
    await use(running);
    await running.stop();
    return readReceived(running.output);
  }

  for (const protocol of ['http/protobuf', 'http/json', 'grpc']) {
    for (const compression of protocol === 'grpc' ? ['gzip', 'none'] : ['gzip', 'zstd', 'none']) {
      const title = `an OpenTelemetry Collector, over ${protocol} with compression ${compression}`;
      test.skipIf(noCollector !== null)(title, async () => {
        let pages = new Map<string, Map<string, PageSeries>>();
        const points = await withCollector(async ({ httpUrl, grpcUrl }) => {
          const endpoint = protocol === 'grpc' ? grpcUrl : httpUrl;
          pages = await cycle({ endpoint, protocol, compression });
        });
        const samples = points.flatMap(point =>
          [...point.series].map(([key, value]) => ({ key, value, point })),
        );
        for (const [id, page] of pages) {
          const own = samples.filter(({ point }) => point.resource['service.instance.id'] === id);
          const added = own.filter(({ point }) => ADDED_SERIES.has(point.name));
          const arrived = own.filter(({ point }) => !ADDED_SERIES.has(point.name));
          expect(page.size).toBeGreaterThan(1000);
          expect(arrived.length).toBe(knownToOtlp(page).size);
          expectSame(knownToOtlp(page), new Map(arrived.map(({ key, value }) => [key, value])));
          expectAdded(new Map(added.map(({ key, value }) => [key, value])), page);
        }
        expect(new Set(points.map(point => point.resource['service.instance.id']))).toEqual(
          new Set(pages.keys()),
        );
      });
    }
  }

  // This store keeps decimals, not doubles, and rounds at about twelve digits. A second one that scrapes the page itself
  // shows the right value, to the last bit.
  test.skipIf(noVictoriaMetrics !== null)('VictoriaMetrics, over http/protobuf', async () => {
    await using parts = new Parts();
    for (const { front } of site.services) {
      front.freeze();
      parts.keep({ stop: () => Promise.resolve(front.thaw()) });
    }
    const running = parts.keep(await victoriaMetrics.start({}));
    const pages = await cycle({ metrics_endpoint: running.otlpUrl });
    await eachIsUp(running, pages.size);
    const stored = await running.series('{__name__!=""}');
    expect(stored.filter(({ values }) => values.length !== 1)).toEqual([]);
    const direct = await scrapedDirectly(site.services);
    for (const [id, page] of pages) {
      const arrived = ofService(newestOf(stored), id, page);
      expect(page.size).toBeGreaterThan(1000);
      expectSame(knownToOtlp(page), arrived, isNear);
      expect(arrived).toEqual(knownToOtlp(ofDirectScrape(newestOf(direct), id)));
    }
  });

  test.skipIf(noPrometheus !== null)(
    'Prometheus, over http/protobuf, with unchanged names',
    async () => {
      await using parts = new Parts();
      const config = 'otlp: {translation_strategy: NoTranslation}\n';
      const { otlpUrl, url } = parts.keep(await prometheus.start({ config }));
      const pages = await cycle({ metrics_endpoint: otlpUrl });
      const samples = await askPromql(url, '{__name__!=""}');
      for (const [id, page] of pages) {
        const arrived = ofService(samples, id, page);
        expect(page.size).toBeGreaterThan(1000);
        expectSame(knownToOtlp(page), arrived);
      }
    },
  );
});

function newestOf(series: readonly StoredSeries[]): PromqlSample[] {
  return series.map(({ metric, values }) => ({ metric, value: values.at(-1) ?? Number.NaN }));
}

/** The series that another VictoriaMetrics stores when it scrapes the fronts itself. */
async function scrapedDirectly(services: Site['services']): Promise<StoredSeries[]> {
  await using parts = new Parts();
  const running = parts.keep(await victoriaMetrics.start({ scrapeConfig: scrapeConfig(services) }));
  await eachIsUp(running, services.length);
  return await running.series('{__name__!=""}');
}

/** Waits until so many services are up in a store: an export right after the write may lack the newest samples. */
async function eachIsUp(running: VictoriaMetricsRunning, count: number): Promise<void> {
  const areUp = async (): Promise<boolean> => {
    const up = await running.series('up');
    return up.filter(({ values }) => values.includes(1)).length === count;
  };
  await until('each service is up in the store', areUp, 30_000);
}

function scrapeConfig(services: Site['services']): string {
  const targets = services.map(
    ({ id, front }) => `{targets: ["${new URL(front.url).host}"], labels: {instance: ${id}}}`,
  );
  return `
scrape_configs:
  - job_name: direct
    scrape_interval: 1s
    metrics_path: /observability/v2/metrics
    headers: ["X-API-Key: ${API_KEY}"]
    static_configs: [${targets.join(', ')}]
`;
}

/** The directly scraped samples of one front, without the labels and series that the store adds. */
function ofDirectScrape(samples: readonly PromqlSample[], id: string): Map<string, number> {
  const arrived = new Map<string, number>();
  for (const { metric, value } of samples) {
    const { __name__: name = '', job: _job, instance, ...labels } = metric;
    // Leaves out the series that this scraper adds, which differ from ours.
    if (instance === id && !/^(up|scrape_.*)$/.test(name))
      arrived.set(seriesKey(name, labels), value);
  }
  return arrived;
}
