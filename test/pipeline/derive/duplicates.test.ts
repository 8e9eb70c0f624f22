// Series that become one when labels are removed (I1, drop_labels): no request has a point twice.
import { describe, expect, test } from 'vitest';
import { at, runPages, successorOf, Target, type TargetOptions } from '../../support/target.ts';

const DROP_POD: TargetOptions = { metrics: { dropLabels: ['pod'] } };

describe('I1: labels that are removed', () => {
  test('I1: if two series become one, one is sent and the other is counted as duplicate', () => {
    const checkOne = (text: string, want: string, options: TargetOptions = {}): void => {
      const [seen] = runPages(options, [0, text]);
      expect(seen?.shown).toEqual([want]);
      expect(seen?.reads).toEqual({ used: 1, duplicate: 1 });
    };
    checkOne('x{a="b"} 1\nx{a="b",pod="2"} 2', 'gauge x{a=b} 1 @0', DROP_POD);
    checkOne('x{pod="2"} 1\nx 2', 'gauge x{} 1 @0', DROP_POD);
    checkOne('x{job="j"} 1\nx{job="k"} 2', 'gauge x{} 1 @0');
    checkOne('x{instance="i"} 1\nx 2', 'gauge x{} 1 @0');
    checkOne('x{namespace="local"} 1\nx 2', 'gauge x{} 1 @0');
    checkOne('x 1\nx{namespace="local"} 2', 'gauge x{} 1 @0');
    checkOne('up 1\nexported_up 2', 'gauge exported_up{} 1 @0');
    checkOne('exported_up 1\nup 2', 'gauge exported_up{} 1 @0');
  });

  test('I1: also across the servers of a service, whose blocks are separate', () => {
    const text = 'x{server_name="s1"} 1\nx{server_name="s2"} 2';
    const [seen] = runPages({ metrics: { dropLabels: ['server_name'] } }, [0, text]);
    expect(seen?.shown).toEqual(['gauge x{} 1 @0']);
  });

  test('I1: series that stay distinct do not change', () => {
    const text =
      'x{pod="1",a="b"} 1\nx{pod="1",a="c"} 2\ny{pod="1",a="b"} 3\nx{pod="1",a="b",otel_scope_name="s"} 4';
    const [seen] = runPages(DROP_POD, [0, text]);
    expect(seen?.reads).toEqual({ used: 4 });
  });

  test('I1: equal series of two services stay separate', () => {
    const text = 'x{namespace="a",pod="1"} 1\nx{namespace="b",pod="2"} 2';
    expect(runPages({ ...DROP_POD, services: ['a', 'b'] }, [0, text])[0]?.reads).toEqual({
      used: 2,
    });
  });

  test('I1: a duplicate continues the series when its owner has left the page', () => {
    const counter = (pod: string, value: number): string =>
      `# TYPE x counter\nx{pod="${pod}"} ${value}`;
    const seen = runPages(
      DROP_POD,
      [0, counter('1', 50)],
      [60, counter('2', 60)],
      [120, counter('1', 70)],
      [180, counter('2', 5)],
    );
    expect(seen.map(({ shown }) => shown)).toEqual([
      ['sum x{} 50 @0 from 0'],
      ['sum x{} 60 @60 from 0'],
      ['sum x{} 70 @120 from 0'],
      ['sum x{} 5 @180 from 120'],
    ]);
  });

  test('I1: it continues after the last time, never before it', () => {
    const seen = runPages(
      DROP_POD,
      [0, `x{pod="1"} 1 ${at(0)}`],
      [60, `x{pod="2"} 2 ${at(-30)}`],
      [120, `x{pod="2"} 2 ${at(30)}`],
    );
    expect(seen.map(({ shown }) => shown)).toEqual([['gauge x{} 1 @0'], [], ['gauge x{} 2 @30']]);
    expect(seen[1]?.reads).toEqual({ time_backwards: 1 });
  });

  test('I1: of three, one is sent, whichever stays', () => {
    const lines = (...pods: string[]): string =>
      pods.map(pod => `x{pod="${pod}"} ${pod}`).join('\n');
    const seen = runPages(
      DROP_POD,
      [0, lines('1', '2', '3')],
      [60, lines('2', '3')],
      [120, lines('3')],
      [180, lines('1', '2', '3')],
    );
    expect(seen.map(({ shown }) => shown)).toEqual([
      ['gauge x{} 1 @0'],
      ['gauge x{} 2 @60'],
      ['gauge x{} 3 @120'],
      ['gauge x{} 3 @180'],
    ]);
  });

  test('I1: histograms that become one', () => {
    const histogram = (...pods: string[]): string =>
      `# TYPE h histogram\n${pods.map(pod => `h_bucket{pod="${pod}",le="1"} ${pod}\nh_count{pod="${pod}"} ${pod}`).join('\n')}`;
    const seen = runPages(
      DROP_POD,
      [0, histogram('1', '2')],
      [60, histogram('2')],
      [120, histogram('1')],
    );
    expect(seen.map(({ shown }) => shown)).toEqual([
      ['histogram h{} count=1 le1:1 inf:0 @0 from 0'],
      ['histogram h{} count=2 le1:2 inf:0 @60 from 0'],
      ['histogram h{} count=1 le1:1 inf:0 @120 from 60'],
    ]);
    expect(seen[0]?.reads).toEqual({ used: 2, duplicate: 2 });
  });

  describe('I1: a histogram that goes on as another one', () => {
    const lines = (pod: string, ...buckets: readonly (readonly [string, number])[]): string =>
      [
        '# TYPE h histogram',
        ...buckets.map(([le, count]) => `h_bucket{pod="${pod}",le="${le}"} ${count}`),
        `h_count{pod="${pod}"} ${buckets.at(-1)?.[1]}`,
      ].join('\n');
    const shown = (
      options: TargetOptions,
      ...pages: readonly (readonly [number, string])[]
    ): unknown => runPages(options, ...pages).map(seen => seen.shown);
    const both = `${lines('1', ['1', 1], ['2', 2])}\n${lines('2', ['1', 1])}`;

    test('I1: compares each bucket with the newest sample, whichever row had that', () => {
      const delta = { ...DROP_POD, temporality: 'delta' } as const;
      expect(
        shown(
          delta,
          [0, both],
          [60, lines('2', ['2', 1])],
          [120, lines('1', ['1', 1], ['2', 3])],
          [180, lines('1', ['1', 2], ['2', 5])],
          [240, lines('2', ['1', 3], ['2', 7])],
        ),
      ).toEqual([
        [],
        ['histogram h{} count=1 le2:1 inf:0 @60 from 0'],
        [],
        ['histogram h{} count=2 le1:1 le2:1 inf:0 @180 from 120'],
        ['histogram h{} count=2 le1:1 le2:1 inf:0 @240 from 180'],
      ]);
    });

    test('I1: also where a bound had two spellings', () => {
      expect(
        shown(
          DROP_POD,
          [0, lines('1', ['1.0', 3], ['2', 3])],
          [60, lines('1', ['1', 9], ['2', 9])],
          [120, lines('2', ['1', 6], ['2', 9])],
        ),
      ).toEqual([
        ['histogram h{} count=3 le1:3 le2:0 inf:0 @0 from 0'],
        ['histogram h{} count=9 le1:9 le2:0 inf:0 @60 from 0'],
        ['histogram h{} count=9 le1:6 le2:3 inf:0 @120 from 60'],
      ]);
    });
  });

  test('I1: the next process continues the one that was sent', () => {
    const counter = (...values: readonly (readonly [pod: string, value: number])[]): string =>
      ['# TYPE x counter', ...values.map(([pod, value]) => `x{pod="${pod}"} ${value}`), ''].join(
        '\n',
      );
    const first = new Target(DROP_POD);
    first.page(0, counter(['1', 50], ['2', 5]));
    first.page(60, counter(['2', 6]));
    first.page(120, counter(['1', 52], ['2', 7]));
    const second = successorOf(first, DROP_POD);
    const seen = [
      second.page(180, counter(['1', 53], ['2', 8])),
      second.page(240, counter(['1', 54])),
      second.page(300, counter(['1', 55], ['2', 9])),
    ];
    expect(seen.map(({ shown }) => shown)).toEqual([
      ['sum x{} 8 @180 from 0.001'],
      ['sum x{} 54 @240 from 0.001'],
      ['sum x{} 55 @300 from 0.001'],
    ]);
  });

  describe('I1: the next process knows until when an identity was sent', () => {
    const counter = (pod: string, value: number, stamp = ''): string =>
      `# TYPE x counter\nx{pod="${pod}"} ${value}${stamp}\n`;
    const shown = (target: Target, ...pages: readonly (readonly [number, string])[]): unknown =>
      pages.map(([seconds, text]) => target.page(seconds, text).shown);

    test('I1: a duplicate that arrives alone does not go back', () => {
      const first = new Target(DROP_POD);
      first.page(0, counter('1', 10));
      first.page(30, counter('1', 11, ` ${at(96)}`));
      // This duplicate and the next one have never been on a page.
      const second = successorOf(first, DROP_POD);
      expect(shown(second, [60, counter('2', 3)])).toEqual([[]]);
      const third = successorOf(second, DROP_POD);
      expect(
        shown(third, [90, counter('3', 4)], [120, counter('3', 5)], [180, counter('1', 12)]),
      ).toEqual([[], ['sum x{} 5 @120 from 120'], ['sum x{} 12 @180 from 120']]);
    });

    test('I1: an owner that returns continues, unless a duplicate was sent since', () => {
      const first = new Target(DROP_POD);
      first.page(0, counter('1', 10));
      first.page(60, counter('1', 11));
      const second = successorOf(first, DROP_POD);
      second.page(60, counter('2', 3));
      expect(shown(second, [120, counter('1', 14)])).toEqual([['sum x{} 14 @120 from 0']]);
      const third = successorOf(first, DROP_POD);
      third.page(120, counter('2', 3));
      const fourth = successorOf(third, DROP_POD);
      expect(shown(fourth, [180, counter('1', 14)], [240, counter('1', 15)])).toEqual([
        ['sum x{} 14 @180 from 180'],
        ['sum x{} 15 @240 from 180'],
      ]);
    });

    test('I1: a duplicate of a histogram is a baseline as a delta', () => {
      const histogram = (pod: string, value: number): string =>
        `# TYPE h histogram\nh_bucket{pod="${pod}",le="1"} ${value}\nh_count{pod="${pod}"} ${value}\n`;
      const options = { ...DROP_POD, temporality: 'delta' } as const;
      const first = new Target(options);
      first.page(0, histogram('1', 10));
      first.page(60, histogram('1', 11));
      expect(
        shown(successorOf(first, options), [120, histogram('2', 30)], [180, histogram('2', 32)]),
      ).toEqual([[], ['histogram h{} count=2 le1:2 inf:0 @180 from 120']]);
    });
  });

  test('I1: a forgotten series owns nothing any more', () => {
    const target = new Target(DROP_POD);
    target.page(0, 'x{pod="1"} 1\n');
    for (const minute of [1, 2, 61, 62]) target.page(minute * 60, 'y 1\n');
    expect(target.translation.table.identities.size).toBe(0);
    expect(target.page(4000, 'x{pod="2"} 2\ny 1\n').shown).toContain('gauge x{} 2 @4000');
    expect(target.translation.table.duplicates.size).toBe(0);
  });
});
