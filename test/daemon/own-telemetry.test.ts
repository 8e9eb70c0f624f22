import { hostname } from 'node:os';
import { gunzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import {
  instanceId,
  OWN_SERVICE,
  OWN_TELEMETRY_COUNTERS,
  type OwnTelemetry,
  startTelemetry,
} from '../../src/daemon/own-telemetry.ts';
import { type Clock, systemClock as clock } from '../../src/lib/clock.ts';
import { type Counter, COUNTER_SERIES_MAX, Counters } from '../../src/lib/counters.ts';
import { silentLogger, ThrottledLog } from '../../src/lib/log.ts';
import type { CommitOutcome } from '../../src/pipeline/queue/commit.ts';
import { openQueue, type Queue } from '../../src/pipeline/queue/queue.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { saneMetrics } from '../support/wire-sanity.ts';
import { type OtlpPoint, otlpPoints } from '../support/otlp-points.ts';

const REQUESTS = {
  requests: { name: 'prom2otlp_requests_total', help: 'Requests.', labels: ['service'] },
} as const;

const open: OwnTelemetry[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map(telemetry => telemetry.close()));
});

function configOf(changes: Readonly<Record<string, unknown>> = {}): Config {
  const text = JSON.stringify({
    api: { base_url: 'https://a', key: 'k' },
    services: [{ id: 'x' }],
    queue: { directory: null },
    telemetry: { interval: '1h' },
    ...changes,
  });
  return parseConfig(text, { file: '/etc/prom2otlp.yaml', environment: {} });
}

function everyTenMs(): Config {
  const config = configOf();
  return { ...config, telemetry: { ...config.telemetry, intervalMs: 10 } };
}

interface Setup {
  readonly telemetry: OwnTelemetry;
  readonly counters: Counters;
  /** A counter that was there at the start. */
  readonly requests: Counter<readonly ['service']>;
  /** The rows of every request that was queued. */
  readonly queued: OtlpPoint[][];
  readonly causes: unknown[];
}

const STORED: CommitOutcome = { kind: 'stored' };
const FAILED: CommitOutcome = { kind: 'failed', message: 'disk full' };

/** Telemetry over a queue that gives these answers, and keeps the rows that it has stored. */
function start({
  config = configOf(),
  answer = () => STORED,
  counters = new Counters(),
  time = clock,
}: {
  readonly config?: Config;
  readonly answer?: () => CommitOutcome | Promise<CommitOutcome>;
  readonly counters?: Counters;
  readonly time?: Clock;
} = {}): Setup {
  const { requests } = counters.of(REQUESTS);
  const queued: OtlpPoint[][] = [];
  const causes: unknown[] = [];
  const commit: Queue['commit'] = async ({ batches }) => {
    const [batch] = batches;
    const rows = otlpPoints(saneMetrics(batch?.payload ?? Buffer.alloc(0)));
    expect(rows).toHaveLength(batch?.parts[0]?.points ?? 0);
    const outcome = await answer();
    if (outcome === STORED) queued.push(rows);
    return outcome;
  };
  const warn = ({ cause }: Readonly<Record<string, unknown>>): void => void causes.push(cause);
  const log = new ThrottledLog({ ...silentLogger, warn }, time);
  const telemetry = startTelemetry({ config, clock: time, counters, log, queue: { commit } });
  open.push(telemetry);
  return { telemetry, counters, requests, queued, causes };
}

const named = (rows: OtlpPoint[] | undefined, name: string): OtlpPoint[] =>
  (rows ?? []).filter(row => row.metric === name);

