// Rules F1 to F3: the time of a sample, and whether it may follow the samples sent before.
import { describe, expect, test } from 'vitest';
import { at, outcomeOf, type Seen, Target, type TargetOptions } from '../../support/target.ts';

/** The points of each page as texts. In the lines of a page, `@seconds` is a timestamp. */
function run(pages: Readonly<Record<number, string>>, options: TargetOptions = {}): Seen[] {
  const target = new Target(options);
  return Object.entries(pages).map(([seconds, text]) => target.page(Number(seconds), page(text)));
}

function page(text: string): string {
  const stamped = text.replaceAll(/@(-?[\d.]+)/g, (_, seconds: string) =>
    String(at(Number(seconds))),
  );
  return `${stamped}\n`;
}

describe('F1: the time of a sample', () => {
  test('F1: honor_timestamps: false uses the time of the scrape for all', () => {
    const [first] = run({ 60: 'a 1 @55\nb 2' }, { metrics: { honorTimestamps: false } });
    expect(first?.shown).toEqual(['gauge a{} 1 @60', 'gauge b{} 2 @60']);
  });

  test('F1: OpenMetrics has seconds, rounded to milliseconds', () => {
    const [first] = run({ 60: `a 1 ${at(55) / 1000}.1234567\n# EOF` });
    expect(first?.shown).toEqual(['gauge a{} 1 @55.123']);
  });
});

describe('F2: samples after a sent one', () => {
  const check = (second: string, outcome: string): void => {
    const [, seen] = run({ 60: 'a 1 @50', 120: second });
    expect(seen?.shown).toEqual([]);
    expect(seen?.reads).toEqual({ [outcome]: 1 });
  };

  test('F2: a NaN is another value, and a time before 1970 is older than any', () => {
    check('a NaN @50', 'time_conflict');
    check(`a 2 0`, 'time_backwards');
    check(`a 2 -1`, 'time_backwards');
  });

  test('F2: more than ten minutes ahead of the scrape is dropped as time_future', () => {
    check('a 2 @720.001', 'time_future');
    expect(run({ 120: 'a 2 @720' })[0]?.shown).toEqual(['gauge a{} 2 @720']);
    expect(run({ 120: 'a 2 @720.001' })[0]?.reads).toEqual({ time_future: 1 });
  });

  test('F2: dropped samples are not compared with: the next newer sample is sent', () => {
    const seen = run({ 60: 'a 1 @50', 120: 'a 2 @40', 180: 'a 3 @51' });
    expect(seen.map(({ shown }) => shown.length)).toEqual([1, 0, 1]);
  });

  test('F2: of a histogram the whole point is judged', () => {
    const text = (value: number, stamp: number): string =>
      `# TYPE h histogram\nh_bucket{le="+Inf"} ${value} @${stamp}\nh_count ${value} @${stamp}`;
    const seen = run({ 60: text(1, 50), 120: text(2, 50), 180: text(2, 40), 240: text(1, 50) });
    expect(seen.slice(1).map(({ reads }) => reads)).toEqual([
      { time_conflict: 2 },
      { time_backwards: 2 },
      { repeated: 2 },
    ]);
  });
});

describe('F3: repeats', () => {
  test('F3: NaN again at the same time is no observation', () => {
    expect(run({ 60: 'b NaN @50', 120: 'b NaN @50' })[1]?.reads).toEqual({ repeated: 1 });
  });

  test('F3: a repeat is no reset and no delta', () => {
    const text = 'engine_global_status_queries 5 @50';
    const seen = run({ 60: text, 120: text }, { temporality: 'delta' });
    expect(seen[1]?.reads).toEqual({ repeated: 1 });
  });

  test('F3: a repeated page leaves its service up, and does not yet report a stale source', () => {
    const [, again] = run({ 60: 'a 1 @50', 120: 'a 1 @50' });
    expect(again && outcomeOf(again)).toMatchObject({
      isUp: true,
      isSourceStale: false,
      samples: 1,
    });
  });
});
