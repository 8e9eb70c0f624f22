// `cost` against what a back end counts: the command of docs/use/cost.md beside a running daemon, and without one.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { CostReport } from '../../src/status/cost-report.ts';
import { findClosedPort } from '../support/http-server.ts';
import { run, until } from '../support/program.ts';
import { useRigForEach } from '../support/rig.ts';

const rig = useRigForEach();
const text = readFileSync(new URL('../../docs/use/cost.md', import.meta.url), 'utf8');
const [, shell = ''] = /```sh\nnpx prom2otlp (.*)\n```/.exec(text) ?? [];
const [, yaml = ''] = /```yaml\n([^]*?)```/.exec(text) ?? [];

/** What the documented command says, as JSON, of a configuration. */
async function cost(config: string): Promise<CostReport> {
  const words = shell.replace('prom2otlp.yaml', config).split(' ');
  const { code, stdout, stderr } = await run([...words, '--format', 'json']);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as CostReport;
}

/** Within 1 %. */
function expectNear(figure: number | null, counted: number): void {
  expect(Math.abs((figure ?? Number.NaN) / counted - 1)).toBeLessThan(0.01);
}

test('agrees with what a back end counts, from the daemon and from one scrape', async () => {
  const sizes = { raw: 0, body: 0 };
  rig.receiver.behave = ({ raw, body }) => {
    sizes.raw += raw.length;
    sizes.body += body.length;
    return 200;
  };
  const status = { listen: `127.0.0.1:${await findClosedPort()}` };
  const config = rig.config({ status });
  const daemon = rig.run(config);
  const [id = ''] = rig.ids;
  const scrapes = (): readonly number[] =>
    rig.receiver.points
      .filter(({ metric, serviceId }) => metric === 'up' && serviceId === id)
      .map(({ timeNs }) => Number(BigInt(timeNs) / 1_000_000n));
  await until('ten scrapes', () => scrapes().length >= 10, 30_000);
  const fromDaemon = await cost(config);
  await daemon.stop();
  const times = scrapes();
  const { points } = rig.receiver;
  // The first scrape is at once, the others keep to the beat.
  const minutes = ((times.at(-1) ?? 0) - (times[1] ?? 0)) / 60_000;
  const perMinute = (points.length / times.length) * ((times.length - 2) / minutes);
  const fromScrape = await cost(config);
  expect([fromDaemon.source, fromScrape.source]).toEqual(['daemon', 'scrape']);
  for (const report of [fromDaemon, fromScrape]) {
    expectNear(report.total.pointsPerMinute, perMinute);
    expectNear(report.total.bytesPerDay, (sizes.raw / points.length) * perMinute * 1440);
    expectNear(report.total.compressedBytesPerDay, (sizes.body / points.length) * perMinute * 1440);
  }
});

test('a line that it proposes saves what it says', async () => {
  const status = { listen: `127.0.0.1:${await findClosedPort()}` };
  const { metrics } = parse(yaml) as { metrics: { exclude: readonly string[] } };
  const before = await cost(rig.config({ status }));
  const after = await cost(rig.config({ status, metrics: { interval: '1s', ...metrics } }));
  const saved = before.excludes.find(({ name }) => name === metrics.exclude[0]);
  expect(saved?.series).toBeGreaterThan(0);
  expect(after.total.series).toBe(before.total.series - (saved?.series ?? 0));
});
