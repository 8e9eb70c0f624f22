import { afterEach, expect, test } from 'vitest';
import { type Counter, COUNTER_SERIES_MAX, Counters } from '../../src/lib/counters.ts';
import {
  type OwnTelemetry,
  type OwnTelemetryOptions,
  startOwnTelemetry,
} from '../../src/status/own-telemetry.ts';
import { saneMetrics } from '../support/wire-sanity.ts';
import { type OtlpPoint, otlpPoints } from '../support/otlp-points.ts';

const HOUR_MS = 3_600_000;

const open: OwnTelemetry[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map(telemetry => telemetry.close()));
});

interface Setup {
  readonly telemetry: OwnTelemetry;
  readonly counters: Counters;
  /** A counter that was there at the start. */
  readonly requests: Counter;
  /** The rows of every request that was handed over. */
  readonly handed: OtlpPoint[][];
  readonly failures: string[];
}

/** Telemetry over a sink that keeps what it gets, unless told otherwise. */
function start(more: Partial<OwnTelemetryOptions> = {}): Setup {
  const counters = new Counters();
  const requests = counters.counter('prom2otlp_requests_total', 'Requests.', ['service']);
  const handed: OtlpPoint[][] = [];
  const failures: string[] = [];
  const telemetry = startOwnTelemetry({
    counters,
    intervalMs: HOUR_MS,
    temporality: 'cumulative',
    resource: { 'service.name': 'prom2otlp', 'service.instance.id': 'one' },
    sink: (payload, points) => {
      const rows = otlpPoints(saneMetrics(payload));
      expect(rows).toHaveLength(points);
      handed.push(rows);
      return Promise.resolve();
    },
    onFailure: error => void failures.push(error.message),
    ...more,
  });
  open.push(telemetry);
  return { telemetry, counters, requests, handed, failures };
}

const named = (rows: OtlpPoint[] | undefined, name: string): OtlpPoint[] =>
  (rows ?? []).filter(row => row.metric === name);

test('a counter is sent as a monotonic sum, with labels, help and unit', async () => {
  const { telemetry, requests, handed } = start();
  requests.add(7, 'orders');
  requests.add(1, 'billing');
  await telemetry.flush();
  const rows = named(handed[0], 'prom2otlp_requests_total');
  expect(rows.map(row => [row.attributes, row.value])).toStrictEqual([
    ['service=orders', 7],
    ['service=billing', 1],
  ]);
  expect(rows[0]).toMatchObject({
    resource: 'service.instance.id=one,service.name=prom2otlp',
    scope: 'prom2otlp',
    description: 'Requests.',
    unit: '',
    type: 'sum',
    isMonotonic: true,
    temporality: 'cumulative',
  });
  expect(Math.abs(Number(rows[0]?.timeNs) / 1e6 - Date.now())).toBeLessThan(60_000);
});

test('a gauge is sent as a gauge, and names tell the unit', async () => {
  const { telemetry, counters, handed } = start();
  counters.gauge('prom2otlp_queue_age_seconds', 'Age.').set(1.5);
  counters.counter('prom2otlp_read_bytes_total', 'Bytes.').add(3);
  await telemetry.flush();
  await telemetry.flush();
  expect(named(handed[1], 'prom2otlp_queue_age_seconds')).toMatchObject([
    { type: 'gauge', unit: 's', value: 1.5, attributes: '' },
  ]);
  expect(named(handed[1], 'prom2otlp_read_bytes_total')).toMatchObject([{ unit: 'By', value: 3 }]);
});

test('a counter that is registered later joins with the next request', async () => {
  const { telemetry, counters, handed } = start();
  counters.counter('prom2otlp_late_total', 'Late.').add(2);
  await telemetry.flush();
  expect(named(handed[0], 'prom2otlp_late_total')).toStrictEqual([]);
  await telemetry.flush();
  expect(named(handed[1], 'prom2otlp_late_total')).toMatchObject([{ value: 2 }]);
});

test('every series of a full counter is sent', async () => {
  const { telemetry, requests, handed } = start();
  for (let i = 0; i < COUNTER_SERIES_MAX + 10; i++) requests.add(1, `service ${String(i)}`);
  await telemetry.flush();
  const rows = named(handed[0], 'prom2otlp_requests_total');
  expect(rows).toHaveLength(requests.series.size);
  expect(rows.at(-1)).toMatchObject({ attributes: 'service=other', value: 10 });
});

test('with delta temporality a sum is the growth since the last request', async () => {
  const { telemetry, requests, handed } = start({ temporality: 'delta' });
  requests.add(5, 'orders');
  await telemetry.flush();
  requests.add(2, 'orders');
  await telemetry.flush();
  const rows = handed.flatMap(request => named(request, 'prom2otlp_requests_total'));
  expect(rows.map(row => [row.temporality, row.value])).toStrictEqual([
    ['delta', 5],
    ['delta', 2],
  ]);
});

test('requests go out by themselves, once per interval', async () => {
  let calls = 0;
  const called = Promise.withResolvers<void>();
  start({
    intervalMs: 10,
    sink: () => {
      if (++calls === 3) called.resolve();
      return Promise.resolve();
    },
  });
  await called.promise;
  expect(calls).toBeGreaterThanOrEqual(3);
});

test('closing queues the last counts, and nothing follows', async () => {
  const { telemetry, requests, handed, failures } = start();
  requests.add(9, 'orders');
  await telemetry.close();
  await telemetry.close();
  await telemetry.flush();
  expect(handed.map(rows => named(rows, 'prom2otlp_requests_total')[0]?.value)).toStrictEqual([9]);
  expect(failures).toStrictEqual([]);
});

test('a failed sink is counted and reported, and used again the next time', async () => {
  let isFull = true;
  let taken = 0;
  const { telemetry, counters, failures } = start({
    sink: () => {
      if (isFull) return Promise.reject(new Error('cannot store: disk full'));
      taken++;
      return Promise.resolve();
    },
  });
  await telemetry.flush();
  expect(failures).toStrictEqual(['cannot store: disk full']);
  expect(counters.counter('prom2otlp_telemetry_failures_total', '').get()).toBe(1);
  isFull = false;
  await telemetry.flush();
  expect(taken).toBe(1);
});

test('a sink that never ends neither blocks closing nor gets a second request', async () => {
  let calls = 0;
  const { telemetry, failures } = start({
    intervalMs: 20,
    sink: () => {
      calls++;
      return new Promise(() => undefined);
    },
  });
  await telemetry.flush();
  await telemetry.flush();
  await telemetry.close();
  expect(calls).toBe(1);
  expect(new Set(failures)).toStrictEqual(
    new Set(['cannot queue own telemetry: the previous request is still in progress']),
  );
});
