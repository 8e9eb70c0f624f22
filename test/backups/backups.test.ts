// The backups of a simulated service, with a real queue, whose content the oracle decodes.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { Counters } from '../../src/lib/counters.ts';
import { silentLogger } from '../../src/lib/log.ts';
import type { LogRecordJson } from '../../src/pipeline/encode/otlp-fields.ts';
import { Queue } from '../../src/pipeline/queue/queue.ts';
import { BackupsApi } from '../../src/service/backups-api.ts';
import { ServiceClients } from '../../src/service/clients.ts';
import type { ServiceError } from '../../src/service/service-error.ts';
import { type FaultySimulator, startFaultySimulator } from '../support/faulty-simulator.ts';
import { Backups } from '../../src/backups/backups.ts';
import { limitsOf, queueOptions } from '../pipeline/queue/queue-behaviour.ts';
import { oracleDecodeLogs } from '../reference/oracle.ts';
import { ask } from '../support/ask.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { otlpLogs, otlpPoints } from '../support/otlp-points.ts';
import { saneMetrics } from '../support/wire-sanity.ts';
import { allAccepted } from '../support/otlp-requests.ts';
import { testConfig } from '../support/test-api.ts';

const KEY = 'a-key';
const ORDERS = 'dbpgf10000001';
const SESSIONS = 'dbpgf10000004';
const SCHEDULES = '/backup/v1/backups/schedules';
const MINUTE_MS = 60_000;

let clock: FakeClock;
let counters: Counters;
let queue: Queue;
let simulator: FaultySimulator;
let clients: ServiceClients;
let backups: Backups;

function configOf(changes: object = {}): Config {
  const api = { base_url: simulator.url, key: KEY };
  const services = [{ id: ORDERS, name: 'orders' }, { id: SESSIONS }];
  return testConfig({ api, services, backups: { enabled: true }, ...changes });
}

function openBackups(config: Config): Backups {
  return new Backups({
    config,
    clients,
    queue,
    clock,
    counters,
    logger: silentLogger,
    resourceOf: ({ id, name, attributes }) => ({
      identity: { id, name, attributes, server: null },
      info: new Map(),
    }),
  });
}

beforeEach(async () => {
  clock = new FakeClock();
  counters = new Counters();
  const config = limitsOf({ metrics: 1_000_000, logs: 1_500 });
  const limits = {
    metrics: { bytes: 100_000, points: Infinity },
    logs: { bytes: 100_000, points: Infinity },
  };
  queue = Queue.open(queueOptions({ clock, counters, config, limits }), null);
  simulator = await startFaultySimulator({ clock, key: KEY });
  clients = new ServiceClients({ clock, counters });
  backups = openBackups(configOf());
});
afterEach(async () => {
  await clients.close();
  await simulator.close();
  await queue.close();
});

const never = new AbortController().signal;

/** Removes all rows of a signal from the queue. */
async function taken(signal: 'metrics' | 'logs'): Promise<readonly Buffer[]> {
  const rows = await queue.oldest(signal, 100, new Set());
  for (const { id, parts } of rows) {
    queue.pin(id);
    await queue.settle(id, allAccepted(parts), []);
  }
  return rows.map(({ body }) => body);
}

/** The points that were sent for a service, as `name{attributes} value`, without the prefix. */
async function gaugesOf(id: string): Promise<readonly string[]> {
  const points = (await taken('metrics')).flatMap(body => otlpPoints(saneMetrics(body)));
  return points
    .filter(
      ({ serviceId, value, metric }) =>
        serviceId === id && (value !== 0 || !metric.endsWith('_schedules')),
    )
    .map(
      ({ metric, attributes, value, flags }) =>
        `${metric.replace('prom2otlp_backup_', '')}{${attributes}} ${flags === 1 ? 'ended' : value}`,
    );
}

async function eventsSent(): Promise<readonly LogRecordJson[]> {
  const bodies = await taken('logs');
  return bodies.flatMap(body => otlpLogs(oracleDecodeLogs(body)).map(({ record }) => record));
}

async function change(method: string, path: string, body?: object): Promise<void> {
  const url = simulator.url + SCHEDULES + path;
  const headers = { 'x-api-key': KEY, accept: 'application/json' };
  const { status } = await ask(url, { method, headers, ...(body === undefined ? {} : { body }) });
  expect(status).toBeLessThan(300);
}

