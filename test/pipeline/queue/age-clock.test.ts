import { describe, expect, test } from 'vitest';
import { AgeClock } from '../../../src/pipeline/queue/age-clock.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describe('the clock for ages', () => {
  test('equals the wall clock until that is set', async () => {
    const clock = new FakeClock();
    const ages = new AgeClock(clock);
    const startMs = clock.nowMs();
    await clock.advance(3 * DAY_MS);
    expect(ages.nowMs()).toBe(startMs + 3 * DAY_MS);
    expect(ages.wallMs(startMs)).toBe(startMs);
  });

  test('continues when the wall clock is set by days, in either direction', async () => {
    const clock = new FakeClock();
    const ages = new AgeClock(clock);
    const startMs = clock.nowMs();
    for (const days of [5, -30, 0.25]) {
      clock.wallOffsetMs += days * DAY_MS;
      await clock.advance(MINUTE_MS);
      expect(ages.wallMs(ages.nowMs())).toBe(clock.nowMs());
    }
    expect(ages.nowMs()).toBe(startMs + 3 * MINUTE_MS);
  });

  test('follows small corrections', async () => {
    const clock = new FakeClock();
    const ages = new AgeClock(clock);
    clock.wallOffsetMs += 20_000;
    expect(ages.nowMs()).toBe(clock.nowMs());
    expect(ages.offsetMs).toBe(0);
  });

  test.each([5, -5])('a time read before the clock was set by %i days is now', async days => {
    const clock = new FakeClock();
    const ages = new AgeClock(clock);
    const readAtMs = clock.nowMs();
    await clock.advance(1000);
    clock.wallOffsetMs += days * DAY_MS;
    expect(ages.nowMs() - ages.timeOf(readAtMs)).toBe(0);
    await clock.advance(1000);
    expect(ages.nowMs() - ages.timeOf(clock.nowMs() - 500)).toBe(500);
  });

  test('the next process continues from the last one', () => {
    const clock = new FakeClock();
    const ages = new AgeClock(clock, 5 * DAY_MS, clock.nowMs() - 6 * DAY_MS);
    expect(ages.nowMs()).toBe(clock.nowMs() - 5 * DAY_MS);
  });

  test('if the wall clock is behind the newest row at the start, ages count from that row', () => {
    const clock = new FakeClock();
    const newestMs = clock.nowMs() + 300 * DAY_MS;
    expect(new AgeClock(clock, 0, newestMs).nowMs()).toBe(newestMs);
  });
});
