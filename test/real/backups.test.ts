// The monitoring of backups with real back ends: a Prometheus stores the gauges and evaluates the shipped alert rules,
// and a Collector receives the events. One of two services has no backup that restores scheduled, then has one, then none.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { nextCronRun } from '../../src/lib/pull-schedule.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { ask } from '../support/ask.ts';
import { attributesOf, otlpLogs } from '../support/otlp-points.ts';
import { type Running as Daemon, start, until } from '../support/program.ts';
import { configFor } from '../support/rig.ts';
import { useDirectory } from '../support/temporary-directory.ts';
import { collector, type CollectorRunning, readRequests } from './parts/collector.ts';
import { prometheus } from './parts/prometheus.ts';
import { type Judge, startJudge } from './support/judge.ts';
import { reasonToSkip } from './support/part.ts';
import { askPromql } from './support/promql.ts';

const KEY = 'key-of-the-backups-test';
const ORDERS = 'dbpgf10000001';
const SESSIONS = 'dbpgf10000004';
const ALERT = 'NothingRestorableScheduled';
const WAIT_MS = 60_000;

const skip = await reasonToSkip([prometheus, collector]);

describe.skipIf(skip !== null)('backups at a real Prometheus and a real Collector', () => {
  let simulator: Simulator;
  let metrics: Judge;
  let events: CollectorRunning;
  let daemon: Daemon;
  const files = useDirectory();

  beforeAll(async () => {
    simulator = await startSimulator({ clock, key: KEY });
    await change('DELETE', `/${await idOf(SESSIONS)}`);
    metrics = await startJudge({ alerts: [ALERT] });
    events = await collector.start({});
    const text = configFor(simulator, {
      services: [{ id: ORDERS, name: 'orders' }, { id: SESSIONS }],
      backups: { enabled: true, interval: '1s' },
      otlp: { metrics_endpoint: metrics.otlpUrl, logs_endpoint: `${events.httpUrl}/v1/logs` },
      queue: { directory: join(files.path, 'queue') },
    });
    daemon = start(['run', '--config', files.write('config.yaml', text)]);
  });
  afterAll(async () => {
    await daemon.stop();
    await metrics.stop();
    await events.stop();
    await simulator.close();
  });

  async function change(method: string, path: string, body?: object): Promise<unknown> {
    const url = `${simulator.url}/backup/v1/backups/schedules${path}`;
    const headers = { 'x-api-key': KEY, accept: 'application/json' };
    const answer = await ask(url, { method, headers, ...(body === undefined ? {} : { body }) });
    expect(answer.status).toBeLessThan(300);
    return answer.body.length === 0 ? null : JSON.parse(answer.body.toString());
  }

  async function idOf(service: string): Promise<number> {
    const { schedules } = (await change('GET', `?service_id=${service}`)) as {
      schedules: { id: number }[];
    };
    return schedules[0]?.id ?? Number.NaN;
  }

  /** The ids of the services for which the alert fires. */
  async function firing(): Promise<readonly string[]> {
    const alerts = await metrics.firing();
    return alerts
      .filter(({ alertname }) => alertname === ALERT)
      .map(({ instance = '' }) => instance);
  }

  async function valueOf(name: string, id: string): Promise<number | undefined> {
    const query = `prom2otlp_backup_${name}{instance="${id}"}`;
    return (await askPromql(metrics.url, query))[0]?.value;
  }

  test('the alert fires for the service that has no backup that restores scheduled, and for no other', async () => {
    await until('it fires', async () => (await firing()).length > 0, WAIT_MS);
    expect(await firing()).toEqual([SESSIONS]);
    expect(await valueOf('restorable_scheduled', ORDERS)).toBe(1);
    expect(await valueOf('schedules', SESSIONS)).toBe(0);
  });

  test('the gauges show the state of the schedules', async () => {
    expect(await valueOf('up', ORDERS)).toBe(1);
    const next = nextCronRun('0 2 * * *', clock.nowMs()) ?? 0;
    expect(await valueOf('next_run_timestamp_seconds', ORDERS)).toBe(next / 1000);
    const seconds = (await valueOf('next_run_seconds', ORDERS)) ?? Number.NaN;
    expect(Math.abs(next / 1000 - seconds - clock.nowMs() / 1000)).toBeLessThan(60);
    const ageSeconds = (await valueOf('last_finished_age_seconds', ORDERS)) ?? Number.NaN;
    expect(ageSeconds).toBeGreaterThanOrEqual(0);
    expect(ageSeconds).toBeLessThan(86_400 + 3600);
    const [sample] = await askPromql(metrics.url, `prom2otlp_backup_up{instance="${ORDERS}"}`);
    expect(sample?.metric).toMatchObject({ job: 'orders', instance: ORDERS });
    expect(await valueOf('next_run_seconds', SESSIONS)).toBeUndefined();
  });

  test('the alert ends with a new schedule, and fires again without it', async () => {
    const schedule = { service_id: SESSIONS, backup_type: 'full', schedule: '0 3 * * *' };
    await change('POST', '', schedule);
    await until('it ends', async () => (await firing()).length === 0, WAIT_MS);
    expect(await valueOf('restorable_scheduled', SESSIONS)).toBe(1);
    await change('DELETE', `/${await idOf(SESSIONS)}`);
    await until('it fires', async () => (await firing()).length > 0, WAIT_MS);
    // A staleness marker ends the series of its next run at once, not after minutes.
    expect(await valueOf('next_run_seconds', SESSIONS)).toBeUndefined();
  });

  test('the events have reached the Collector, in the Resource of the service', async () => {
    const areThere = async (): Promise<boolean> => (await eventsIn(events.output)).length >= 2;
    await until('both are there', areThere, WAIT_MS);
    expect(await eventsIn(events.output)).toEqual([
      [SESSIONS, 'prom2otlp.backup.schedule.appeared', 'INFO'],
      [SESSIONS, 'prom2otlp.backup.schedule.vanished', 'WARN'],
    ]);
  });
});

/** Service, event and severity of each record in the Collector's file. */
async function eventsIn(output: string): Promise<readonly (readonly string[])[]> {
  const logs = (await readRequests(output)).flatMap(otlpLogs);
  return logs.map(({ resource, record: { eventName = '', severityText = '' } }) => [
    attributesOf(resource)['service.instance.id'] ?? '',
    eventName,
    severityText,
  ]);
}
