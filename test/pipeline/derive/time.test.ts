// Rules F1 to F3: the time of a sample, and whether it may follow the samples sent before.
import { describe, expect, test } from 'vitest';
import { at, outcomeOf, Target } from '../../support/target.ts';

describe('F1: the time of a sample', () => {
  test('F1: honor_timestamps: false uses the time of the scrape for all', () => {
    const target = new Target({ metrics: { honorTimestamps: false } });
    target.shows(60, 'a 1 @55\nb 2', 'gauge a{} 1 @60', 'gauge b{} 2 @60');
  });

  test('F1: OpenMetrics has seconds, rounded to milliseconds', () => {
    new Target().shows(60, `a 1 ${at(55) / 1000}.1234567\n# EOF`, 'gauge a{} 1 @55.123');
  });
});

describe('F2: samples after a sent one', () => {
  test.each([
    ['a NaN is another value', 'a NaN @50', 'time_conflict'],
    ['a time before 1970 is older than any', 'a 2 0', 'time_backwards'],
    ['a time before 1970 is older than any', 'a 2 -1', 'time_backwards'],
    ['more than ten minutes ahead of the scrape is the future', 'a 2 @720.001', 'time_future'],
  ])('F2: %s: %s', (_, text, outcome) => {
    const target = new Target();
    target.page(60, 'a 1 @50');
    expect(target.shows(120, text).reads).toEqual({ [outcome]: 1 });
  });

  test('F2: of a new series as well, more than ten minutes ahead of the scrape is the future', () => {
    new Target().shows(120, 'a 2 @720', 'gauge a{} 2 @720');
    expect(new Target().page(120, 'a 2 @720.001').reads).toEqual({ time_future: 1 });
  });

  test('F2: dropped samples are not compared with: the next newer sample is sent', () => {
    const target = new Target();
    target.shows(60, 'a 1 @50', 'gauge a{} 1 @50');
    target.shows(120, 'a 2 @40');
    target.shows(180, 'a 3 @51', 'gauge a{} 3 @51');
  });

  test('F2: of a histogram the whole point is judged', () => {
    const target = new Target();
    const reads = (seconds: number, value: number, stamp: number): unknown =>
      target.page(
        seconds,
        `# TYPE h histogram\nh_bucket{le="+Inf"} ${value} @${stamp}\nh_count ${value} @${stamp}`,
      ).reads;
    expect(reads(60, 1, 50)).toEqual({ used: 2 });
    expect(reads(120, 2, 50)).toEqual({ time_conflict: 2 });
    expect(reads(180, 2, 40)).toEqual({ time_backwards: 2 });
    expect(reads(240, 1, 50)).toEqual({ repeated: 2 });
  });
});

describe('F3: repeats', () => {
  test.each([
    ['NaN again at the same time is no observation', 'b NaN @50', 'cumulative'],
    ['a repeat is no reset and no delta', 'engine_global_status_queries 5 @50', 'delta'],
  ] as const)('F3: %s', (_, text, temporality) => {
    const target = new Target({ temporality });
    target.page(60, text);
    expect(target.page(120, text).reads).toEqual({ repeated: 1 });
  });

  test('F3: a repeated page leaves its service up, and does not yet report a stale source', () => {
    const target = new Target();
    target.page(60, 'a 1 @50');
    const again = outcomeOf(target.page(120, 'a 1 @50'));
    expect(again).toMatchObject({ isUp: true, isSourceStale: false, samples: 1 });
  });
});
