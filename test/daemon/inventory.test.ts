// What the daemon keeps of the inventory: attributes that do not flap, states that end, and when the list is read again.
// The list is that of a small server; the clock stands still unless a test lets time pass.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ServiceConfig } from '../../src/config/config.ts';
import {
  Inventory,
  INVENTORY_COUNTERS,
  type InventoryOptions,
} from '../../src/daemon/inventory.ts';
import { Counters } from '../../src/lib/counters.ts';
import { ThrottledLog } from '../../src/lib/log.ts';
import { ServiceClients } from '../../src/service/clients.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type HttpTestServer, startHttpServer } from '../support/http-server.ts';
import { until } from '../support/program.ts';
import { type RecordingLogger, recordingLogger } from '../support/recording-logger.ts';
import { States } from '../support/states.ts';
import { testConfig } from '../support/test-api.ts';

const MINUTE_MS = 60_000;
const EU = { id: 'a', name: 'orders', provider: 'cloud', region: 'eu-1', version: '11' };

let clock: FakeClock;
let states: States;
let counters: Counters;
let recorded: RecordingLogger;
let clients: ServiceClients;
let server: HttpTestServer;
let status: number;
let items: readonly object[];

beforeEach(async () => {
  clock = new FakeClock();
  states = new States();
  counters = new Counters();
  recorded = recordingLogger(clock);
  clients = new ServiceClients({ clock, counters });
  [status, items] = [200, [EU]];
  server = await startHttpServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(items));
  });
});

afterEach(async () => {
  await clients.close();
  await server[Symbol.asyncDispose]();
});

async function open(
  inventory: object = {},
  services: unknown = [{ id: 'a' }],
  former: Inventory | null = null,
): Promise<Inventory> {
  const api = { base_url: server.origin, key: 'k' };
  const config = testConfig({ api, services, inventory });
  const apis = config.auto?.apis ?? config.services.slice(0, 1).map(one => one.api);
  const log = new ThrottledLog(recorded.logger, clock);
  const queue = states as unknown as InventoryOptions['queue'];
  const options = { config, apis, clients, queue, clock, counters, log };
  const opened = await Inventory.prepare(options, former);
  await opened.begin();
  return opened;
}

const serviceA: ServiceConfig = testConfig().services[0] ?? expect.fail('none');
const attributesIn = (inventory: Inventory) => inventory.known(serviceA).attributes;
const read = (inventory: Inventory): Promise<void> => inventory.read(new AbortController().signal);
const infos = (): readonly string[] => counters.of(INVENTORY_COUNTERS).info.series.map(String);

describe('attributes', () => {
  test('are provider and region, and what else the configuration names', async () => {
    expect(attributesIn(await open())).toEqual({
      'cloud.provider': 'cloud',
      'cloud.region': 'eu-1',
    });
    items = [{ ...EU, tags: { team: 'blue' } }];
    states.blobs.clear();
    const all = await open({ attributes: ['version', 'tags', 'tier'] });
    expect(attributesIn(all)).toEqual({ 'service.version': '11', 'database.tag.team': 'blue' });
  });

  test('of the configuration win, and so does its name', async () => {
    const inventory = await open();
    const attributes = { 'cloud.region': 'mine' };
    const known = inventory.known({ ...serviceA, attributes });
    expect(known).toMatchObject({ name: 'a', attributes: { 'cloud.region': 'mine' } });
    // Only a service that was found has no name of its own.
    states.blobs.clear();
    const found = await open({}, 'auto');
    expect(found.known(serviceA).name).toBe('orders');
  });

  test('stay when the list fails, lacks the service, or is read by the next process', async () => {
    const inventory = await open();
    const before = attributesIn(inventory);
    for (const [code, list] of [
      [500, []],
      [403, []],
      [200, []],
    ] as const) {
      [status, items] = [code, list];
      await read(inventory);
      expect(attributesIn(inventory), String(code)).toEqual(before);
      expect(inventory.isDue).toBe(false);
    }
    status = 500;
    const asked = server.requests.length;
    expect(attributesIn(await open())).toEqual(before);
    expect(server.requests).toHaveLength(asked);
  });

  test('that change make a reload due, once; a new version alone does not', async () => {
    const first = await open();
    items = [{ ...EU, version: '12' }];
    await read(first);
    expect(first.isDue).toBe(false);
    expect(counters.of(INVENTORY_COUNTERS).info.series[0]?.labelValues).toContain('12');
    items = [{ ...EU, region: 'eu-2' }];
    await read(first);
    expect(first.isDue).toBe(true);
    expect((await open({}, [{ id: 'a' }], first)).isDue).toBe(false);
  });

  test('a stored list that is damaged is none, and is read again', async () => {
    for (const text of ['{', '[{"id":7}]', '{"a":1}']) {
      states.blobs.set(`inventory ${server.origin}`, Buffer.from(text));
      expect(attributesIn(await open())).toHaveProperty(['cloud.region']);
    }
  });
});

