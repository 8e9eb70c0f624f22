// F1 and F2 when clocks are set: our clock by days, and the service's clock.
import { describe, expect, test } from 'vitest';
import { at, outcomeOf, type Seen, Target, type TargetOptions } from '../../support/target.ts';

const DAY = 86_400;

/** Scrapes `text` each minute (`@`: the service's time, `%`: the page's number). `ours`: our clock's errors. */
function run(
  text: string,
  ours: readonly number[],
  options: TargetOptions & { readonly hasDate?: boolean } = {},
): Seen[] {
  const target = new Target(options);
  return ours.map((offset, minute) => {
    const seconds = 60 * (minute + 1);
    const server = options.hasDate === false ? {} : { server: seconds };
    const clocks = { wall: seconds + offset, monotonic: seconds, ...server };
    const page = text.replaceAll('@', `@${seconds - 5}`).replaceAll('%', String(minute + 1));
    return target.page(seconds, page, clocks);
  });
}

const shown = (seen: readonly Seen[]): string[] => seen.flatMap(one => one.shown);

describe('our clock is set', () => {
  test('F2: set back by days, explicit timestamps are not in the future, by the Date of the answer', () => {
    const seen = run('a % @', [0, -3 * DAY, -3 * DAY]);
    expect(shown(seen)).toEqual(['gauge a{} 1 @55', 'gauge a{} 2 @115', 'gauge a{} 3 @175']);
  });

  test('F2: wrong by days from the start, explicit timestamps are accepted by the Date of the answer', () => {
    expect(shown(run('a % @', [-3 * DAY]))).toEqual(['gauge a{} 1 @55']);
    expect(run('a % @', [-3 * DAY], { hasDate: false })[0]?.reads).toEqual({ time_future: 1 });
  });

  test('F1: set by days, samples without timestamps continue in the time of the service', () => {
    for (const days of [-3 * DAY, 3 * DAY]) {
      const seen = run('a %', [0, days, days, 0]);
      expect(shown(seen)).toEqual(
        [60, 120, 180, 240].map((time, i) => `gauge a{} ${i + 1} @${time}`),
      );
      expect(seen.flatMap(one => one.own).filter(({ metric }) => metric === 'up')).toHaveLength(4);
    }
  });

  test('F1: set by days while the service does not answer, time continues from its last Date', () => {
    const target = new Target();
    target.page(60, 'a 1', { server: 60 });
    const { own } = target.fail(120, 'timeout', { wall: 120 - 3 * DAY, monotonic: 120 });
    expect(own[0]?.timeNs).toBe(`${at(120)}000000`);
  });

  test('F1: corrected by days, samples without timestamps follow at once', () => {
    // The first page was dated wrongly; the second, dated correctly, is not lost.
    const seen = run('a %', [3 * DAY, 0, 0], { mayGoBack: true });
    expect(shown(seen).slice(1)).toEqual(['gauge a{} 2 @120', 'gauge a{} 3 @180']);
    expect(seen.at(-1)?.reads).toEqual({ used: 1 });
    const back = run('a %', [-3 * DAY, 0, 0]);
    expect(shown(back).slice(1)).toEqual(['gauge a{} 2 @120', 'gauge a{} 3 @180']);
  });

  test('F1: without any Date the current clock is used, and nothing is lost', () => {
    const seen = run('a %', [0, -3 * DAY, -3 * DAY], { hasDate: false, mayGoBack: true });
    expect(shown(seen)).toEqual([
      'gauge a{} 1 @60',
      `gauge a{} 2 @${120 - 3 * DAY}`,
      `gauge a{} 3 @${180 - 3 * DAY}`,
    ]);
  });

  test('F1: set back by minutes, time runs at half its pace until the clock has caught up', () => {
    const seen = run('a %', [0, -120, -120, -120, -120, -120]);
    expect(shown(seen).map(point => point.split('@')[1])).toEqual(
      '60 90 120 150 180 240'.split(' '),
    );
  });

  test('F5: a counter that began again after a clock correction starts before its points', () => {
    const target = new Target({ mayGoBack: true });
    const sums = [3 * DAY, 0, 0].map((offset, i) => {
      const [seconds, uptime] = [60 * (i + 1), 302 + 60 * (i - 1)];
      const text = `engine_global_status_uptime ${uptime}\nengine_global_status_queries ${i}\n`;
      const clocks = { wall: seconds + offset, monotonic: seconds, server: seconds };
      return target.page(seconds, text, clocks).shown.at(-1);
    });
    expect(sums.slice(1)).toEqual([
      'sum engine_global_status_queries{} 1 @120 from -182',
      'sum engine_global_status_queries{} 2 @180 from -182',
    ]);
  });

  test('F8: in delta mode a corrected clock makes a new baseline, no spike', () => {
    const seen = run('# TYPE a counter\na %', [3 * DAY, 0, 0], {
      temporality: 'delta',
      mayGoBack: true,
    });
    expect(seen.map(({ reads }) => reads)).toEqual([{ baseline: 1 }, { baseline: 1 }, { used: 1 }]);
  });

  test('G2: ages follow the monotonic clock: a clock step ends no series', () => {
    for (const days of [-3 * DAY, 3 * DAY])
      for (const seen of run('a 1 @', [0, days, days, 0]).slice(1)) {
        expect(seen.points.every(({ flags }) => flags === 0)).toBe(true);
        expect(outcomeOf(seen)).toMatchObject({ isSourceStale: false, stalePoints: 0 });
      }
  });
});

describe("the service's clock is set", () => {
  test('F2: ahead by hours together with its Date: its timestamps are accepted', () => {
    const { shown } = new Target().page(60, 'a 1 @7255', { server: 7260 });
    expect(shown).toEqual(['gauge a{} 1 @7255']);
  });

  test('F2: corrected by hours: wrongly dated points are forgotten once its Date is right', () => {
    const target = new Target({ mayGoBack: true });
    target.page(60, 'a 1 @7255', { server: 7260 });
    const { shown } = target.page(120, 'a 2 @115', { server: 120 });
    expect(shown).toEqual(['gauge a{} 2 @115']);
  });
});
