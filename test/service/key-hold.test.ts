// A key that is revoked, mended, or lacks a right, with all parts that use the key at once: which parts wait, which ask
// the service, and how soon all of them succeed again.

import { setImmediate as nextTurn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PullSchedule } from '../../src/lib/pull-schedule.ts';
import { KeyHold } from '../../src/service/key-hold.ts';
import { requestError } from '../../src/service/service-error.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { KeyWorld } from '../support/key-world.ts';
import { testReport } from '../support/pull-report.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const OK = { ms: 30, status: 200 };
const REQUEST = { method: 'GET', address: 'https://api.example.com/x' };
const refusal = requestError({ reason: 'auth' }, REQUEST, { status: 403 });
const ofBackups = (ids: string): RegExp => new RegExp(`"service_id":"db(${ids})"`);

describe('a refusal', () => {
  /** Metrics that are read once a minute, and logs every five. */
  function parts() {
    const clock = new FakeClock();
    const key = new KeyHold(clock);
    const holdOff = { firstMs: MINUTE_MS, maxMs: 300_000, dueEveryMs: MINUTE_MS };
    const source = { isNew: false };
    const client = { host: 'api.example.com', isKeyNew: () => source.isNew };
    const metrics = testReport(clock, { holdOff, client }, key);
    const logs = testReport(clock, { kind: 'logs', client, intervalMs: 5 * MINUTE_MS }, key);
    const refused = (): { isRefused: true; startedMs: number } => ({
      isRefused: true,
      startedMs: clock.monotonicMs(),
    });
    return { clock, metrics, logs, source, refused };
  }

  test.each(['metrics', 'logs'] as const)(
    'within two intervals of a success of the %s is a right that the other part lacks',
    async name => {
      const { clock, refused, ...both } = parts();
      const [well, lacking] =
        name === 'metrics' ? [both.metrics, both.logs] : [both.logs, both.metrics];
      well.succeeded();
      await clock.advance(2 * well.options.intervalMs);
      lacking.failed(refusal, refused());
      expect(lacking.status).toMatchObject({ reason: 'auth', isKeyRefused: false });
      expect([lacking.held() ?? null, well.held()]).toEqual([
        name === 'metrics' ? refusal : null,
        null,
      ]);
      expect(well.status.state).toBe('ok');
      // Without another success, nothing shows any more that the key is good.
      await clock.advance(1);
      expect(lacking.status.isKeyRefused).toBe(true);
      lacking.failed(refusal, refused());
      expect(well.held()).toBe(refusal);
    },
  );

  test('without a success of another part that counts holds all parts for a minute', async () => {
    const { clock, metrics, logs, refused } = parts();
    // Each part's own success ends with its own refusal.
    logs.succeeded();
    metrics.succeeded();
    logs.failed(refusal, refused());
    expect(logs.status.isKeyRefused).toBe(false);
    metrics.failed(refusal, refused());
    expect([metrics.held(), logs.held()]).toEqual([refusal, refusal]);
    for (const { status } of [metrics, logs])
      expect(status).toMatchObject({ state: 'failed', reason: 'auth', isKeyRefused: true });
    await clock.advance(MINUTE_MS);
    expect([metrics.held(), logs.held(), logs.heldMs()]).toEqual([null, null, 0]);
    expect(metrics.status.isKeyRefused).toBe(true);
    logs.succeeded();
    expect(metrics.status).toMatchObject({ reason: 'auth', isKeyRefused: false });
    metrics.failed(refusal, refused());
    expect(logs.held()).toBe(null);
  });

  test('that holds all parts is a failure of a part that sends no request', async () => {
    const { clock, metrics, logs, refused } = parts();
    logs.succeeded();
    await clock.advance(10 * MINUTE_MS + 1);
    metrics.failed(refusal, refused());
    expect(logs.held()).toBe(refusal);
    expect(logs.status).toMatchObject({ state: 'failed', reason: 'auth', isKeyRefused: true });
    expect(logs.status.lastAttemptAtMs).toBe(logs.status.lastSuccessAtMs);
  });

  test('ends with the first success, and when the source has another key', () => {
    const { metrics, logs, source, refused } = parts();
    metrics.failed(refusal, refused());
    expect(logs.held()).toBe(refusal);
    source.isNew = true;
    expect([logs.held(), metrics.held()]).toEqual([null, null]);
    source.isNew = false;
    metrics.failed(refusal, refused());
    expect(logs.held()).toBe(refusal);
    metrics.answered();
    expect([logs.held(), metrics.held()]).toEqual([null, null]);
  });

  test('of a part that is pulled once a day is followed by an attempt as soon as the hold is over', async () => {
    const { clock, logs } = parts();
    const stop = new AbortController();
    const startMs = clock.nowMs();
    const startsMs: number[] = [];
    const running = logs.run(
      new PullSchedule({ cron: '0 10 * * *' }, 'id'),
      async held => {
        startsMs.push(clock.nowMs() - startMs);
        if (held === null && startsMs.length < 3)
          logs.failed(refusal, { isRefused: true, startedMs: clock.monotonicMs() });
        else if (held === null) logs.succeeded();
      },
      stop.signal,
    );
    await clock.advance(2 * HOUR_MS);
    const [first = 0] = startsMs;
    expect(startsMs).toEqual([first, first + MINUTE_MS, first + 2 * MINUTE_MS]);
    stop.abort();
    await running;
  });
});

