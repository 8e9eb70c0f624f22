import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import {
  instanceId,
  OWN_TELEMETRY_COUNTERS,
  type OwnTelemetry,
  startTelemetry,
} from '../../src/daemon/own-telemetry.ts';
import { type Clock, systemClock as clock } from '../../src/lib/clock.ts';
import { type Counter, COUNTER_SERIES_MAX, Counters } from '../../src/lib/counters.ts';
import { silentLogger, ThrottledLog } from '../../src/lib/log.ts';
import { OWN_SERVICE } from '../../src/model/batch.ts';
import type { CommitOutcome } from '../../src/pipeline/queue/commit.ts';
import { openQueue } from '../../src/pipeline/queue/open-queue.ts';
import type { Queue } from '../../src/pipeline/queue/queue.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { testConfig } from '../support/test-api.ts';
import { saneMetrics } from '../support/wire-sanity.ts';
import { type OtlpPoint, otlpPoints } from '../support/otlp-points.ts';

const REQUESTS = {
  requests: { name: 'prom2otlp_requests_total', help: 'Requests.', labels: ['service'] },
} as const;

const LAG = { lag: { name: 'prom2otlp_lag_seconds', help: 'Lag.', labels: ['service'] } } as const;

function configOf(changes: object = {}): Config {
  return testConfig({ telemetry: { interval: '1h' }, ...changes }, '/etc/prom2otlp.yaml');
}

function everyMs(intervalMs: number): Config {
  const config = configOf();
  return { ...config, telemetry: { ...config.telemetry, intervalMs } };
}

const DELTA = configOf({ otlp: { temporality: 'delta' } });

interface Setup {
  readonly telemetry: OwnTelemetry;
  readonly counters: Counters;
  /** A counter that is registered before the telemetry starts. */
  readonly requests: Counter<readonly ['service']>;
  /** Adds this number to the requests of the service `orders`, and flushes. */
  readonly count: (requests: number) => Promise<void>;
  /** The points of `requests` that were queued. */
  readonly sent: () => readonly OtlpPoint[];
  /** The points of each batch that was queued. */
  readonly queued: OtlpPoint[][];
  readonly causes: unknown[];
}

const STORED: CommitOutcome = { kind: 'stored' };
const FAILED: CommitOutcome = { kind: 'failed', message: 'disk full' };