test('a counter is sent as a monotonic sum, with labels, help and unit', async () => {
  const { telemetry, requests, queued } = start();
  requests.add(7, 'orders');
  requests.add(1, 'billing');
  await telemetry.flush();
  const rows = named(queued[0], 'prom2otlp_requests_total');
  expect(rows.map(row => `${row.attributes} ${row.value}`)).toStrictEqual([
    'service=orders 7',
    'service=billing 1',
  ]);
  expect(rows[0]).toMatchObject({
    resource: expect.stringMatching(
      `^service.instance.id=${hostname()}:705b496f,service.name=prom2otlp,service.version=`,
    ) as string,
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
  const { telemetry, counters, queued } = start();
  const { age, bytes } = counters.of({
    age: { name: 'prom2otlp_queue_age_seconds', help: 'Age.' },
    bytes: { name: 'prom2otlp_read_bytes_total', help: 'Bytes.' },
  });
  age.set(1.5);
  bytes.add(3);
  await telemetry.flush();
  await telemetry.flush();
  expect(named(queued[1], 'prom2otlp_queue_age_seconds')).toMatchObject([
    { type: 'gauge', unit: 's', value: 1.5, attributes: '' },
  ]);
  expect(named(queued[1], 'prom2otlp_read_bytes_total')).toMatchObject([{ unit: 'By', value: 3 }]);
});

test('the end of a gauge is sent once', async () => {
  const { telemetry, counters, queued } = start();
  const { up } = counters.of({
    up: { name: 'prom2otlp_up', help: 'Up.', labels: ['target', 'reason'] },
  });
  let reason = 'timeout';
  up.follow(() => [{ labelValues: ['a', reason], value: Number(reason === '') }]);
  await telemetry.flush();
  reason = '';
  await telemetry.flush();
  await telemetry.flush();
  const sent = queued.map(rows => named(rows, 'prom2otlp_up'));
  const short = sent.map(rows => rows.map(({ attributes, flags }) => [attributes, flags]));
  expect(short).toStrictEqual([
    [['reason=timeout,target=a', 0]],
    [
      ['reason=,target=a', 0],
      ['reason=timeout,target=a', 1],
    ],
    [['reason=,target=a', 0]],
  ]);
  expect(new Set(sent.flat().map(({ resource }) => resource)).size).toBe(1);
});

test('a counter that is registered later is sent, too', async () => {
  const { telemetry, counters, queued } = start();
  counters.of({ late: { name: 'prom2otlp_late_total', help: 'Late.' } }).late.add(2);
  await telemetry.flush();
  expect(named(queued[0], 'prom2otlp_late_total')).toMatchObject([{ value: 2 }]);
});

test('every series of a full counter is sent', async () => {
  const { telemetry, requests, queued } = start();
  for (let i = 0; i < COUNTER_SERIES_MAX + 10; i++) requests.add(1, `service ${String(i)}`);
  await telemetry.flush();
  const rows = named(queued[0], 'prom2otlp_requests_total');
  expect(rows).toHaveLength(requests.series.length);
  expect(rows.at(-1)).toMatchObject({ attributes: 'service=other', value: 10 });
});

test('with delta temporality a sum is the growth since the last request', async () => {
  const { telemetry, requests, queued } = start({
    config: configOf({ otlp: { temporality: 'delta' } }),
  });
  requests.add(5, 'orders');
  await telemetry.flush();
  requests.add(2, 'orders');
  await telemetry.flush();
  const rows = queued.flatMap(request => named(request, 'prom2otlp_requests_total'));
  expect(rows.map(row => `${row.temporality} ${row.value}`)).toStrictEqual(['delta 5', 'delta 2']);
});

test('a failed request is counted and logged; with delta temporality its growth is in the next one', async () => {
  let outcome: CommitOutcome = FAILED;
  const { telemetry, counters, requests, queued, causes } = start({
    config: configOf({ otlp: { temporality: 'delta' } }),
    answer: () => outcome,
  });
  requests.add(5, 'orders');
  await telemetry.flush();
  expect(causes).toStrictEqual(['disk full']);
  expect(counters.of(OWN_TELEMETRY_COUNTERS).failures.get()).toBe(1);
  outcome = STORED;
  requests.add(2, 'orders');
  await telemetry.flush();
  requests.add(1, 'orders');
  await telemetry.flush();
  const rows = queued.flatMap(request => named(request, 'prom2otlp_requests_total'));
  expect(rows.map(({ value }) => value)).toEqual([7, 1]);
  expect(rows[1]?.startNs).toBe(rows[0]?.timeNs);
});

test('with delta temporality a reload sends nothing again', async () => {
  const config = configOf({ otlp: { temporality: 'delta' } });
  const { telemetry, counters, requests, queued } = start({ config });
  requests.add(1000, 'orders');
  await telemetry.flush();
  requests.add(1, 'orders');
  await telemetry.close();
  const after = start({ config, counters });
  requests.add(1, 'orders');
  await after.telemetry.flush();
  const rows = [...queued, ...after.queued].flatMap(request =>
    named(request, 'prom2otlp_requests_total'),
  );
  expect(rows.map(({ value }) => value)).toEqual([1000, 1, 1]);
});

test.each(['cumulative', 'delta'] as const)(
  'with %s temporality no point starts after its time, even if the clock is set back',
  async temporality => {
    const time = new FakeClock();
    const config = configOf({ otlp: { temporality } });
    const { telemetry, requests, queued, causes } = start({ config, time });
    requests.add(5, 'orders');
    await time.advance(60_000);
    await telemetry.flush();
    requests.add(2, 'orders');
    await time.advance(60_000);
    time.wallOffsetMs -= 2 * 3_600_000;
    await telemetry.flush();
    expect(causes).toEqual([]);
    const [row] = named(queued[1], 'prom2otlp_requests_total');
    const lastedMs = Number(BigInt(row?.timeNs ?? 0) - BigInt(row?.startNs ?? 0)) / 1e6;
    expect(lastedMs).toBe(temporality === 'delta' ? 60_000 : 120_000);
  },
);

test('requests go out by themselves, once per interval', async () => {
  const { queued } = start({ config: everyTenMs() });
  await expect.poll(() => queued.length).toBeGreaterThanOrEqual(3);
});

test('closing queues the last counts, and nothing follows', async () => {
  const { telemetry, requests, queued, causes } = start();
  requests.add(9, 'orders');
  await telemetry.close();
  await telemetry.close();
  await telemetry.flush();
  expect(queued.map(rows => named(rows, 'prom2otlp_requests_total')[0]?.value)).toStrictEqual([9]);
  expect(causes).toStrictEqual([]);
});

test('closing over a failed commit reports it and ends', async () => {
  const { telemetry, causes } = start({ answer: () => FAILED });
  await telemetry.close();
  expect(causes).toStrictEqual(['disk full']);
});

test('closing does not wait for a commit that never ends, and asks for no second one', async () => {
  const config = configOf();
  let calls = 0;
  const { telemetry } = start({
    config: { ...config, telemetry: { ...config.telemetry, intervalMs: 50 } },
    answer: () => {
      calls++;
      return new Promise(() => undefined);
    },
  });
  await telemetry.close();
  expect(calls).toBe(1);
});

test('a slow queue gets one request at a time, also after the timeout of the SDK', async () => {
  const answer = Promise.withResolvers<CommitOutcome>();
  let calls = 0;
  const { causes } = start({
    config: everyTenMs(),
    answer: () => {
      calls++;
      return answer.promise;
    },
  });
  await expect.poll(() => causes[0]).toBe('the previous request is still in progress');
  expect(calls).toBe(1);
  answer.resolve(STORED);
  await expect.poll(() => calls).toBeGreaterThan(1);
});

test('counts are queued as a separate service, and the account balances', async () => {
  const config = configOf();
  const counters = new Counters();
  const { x } = counters.of({ x: { name: 'prom2otlp_x_total', help: 'X.', labels: ['a'] } });
  x.add(7, 'b');
  await using queue = openQueue(config, { clock, counters: new Counters(), logger: silentLogger });
  const telemetry = startTelemetry({
    config,
    clock,
    counters,
    log: new ThrottledLog(silentLogger, clock),
    queue,
  });
  await telemetry.close();
  const [row] = await queue.oldest('metrics', 1, new Set());
  const points = otlpPoints(saneMetrics(gunzipSync(row?.body ?? Buffer.alloc(0))));
  expect(points.filter(({ metric }) => metric === 'prom2otlp_x_total')).toMatchObject([
    { serviceName: 'prom2otlp', attributes: 'a=b', value: 7, type: 'sum' },
  ]);
  expect(points[0]?.resource).toMatch(
    /^service\.instance\.id=[^,]+:705b496f,service\.name=prom2otlp,service\.version=/,
  );
  expect(row?.parts).toMatchObject([{ service: OWN_SERVICE, points: points.length, offset: 0 }]);
  expect(queue.account.get(OWN_SERVICE, 'point/made')).toBe(points.length);
  expect(queue.account.queued(OWN_SERVICE)).toBe(points.length);
});

test('an installation keeps its id, and no two have the same', () => {
  const check = (changes: Readonly<Record<string, unknown>>, want: string): void => {
    expect(instanceId(configOf(changes), 'db-host')).toBe(want);
  };
  check({}, 'db-host:705b496f');
  check({ queue: { directory: '/var/lib/prom2otlp' } }, 'db-host:432202eb');
  check({ shard: { index: 1, count: 3 } }, 'db-host:705b496f#1');
});
