import { expect, test } from 'vitest';
import type { MetricJson } from '../../src/pipeline/encode/otlp-fields.ts';
import { type OtlpPoint, otlpPoints } from './otlp-points.ts';

function rowsOf(...metrics: MetricJson[]): OtlpPoint[] {
  const resource = {
    attributes: [
      { key: 'service.name', value: { stringValue: 'orders' } },
      { key: 'service.instance.id', value: { stringValue: 'db1' } },
    ],
  };
  return otlpPoints({
    resourceMetrics: [{ resource, scopeMetrics: [{ scope: { name: 's' }, metrics }] }],
  });
}

test('a number point is a row with its envelope', () => {
  const attributes = [
    { key: 'b', value: { stringValue: 'x' } },
    { key: 'a', value: { intValue: '1' } },
  ];
  const sum = {
    dataPoints: [{ attributes, startTimeUnixNano: '5', timeUnixNano: '7', asDouble: 2 }],
    aggregationTemporality: 2,
    isMonotonic: true,
  };
  expect(rowsOf({ name: 'm', unit: 'By', sum })).toStrictEqual([
    {
      resource: 'service.instance.id=db1,service.name=orders',
      serviceName: 'orders',
      serviceId: 'db1',
      scope: 's',
      metric: 'm',
      type: 'sum',
      unit: 'By',
      description: '',
      metadata: '',
      temporality: 'cumulative',
      isMonotonic: true,
      attributes: 'a=1,b=x',
      startNs: '5',
      timeNs: '7',
      value: 2,
      distribution: '',
      flags: 0,
      exemplars: [],
    },
  ]);
});

test('a distribution is a text', () => {
  const check = (metric: MetricJson, want: string): void => {
    expect(rowsOf(metric).map(row => row.distribution)).toStrictEqual([want]);
  };
  const histogram = (point: object): MetricJson => ({ histogram: { dataPoints: [point] } });
  const bucketCounts = ['1', '2'];
  check(
    histogram({ count: '3', sum: 1.5, bucketCounts, explicitBounds: [0.1] }),
    'count=3 sum=1.5 le0.1:1 inf:2',
  );
  check(histogram({ bucketCounts: ['0'], flags: 1 }), 'count=0 inf:0');
  const quantileValues = [
    { quantile: 0.5, value: 'NaN' as const },
    { quantile: 1, value: 2 },
  ];
  check(
    { summary: { dataPoints: [{ count: '2', quantileValues }] } },
    'count=2 sum=0 q0.5:NaN q1:2',
  );
  check({ gauge: { dataPoints: [{ flags: 1 }] } }, '');
});

test('a metric without data has its own row', () => {
  expect(rowsOf({ name: 'm' }).map(row => row.type)).toStrictEqual(['empty']);
});
