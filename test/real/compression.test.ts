// `otlp.compression: auto` with real back ends: two that take zstd, one that refuses it with 400, a balancer over one of
// each, and a back end that answers 400 to a wrong path. Whatever they take, every page arrives.

import { afterEach, describe, expect, test } from 'vitest';
import { Recorder } from '../support/recorder.ts';
import { collector } from './parts/collector.ts';
import { prometheus, type PrometheusRunning } from './parts/prometheus.ts';
import { victoriaMetrics, type VictoriaMetricsRunning } from './parts/victoria-metrics.ts';
import { bridgePages } from './story/bridge-pages.ts';
import { Parts, reasonToSkip } from './support/part.ts';
import { askPromql } from './support/promql.ts';
import { readReceived } from './support/received.ts';

const noCollector = await reasonToSkip([collector]);
const noPrometheus = await reasonToSkip([prometheus]);
const noVictoriaMetrics = await reasonToSkip([victoriaMetrics]);

const SERVICE = 'dbzstd0000001';
const SERIES = 40;
/** Each page has one value, which identifies it. */
const VALUES = Array.from({ length: 8 }, (_, page) => page + 1);
const PAGES = VALUES.map(value =>
  Array.from(
    { length: SERIES },
    (_, i) => `x_level{namespace="${SERVICE}",server_name="a",place="${String(i)}"} ${value}`,
  )
    .join('\n')
    .concat('\n'),
);

describe('compression: auto', () => {
  const parts = new Parts();
  afterEach(() => parts.stop());

  async function bridge(recorder: Recorder, hasArrived: () => Promise<boolean>): Promise<void> {
    const sources = [{ services: [SERVICE], pages: PAGES }];
    await bridgePages({ sources, otlpUrl: recorder.url, hasArrived });
  }

  /** The encodings and statuses of the requests, without repetitions: `gzip 200`, `zstd 400`, … */
  function story({ requests }: Recorder): readonly string[] {
    const all = requests.map(({ encoding, status }) => `${encoding} ${String(status)}`);
    return all.filter((one, i) => one !== all[i - 1]);
  }

  test.skipIf(noCollector !== null)(
    'a Collector gets zstd from the second request on',
    async () => {
      const running = parts.keep(await collector.start({}));
      const recorder = parts.keep(await Recorder.start([`${running.httpUrl}/v1/metrics`]));
      await bridge(recorder, async () => (await valuesAt(running.output)).size === VALUES.length);
      expect(story(recorder)).toEqual(['gzip 200', 'zstd 200']);
      const points = (await readReceived(running.output)).filter(({ name }) => name === 'x_level');
      const byPlace = new Map<string, number[]>();
      for (const { series } of points)
        for (const [key, value] of series) byPlace.set(key, [...(byPlace.get(key) ?? []), value]);
      expect(byPlace.size).toBe(SERIES);
      // Ignores repetitions: the page server repeats the last page.
      for (const values of byPlace.values()) {
        expect([...new Set(values)]).toEqual(VALUES);
        expect(values.toSorted((a, b) => a - b)).toEqual(values);
      }
    },
  );

  test.skipIf(noVictoriaMetrics !== null)('VictoriaMetrics gets zstd', async () => {
    const running = parts.keep(await victoriaMetrics.start({}));
    const recorder = parts.keep(await Recorder.start([running.otlpUrl]));
    await bridge(recorder, async () => (await stored(running)).size === VALUES.length);
    expect(story(recorder)).toEqual(['gzip 200', 'zstd 200']);
  });

  test.skipIf(noPrometheus !== null)('Prometheus refuses it once, and gets gzip', async () => {
    const running = parts.keep(await prometheus.start({}));
    const recorder = parts.keep(await Recorder.start([running.otlpUrl]));
    await bridge(recorder, async () => (await held(running)).size === VALUES.length);
    expect(story(recorder)).toEqual(['gzip 200', 'zstd 400', 'gzip 200']);
  });

  test.skipIf(noPrometheus !== null || noVictoriaMetrics !== null)(
    'a balancer over one of each gets every page',
    async () => {
      const takes = parts.keep(await victoriaMetrics.start({}));
      const refuses = parts.keep(await prometheus.start({}));
      const recorder = parts.keep(await Recorder.start([takes.otlpUrl, refuses.otlpUrl]));
      const union = async (): Promise<Set<number>> =>
        new Set([...(await stored(takes)), ...(await held(refuses))]);
      await bridge(recorder, async () => (await union()).size === VALUES.length);
      expect(recorder.requests.filter(({ encoding }) => encoding === 'zstd').length).toBeLessThan(
        4,
      );
      expect(recorder.requests.at(-1)).toMatchObject({ encoding: 'gzip', status: 200 });
    },
  );
});

test.skipIf(noVictoriaMetrics !== null)(
  'VictoriaMetrics answers 400 to a wrong path: every page waits, and none is lost',
  async () => {
    await using parts = new Parts();
    const running = parts.keep(await victoriaMetrics.start({}));
    const urls = [`${running.url}/v1/metrics`];
    const recorder = parts.keep(await Recorder.start(urls));
    const hasArrived = async (): Promise<boolean> => {
      if (recorder.requests.length > 5) urls[0] = running.otlpUrl;
      return (await stored(running)).size === VALUES.length;
    };
    const sources = [{ services: [SERVICE], pages: PAGES }];
    await bridgePages({ sources, otlpUrl: recorder.url, hasArrived });
    expect(recorder.requests[0]?.status).toBe(400);
  },
);

async function valuesAt(output: string): Promise<Set<number>> {
  const points = (await readReceived(output)).filter(({ name }) => name === 'x_level');
  return new Set(points.flatMap(({ series }) => [...series.values()]));
}

/** The values of all pages that are stored for every series. */
async function stored(running: VictoriaMetricsRunning): Promise<Set<number>> {
  const series = await running.series('{__name__="x_level"}');
  if (series.length !== SERIES) return new Set();
  return new Set(VALUES.filter(value => series.every(({ values }) => values.includes(value))));
}

async function held({ url }: PrometheusRunning): Promise<Set<number>> {
  const found = new Set<number>();
  for (const value of VALUES) {
    const query = `count(count_over_time((x_level == ${String(value)})[5m:250ms]))`;
    if ((await askPromql(url, query))[0]?.value === SERIES) found.add(value);
  }
  return found;
}
