// A key that is revoked, mended, or lacks a permission, with all parts that use the key at once: which parts wait,
// which ask the service, and how soon all of them succeed again.

import { setImmediate as nextTurn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PullSchedule } from '../../src/lib/pull-schedule.ts';
import { KeyWatch } from '../../src/service/pull-report.ts';
import { requestError } from '../../src/service/service-error.ts';
import { KeyWorld } from '../support/key-world.ts';
import { testReport } from '../support/pull-report.ts';

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;
const ofBackups = (ids: string): RegExp => new RegExp(`"service_id":"db(${ids})"`);

describe('a permission that is lacking', () => {
  test('for the backups of two services costs the other 148 nothing', async () => {
    await using world = new KeyWorld();
    world.metrics('m', 15_000, 100);
    world.decide = what => (ofBackups('1|2').test(what) ? { ms: 10, status: 403 } : OK);
    const backups = world.backups(150);
    world.start(backups);
    const { count } = await world.verdicts(HOUR_MS);
    expect(backups.services.filter(({ isUp }) => isUp === true)).toHaveLength(148);
    expect(count).toBeLessThanOrEqual(1);
  });

  test('for the backups of four of six services leaves the two others, without metrics, too', async () => {
    await using world = new KeyWorld();
    world.decide = what => (ofBackups('[1-4]').test(what) ? { ms: 10, status: 403 } : OK);
    const backups = world.backups(6);
    world.start(backups);
    await world.clock.advance(120 * SECOND_MS);
    expect(backups.services.map(({ isUp }) => Number(isUp)).join('')).toBe('000011');
  });

  test.each([0, 1, 150])(
    'for one type of logs (%d targets) makes no storm and one verdict',
    async targets => {
      await using world = new KeyWorld();
      for (let i = 0; i < targets; i++) world.metrics(`m${i}`, 60_000, i * 400);
      world.decide = what => (what.includes('audit-log') ? { ms: 20, status: 403 } : OK);
      world.start(world.logs());
      await nextTurn();
      const { count } = await world.verdicts(HOUR_MS);
      expect(count).toBeLessThanOrEqual(1);
      expect(world.count(/\/logs/)).toBeLessThan(100);
    },
  );

  test('for the first type of logs stops no other type', async () => {
    await using world = new KeyWorld();
    world.decide = what => (what.includes('error-log') ? { ms: 20, status: 403 } : OK);
    world.start(world.logs());
    await nextTurn();
    await world.verdicts(HOUR_MS);
    expect(world.count(/proxy-log/, HOUR_MS / 2)).toBeGreaterThan(4);
    expect(world.count(/\/logs/)).toBeLessThan(150);
  });

  test('for metrics is no verdict for long, however slowly logs are answered', async () => {
    await using world = new KeyWorld();
    world.metrics('m', 60_000, 0);
    world.decide = what =>
      what.includes('metrics') ? { ms: 20, status: 403 } : { ms: 6000, status: 200 };
    world.start(world.logs());
    await nextTurn();
    expect((await world.verdicts(HOUR_MS)).ms).toBeLessThan(15_000);
  });
});

