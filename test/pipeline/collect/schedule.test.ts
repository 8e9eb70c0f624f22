import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { Counters } from '../../../src/lib/counters.ts';
import { inTurns, Schedule } from '../../../src/pipeline/collect/schedule.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const START_MS = Date.UTC(2026, 2, 4, 9, 0, 7, 300);

interface Due {
  readonly atMs: number;
  readonly indexes: readonly number[];
}

interface Setting {
  readonly clock: FakeClock;
  readonly counters: Counters;
  readonly schedule: Schedule;
  /** Runs the schedule for a time; each scrape takes `scrapeMs` from when it is due. */
  readonly run: (forMs: number, scrapeMs?: number) => Promise<Due[]>;
  readonly skipped: (cause: string) => number;
}

function setUp(ids: readonly string[], intervalMs = 60_000, startMs = START_MS): Setting {
  const clock = new FakeClock(startMs);
  const counters = new Counters();
  const targets = ids.map(id => ({ id, intervalMs }));
  const schedule = new Schedule(targets, { clock, counters });
  const running = new Map<number, number>();
  const run = async (forMs: number, scrapeMs = 0): Promise<Due[]> => {
    const endMs = clock.monotonicMs() + forMs;
    const dues: Due[] = [];
    while (schedule.nextDueMs() <= endMs) {
      await clock.advance(schedule.nextDueMs() - clock.monotonicMs());
      const nowMs = clock.monotonicMs();
      for (const [index, doneAtMs] of running)
        if (doneAtMs <= nowMs && running.delete(index)) schedule.finish(index);
      const indexes = schedule.takeDue(nowMs);
      for (const index of indexes) running.set(index, nowMs + scrapeMs);
      if (indexes.length > 0) dues.push({ atMs: nowMs, indexes });
    }
    await clock.advance(endMs - clock.monotonicMs());
    return dues;
  };
  const skipped = (cause: string): number => counters.list()[0]?.get(cause) ?? 0;
  return { clock, counters, schedule, run, skipped };
}

const MANY = Array.from({ length: 200 }, (_, index) => `target-${index}`);

/** The times at which one target was due. */
function timesOf(dues: readonly Due[], index: number): number[] {
  return dues.filter(({ indexes }) => indexes.includes(index)).map(({ atMs }) => atMs);
}

test('every target is scraped soon after the start, then once per interval', async () => {
  const { run } = setUp(MANY);
  const dues = await run(600_000);
  for (const index of MANY.keys()) {
    const times = timesOf(dues, index);
    expect(times.length).toBeGreaterThanOrEqual(10);
    expect(times[0]).toBeLessThan(1200);
    const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0));
    expect(gaps[0]).toBeGreaterThanOrEqual(30_000);
    expect(gaps[0]).toBeLessThan(90_000);
    for (const gap of gaps.slice(1)) expect(gap).toBeCloseTo(60_000, 5);
  }
});

test('targets are spread over the interval, in few ticks that many share', async () => {
  const { run } = setUp(MANY);
  const dues = (await run(240_000)).filter(({ atMs }) => atMs > 120_000 && atMs <= 180_000);
  expect(dues.length).toBe(12);
  for (const { indexes } of dues) expect(indexes.length).toBeGreaterThan(5);
  expect(dues.reduce((sum, { indexes }) => sum + indexes.length, 0)).toBe(200);
});

/** The places of the ticks in the third minute, in steps of 5 s of the wall clock's minute. */
async function placesOfTicks(ids: readonly string[]): Promise<number[]> {
  const { clock, run } = setUp(ids);
  const dues = (await run(240_000)).filter(({ atMs }) => atMs > 120_000 && atMs <= 180_000);
  expect(dues.flatMap(({ indexes }) => indexes).toSorted((a, b) => a - b)).toEqual([...ids.keys()]);
  return dues.map(({ atMs }) => Math.round(((clock.wallOffsetMs + atMs) % 60_000) / 5000));
}

test('few targets share few ticks, each process at places of its own', async () => {
  const ids = (from: number, count: number): string[] =>
    Array.from({ length: count }, (_, i) => `service-${from + i}`);
  expect((await placesOfTicks(ids(0, 8))).length).toBe(1);
  expect((await placesOfTicks(ids(0, 20))).length).toBeLessThanOrEqual(3);
  expect((await placesOfTicks(ids(0, 88))).length).toBeGreaterThan(5);
  const places = await Promise.all(MANY.map((_, i) => placesOfTicks(ids(i * 8, 8))));
  expect(new Set(places.flat()).size).toBe(12);
});

test("a target's place in the interval is the same in every process and after every start", async () => {
  const placesOf = async (startMs: number): Promise<number[]> => {
    const { clock, run } = setUp(MANY, 60_000, startMs);
    const dues = await run(180_000);
    return MANY.map((_, index) => {
      const time = timesOf(dues, index).at(-1) ?? Number.NaN;
      return Math.round((clock.wallOffsetMs + time) % 60_000);
    });
  };
  const first = await placesOf(START_MS);
  expect(await placesOf(START_MS + 12_345_678)).toEqual(first);
  expect(new Set(first)).toEqual(new Set(Array.from({ length: 12 }, (_, place) => place * 5000)));
});

