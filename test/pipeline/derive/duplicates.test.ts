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

  test('I1: of three, the first on the page is sent', () => {
    const target = new Target(DROP_POD);
    const lines = (...pods: string[]): string =>
      pods.map(pod => `x{pod="${pod}"} ${pod}`).join('\n');
    target.shows(0, lines('1', '2', '3'), 'gauge x{} 1 @0');
    target.shows(60, lines('2', '3'), 'gauge x{} 2 @60');
    target.shows(120, lines('3'), 'gauge x{} 3 @120');
    target.shows(180, lines('1', '2', '3'), 'gauge x{} 1 @180');
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

  test('I1: another sender begins again after the last point, as a delta with a baseline', () => {
    const counter = (...values: readonly (readonly [pod: string, value: number])[]): string =>
      ['# TYPE x counter', ...values.map(([pod, value]) => `x{pod="${pod}"} ${value}`)].join('\n');
    const target = new Target(DROP_POD);
    target.page(0, counter(['1', 50], ['2', 5]));
    target.shows(60, counter(['2', 6]), 'sum x{} 6 @60 from 60');
    target.shows(120, counter(['2', 7]), 'sum x{} 7 @120 from 60');
    // The first on the page wins.
    target.shows(180, counter(['1', 52], ['2', 8]), 'sum x{} 52 @180 from 180');
    const next = successorOf(target, DROP_POD);
    next.shows(240, counter(['1', 53], ['2', 9]), 'sum x{} 53 @240 from 180');
    const delta = new Target({ ...DROP_POD, temporality: 'delta' });
    delta.page(0, counter(['1', 50]));
    delta.shows(60, counter(['2', 60]));
    delta.shows(120, counter(['2', 61]), 'delta x{} 1 @120 from 60');
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