describe('all is well within 8 s of a mended key', () => {
  /** A key that the service checks when a request is sent. `ms`: the time that requests take, except for metrics. */
  function keyOf(world: KeyWorld, ms = 20) {
    const key = { isGood: true };
    world.decide = what => ({
      ms: what.includes('metrics') ? 20 : ms,
      status: key.isGood ? 200 : 401,
    });
    return key;
  }

  test.each([1, 150])('with %d targets, which wait together', async targets => {
    await using world = new KeyWorld();
    const key = keyOf(world);
    for (let i = 0; i < targets; i++) world.metrics(`m${i}`, 60_000, i * 400);
    world.start(world.backups(6), world.logs());
    await world.clock.advance(90_000);
    key.isGood = false;
    await world.clock.advance(400_000);
    const fromMs = world.clock.monotonicMs();
    await world.clock.advance(60_000);
    expect(world.count(/./, fromMs)).toBeLessThan(20);
    key.isGood = true;
    expect(await world.timeUntilWell()).toBeLessThan(8000);
  });

  test('if backups succeed that were asked for before it was revoked', async () => {
    await using world = new KeyWorld();
    const key = keyOf(world, 5000);
    const target = world.metrics('m', 60_000, 9000);
    world.start(world.backups(6));
    // The schedules are answered at 5 s, the backups at 10 s.
    await world.clock.advance(7000);
    key.isGood = false;
    await world.clock.advance(4000);
    expect([world.watch.isRefused, target.isRefused]).toEqual([true, true]);
    await world.clock.advance(600_000);
    key.isGood = true;
    expect(await world.timeUntilWell(() => target.isWell)).toBeLessThan(8000);
  });

  test('if it is revoked in the middle of a reading of backups', async () => {
    await using world = new KeyWorld();
    const key = keyOf(world, 200);
    world.metrics('m', 15_000, 100);
    const backups = world.backups(40);
    world.start(backups);
    await world.clock.advance(1500);
    key.isGood = false;
    await world.clock.advance(30_000);
    expect(
      world.requests.filter(({ what, status }) => status === 401 && /service_id/.test(what)).length,
    ).toBeLessThan(15);
    key.isGood = true;
    expect(
      await world.timeUntilWell(() => backups.services.every(({ isUp }) => isUp === true)),
    ).toBeLessThan(12_000);
  });

  test('if a probe was sent while it worked and answered after it was revoked', async () => {
    await using world = new KeyWorld();
    const key = keyOf(world);
    const targets = [0, 7000, 8000].map((phaseMs, i) => world.metrics(`m${i}`, 60_000, phaseMs));
    world.start();
    await nextTurn();
    await world.clock.advance(59_000);
    key.isGood = false;
    await world.clock.advance(2000);
    // The first probe is good, and takes 6 s; the other targets are refused meanwhile.
    world.decide = what => ({
      ms: what.includes('probe') ? 6000 : 20,
      status: what.includes('probe') ? 200 : 401,
    });
    await world.clock.advance(5500);
    expect(world.count(/probe/)).toBe(0);
    world.decide = () => ({ ms: 20, status: key.isGood ? 200 : 401 });
    await world.clock.advance(1_200_000);
    expect(targets.map(({ isKeyRefused }) => isKeyRefused)).toEqual([true, true, true]);
    key.isGood = true;
    expect(await world.timeUntilWell()).toBeLessThan(8000);
  });

  test('if it worked for a single probe before', async () => {
    await using world = new KeyWorld();
    const key = keyOf(world);
    world.metrics('m', 60_000, 0);
    world.metrics('n', 300_000, 500);
    world.start();
    await nextTurn();
    await world.clock.advance(290_000);
    key.isGood = false;
    await world.clock.advance(30_000);
    world.decide = what => ({ ms: 20, status: what.includes('probe') ? 200 : 401 });
    await world.clock.advance(4000);
    world.decide = () => ({ ms: 20, status: key.isGood ? 200 : 401 });
    await world.clock.advance(1_200_000);
    key.isGood = true;
    expect(await world.timeUntilWell()).toBeLessThan(8000);
  });

  test.each([
    ['hangs', { ms: 30_000, status: 500 }],
    ['has a Retry-After', { ms: 20, status: 429, retryAfterMs: 900_000 }],
  ])('if the probe of one part %s', async (_, answer) => {
    await using world = new KeyWorld();
    const key = { isGood: false };
    const target = world.metrics('m', 60_000, 0);
    world.metrics('n', 60_000, 1000);
    world.decide = what =>
      what.includes('probe of metrics n') ? answer : { ms: 20, status: key.isGood ? 200 : 401 };
    world.start();
    await nextTurn();
    await world.clock.advance(10_000);
    key.isGood = true;
    expect(await world.timeUntilWell(() => target.isWell)).toBeLessThan(8000);
  });

  test('if a reload brings the good one, and logs are pulled once a day', async () => {
    await using world = new KeyWorld();
    const { clock, stop } = world;
    const former = testReport(clock, { kind: 'logs' }, world.watch);
    const request = { method: 'GET', address: 'https://api.example.com' };
    const refusal = requestError({ reason: 'auth' }, request, { status: 401 });
    former.failed(refusal, { isRefused: true, startedMs: 0 });
    const logs = testReport(clock, { kind: 'logs' }, new KeyWatch(clock), former);
    const attempt = async (): Promise<void> => logs.succeeded(clock.monotonicMs());
    void logs.run(new PullSchedule({ cron: '0 3 * * *' }, 'id'), attempt, stop.signal);
    expect(await world.timeUntilWell(() => logs.isWell)).toBeLessThan(8000);
  });

  test('in random histories with answers that take up to 3 s, and stays well', async () => {
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
        for (let i = 0; i < targets; i++) world.metrics(`m${i}`, 60_000, random() * 60_000);
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
        expect(await world.timeUntilWell(areAllWell)).toBeLessThan(8000 + 3 * longestMs);
        const fromMs = world.clock.monotonicMs();
        expect((await world.verdicts(60_000)).count).toBe(0);
        expect(world.count(/./, fromMs)).toBeLessThan(60 + 4 * targets);
      }),
      { numRuns: 40 },
    );
  });
});

const OK = { ms: 30, status: 200 };
