// How a real Prometheus stores samples that lag behind the scrape by more than an interval, as a proxy's do on the
// service's page. Their own series are in order. But Prometheus also writes a `target_info` for every Resource at the
// times of its points, and refuses the whole request if a `target_info` is older than the newest one that it has.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { prometheus } from './parts/prometheus.ts';
import { bridgePages } from './story/bridge-pages.ts';
import { checkoutFolder } from './support/folder.ts';
import { Parts, reasonToSkip } from './support/part.ts';
import { askPromql } from './support/promql.ts';

const noPrometheus = await reasonToSkip([prometheus]);

const SERVICE = 'dblate0000001';
/** Polled every second: the engine's samples are half an interval old, the proxy's three. */
const PAGE = `
engine_up{namespace="${SERVICE}",server_name="a"} 1 <now-0.5>
engine_global_status_threads_running{namespace="${SERVICE}",server_name="a"} 4 <now-0.5>
proxy_up{namespace="${SERVICE}",server_name="b"} 1 <now-3>
proxy_threads_stack_size{namespace="${SERVICE}",server_name="b"} 262144 <now-3>
`;
const POLLS = 10;

/** The configuration of Prometheus that docs/back-ends/settings.md requires. */
const documented =
  /```yaml\n(storage:[^`]*)```/.exec(
    readFileSync(join(checkoutFolder, 'docs/back-ends/settings.md'), 'utf8'),
  )?.[1] ?? '';

interface Stored {
  readonly engine: number;
  readonly proxy: number;
  /** Whether the stored samples of the engine have the times on the page. */
  readonly areDated: boolean;
}

describe.skipIf(noPrometheus !== null)('samples that lag behind by more than an interval', () => {
  const parts = new Parts();
  afterAll(() => parts.stop());

  /** The number of stored samples, once Prometheus has a sample of `up` for each poll. */
  async function stored(
    config: string,
    metrics: Readonly<Record<string, unknown>> = {},
  ): Promise<Stored> {
    const running = parts.keep(await prometheus.start({ config }));
    const ask = async (query: string): Promise<number> =>
      (await askPromql(running.url, query))[0]?.value ?? 0;
    const countOf = (name: string): Promise<number> => ask(`count_over_time(${name}[5m])`);
    await bridgePages({
      sources: [{ services: [SERVICE], pages: Array.from({ length: POLLS }, () => PAGE) }],
      otlpUrl: running.otlpUrl,
      metrics,
      hasArrived: async () => (await countOf('up')) >= POLLS,
    });
    const lag = await ask('timestamp(up) - on() timestamp(engine_up)');
    return {
      engine: await countOf('engine_global_status_threads_running'),
      proxy: await countOf('{__name__=~"proxy_threads_stack_size.*"}'),
      areDated: lag > 0.2,
    };
  }

  test('are stored if samples may be out of order', async () => {
    expect(documented).toContain('out_of_order_time_window');
    const found = await stored(documented);
    expect(found.engine).toBeGreaterThanOrEqual(POLLS - 1);
    expect(found.proxy).toBeGreaterThanOrEqual(POLLS - 1);
    expect(found.areDated).toBe(true);
  });

  test('cost only themselves if samples may not', async () => {
    const found = await stored('scrape_configs: []\n');
    expect(found.engine).toBeGreaterThanOrEqual(POLLS - 1);
    expect(found.proxy).toBeLessThanOrEqual(2);
    expect(found.areDated).toBe(true);
  });

  test('are stored with the time of the scrape on request', async () => {
    const found = await stored('scrape_configs: []\n', { honor_timestamps: false });
    expect(found.engine).toBeGreaterThanOrEqual(POLLS - 1);
    expect(found.proxy).toBeGreaterThanOrEqual(POLLS - 1);
    expect(found.areDated).toBe(false);
  });
});
