// Samples that lag behind the scrape by more than an interval, as a proxy's do on the service's page, and what a real
// Prometheus makes of them. Their own series are in order. But Prometheus also writes a `target_info` for every Resource
// at the times of its points, and refuses the whole request when one of those is out of order.

import { afterAll, describe, expect, test } from 'vitest';
import { prometheus } from './parts/prometheus.ts';
import { bridgePages } from './story/bridge-pages.ts';
import { reasonToSkip, type Running } from './support/part.ts';
import { askPromql } from './support/promql.ts';

const noPrometheus = await reasonToSkip([prometheus]);

/** Polled every second: the engine's sample is half an interval old, the proxy's three. */
const PAGE = `
engine_up{namespace="dblate0000001",server_name="a"} 1 <now-0.5>
proxy_up{namespace="dblate0000001",server_name="b"} 1 <now-3>
`;

describe.skipIf(noPrometheus !== null)('samples that lag behind by more than an interval', () => {
  const started: Running[] = [];
  afterAll(async () => {
    for (const part of started) await part.stop();
  });

  /** How many samples Prometheus holds of each server, once it has ten of the bridge's own `up`. */
  async function stored(config: string): Promise<{ engine: number; proxy: number }> {
    const running = await prometheus.start({ config });
    started.push(running);
    const countOf = async (name: string): Promise<number> => {
      const [sample] = await askPromql(running.url, `count_over_time(${name}[5m])`);
      return sample?.value ?? 0;
    };
    await bridgePages({
      sources: [{ services: ['dblate0000001'], pages: Array.from({ length: 10 }, () => PAGE) }],
      otlpUrl: running.otlpUrl,
      hasArrived: async () => (await countOf('up')) >= 10,
    });
    return { engine: await countOf('engine_up'), proxy: await countOf('proxy_up') };
  }

  test('are stored where samples may be out of order', async () => {
    const found = await stored('storage: {tsdb: {out_of_order_time_window: 10m}}\n');
    expect(found.engine).toBeGreaterThanOrEqual(9);
    expect(found.proxy).toBeGreaterThanOrEqual(9);
  });

  test('cost all but `up` where samples may not', async () => {
    const found = await stored('scrape_configs: []\n');
    expect(found.engine).toBeLessThanOrEqual(2);
    expect(found.proxy).toBeLessThanOrEqual(2);
  });
});