test('each service has its gauges in its own Resource', async () => {
  await backups.cycle(never);
  const [body = Buffer.alloc(0)] = await queue
    .oldest('metrics', 1, new Set())
    .then(rows => rows.map(row => row.body));
  const points = otlpPoints(saneMetrics(body));
  expect(
    new Set(points.map(point => `${point.serviceName} ${point.serviceId} ${point.scope}`)),
  ).toEqual(
    new Set([`orders ${ORDERS} prom2otlp/backups`, `${SESSIONS} ${SESSIONS} prom2otlp/backups`]),
  );
  expect(new Set(points.map(({ type }) => type))).toEqual(new Set(['gauge']));
  expect(points.find(({ metric }) => metric.endsWith('_next_run_seconds'))).toMatchObject({
    unit: 's',
    description: 'How long until the next backup begins.',
    attributes: 'type=full',
    timeNs: `${clock.nowMs()}000000`,
  });
  expect(await gaugesOf(ORDERS)).toEqual([
    'up{} 1',
    'schedules{state=active,type=full} 1',
    'restorable_scheduled{} 1',
    `next_run_timestamp_seconds{type=full} ${Date.UTC(2026, 2, 5, 2) / 1000}`,
    'next_run_seconds{type=full} 61200',
    'last_finished_age_seconds{type=full} 24480',
    // The window reaches until a minute ago.
    'restorable_age_seconds{} 60',
    `window_start_timestamp_seconds{} ${Date.UTC(2026, 1, 26, 2, 12) / 1000}`,
    `window_end_timestamp_seconds{} ${clock.nowMs() / 1000 - 60}`,
  ]);
  expect(queue.account.get(ORDERS, 'point/made')).toBe(13);
});

test('names have the namespace prefix if the metrics have it', async () => {
  await openBackups(configOf({ metrics: { namespace: 'prefix' } })).cycle(never);
  expect(await gaugesOf(ORDERS)).toContain(`${ORDERS}.up{} 1`);
});

describe('events', () => {
  test('report each appearance, change and disappearance once', async () => {
    await backups.cycle(never);
    expect(await eventsSent()).toEqual([]);
    const body = { service_id: ORDERS, backup_type: 'full', schedule: '0 12 * * *' };
    await change('POST', '', body);
    await backups.cycle(never);
    const timeUnixNano = `${clock.nowMs()}000000`;
    expect(await eventsSent()).toMatchObject([
      { eventName: 'prom2otlp.backup.schedule.appeared', timeUnixNano },
    ]);
    await change('PATCH', '/1', { suspended: true });
    await change('DELETE', '/5');
    await backups.cycle(never);
    await backups.cycle(never);
    expect((await eventsSent()).map(({ eventName }) => eventName)).toEqual([
      'prom2otlp.backup.schedule.changed',
      'prom2otlp.backup.schedule.vanished',
    ]);
    await backups.cycle(never);
    expect(await eventsSent()).toEqual([]);
    const events = counters.list().find(({ name }) => name === 'prom2otlp_backup_events_total');
    expect(events?.get(ORDERS, 'vanished')).toBe(1);
  });

  test('report changes during a stop after the restart', async () => {
    await backups.cycle(never);
    await change('DELETE', '/1');
    await openBackups(configOf()).cycle(never);
    expect(await eventsSent()).toEqual([]);
    await openBackups(configOf()).cycle(never);
    expect((await eventsSent()).map(({ eventName }) => eventName)).toEqual([
      'prom2otlp.backup.schedule.vanished',
    ]);
    await openBackups(configOf()).cycle(never);
    expect(await eventsSent()).toEqual([]);
  });

  test('report changes during a stop, also if the queue cannot be read at the restart', async () => {
    await backups.cycle(never);
    await change('DELETE', '/1');
    const again = openBackups(configOf());
    const unreadable = vi.spyOn(queue, 'restoreState').mockResolvedValue(undefined);
    await again.cycle(never);
    // The gauges do not wait.
    expect(again.services.map(({ isUp }) => isUp)).toEqual([true, true]);
    unreadable.mockRestore();
    for (let i = 0; i < 2; i++) await again.cycle(never);
    expect((await eventsSent()).map(({ eventName }) => eventName)).toEqual([
      'prom2otlp.backup.schedule.vanished',
    ]);
  });

  test('wait for room in the queue, and no longer', async () => {
    await backups.cycle(never);
    const more = { service_id: ORDERS, backup_type: 'full', schedule: '0 12 * * *' };
    for (let i = 0; i < 3; i++) {
      await change('POST', '', more);
      await backups.cycle(never);
    }
    const first = await eventsSent();
    expect(first.length).toBeLessThan(3);
    // The gauges do not wait.
    expect((await gaugesOf(ORDERS)).findLast(line => line.startsWith('schedules'))).toBe(
      'schedules{state=active,type=full} 4',
    );
    await backups.cycle(never);
    expect(first.length + (await eventsSent()).length).toBe(3);
  });
});