describe('a right that is lacking', () => {
  test('for logs costs the metrics no scrape', async () => {
    await using world = new KeyWorld();
    const target = world.metrics('m', MINUTE_MS, 0);
    world.decide = what => (what.includes('/logs') ? { ms: 20, status: 403 } : OK);
    world.start(world.logs());
    await nextTurn();
    const { count } = await world.verdicts(HOUR_MS);
    expect([count, world.count(/metrics/), target.status.state]).toEqual([0, 60, 'ok']);
    expect(world.count(/\/logs/)).toBeLessThan(150);
  });

  test('for the backups of two services costs the other 148 nothing', async () => {
    await using world = new KeyWorld();
    world.metrics('m', 15_000, 100);
    world.decide = what => (ofBackups('1|2').test(what) ? { ms: 10, status: 403 } : OK);
    const backups = world.backups(150);
    world.start(backups);
    await world.verdicts(HOUR_MS);
    expect(backups.services.filter(({ isUp }) => isUp === true)).toHaveLength(148);
  });

  test('for the backups of four of six services leaves the two others, without metrics, too', async () => {
    await using world = new KeyWorld();
    world.decide = what => (ofBackups('[1-4]').test(what) ? { ms: 10, status: 403 } : OK);
    const backups = world.backups(6);
    world.start(backups);
    await world.clock.advance(2 * MINUTE_MS);
    expect(backups.services.map(({ isUp }) => Number(isUp)).join('')).toBe('000011');
  });

  test.each([0, 1, 150])('for one type of logs (%d targets) makes no storm', async targets => {
    await using world = new KeyWorld();
    for (let i = 0; i < targets; i++) world.metrics(`m${i}`, MINUTE_MS, i * 400);
    world.decide = what => (what.includes('audit-log') ? { ms: 20, status: 403 } : OK);
    world.start(world.logs());
    await nextTurn();
    await world.verdicts(HOUR_MS);
    expect(world.count(/\/logs/)).toBeLessThan(100);
    expect(world.count(/proxy-log/, HOUR_MS / 2)).toBeGreaterThan(4);
  });

  test('for metrics stops no logs', async () => {
    await using world = new KeyWorld();
    world.metrics('m', MINUTE_MS, 0);
    world.decide = what => (what.includes('metrics') ? { ms: 20, status: 403 } : OK);
    world.start(world.logs());
    await nextTurn();
    await world.verdicts(HOUR_MS);
    const [metrics, logs] = world.reports;
    expect(logs?.status.state).toBe('ok');
    expect(world.count(/proxy-log/, HOUR_MS / 2)).toBeGreaterThan(4);
    // It is told the same all the time, although logs are read less often than metrics.
    let toldRefusedCount = 0;
    for (let second = 0; second < 3600; second++) {
      await world.clock.advance(1000);
      if (metrics?.status.isKeyRefused !== false) toldRefusedCount++;
    }
    expect(toldRefusedCount).toBe(0);
  });
});

