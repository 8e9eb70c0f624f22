// Series that become one when labels are removed (I1, drop_labels): no request has a point twice.
import { describe, expect, test } from 'vitest';
import { successorOf, Target, type TargetOptions } from '../../support/target.ts';

const DROP_POD: TargetOptions = { metrics: { dropLabels: ['pod'] } };

describe('I1: labels that are removed', () => {
  const DROP_SERVER: TargetOptions = { metrics: { dropLabels: ['server_name'] } };
  test.each<[text: string, want: string, options?: TargetOptions]>([
    ['x{a="b"} 1\nx{a="b",pod="2"} 2', 'gauge x{a=b} 1 @0', DROP_POD],
    ['x{pod="2"} 1\nx 2', 'gauge x{} 1 @0', DROP_POD],
    // Also across the servers of a service, whose blocks are separate.
    ['x{server_name="s1"} 1\nx{server_name="s2"} 2', 'gauge x{} 1 @0', DROP_SERVER],
    ['x{job="j"} 1\nx{job="k"} 2', 'gauge x{} 1 @0'],
    ['x{instance="i"} 1\nx 2', 'gauge x{} 1 @0'],
    ['x{namespace="local"} 1\nx 2', 'gauge x{} 1 @0'],
    ['x 1\nx{namespace="local"} 2', 'gauge x{} 1 @0'],
    ['up 1\nexported_up 2', 'gauge exported_up{} 2 @0'],
    ['exported_up 1\nup 2', 'gauge exported_up{} 1 @0'],
  ])(
    'I1: if two series become one, one is sent and the other is counted as duplicate: %s',
    (...row) => {
      const [text, want, options] = row;
      expect(new Target(options).shows(0, text, want).reads).toEqual({ used: 1, duplicate: 1 });
    },
  );

  test('I1: series that stay distinct do not change', () => {
    const text =
      'x{pod="1",a="b"} 1\nx{pod="1",a="c"} 2\ny{pod="1",a="b"} 3\nx{pod="1",a="b",otel_scope_name="s"} 4';
    expect(new Target(DROP_POD).page(0, text).reads).toEqual({ used: 4 });
  });

  test('I1: equal series of two services stay separate', () => {
    const target = new Target({ ...DROP_POD, services: ['a', 'b'] });
    const text = 'x{namespace="a",pod="1"} 1\nx{namespace="b",pod="2"} 2';
    expect(target.page(0, text).reads).toEqual({ used: 2 });
  });

  test('I1: a duplicate continues the series when its owner has left the page', () => {
    const target = new Target(DROP_POD);
    const counter = (pod: string, value: number): string =>
      `# TYPE x counter\nx{pod="${pod}"} ${value}`;
    target.shows(0, counter('1', 50), 'sum x{} 50 @0 from 0');
    target.shows(60, counter('2', 60), 'sum x{} 60 @60 from 0');
    target.shows(120, counter('1', 70), 'sum x{} 70 @120 from 0');
    target.shows(180, counter('2', 5), 'sum x{} 5 @180 from 120');
  });

  test('I1: it begins again if both were on one page: the other count is not growth', () => {
    const pods = (...values: readonly (readonly [pod: string, value: number])[]): string =>
      ['# TYPE x counter', ...values.map(([pod, value]) => `x{pod="${pod}"} ${value}`)].join('\n');
    const target = new Target(DROP_POD);
    target.shows(0, pods(['1', 100], ['2', 90]), 'sum x{} 100 @0 from 0');
    target.shows(60, pods(['1', 110], ['2', 1000]), 'sum x{} 110 @60 from 0');
    target.shows(120, pods(['2', 1001]), 'sum x{} 1001 @120 from 120');
    target.shows(180, pods(['2', 1002]), 'sum x{} 1002 @180 from 120');
    const delta = new Target({ ...DROP_POD, temporality: 'delta' });
    delta.page(0, pods(['1', 100], ['2', 90]));
    delta.shows(60, pods(['1', 110], ['2', 1000]), 'delta x{} 10 @60 from 0');
    delta.shows(120, pods(['2', 1001]));
    delta.shows(180, pods(['2', 1002]), 'delta x{} 1 @180 from 120');
  });

  test('I1: it continues after the last time, never before it', () => {
    const target = new Target(DROP_POD);
    target.shows(0, 'x{pod="1"} 1 @0', 'gauge x{} 1 @0');
    expect(target.shows(60, 'x{pod="2"} 2 @-30').reads).toEqual({ time_backwards: 1 });
    target.shows(120, 'x{pod="2"} 2 @30', 'gauge x{} 2 @30');
  });

  test('I1: of three, one is sent, whichever stays', () => {
    const target = new Target(DROP_POD);
    const lines = (...pods: string[]): string =>
      pods.map(pod => `x{pod="${pod}"} ${pod}`).join('\n');
    target.shows(0, lines('1', '2', '3'), 'gauge x{} 1 @0');
    target.shows(60, lines('2', '3'), 'gauge x{} 2 @60');
    target.shows(120, lines('3'), 'gauge x{} 3 @120');
    target.shows(180, lines('1', '2', '3'), 'gauge x{} 3 @180');
  });

  test('I1: histograms that become one', () => {
    const target = new Target(DROP_POD);
    const histogram = (...pods: string[]): string =>
      `# TYPE h histogram\n${pods.map(pod => `h_bucket{pod="${pod}",le="1"} ${pod}\nh_count{pod="${pod}"} ${pod}`).join('\n')}`;
    const first = target.shows(
      0,
      histogram('1', '2'),
      'histogram h{} count=1 le1:1 inf:0 @0 from 0',
    );
    expect(first.reads).toEqual({ used: 2, duplicate: 2 });
    target.shows(60, histogram('2'), 'histogram h{} count=2 le1:2 inf:0 @60 from 60');
    target.shows(120, histogram('1'), 'histogram h{} count=1 le1:1 inf:0 @120 from 120');
  });

  describe('I1: a histogram that goes on as another one', () => {
    const lines = (pod: string, ...buckets: readonly (readonly [string, number])[]): string =>
      [
        '# TYPE h histogram',
        ...buckets.map(([le, count]) => `h_bucket{pod="${pod}",le="${le}"} ${count}`),
        `h_count{pod="${pod}"} ${buckets.at(-1)?.[1]}`,
      ].join('\n');
    test('I1: compares each bucket with the newest sample, whichever row had that', () => {
      const target = new Target({ ...DROP_POD, temporality: 'delta' });
      target.shows(0, lines('1', ['1', 1], ['2', 2]));
      target.shows(60, lines('2', ['2', 1]), 'histogram h{} count=1 le2:1 inf:0 @60 from 0');
      target.shows(120, lines('1', ['1', 1], ['2', 3]));
      const grown = 'histogram h{} count=2 le1:1 le2:1 inf:0';
      target.shows(180, lines('1', ['1', 2], ['2', 5]), `${grown} @180 from 120`);
      target.shows(240, lines('2', ['1', 3], ['2', 7]), `${grown} @240 from 180`);
    });

    test('I1: also where a bound had two spellings', () => {
      const target = new Target(DROP_POD);
      const shows = (seconds: number, text: string, want: string): unknown =>
        target.shows(seconds, text, `histogram h{} ${want}`);
      shows(0, lines('1', ['1.0', 3], ['2', 3]), 'count=3 le1:3 le2:0 inf:0 @0 from 0');
      shows(60, lines('1', ['1', 9], ['2', 9]), 'count=9 le1:9 le2:0 inf:0 @60 from 0');
      shows(120, lines('2', ['1', 6], ['2', 9]), 'count=9 le1:6 le2:3 inf:0 @120 from 60');
    });
  });

  test('I1: the next process continues the one that was sent', () => {
    const counter = (...values: readonly (readonly [pod: string, value: number])[]): string =>
      ['# TYPE x counter', ...values.map(([pod, value]) => `x{pod="${pod}"} ${value}`)].join('\n');
    const first = new Target(DROP_POD);
    first.page(0, counter(['1', 50], ['2', 5]));
    first.page(60, counter(['2', 6]));
    first.page(120, counter(['1', 52], ['2', 7]));
    const second = successorOf(first, DROP_POD);
    second.shows(180, counter(['1', 53], ['2', 8]), 'sum x{} 8 @180 from 60');
    second.shows(240, counter(['1', 54]), 'sum x{} 54 @240 from 240');
    second.shows(300, counter(['1', 55], ['2', 9]), 'sum x{} 55 @300 from 240');
  });

  describe('I1: the next process knows until when an identity was sent', () => {
    const counter = (pod: string, value: number, stamp = ''): string =>
      `# TYPE x counter\nx{pod="${pod}"} ${value}${stamp}\n`;

    test('I1: a duplicate that arrives alone does not go back', () => {
      const first = new Target(DROP_POD);
      first.page(0, counter('1', 10));
      first.page(40, counter('1', 11, ' @96'));
      // This duplicate and the next one have never been on a page.
      const second = successorOf(first, DROP_POD);
      second.shows(60, counter('2', 3));
      const third = successorOf(second, DROP_POD);
      third.shows(90, counter('3', 4));
      third.shows(120, counter('3', 5), 'sum x{} 5 @120 from 120');
      third.shows(180, counter('1', 12), 'sum x{} 12 @180 from 120');
    });

    test('I1: an owner that returns continues, unless a duplicate was sent since', () => {
      const first = new Target(DROP_POD);
      first.page(0, counter('1', 10));
      first.page(60, counter('1', 11));
      const second = successorOf(first, DROP_POD);
      second.page(60, counter('2', 3));
      second.shows(120, counter('1', 14), 'sum x{} 14 @120 from 0');
      const third = successorOf(first, DROP_POD);
      third.page(120, counter('2', 3));
      const fourth = successorOf(third, DROP_POD);
      fourth.shows(180, counter('1', 14), 'sum x{} 14 @180 from 180');
      fourth.shows(240, counter('1', 15), 'sum x{} 15 @240 from 180');
    });

    test('I1: a duplicate of a histogram is a baseline as a delta', () => {
      const histogram = (pod: string, value: number): string =>
        `# TYPE h histogram\nh_bucket{pod="${pod}",le="1"} ${value}\nh_count{pod="${pod}"} ${value}\n`;
      const options = { ...DROP_POD, temporality: 'delta' } as const;
      const first = new Target(options);
      first.page(0, histogram('1', 10));
      first.page(60, histogram('1', 11));
      const second = successorOf(first, options);
      second.shows(120, histogram('2', 30));
      second.shows(180, histogram('2', 32), 'histogram h{} count=2 le1:2 inf:0 @180 from 120');
    });
  });

  test('I1: a forgotten series owns nothing any more', () => {
    const target = new Target(DROP_POD);
    target.page(0, 'x{pod="1"} 1');
    for (const minute of [1, 2, 61, 62]) target.page(minute * 60, 'y 1');
    expect(target.translation.table.identities.size).toBe(0);
    target.has(4000, 'x{pod="2"} 2\ny 1', 'gauge x{} 2 @4000');
    expect(target.translation.table.duplicates.size).toBe(0);
  });
});
