import { expect, test } from 'vitest';
import { instant, shown } from '../../src/status/times.ts';

const AT = Date.UTC(2026, 2, 4, 9, 30);

test('times lose their unit and are shown in UTC; null stays null, other numbers stay', () => {
  const status = { atMs: AT, oldestAtMs: AT, newestAtMs: null, doneUntilMs: AT, durationMs: 12 };
  const others = { formatMs: 1, attemptsMs: 2, state: 'idle' };
  expect(shown({ ...status, ...others })).toEqual({
    ...others,
    at: '2026-03-04T09:30:00.000Z',
    oldestAt: '2026-03-04T09:30:00.000Z',
    newestAt: null,
    doneUntil: '2026-03-04T09:30:00.000Z',
    durationMs: 12,
  });
});

test('a time that is no number does not end the report', () => {
  expect(instant(Number.NaN)).toBe('1970-01-01T00:00:00.000Z');
});