describe('states', () => {
  test('stopped ends with a good list that lacks it, not with a failure', async () => {
    items = [{ ...EU, status: 'stopped' }];
    const inventory = await open();
    expect(inventory.isStopped('a')).toBe(true);
    expect(inventory.isStopped('b')).toBe(false);
    status = 503;
    await read(inventory);
    expect(inventory.isStopped('a')).toBe(true);
    [status, items] = [200, []];
    await read(inventory);
    expect(inventory.isStopped('a')).toBe(false);
  });

  test('a maintenance begins and ends by the clock, and is told', async () => {
    const at = (ms: number): string => new Date(clock.nowMs() + ms).toISOString();
    items = [{ ...EU, maintenance_window: { start: at(MINUTE_MS), end: at(3 * MINUTE_MS) } }];
    const inventory = await open();
    const seen: boolean[] = [];
    for (let i = 0; i < 4; i++) {
      inventory.note('t', []);
      seen.push(inventory.isInMaintenance('a'));
      expect(counters.of(INVENTORY_COUNTERS).maintenance.get('a')).toBe(Number(seen.at(-1)));
      await clock.advance(MINUTE_MS);
    }
    expect(seen).toEqual([false, true, true, false]);
    const told = recorded.log.filter(({ msg }) =>
      String(msg).startsWith('the maintenance of a service'),
    );
    expect(told).toHaveLength(2);
  });
});

describe('reading', () => {
  /** Starts the reader, lets minutes pass, and returns how many lists were asked for in each of them. */
  async function minutes(inventory: Inventory, count: number): Promise<readonly number[]> {
    const stop = new AbortController();
    const running = inventory.run(stop.signal);
    // A request may take ten seconds; the pauses between them are longer.
    const settled = (): Promise<unknown> =>
      until('the reader pauses', () => clock.sleeps().some(ms => ms > 20_000));
    const asked: number[] = [];
    for (let i = 0; i < count; i++) {
      await settled();
      const before = server.requests.length;
      await clock.advance(MINUTE_MS);
      await settled();
      asked.push(server.requests.length - before);
    }
    stop.abort();
    await running;
    return asked;
  }

  test('is every 15 minutes', async () => {
    const asked = await minutes(await open(), 31);
    expect(asked.reduce((sum, n) => sum + n, 0)).toBe(2);
  });

  test('is every minute while a service is missing from the page, or the list fails', async () => {
    const inventory = await open();
    inventory.note('t', [{ reason: '' }, { reason: 'absent' }]);
    expect(await minutes(inventory, 3)).toEqual([1, 1, 1]);
    inventory.note('t', [{ reason: '' }]);
    expect(await minutes(inventory, 3)).toEqual([0, 0, 0]);
    status = 500;
    await read(inventory);
    expect(await minutes(inventory, 3)).toEqual([1, 1, 1]);
  });

  test('a missing right is told once, holds no key, and is asked for at the interval', async () => {
    status = 401;
    const inventory = await open();
    expect(await minutes(inventory, 31)).toHaveLength(31);
    expect(
      recorded.log.filter(({ msg }) => String(msg).includes('sees no inventory')),
    ).toHaveLength(1);
    expect(server.requests.length).toBe(3);
    expect(infos()).toEqual([]);
  });

  test('a first start does not wait for a list that never comes', async () => {
    await server[Symbol.asyncDispose]();
    server = await startHttpServer(() => undefined);
    const opening = open();
    await until('the request', () => server.requests.length > 0);
    await clock.advance(3000);
    expect(attributesIn(await opening)).toEqual({});
  });
});

test('what the configuration does not name is not kept; with `services: auto`, as many as may be found', async () => {
  items = Array.from({ length: 50 }, (_, i) => ({ ...EU, id: `s${i}` }));
  const listed = await open({}, [{ id: 's3' }]);
  expect(listed.factsOf('s3')).not.toBeNull();
  expect(listed.factsOf('s4')).toBeNull();
  states.blobs.clear();
  const auto = await open({}, { auto: { max_services: 10 } });
  const kept = items.filter((_, i) => auto.factsOf(`s${i}`) !== null);
  expect(kept).toHaveLength(10);
});