test('short intervals have fewer places, the shortest has one', async () => {
  const ticksOf = async (intervalMs: number): Promise<number> => {
    const { run } = setUp(MANY, intervalMs);
    const dues = await run(intervalMs * 10);
    return dues.filter(({ atMs }) => atMs > intervalMs * 8 && atMs <= intervalMs * 9).length;
  };
  expect(await ticksOf(10_000)).toBe(12);
  expect(await ticksOf(1000)).toBe(4);
  expect(await ticksOf(100)).toBe(1);
});

test('a slow scrape skips its next due times, which are counted', async () => {
  const { run, skipped } = setUp(['slow']);
  const dues = await run(600_000, 150_000);
  const times = timesOf(dues, 0);
  expect(times.length).toBe(4);
  expect(skipped('overlap')).toBe(6);
  expect(skipped('late')).toBe(0);
});

test('a target that never finishes delays no other', async () => {
  const { schedule, clock } = setUp(['stuck', 'free']);
  const counts = [0, 0];
  for (let second = 0; second < 600; second++) {
    await clock.advance(1000);
    for (const index of schedule.takeDue(clock.monotonicMs())) {
      counts[index] = (counts[index] ?? 0) + 1;
      if (index === 1) schedule.finish(index);
    }
  }
  expect(counts).toEqual([1, 10]);
});

test('after a pause of the program there is one scrape, then the old schedule', async () => {
  const { clock, schedule, run, skipped } = setUp(['a']);
  const before = timesOf(await run(300_000), 0);
  schedule.finish(0);
  await clock.advance(1_000_000);
  expect(schedule.takeDue(clock.monotonicMs())).toEqual([0]);
  schedule.finish(0);
  expect(schedule.takeDue(clock.monotonicMs())).toEqual([]);
  expect(skipped('late')).toBeGreaterThanOrEqual(15);
  const after = timesOf(await run(300_000), 0);
  const phaseOf = (times: readonly number[]): number => Math.round((times.at(-1) ?? 0) % 60_000);
  expect(phaseOf(after)).toBe(phaseOf(before));
});

test('a jump of the wall clock changes nothing', async () => {
  const { clock, run } = setUp(['a']);
  const before = timesOf(await run(300_000), 0);
  clock.wallOffsetMs -= 3_600_000;
  const after = timesOf(await run(300_000), 0);
  clock.wallOffsetMs += 86_400_000 * 365;
  const later = timesOf(await run(300_000), 0);
  const times = [...before, ...after, ...later];
  const gaps = times.slice(2).map((time, i) => time - (times[i + 1] ?? 0));
  for (const gap of gaps) expect(gap).toBeCloseTo(60_000, 5);
});

test('a year of scrapes does not drift', async () => {
  const { schedule } = setUp(['a'], 7777);
  let lastMs = 0;
  let firstMs = 0;
  for (let round = 0; round < 100_000; round++) {
    lastMs = schedule.nextDueMs();
    if (round === 1) firstMs = lastMs;
    schedule.takeDue(lastMs);
    schedule.finish(0);
  }
  expect((lastMs - firstMs) / 7777).toBeCloseTo(99_998, 6);
});

test('without targets nothing is ever due', () => {
  const { schedule } = setUp([]);
  expect(schedule.nextDueMs()).toBe(Infinity);
  expect(schedule.takeDue(1e12)).toEqual([]);
});

test('at any times of calls, no target runs twice and none is forgotten', () => {
  const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 200_000 }), fc.integer({ max: 2 })));
  fc.assert(
    fc.property(steps, steps => {
      const { schedule } = setUp(['a', 'b', 'c']);
      const running = new Set<number>();
      let nowMs = 0;
      for (const [waitMs, finished] of steps) {
        nowMs += waitMs;
        for (const index of schedule.takeDue(nowMs)) {
          expect(running.has(index)).toBe(false);
          running.add(index);
        }
        expect(schedule.nextDueMs()).toBeGreaterThan(nowMs);
        expect(schedule.nextDueMs()).toBeLessThanOrEqual(nowMs + 90_000);
        schedule.finish(finished);
        running.delete(finished);
      }
    }),
    { numRuns: 100 },
  );
});

describe('targets of a tick are scraped in turns', () => {
  const targets = [...MANY.keys()];

  test('every target is scraped once, never more than 16 at a time', async () => {
    const seen: number[] = [];
    let [running, most] = [0, 0];
    await inTurns(targets, new FakeClock(), async index => {
      most = Math.max(most, ++running);
      await sleep(index % 3);
      seen.push(index);
      running--;
    });
    expect(seen.toSorted((a, b) => a - b)).toEqual(targets);
    expect(most).toBe(16);
  });

  test('targets that do not answer delay no others', async () => {
    const seen: number[] = [];
    const hanging = Promise.withResolvers<void>();
    const scrapes = inTurns(targets, systemClock, async index => {
      if (index < 100) await hanging.promise;
      seen.push(index);
    });
    await expect.poll(() => seen.length).toBe(100);
    hanging.resolve();
    await scrapes;
    expect(seen).toHaveLength(200);
  });

  test('a failure is reported once the others have begun', async () => {
    let begun = 0;
    const scrapes = inTurns(targets, new FakeClock(), async index => {
      begun++;
      await sleep(1);
      if (index === 3) throw new Error('broken');
    });
    await expect(scrapes).rejects.toThrow('broken');
    expect(begun).toBe(200);
  });
});
