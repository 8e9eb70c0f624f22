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
    ['more than a minute ahead of the scrape is the future', 'a 2 @180.001', 'time_future'],
  ])('F2: %s: %s', (_, text, outcome) => {
    const target = new Target();
    target.page(60, 'a 1 @50');
    expect(target.shows(120, text).reads).toEqual({ [outcome]: 1 });
  });

  test('F2: of a new series as well, more than a minute ahead of the scrape is the future', () => {
    new Target().shows(120, 'a 2 @180', 'gauge a{} 2 @180');
    expect(new Target().page(120, 'a 2 @180.001').reads).toEqual({ time_future: 1 });
  });

  test('F2: the limit is the interval where that is longer, and follows the clock of the service', () => {
    const slow = new Target({ metrics: { intervalMs: 300_000 } });
    slow.shows(120, 'a 2 @420', 'gauge a{} 2 @420');
    expect(slow.page(420, 'a 2 @720.001').reads).toEqual({ time_future: 1 });
    const text = 'a 2 @240';
    const ahead = new Target().page(120, text, { server: 200 });
    expect(ahead.shown).toEqual(['gauge a{} 2 @240']);
  });

  test('F2: a sample stamped minutes ahead does not cost the next, correctly stamped one', () => {
    for (const temporality of ['cumulative', 'delta'] as const) {
      const target = new Target({ temporality });
      const of = (value: number, stamp: number): string =>
        `# TYPE c counter\nc ${value} @${stamp}\n`;
      target.page(60, of(5, 50));
      expect(target.page(120, of(7, 420)).reads).toEqual({ time_future: 1 });
      const value = temporality === 'delta' ? 4 : 9;
      expect(target.page(180, of(9, 170)).points).toMatchObject([{ value }]);
    }
  });

  test.each(['0', '-1', String(at(50) / 1000), String(Date.UTC(2000) - 1)])(
    'F1: a stamp before 2000 is told, and the point gets the time of the scrape: %s',
    stamp => {
      const target = new Target();
      target.page(60, 'a 1 @50\nb 1 @50');
      const { shown, translated } = target.page(120, `a 2 ${stamp}\nb 2 @110\na 2 ${stamp}\n`);
      expect(shown).toEqual(['gauge a{} 2 @120', 'gauge b{} 2 @110']);
      expect(translated.derived.earlyTimes).toBe(2);
      expect(target.page(180, 'a 3\nb 3 @170').translated.derived.earlyTimes).toBe(0);
    },
  );

  test('F1: a page whose stamps are all in seconds is sent (the page of a field report)', () => {
    const seconds = Math.round(at(50) / 1000);
    const page = `engine_global_status_queries{server_name="db-0"} 5 ${seconds}\nengine_global_status_uptime{server_name="db-0"} 500 ${seconds}\n`;
    const { shown, translated } = new Target().page(60, page);
    expect(shown).toContain('sum engine_global_status_queries{server_name=db-0} 5 @60 from -440');
    expect(translated.derived.earlyTimes).toBe(2);
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