describe('a revoked key', () => {
  /** A key that the service checks when a request is sent. */
  function keyOf(world: KeyWorld) {
    const key = { isGood: true };
    world.decide = () => ({ ms: 20, status: key.isGood ? 200 : 401 });
    return key;
  }

  test.each([1, 150])('with %d targets costs few requests until it is mended', async targets => {
    await using world = new KeyWorld();
    const key = keyOf(world);
    for (let i = 0; i < targets; i++) world.metrics(`m${i}`, MINUTE_MS, i * 400);
    world.start(world.backups(6), world.logs());
    await world.clock.advance(1.5 * MINUTE_MS);
    key.isGood = false;
    // The backups are the last part to ask again: until then, their success counts.
    await world.clock.advance(20 * MINUTE_MS);
    const metrics = world.reports.filter(({ options }) => options.kind === 'metrics');
    expect(metrics.every(({ status }) => status.isKeyRefused)).toBe(true);
    const fromMs = world.clock.monotonicMs();
    await world.clock.advance(5 * MINUTE_MS);
    expect(world.count(/./, fromMs)).toBeLessThan(5 * 15);
    key.isGood = true;
    expect(await world.timeUntilWell()).toBeLessThan(3 * MINUTE_MS);
  });

  test('that is replaced in its source is followed by the new one with the next attempt', async () => {
    await using world = new KeyWorld();
    const key = keyOf(world);
    key.isGood = false;
    for (let i = 0; i < 6; i++) world.metrics(`m${i}`, MINUTE_MS, i * 10_000);
    await world.clock.advance(79_000);
    key.isGood = world.isKeyNew = true;
    const fromMs = world.clock.monotonicMs();
    await world.clock.advance(MINUTE_MS);
    expect([world.areAllWell, world.count(/./, fromMs)]).toEqual([true, 6]);
  });

  test('in the middle of a reading of backups ends the reading', async () => {
    await using world = new KeyWorld();
    const key = keyOf(world);
    const backups = world.backups(40);
    world.start(backups);
    while (world.count(/service_id/) < 20) await world.clock.advance(10);
    key.isGood = false;
    await world.clock.advance(5000);
    expect(world.requests.filter(({ status }) => status === 401).length).toBeLessThan(10);
    key.isGood = true;
    const areUp = (): boolean => backups.services.every(({ isUp }) => isUp === true);
    expect(await world.timeUntilWell(areUp)).toBeLessThan(2 * MINUTE_MS);
  });

  test('after random histories all is well within the longest hold of a part, and stays well', async () => {
    const history = fc.record({
      targets: fc.constantFrom(1, 20),
      longestMs: fc.constantFrom(300, 3000),
      times: fc.array(fc.integer({ min: 100, max: 15_000 }), { minLength: 1, maxLength: 5 }),
      lastMs: fc.integer({ min: 15_000, max: 300_000 }),
      seed: fc.integer({ min: 0, max: 1e6 }),
    });
    await fc.assert(
      fc.asyncProperty(history, async ({ targets, longestMs, times, lastMs, seed }) => {
        await using world = new KeyWorld();
        const key = { isGood: true };
        let state = seed;
        const random = (): number =>
          (state = (state * 48_271 + 11) % 2_147_483_647) / 2_147_483_647;
        const status = (): number => (key.isGood ? 200 : 401);
        world.decide = () => ({
          ms: 10 + random() * longestMs,
          // The service checks the key when the request comes in, or when it answers.
          status: random() < 0.5 ? status() : status,
        });
        for (let i = 0; i < targets; i++) world.metrics(`m${i}`, MINUTE_MS, random() * MINUTE_MS);
        const backups = world.backups(7);
        world.start(backups, world.logs());
        await world.clock.advance(100_000);
        for (const [i, ms] of times.entries()) {
          key.isGood = i % 2 === 1;
          await world.clock.advance(ms);
        }
        key.isGood = false;
        await world.clock.advance(lastMs);
        key.isGood = true;
        // All earlier requests are answered.
        await world.clock.advance(longestMs + 10);
        const areAllWell = (): boolean =>
          world.areAllWell && backups.services.every(({ isUp }) => isUp === true);
        expect(await world.timeUntilWell(areAllWell)).toBeLessThan(6 * MINUTE_MS);
        expect((await world.verdicts(MINUTE_MS)).count).toBe(0);
      }),
      { numRuns: 40 },
    );
  });
});
