// Gives every bad answer of the service to the real daemon, all at once, each from an API of its own: each answer has its
// own reason, the key is never sent to another host, the good service is scraped at its usual interval, and memory stays
// bounded.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import type { Faults } from '../support/faulty-simulator.ts';
import { useRig } from '../support/rig.ts';
import { startFaultySimulator, type FaultySimulator } from '../support/faulty-simulator.ts';
import { type Running, start, until } from '../support/program.ts';

const CANARY = 'canary-93d1aa70';
const GOOD = 'dbpgf10000002';
/** The service whose key is refused, and whose pages are odd. */
const REFUSED = 'dbpgf10000001';
const rig = useRig(CANARY);

/** By the id of the service that gives it: a bad answer, and its reason. */
const BAD_ANSWERS: Readonly<
  Record<string, readonly [faults: () => Partial<Faults>, reason: string]>
> = {
  html: [() => ({ body: 'html' }), 'not_metrics'],
  empty: [() => ({ body: 'empty' }), 'empty'],
  cut: [() => ({ cut: 'length' }), 'cut'],
  bomb: [() => ({ body: 'gzip-bomb' }), 'too_large'],
  drip: [() => ({ bytesPerSecond: 100 }), 'timeout'],
  silent: [() => ({ isSilent: true }), 'timeout'],
  redirect: [() => ({ redirectTo: elsewhere.url }), 'redirect'],
  missing: [() => ({ status: 404 }), 'not_found'],
  broken: [() => ({ status: 500 }), 'server_error'],
  busy: [() => ({ status: 429, retryAfter: '1' }), 'rate_limited'],
  lines: [() => ({ badLines: { lines: 1000 } }), 'bad_lines'],
  absent: [() => ({ absentServices: ['absent'] }), 'absent'],
};
const IDS = Object.keys(BAD_ANSWERS);

/** The API of each bad service. */
const apis = new Map<string, FaultySimulator>();
let refused: FaultySimulator;
let elsewhere: FaultySimulator;
let daemon: Running;
let url: string;

beforeAll(async () => {
  const options = { clock, key: CANARY, refreshMs: 500 };
  [refused, elsewhere] = await Promise.all([
    startFaultySimulator(options),
    startFaultySimulator(options),
  ]);
  for (const id of IDS) {
    const servers = [{ name: `${id}-0`, role: 'single' }] as const;
    const one = { id, name: id, topology: 'single', servers } as const;
    // A page without any service is empty, and no service is absent from it.
    const services = [one, { ...one, id: 'another', name: 'another' }];
    apis.set(id, await startFaultySimulator({ ...options, services }));
  }
  const ofApi = (id: string, { url: base }: FaultySimulator) => ({ id, api: { base_url: base } });
  const key = `\${file:${rig.directory.write('refused-key', CANARY)}}`;
  const file = rig.config({
    api: { base_url: rig.simulator.url, key: CANARY, timeout: '800ms' },
    services: [
      { id: GOOD },
      { id: REFUSED, api: { base_url: refused.url, key } },
      ...[...apis].map(([id, simulator]) => ofApi(id, simulator)),
    ],
    metrics: { interval: '1s', limits: { body: '8MiB' } },
  });
  daemon = start(['run', '--config', file]);
  url = await daemon.ready();
  await until('a good scrape of all', () => areUp([GOOD, REFUSED, ...IDS]));
});

afterAll(async () => {
  await daemon.stop();
  await Promise.all([refused, elsewhere, ...apis.values()].map(one => one.close()));
});

async function metrics(): Promise<string> {
  return (await fetch(new URL('/metrics', url))).text();
}

async function areUp(ids: readonly string[]): Promise<boolean> {
  const text = await metrics();
  return ids.every(id => text.includes(`prom2otlp_service_up{service="${id}",reason=""} 1`));
}

async function reasonOf(id: string): Promise<string | undefined> {
  return new RegExp(`service="${id}",reason="([a-z_]+)"} 0`).exec(await metrics())?.[1];
}

test('each bad answer has its own reason, and ends with it', async () => {
  const goodBefore = rig.simulator.requests.count;
  const startedMs = performance.now();
  for (const [id, [faults]] of Object.entries(BAD_ANSWERS)) apis.get(id)?.setFaults(faults());
  // On a busy machine, any answer may come after the timeout once.
  for (const [id, [, reason]] of Object.entries(BAD_ANSWERS))
    await until(`${reason} of ${id}`, async () => (await reasonOf(id)) === reason, 60_000);
  // The good service is scraped once a second, whatever the bad ones do; a busy machine may skip some.
  await clock.sleep(2000);
  const seconds = (performance.now() - startedMs) / 1000;
  expect(rig.simulator.requests.count - goodBefore).toBeGreaterThanOrEqual(Math.floor(seconds / 2));
  for (const simulator of apis.values()) simulator.resetFaults();
  await until('all have recovered', () => areUp(IDS), 30_000);
}, 120_000);

test('refusals of the key are reported as such', async () => {
  for (const status of [400, 401, 403]) {
    await until('it has recovered', () => areUp([REFUSED]), 30_000);
    refused.setFaults({ status });
    const isRefused = async (): Promise<boolean> => (await reasonOf(REFUSED)) === 'auth';
    await until(`auth after ${String(status)}`, isRefused, 60_000);
    refused.resetFaults();
    // A new key ends the hold.
    refused.key = `${CANARY}-${String(status)}`;
    rig.directory.write('refused-key', refused.key);
  }
}, 120_000);

test('a page with an odd content type is still read', async () => {
  await until('it has recovered', () => areUp([REFUSED]), 30_000);
  refused.setFaults({ contentType: 'application/x-unheard-of' });
  const before = refused.requests.count;
  await until('two more scrapes', () => refused.requests.count >= before + 2, 30_000);
  expect(await areUp([REFUSED])).toBe(true);
}, 60_000);

test('the key went nowhere else and into no output, and memory stayed bounded', () => {
  expect(elsewhere.requests.count).toBe(0);
  expect(daemon.stdout() + daemon.stderr()).not.toContain(CANARY);
  expect(daemon.memory.now).toBeLessThan(300 * 1024 * 1024);
});