test('a service without schedules any more keeps its values; its next run ends', async () => {
  await backups.cycle(never);
  await gaugesOf(ORDERS);
  await change('DELETE', '/1');
  await backups.cycle(never);
  expect(await gaugesOf(ORDERS)).toContain('restorable_scheduled{} 1');
  await backups.cycle(never);
  expect((await gaugesOf(ORDERS)).filter(one => !one.startsWith('window_'))).toEqual([
    'up{} 1',
    'restorable_scheduled{} 0',
    'last_finished_age_seconds{type=full} 24480',
    'restorable_age_seconds{} 60',
    'next_run_timestamp_seconds{type=full} ended',
    'next_run_seconds{type=full} ended',
  ]);
});

describe('when the schedules cannot be read', () => {
  test('the last answer is used for three intervals', async () => {
    await backups.cycle(never);
    simulator.setFaults({ path: SCHEDULES, status: 500 });
    await gaugesOf(ORDERS);
    await clock.advance(44 * MINUTE_MS);
    await backups.cycle(never);
    expect(await gaugesOf(ORDERS)).toEqual(
      expect.arrayContaining(['up{} 0', 'restorable_scheduled{} 1']),
    );
    expect(backups.services[0]?.error?.message).toContain('the service failed (500');
    await clock.advance(2 * MINUTE_MS);
    await backups.cycle(never);
    const late = await gaugesOf(ORDERS);
    expect(late).toEqual(expect.arrayContaining(['up{} 0', 'restorable_scheduled{} ended']));
    await backups.cycle(never);
    expect(await gaugesOf(ORDERS)).toEqual(['up{} 0']);
    simulator.resetFaults();
    await backups.cycle(never);
    expect(await gaugesOf(ORDERS)).toContain('restorable_scheduled{} 1');
    expect(backups.services[0]?.error).toBeNull();
  });

  test('one failing service does not affect the others; a refused key does, without hammering', async () => {
    simulator.setFaults({ path: SCHEDULES, status: 500, times: 1 });
    await backups.cycle(never);
    expect(backups.services.filter(({ isUp }) => isUp === true)).toHaveLength(1);
    const services = Array.from({ length: 20 }, (_, i) => ({ id: `db${i}` }));
    const many = openBackups(configOf({ services }));
    simulator.key = 'another';
    simulator.refusalStatus = 401;
    const before = simulator.requests.count;
    await many.cycle(never);
    expect(simulator.requests.count - before).toBeLessThanOrEqual(4);
    expect(new Set(many.services.map(({ error }) => error?.kind))).toEqual(new Set(['key']));
    const [report] = clients.reports.slice(-1);
    expect(report?.status).toMatchObject({ kind: 'backups', state: 'failed', reason: 'auth' });
    expect(report?.held()?.kind).toBe('key');
  });

  test('a reading that a reload aborts is no failure', async () => {
    const error = { kind: 'aborted', message: 'the request was given up' } as ServiceError;
    const list = vi.spyOn(BackupsApi.prototype, 'list').mockResolvedValue({ ok: false, error });
    await backups.cycle(never);
    expect(list).toHaveBeenCalled();
    list.mockRestore();
    expect(backups.services.map(({ isUp, error }) => [isUp, error])).toEqual([
      [null, null],
      [null, null],
    ]);
  });

  test('nothing is sent before the first answer or failure', async () => {
    await backups.watchers[0]?.send();
    expect(queue.stats('metrics').rows).toBe(0);
  });
});
