// After an outage, a real back end holds everything that was scraped meanwhile, with its own times, although other series
// have newer samples. Prometheus must be configured for that; VictoriaMetrics takes old samples by default. The full size
// is a day: OUTAGE_POLLS=1440.

import { afterAll, describe, expect, test } from 'vitest';
import { agoMs, liveThroughOutage, type Day, type DayOptions } from '../faults/support/day.ts';
import { until } from '../support/program.ts';
import { metricsBytes } from '../support/otlp-requests.ts';
import { prometheus } from './parts/prometheus.ts';
import { victoriaMetrics } from './parts/victoria-metrics.ts';
import { Parts, reasonToSkip } from './support/part.ts';
import { askPromql } from './support/promql.ts';

const absent = await reasonToSkip([prometheus, victoriaMetrics]);

const DAY: DayOptions = {
  services: 3,
  series: 100,
  usualPolls: 10,
  outagePolls: Number(process.env['OUTAGE_POLLS'] ?? 60),
};
/** The age that the oldest sample may have when it is stored or queried; the added hour is for the test itself. */
const AGE_MINUTES = Math.ceil(agoMs(DAY) / 60_000) + 60;

describe.skipIf(absent !== null)('after an outage', () => {
  const parts = new Parts();
  afterAll(() => parts.stop());

  /** Expects all points of every counter: their number, and their sum, which no other values have. */
  async function expectWhole(
    url: string,
    { source, findings, refusals, account }: Day,
  ): Promise<void> {
    expect(refusals).toEqual([]);
    const clean = { missing: 0, wrong: 0, duplicates: 0, outOfOrder: 0, movedStarts: 0 };
    const words = [...findings.examples, JSON.stringify(account)].join('\n');
    expect(findings, words).toMatchObject(clean);
    const selector = `engine_global_status_commands_total[${String(AGE_MINUTES)}m]`;
    const pages = (findings.pages[0] ?? []).flatMap(number => source.pages.get(number) ?? []);
    const countAll = async (): Promise<number> =>
      (await askPromql(url, `sum(count_over_time(${selector}))`))[0]?.value ?? 0;
    // VictoriaMetrics shows stored samples only after a short time.
    await until(
      'half of it is shown',
      async () => (await countAll()) >= (pages.length * DAY.services * DAY.series) / 2,
      60_000,
    );
    const counts = await askPromql(url, `count_over_time(${selector})`);
    const sums = await askPromql(url, `sum_over_time(${selector})`);
    expect(pages.length).toBeGreaterThan(DAY.usualPolls);
    expect(counts.map(({ value }) => value)).toEqual(
      Array.from({ length: (DAY.services * DAY.series) / 2 }, () => pages.length),
    );
    const byName = new Map(
      sums.map(({ metric, value }) => [`${metric['service_name']} ${metric['command']}`, value]),
    );
    for (const [service, id] of source.options.services.entries())
      for (const series of source.series.filter(({ kind }) => kind === 'counter')) {
        const want = pages.reduce((sum, page) => sum + source.valueAt(series, page, service), 0);
        expect(byName.get(`${id} c${String(series.index)}`)).toBe(want);
      }
  }

  test('VictoriaMetrics holds all of it with its defaults, and Prometheus if late samples are allowed for that long', async () => {
    const victoria = parts.keep(await victoriaMetrics.start({}));
    const window = `storage: {tsdb: {out_of_order_time_window: ${String(AGE_MINUTES)}m}}\n`;
    const prom = await goingOn(window);
    const forwardTo = [victoria.otlpUrl, prom.otlpUrl];
    const day = await liveThroughOutage({ ...DAY, forwardTo });
    await victoria.flush();
    for (const { url } of [victoria, prom]) await expectWhole(url, day);
  }, 1_800_000);

  test('Prometheus refuses samples older than its window', async () => {
    const back = await goingOn('storage: {tsdb: {out_of_order_time_window: 30m}}\n');
    expect(await post(back.otlpUrl, 20)).toBe('200 ');
    expect(await post(back.otlpUrl, 40)).toMatch(/^400 too old sample/);
  });

  test('a repeated batch is stored once by Prometheus, and as often as it came by VictoriaMetrics', async () => {
    const prometheusBack = parts.keep(await prometheus.start({}));
    const victoriaBack = parts.keep(await victoriaMetrics.start({}));
    const now = Date.now();
    for (const { url, otlpUrl } of [prometheusBack, victoriaBack])
      for (let i = 0; i < 2; i++) expect(await post(otlpUrl, 0, now), url).toMatch(/^20[04] /);
    const [once] = await askPromql(prometheusBack.url, 'count_over_time(late[5m])');
    expect(once?.value).toBe(1);
    // VictoriaMetrics shows stored samples only after a short time.
    await until('it is shown', async () => (await victoriaBack.series('late')).length > 0, 30_000);
    const [twice] = await victoriaBack.series('late');
    expect(twice?.values).toEqual([1, 1]);
    expect(new Set(twice?.timestamps)).toEqual(new Set([now]));
  });

  /** Sends one point that is `minutes` old, and returns the answer. */
  async function post(otlpUrl: string, minutes: number, now = Date.now()): Promise<string> {
    const timeUnixNano = String((now - minutes * 60_000) * 1e6);
    const body = new Uint8Array(metricsBytes('a', 1, 'late', timeUnixNano));
    const headers = { 'content-type': 'application/x-protobuf' };
    const answer = await fetch(otlpUrl, { method: 'POST', headers, body });
    return `${String(answer.status)} ${await answer.text()}`;
  }

  /** Starts a Prometheus that has current samples, as if others wrote to it: here of a target that is down. */
  async function goingOn(config: string): Promise<{ url: string; otlpUrl: string }> {
    const target = "{targets: ['127.0.0.1:9']}";
    const jobs = `scrape_configs: [{job_name: now, scrape_interval: 1s, static_configs: [${target}]}]\n`;
    const back = parts.keep(await prometheus.start({ config: `${config}${jobs}` }));
    const isUp = async () => (await askPromql(back.url, 'up{job="now"}')).length > 0;
    await until('it has scraped', isUp, 30_000);
    return back;
  }
});
