import { expect, test } from 'vitest';
import { Timeline, TIMELINE_SLOTS } from '../../src/daemon/timeline.ts';

const START = Date.UTC(2026, 2, 4, 9);
const sums = { made: 40, accepted: 30, lost: 2 };
const scrape = { samples: 10, durationMs: 5, isFailed: false, queued: 3, sums: () => sums };

test('a slot is one round of all targets', () => {
  const timeline = new Timeline();
  timeline.note({ ...scrape, target: 'a', atMs: START });
  timeline.note({
    target: 'b',
    atMs: START + 9,
    samples: 0,
    durationMs: 9,
    isFailed: true,
    queued: 1,
    sums: () => ({ made: 50, accepted: 40, lost: 3 }),
  });
  timeline.note({ ...scrape, target: 'b', atMs: START + 60_000 });
  const { slotMs, slots } = timeline.report(60_000);
  expect(slotMs).toBe(60_000);
  expect(slots).toHaveLength(TIMELINE_SLOTS);
  expect(slots.slice(-2)).toEqual([
    { at: '2026-03-04T09:00:00.000Z', samples: 10, durationMs: 9, failures: 1, queued: 3, ...sums },
    { at: '2026-03-04T09:01:00.000Z', samples: 10, durationMs: 5, failures: 0, queued: 3, ...sums },
  ]);
  expect(slots.slice(0, -2).every(slot => slot === null)).toBe(true);
});

test('late and early scrapes make neither gaps nor doubles', () => {
  const timeline = new Timeline();
  for (const [index, jitterMs] of [0, 900, -400, 1500, 10, 999].entries())
    timeline.note({ ...scrape, target: 'a', atMs: START + index * 1000 + jitterMs });
  const filled = timeline.report(60_000).slots.filter(slot => slot !== null);
  expect(filled.map(({ samples }) => samples)).toEqual([10, 10, 10, 10, 10, 10]);
});

test('the oldest slots are forgotten', () => {
  const timeline = new Timeline();
  for (let i = 0; i < TIMELINE_SLOTS + 5; i++)
    timeline.note({ ...scrape, target: 'a', atMs: START + i * 1000 });
  const { slots } = timeline.report(60_000);
  expect(slots).toHaveLength(TIMELINE_SLOTS);
  expect(slots[0]?.at).toBe('2026-03-04T09:00:05.000Z');
});
