// A service keeps its series over reloads and restarts, whichever service of its target is the first, and however long
// the service is down.

import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { resourceOf } from '../../src/daemon/targets.ts';
import { silentLogger as logger } from '../../src/lib/log.ts';
import { dealShards, shardOf } from '../../src/lib/shard.ts';
import type { Queue } from '../../src/pipeline/queue/queue.ts';
import { scrapeStatus } from '../../src/status/scrape-status.ts';
import { oracleDecodeMetrics } from '../reference/oracle.ts';
import { type OtlpPoint, otlpPoints } from '../support/otlp-points.ts';
import { type HttpTestServer, startHttpServer } from '../support/http-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { testConfig } from '../support/test-api.ts';

const T0 = Date.now() - 3_600_000;
let page = '';
let server: HttpTestServer;
let queueDirectory: string;
let daemon: Daemon;

beforeEach(async () => {
  queueDirectory = join(temporaryDirectory(), 'queue');
  server = await startHttpServer((_request, response) => {
    response.setHeader('content-type', 'text/plain; version=0.0.4');
    response.end(page);
  });
});

afterEach(async () => {
  await daemon.stop(AbortSignal.abort());
  await server[Symbol.asyncDispose]();
});

/** A service is an id, with `@key` if it has another key, or `@host` if it has another address of the API. */
function configOf(services: readonly string[], more: object = {}): Config {
  const { origin, port } = server;
  const others: Record<string, object> = {
    key: { key: 'another' },
    host: { base_url: `http://localhost:${port}`, key: 'k' },
  };
  return testConfig({
    api: { base_url: origin, key: 'k' },
    services: services.map(service => {
      const [id, other = ''] = service.split('@');
      return { id, api: others[other] };
    }),
    otlp: { endpoint: 'http://127.0.0.1:1', temporality: 'delta' },
    queue: { directory: queueDirectory },
    ...more,
  });
}

async function open(services: readonly string[], more?: object): Promise<void> {
  daemon = await Daemon.open({ config: configOf(services, more), clock, logger });
}

/** Runs a cycle with a counter for each service. Returns the queued points of the counters. */
async function pointsOf(minute: number, values: Record<string, number>) {
  const found: OtlpPoint[] = [];
  const queue = daemon.queue as { commit: Queue['commit'] };
  const { commit } = queue;
  queue.commit = change => {
    for (const { payload } of change.batches)
      found.push(...otlpPoints(oracleDecodeMetrics(Buffer.from(payload))));
    return commit.call(queue, change);
  };
  const lines = Object.entries(values)
    .map(
      ([id, value]) =>
        `engine_mysql_queries_total{namespace="${id}"} ${value} ${T0 + minute * 60_000}\n`,
    )
    .join('');
  page = `# TYPE engine_mysql_queries_total counter\n${lines}`;
  await daemon.cycle(20, 10);
  queue.commit = commit;
  return found.filter(({ metric }) => metric.includes('queries'));
}

/** Runs a cycle. Returns the queued growth, as `service growth`. */
async function grown(minute: number, values: Record<string, number>): Promise<string[]> {
  const points = await pointsOf(minute, values);
  return points.map(({ serviceId, value }) => `${serviceId} ${value}`);
}

async function reload(services: readonly string[], more?: object): Promise<void> {
  await daemon.reload(configOf(services, more));
}

async function restart(services: readonly string[]): Promise<void> {
  await daemon.stop(AbortSignal.abort());
  await open(services);
}

const WAYS = { reload, restart };

/** Rounds of services. The last round equals the first. */
const ROUNDS: readonly string[] = [
  'a b, a b@key, a b',
  'a b, a@key b, a b',
  'a b, a b@host, a b',
  'a b, a@host b, a b',
  'a b, a@host b@host, a b',
  'a b, b, a b',
  'a b, a, a b@host, a b',
];