/** Starts telemetry with a queue that gives these answers, and keeps the points that it stored. */
function start({
  config = configOf(),
  answer = () => STORED,
  counters = new Counters(),
  time = clock,
  startedAtMs = time.nowMs(),
}: {
  readonly config?: Config;
  readonly answer?: () => CommitOutcome | Promise<CommitOutcome>;
  readonly counters?: Counters;
  readonly time?: Clock;
  readonly startedAtMs?: number;
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
  const telemetry = startTelemetry({
    config,
    clock: time,
    counters,
    log,
    queue: { commit },
    instance: 'db-host:705b496f',
    startedAtMs,
  });
  onTestFinished(() => telemetry.close());
  const count = async (more: number): Promise<void> => {
    requests.add(more, 'orders');
    await telemetry.flush();
  };
  const sent = (): readonly OtlpPoint[] =>
    queued.flatMap(rows => named(rows, 'prom2otlp_requests_total'));
  return { telemetry, counters, requests, count, sent, queued, causes };
}

const named = (rows: OtlpPoint[] | undefined, name: string): OtlpPoint[] =>
  (rows ?? []).filter(row => row.metric === name);

test('a counter is sent as a monotonic sum, with labels, help and unit', async () => {
  const attributes = { 'a.pod': 'p' };
  const { requests, count, sent } = start({ config: configOf({ telemetry: { attributes } }) });
  requests.add(1, 'billing');
  await count(7);
  const shown = sent().map(row => `${row.attributes} ${row.value}`);
  expect(shown).toStrictEqual(['service=billing 1', 'service=orders 7']);
  expect(sent()[0]).toMatchObject({
    resource: expect.stringMatching(
      '^a.pod=p,service.instance.id=db-host:705b496f,service.name=prom2otlp,service.version=',
    ) as string,
    scope: 'prom2otlp',
    description: 'Requests.',
    unit: '',
    type: 'sum',
    isMonotonic: true,
    temporality: 'cumulative',
  });
  expect(Math.abs(Number(sent()[0]?.timeNs) / 1e6 - Date.now())).toBeLessThan(60_000);
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

test.each(['cumulative', 'delta'])(
  'telemetry that a reload switches on begins with the process: %s',
  async temporality => {
    const startedAtMs = clock.nowMs() - 86_400_000;
    const { count, sent } = start({ config: configOf({ otlp: { temporality } }), startedAtMs });
    await count(7);
    const { startNs = 0, value } = sent()[0] ?? {};
    expect([BigInt(startNs) / 1_000_000n, value]).toEqual([BigInt(Math.trunc(startedAtMs)), 7]);
  },
);

test('it never begins after its points, even if the clock was set back since the start', async () => {
  const { count, sent } = start({ startedAtMs: clock.nowMs() + 3_600_000 });
  await count(7);
  const { startNs = 0, timeNs = 0 } = sent()[0] ?? {};
  expect(BigInt(startNs)).toBeLessThanOrEqual(BigInt(timeNs));
});

test('a counter that is registered later is sent, too', async () => {
  const { telemetry, counters, queued } = start();
  counters.of({ late: { name: 'prom2otlp_late_total', help: 'Late.' } }).late.add(2);
  await telemetry.flush();
  expect(named(queued[0], 'prom2otlp_late_total')).toMatchObject([{ value: 2 }]);
});

test('every series of a full counter is sent', async () => {
  const { telemetry, requests, sent } = start();
  for (let i = 0; i < COUNTER_SERIES_MAX + 10; i++) requests.add(1, `service ${String(i)}`);
  await telemetry.flush();
  expect(sent()).toHaveLength(requests.series.length);
  expect(sent().at(-1)).toMatchObject({ attributes: 'service=other', value: 10 });
});

test('with delta temporality a sum is the growth since the last request', async () => {
  const { count, sent } = start({ config: DELTA });
  await count(5);
  await count(2);
  const shown = sent().map(row => `${row.temporality} ${row.value}`);
  expect(shown).toStrictEqual(['delta 5', 'delta 2']);
});

test('a failed request is counted and logged; with delta temporality its growth is in the next one', async () => {
  let outcome: CommitOutcome = FAILED;
  const { counters, count, sent, causes } = start({ config: DELTA, answer: () => outcome });
  await count(5);
  expect(causes).toStrictEqual(['disk full']);
  expect(counters.of(OWN_TELEMETRY_COUNTERS).failures.get()).toBe(1);
  outcome = STORED;
  await count(2);
  await count(1);
  expect(sent().map(({ value }) => value)).toEqual([7, 1]);
  expect(sent()[1]?.startNs).toBe(sent()[0]?.timeNs);
});

test('with delta temporality a reload sends nothing again', async () => {
  const { telemetry, counters, requests, count, sent } = start({ config: DELTA });
  await count(1000);
  requests.add(1, 'orders');
  await telemetry.close();
  const after = start({ config: DELTA, counters });
  await after.count(1);
  const values = [...sent(), ...after.sent()].map(({ value }) => value);
  expect(values).toEqual([1000, 1, 1]);
});

test('after a reload with another temporality sums go on from what was sent', async () => {
  const before = start();
  await before.count(1000);
  await before.telemetry.close();
  const { counters } = before;
  const delta = start({ config: DELTA, counters });
  await delta.count(1);
  await delta.telemetry.close();
  const after = start({ counters });
  await after.count(1);
  const shown = [before, delta, after].map(({ sent }) => sent().at(-1));
  expect(delta.sent().map(({ value }) => value)).toEqual([1, 0]);
  expect(shown.at(-1)).toMatchObject({ value: 1002, startNs: shown[0]?.startNs });
});

test('a gauge that a reload ends gets a marker', async () => {
  const before = start();
  const lag = before.counters.of(LAG).lag;
  lag.follow(() => [{ labelValues: ['orders'], value: 7 }]);
  await before.telemetry.close();
  lag.follow(() => []);
  const { telemetry, queued } = start({ counters: before.counters });
  await telemetry.flush();
  expect(named(queued[0], 'prom2otlp_lag_seconds')).toMatchObject([{ flags: 1 }]);
});

test.each(['cumulative', 'delta'] as const)(
  'with %s temporality no point starts after its time, even if the clock is set back',
  async temporality => {
    const time = new FakeClock();
    const { count, sent, causes } = start({ config: configOf({ otlp: { temporality } }), time });
    await time.advance(60_000);
    await count(5);
    await time.advance(60_000);
    time.wallOffsetMs -= 2 * 3_600_000;
    await count(2);
    expect(causes).toEqual([]);
    const { timeNs = 0, startNs = 0 } = sent()[1] ?? {};
    const lastedMs = Number(BigInt(timeNs) - BigInt(startNs)) / 1e6;
    expect(lastedMs).toBe(temporality === 'delta' ? 60_000 : 120_000);
  },
);

test('requests go out by themselves, once per interval', async () => {
  const { queued } = start({ config: everyMs(10) });
  await expect.poll(() => queued.length).toBeGreaterThanOrEqual(3);
});

test('closing queues the last counts, and nothing follows', async () => {
  const { telemetry, requests, sent, queued, causes } = start();
  requests.add(9, 'orders');
  await telemetry.close();
  await telemetry.close();
  await telemetry.flush();
  expect(queued).toHaveLength(1);
  expect(sent().map(({ value }) => value)).toStrictEqual([9]);
  expect(causes).toStrictEqual([]);
});

test('closing over a failed commit reports it and ends', async () => {
  const { telemetry, causes } = start({ answer: () => FAILED });
  await telemetry.close();
  expect(causes).toStrictEqual(['disk full']);
});

test('closing does not wait for a commit that never ends, and asks for no second one', async () => {
  const answer = vi.fn(() => new Promise<CommitOutcome>(() => undefined));
  const { telemetry } = start({ config: everyMs(50), answer });
  await telemetry.close();
  expect(answer).toHaveBeenCalledTimes(1);
});

test('a slow queue gets one request at a time, also after the timeout of the SDK', async () => {
  const outcome = Promise.withResolvers<CommitOutcome>();
  const answer = vi.fn(() => outcome.promise);
  const { causes } = start({ config: everyMs(10), answer });
  await expect.poll(() => causes[0]).toBe('the previous request is still in progress');
  expect(answer).toHaveBeenCalledTimes(1);
  outcome.resolve(STORED);
  await expect.poll(() => answer.mock.calls.length).toBeGreaterThan(1);
});

test('counts are queued as a separate service, and the account balances', async () => {
  const config = configOf();
  const counters = new Counters();
  const { x } = counters.of({ x: { name: 'prom2otlp_x_total', help: 'X.', labels: ['a'] } });
  x.add(7, 'b');
  await using queue = openQueue(config, { clock, counters: new Counters(), logger: silentLogger });
  const log = new ThrottledLog(silentLogger, clock);
  const instance = await instanceId(config, queue, 'db-host');
  const startedAtMs = clock.nowMs();
  const options = { config, clock, counters, log, queue, instance, startedAtMs };
  const telemetry = startTelemetry(options);
  await telemetry.close();
  const [row] = await queue.oldest('metrics', 1, new Set());
  const points = otlpPoints(saneMetrics(gunzipSync(row?.body ?? Buffer.alloc(0))));
  expect(points.filter(({ metric }) => metric === 'prom2otlp_x_total')).toMatchObject([
    { serviceName: 'prom2otlp', attributes: 'a=b', value: 7, type: 'sum' },
  ]);
  expect(points[0]?.resource).toMatch(
    /^service\.instance\.id=db-host:705b496f,service\.name=prom2otlp,service\.version=/,
  );
  expect(row?.parts).toMatchObject([{ service: OWN_SERVICE, points: points.length, offset: 0 }]);
  expect(queue.account.get(OWN_SERVICE, 'point/made')).toBe(points.length);
  expect(queue.account.queued(OWN_SERVICE)).toBe(points.length);
});

test('an installation keeps its id, and no two have the same', async () => {
  const idOf = async (
    directory: string | null,
    shard = { index: 0, count: 1 },
  ): Promise<string> => {
    const config = configOf({ queue: { directory }, shard });
    await using queue = openQueue(config, {
      clock,
      counters: new Counters(),
      logger: silentLogger,
    });
    return await instanceId(config, queue, 'db-host');
  };
  const [one, two] = [temporaryDirectory(), temporaryDirectory()];
  const id = await idOf(one);
  expect(id).toMatch(/^db-host:[\da-f]{8}$/);
  expect(await idOf(one)).toBe(id);
  expect(await idOf(two)).not.toBe(id);
  // The directory may be moved.
  const moved = join(temporaryDirectory(), 'queue');
  cpSync(one, moved, { recursive: true });
  expect(await idOf(moved)).toBe(id);
  expect(await idOf(one, { index: 1, count: 3 })).toBe(`${id}#1`);
  expect(await idOf(null)).toBe('db-host:705b496f');
});

test('an id that cannot be read or kept is the digest of the path', async () => {
  const config = configOf({ queue: { directory: '/var/lib/prom2otlp' } });
  const commit = (): Promise<CommitOutcome> => Promise.resolve(FAILED);
  for (const kept of [undefined, null])
    expect(
      await instanceId(config, { restoreState: () => Promise.resolve(kept), commit }, 'db-host'),
    ).toBe('db-host:432202eb');
});
