import { describe, expect, test } from 'vitest';
import { cronProblem, nextCronRun, PullSchedule } from '../../src/lib/pull-schedule.ts';

const NOW = Date.UTC(2026, 2, 4, 9);

test('five fields of numbers, names, ranges, lists and steps are valid', () => {
  const legal = ['0 3 * * *', '*/15 1-5,22 1,15 jan-mar MON,fri', '59 23 31 12 0', '0 0 29 2 *'];
  for (const expression of legal) expect(cronProblem(expression, NOW)).toBeNull();
});

test('anything else is rejected', () => {
  const check = (expression: string, why: string): void =>
    expect(cronProblem(expression, NOW), expression).toContain(why);
  check('', 'five fields');
  check('0 3 * * * *', 'five fields');
  check(' 0 3 * * *', 'one blank between them');
  check('0 3 L * *', 'the field "L"');
  check('0 3 * * 1#2', 'the field "1#2"');
  check('0 24 * * *', 'invalid value for hour: 24');
  check('5-1 * * * *', 'from value is larger than to value');
  check('*/0 * * * *', 'illegal stepping');
  check('0 3 30 2 *', 'it matches no future time');
});

test('times are in UTC', () => {
  expect(nextCronRun('0 3 * * *', NOW)).toBe(Date.UTC(2026, 2, 5, 3));
  expect(nextCronRun('0 0 30 2 *', NOW)).toBeNull();
});

describe('a schedule', () => {
  test('has the time between two runs', () => {
    expect(new PullSchedule({ intervalMs: 300_000 }, 'id').everyMs(NOW)).toBe(300_000);
    expect(new PullSchedule({ cron: '0 3 * * *' }, 'id').everyMs(NOW)).toBe(86_400_000);
  });

  test('by an interval spreads the targets by a tenth of it, and is due at once if it is over', () => {
    const schedules = Array.from(
      { length: 50 },
      (_, i) => new PullSchedule({ intervalMs: 300_000 }, `${i}`),
    );
    const waits = schedules.map(schedule => schedule.nextMs(NOW, NOW));
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(285_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(315_000);
    expect(new Set(waits).size).toBe(50);
    for (const schedule of schedules) {
      expect(schedule.firstMs(NOW)).toBeLessThanOrEqual(1000);
      expect(schedule.nextMs(NOW, NOW + 400_000)).toBe(0);
    }
  });

  test('by an interval is due after it even if the clock is set back during a run', () => {
    const schedule = new PullSchedule({ intervalMs: 300_000 }, 'a');
    expect(schedule.nextMs(NOW, NOW - 864_000_000)).toBeLessThanOrEqual(315_000);
  });

  test('by an expression, even with seconds, waits for its next time, and keeps its place after a restart', () => {
    for (const [cron, waitMs] of [
      ['30 9 * * *', 1_800_000],
      ['10 0 9 * * *', 10_000],
    ] as const) {
      const waits = [1, 2].map(() => new PullSchedule({ cron }, 'a').nextMs(NOW, NOW));
      expect(waits[0]).toBe(waits[1]);
      expect(waits[0]).toBeGreaterThanOrEqual(waitMs);
      expect(waits[0]).toBeLessThanOrEqual(waitMs + 30_000);
      expect(new PullSchedule({ cron }, 'a').firstMs(NOW)).toBe(waits[0]);
    }
  });
});