for (const [how, become] of Object.entries(WAYS))
  test.each(ROUNDS)(`what another target sent is not sent again: ${how}, %s`, async rounds => {
    const [first = '', ...others] = rounds.split(', ');
    await open(first.split(' '));
    const sums: Record<string, number> = { a: 0, b: 0 };
    let minute = 0;
    const read = async (count: number): Promise<void> => {
      for (const end = minute + count; minute < end; minute++)
        for (const text of await grown(minute, { a: 10 * minute, b: 10 * minute })) {
          const [id = '', value] = text.split(' ');
          sums[id] = (sums[id] ?? 0) + Number(value);
        }
    };
    await read(3);
    for (const round of others) {
      await become(round.split(' '));
      await read(3);
    }
    const [grownBy, lost] = [10 * (minute - 1), 20 * others.length];
    for (const id of ['a', 'b']) {
      expect(sums[id], id).toBeLessThanOrEqual(grownBy);
      // Only a baseline in each round and a round without the service may be missing.
      expect(sums[id], id).toBeGreaterThanOrEqual(grownBy - lost - 30);
    }
  });

test.each([
  ['on disk', 1, {}],
  ['in memory', 0, { queue: { directory: null } }],
])('over 20 reloads delta sums are exact: state %s', async (_, states, more) => {
  await open(['a', 'b'], more);
  await grown(0, { a: 0, b: 0 });
  const sums: Record<string, number> = { a: 0, b: 0 };
  for (let minute = 1; minute <= 20; minute++) {
    // Every other configuration reads its targets differently.
    await reload(['a', 'b'], { metrics: { stale_after: `${5 + (minute % 2)}m` }, ...more });
    for (const text of await grown(minute, { a: 10 * minute, b: minute ** 2 })) {
      const [id = '', value] = text.split(' ');
      sums[id] = (sums[id] ?? 0) + Number(value);
    }
  }
  expect(sums).toEqual({ a: 200, b: 400 });
  expect(daemon.queue.stateKeys('target-state')).toHaveLength(states);
});

test('over 20 reloads starts stay', async () => {
  const otlp = { endpoint: 'http://127.0.0.1:1', temporality: 'cumulative' };
  await open(['a'], { otlp });
  const starts = new Set<string>();
  for (let minute = 0; minute <= 20; minute++) {
    if (minute > 0) await reload(['a'], { otlp });
    for (const { startNs } of await pointsOf(minute, { a: minute })) starts.add(startNs);
  }
  expect([...starts]).toEqual([expect.stringMatching(/^[1-9]/)]);
});

test('another temporality begins with baselines', async () => {
  const otlp = { endpoint: 'http://127.0.0.1:1', temporality: 'cumulative' };
  await open(['a'], { otlp });
  expect(await grown(0, { a: 5 })).toEqual(['a 5']);
  expect(await grown(1, { a: 15 })).toEqual(['a 15']);
  await reload(['a']);
  expect(await grown(2, { a: 25 })).toEqual([]);
  expect(await grown(3, { a: 30 })).toEqual(['a 5']);
  await reload(['a'], { otlp });
  expect(await grown(4, { a: 31 })).toEqual(['a 31']);
});

test('a service that leaves by `shard` gets no marker', async () => {
  await open(['a', 'b'], { otlp: { endpoint: 'http://127.0.0.1:1' } });
  const id = 'a';
  await pointsOf(0, { a: 1, b: 1 });
  const index = 1 - shardOf(id, 2);
  await reload(['a', 'b'], {
    otlp: { endpoint: 'http://127.0.0.1:1' },
    shard: { index, count: 2 },
  });
  expect(daemon.config.services.map(service => service.id)).not.toContain(id);
  for (const minute of [1, 2, 8]) {
    const points = await pointsOf(minute, { b: minute });
    expect(points.map(({ serviceId }) => serviceId)).not.toContain(id);
  }
});

