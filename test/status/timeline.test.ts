import { expect, test } from 'vitest';
import { Timeline, TIMELINE_SLOTS } from '../../src/status/timeline.ts';

const scrape = { samples: 10, durationMs: 5, isFailed: false, queued: 3 };

test('scrapes of one slot are combined', () => {
  const timeline = new Timeline(60_000);
  timeline.note(1_000_000, scrape);
  timeline.note(1_010_000, { samples: 0, durationMs: 9, isFailed: true, queued: 1 });
  const slots = timeline.slots(1_010_000);
  expect(slots).toHaveLength(TIMELINE_SLOTS);
  expect(slots.at(-1)).toEqual({ samples: 10, durationMs: 9, failures: 1, queued: 3 });
  expect(slots.slice(0, -1).every(slot => slot === null)).toBe(true);
});

test('slots move on, with empty ones where nothing was scraped, until they are forgotten', () => {
  const timeline = new Timeline(2000);
  timeline.note(100_000, scrape);
  timeline.note(106_000, scrape);
  const filled = (monotonicMs: number): number[] =>
    timeline.slots(monotonicMs).flatMap((slot, index) => (slot === null ? [] : [index]));
  expect(filled(106_000)).toEqual([TIMELINE_SLOTS - 4, TIMELINE_SLOTS - 1]);
  expect(filled(108_500)).toEqual([TIMELINE_SLOTS - 5, TIMELINE_SLOTS - 2]);
  expect(filled(106_000 + (TIMELINE_SLOTS - 1) * 2000)).toEqual([0]);
  expect(filled(10_000_000)).toEqual([]);
});

test('a slot is no shorter than what a reader can follow', () => {
  expect(new Timeline(100).slotMs).toBe(2000);
});
