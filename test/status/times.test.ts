import { expect, test } from 'vitest';
import { instant, shown } from '../../src/status/times.ts';

const AT = Date.UTC(2026, 2, 4, 9, 30);

test('times lose their unit and are shown in UTC; null stays null, other numbers stay', () => {
  const status = { atMs: AT, oldestAtMs: AT, newestAtMs: null, doneUntilMs: AT, durationMs: 12 };
  expect(shown({ ...status, state: 'idle' })).toEqual({
    at: '2026-03-04T09:30:00.000Z',
    oldestAt: '2026-03-04T09:30:00.000Z',
    newestAt: null,
    doneUntil: '2026-03-04T09:30:00.000Z',
    durationMs: 12,
    state: 'idle',
  });
});

test('a name that only looks like a time stays', () => {
  expect(shown({ formatMs: 1, attemptsMs: 2 })).toEqual({ formatMs: 1, attemptsMs: 2 });
});

test('a report does not change when the part goes on', () => {
  const status = { recordCount: 1, doneUntilMs: null as number | null };
  const report = shown(status);
  status.recordCount = 2;
  status.doneUntilMs = AT;
  expect(report).toEqual({ recordCount: 1, doneUntil: null });
});

test('a time that is no number does not end the report', () => {
  expect(instant(Number.NaN)).toBe('1970-01-01T00:00:00.000Z');
});
