// Gives every bad answer of the service to the real daemon: each answer has its own reason, the key is never sent to
// another host, the other service is scraped at its usual interval, and memory stays bounded.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { type Faults } from '../../src/simulator/faults.ts';
import { useRig } from '../support/rig.ts';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { type Running, start, until } from '../support/program.ts';

const CANARY = 'canary-93d1aa70';
const GOOD = 'dbpgf10000002';
const BAD = 'dbpgf10000001';
const rig = useRig(CANARY);
let bad: Simulator;
let elsewhere: Simulator;
let daemon: Running;
let url: string;

beforeAll(async () => {
  const options = { clock, key: CANARY, refreshMs: 500 };
  [bad, elsewhere] = await Promise.all([startSimulator(options), startSimulator(options)]);
  const file = rig.config({
    api: { base_url: rig.simulator.url, key: CANARY, timeout: '800ms' },
    services: [{ id: GOOD }, { id: BAD, api: { base_url: bad.url } }],
    metrics: { interval: '1s', limits: { body: '8MiB' } },
  });
  daemon = start(['run', '--config', file]);
  url = await daemon.ready();
  await until('a good scrape of both', async () => {
    const text = await metrics();
    return (
      text.includes(`service="${BAD}",reason=""} 1`) &&
      text.includes(`service="${GOOD}",reason=""} 1`)
    );
  });
});

afterAll(async () => {
  await daemon.stop();
  await Promise.all([bad.close(), elsewhere.close()]);
});

async function metrics(): Promise<string> {
  return (await fetch(new URL('/metrics', url))).text();
}

async function reasonFor(faults: Partial<Faults>): Promise<string> {
  bad.resetFaults();
  await until(
    'it has recovered',
    async () => (await metrics()).includes(`prom2otlp_service_up{service="${BAD}",reason=""} 1`),
    30_000,
  );
  const goodBefore = rig.simulator.requests.count;
  const startedMs = performance.now();
  bad.setFaults(faults);
  const reason = await until('a reason', async () => {
    const found = new RegExp(`service="${BAD}",reason="([a-z_]+)"} 0`).exec(await metrics());
    return found?.[1];
  });
  // The good service is scraped once a second, whatever the bad one does.
  const seconds = (performance.now() - startedMs) / 1000;
  expect(rig.simulator.requests.count - goodBefore).toBeGreaterThanOrEqual(Math.floor(seconds) - 1);
  return reason;
}

test('each bad answer has its own reason', async () => {
  const check = async (faults: Partial<Faults>, reason: string): Promise<void> => {
    expect([faults, await reasonFor(faults)]).toEqual([faults, reason]);
  };
  await check({ body: 'html' }, 'not_metrics');
  await check({ body: 'empty' }, 'empty');
  await check({ cut: 'length' }, 'cut');
  await check({ body: 'gzip-bomb' }, 'too_large');
  await check({ bytesPerSecond: 100 }, 'timeout');
  await check({ isSilent: true }, 'timeout');
  await check({ redirectTo: elsewhere.url }, 'redirect');
  await check({ status: 404 }, 'not_found');
  await check({ status: 500 }, 'server_error');
  await check({ status: 429, retryAfter: '1' }, 'rate_limited');
  await check({ badLines: { [BAD]: 1000 } }, 'bad_lines');
  await check({ absentServices: [BAD] }, 'absent');
}, 120_000);

test('refusals of the key are reported as such', async () => {
  for (const status of [400, 401, 403])
    expect([status, await reasonFor({ status, times: 1 })]).toEqual([status, 'auth']);
}, 120_000);

test('a page with an odd content type is still read', async () => {
  bad.resetFaults();
  bad.setFaults({ contentType: 'application/x-unheard-of' });
  const before = bad.requests.count;
  await until('two more scrapes', () => bad.requests.count >= before + 2, 30_000);
  expect(await metrics()).toContain(`prom2otlp_service_up{service="${BAD}",reason=""} 1`);
}, 60_000);

test('the key went nowhere else and into no output, and memory stayed bounded', () => {
  expect(elsewhere.requests.count).toBe(0);
  expect(daemon.stdout() + daemon.stderr()).not.toContain(CANARY);
  expect(daemon.memory.now).toBeLessThan(300 * 1024 * 1024);
});