test('a service with an entry is sent by its own target alone', async () => {
  const more = { unconfigured_services: 'send' };
  await open(['a'], more);
  await grown(0, { a: 0, b: 0, c: 0 });
  expect((await grown(1, { a: 1, b: 1, c: 1 })).sort()).toEqual(['a 1', 'b 1', 'c 1']);
  await reload(['a', 'b@host'], more);
  await grown(2, { a: 2, b: 2 });
  expect((await grown(3, { a: 3, b: 3 })).sort()).toEqual(['a 1', 'b 1']);
  // Each target also sees the service of the other target.
  expect(scrapeStatus(daemon).unconfigured).toEqual([]);
});

test('a service stays with its shard when the first one of the target leaves for another shard', async () => {
  const ids = Array.from({ length: 12 }, (_, i) => `db${i}`);
  const shard = (count: number): object => ({ shard: { index: 0, count } });
  const before = dealShards(ids, 2);
  const after = dealShards(ids, 3);
  const leaving = ids.filter(id => before.get(id) === 0 && after.get(id) !== 0);
  const staying = ids.filter(id => before.get(id) === 0 && after.get(id) === 0);
  const services = [...leaving, ...ids.filter(id => !leaving.includes(id))];
  const all = (value: number): Record<string, number> =>
    Object.fromEntries(ids.map(id => [id, value]));
  await open(services, shard(2));
  await grown(0, all(0));
  expect(await grown(1, all(5))).toHaveLength(leaving.length + staying.length);
  await reload(services, shard(3));
  expect((await grown(2, all(7))).sort()).toEqual(staying.map(id => `${id} 2`).sort());
});

test('nothing is kept of targets that the configuration does not have', async () => {
  await open(['a', 'b@host']);
  await grown(0, { a: 0, b: 0 });
  const keys = (): number => daemon.queue.stateKeys('target-state').length;
  expect(keys()).toBe(2);
  await reload(['a']);
  expect(keys()).toBe(1);
  await restart(['c']);
  expect(keys()).toBe(0);
});

for (const [how, become] of Object.entries(WAYS))
  test(`another first service takes nothing from the others: ${how}`, async () => {
    await open(['b']);
    await grown(0, { b: 5 });
    expect(await grown(1, { b: 15 })).toEqual(['b 10']);
    await become(['a', 'b']);
    expect(await grown(2, { a: 1, b: 115 })).toEqual(['b 100']);
    await become(['b']);
    expect(await grown(3, { b: 125 })).toEqual(['b 10']);
    await become(['c', 'b@host']);
    // Another address is another target: the page is a baseline, and nothing is sent twice.
    expect(await grown(4, { b: 126, c: 1 })).toEqual([]);
  });

test('a target that is read differently goes on at the time of its last page', async () => {
  await open(['a', 'b']);
  await grown(0, { a: 0, b: 0 });
  const [last] = daemon.targets.map(({ table }) => table.clock);
  expect(last?.nowMs).toBeGreaterThan(T0);
  await reload(['a', 'b', 'c']);
  expect(daemon.targets.map(({ table }) => table.clock)).toEqual([last]);
});

test('a service that is down during a reload continues when it is back', async () => {
  await open(['a', 'b']);
  await grown(0, { a: 0, b: 0 });
  await grown(1, { a: 1, b: 1 });
  await grown(2, { a: 2 });
  await reload(['a', 'b', 'c']);
  for (let minute = 3; minute < 15; minute++) await grown(minute, { a: minute });
  expect(await grown(15, { a: 15, b: 15 })).toEqual(['a 1', 'b 14']);
});

test('the Resource of a service is found in the table of its own target', async () => {
  await open(['a', 'b@host']);
  await grown(0, { a: 1, b: 1 });
  const [first, second] = daemon.targets;
  if (first === undefined || second === undefined) throw new Error('no targets');
  const [, b] = daemon.config.services;
  if (b === undefined) throw new Error('no service');
  const { info } = second.table.services[second.table.serviceById.get('b') ?? -1] ?? {};
  // The page of the other target has the service, too.
  expect(first.table.serviceById.has('b')).toBe(true);
  expect(resourceOf(b, second).info).toBe(info);
  expect(resourceOf(b, undefined).info).toEqual(new Map());
});
