// Checks that WireSanity finds each kind of violation, and nothing in requests that are right.

import { describe, expect, test } from 'vitest';
import type {
  HistogramPointJson,
  KeyValueJson,
  MetricJson,
  MetricsRequestJson,
  NumberPointJson,
  SummaryPointJson,
} from '../../src/pipeline/encode/otlp-fields.ts';
import { expectSane, WireSanity, type WireSanityOptions } from './wire-sanity.ts';

const DELTA = 1;
const CUMULATIVE = 2;

const texts = (attributes: Readonly<Record<string, string>>): KeyValueJson[] =>
  Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));

function requestOf(...metrics: readonly MetricJson[]): MetricsRequestJson {
  const resource = { attributes: texts({ 'service.instance.id': 'a' }) };
  return { resourceMetrics: [{ resource, scopeMetrics: [{ scope: { name: 's' }, metrics }] }] };
}

/** Times are seconds. */
function sum(
  point: NumberPointJson & { readonly from?: number; readonly at: number },
  aggregationTemporality = CUMULATIVE,
): MetricsRequestJson {
  const { from, at, ...rest } = point;
  const dataPoints = [{ ...rest, ...timesOf(at, from) }];
  return requestOf({ name: 'c', sum: { dataPoints, aggregationTemporality, isMonotonic: true } });
}

const cumulative = (asDouble: number, from: number, at: number): MetricsRequestJson =>
  sum({ asDouble, from, at });
const delta = (asDouble: number, from: number, at: number): MetricsRequestJson =>
  sum({ asDouble, from, at }, DELTA);

const gauge = (point: NumberPointJson, at = 1): MetricsRequestJson =>
  requestOf({ name: 'g', gauge: { dataPoints: [{ ...point, ...timesOf(at) }] } });

const histogram = (point: HistogramPointJson, at = 2, from = 1): MetricsRequestJson =>
  requestOf({
    name: 'h',
    histogram: {
      dataPoints: [{ ...point, ...timesOf(at, from) }],
      aggregationTemporality: CUMULATIVE,
    },
  });

const summary = (point: SummaryPointJson): MetricsRequestJson =>
  requestOf({ name: 's', summary: { dataPoints: [{ ...point, ...timesOf(1) }] } });

function timesOf(at: number, from?: number): { timeUnixNano: string; startTimeUnixNano?: string } {
  const timeUnixNano = String(BigInt(at) * 1_000_000_000n);
  if (from === undefined) return { timeUnixNano };
  return { timeUnixNano, startTimeUnixNano: String(BigInt(from) * 1_000_000_000n) };
}

/** The findings in the last request; the requests before must have none. */
function found(requests: readonly MetricsRequestJson[], options?: WireSanityOptions): string {
  const sanity = new WireSanity(options);
  const lists = requests.map(request => sanity.take(request));
  expect(lists.slice(0, -1).flat()).toEqual([]);
  return (lists.at(-1) ?? []).join('\n');
}

const right = (...requests: readonly MetricsRequestJson[]): void =>
  expect(found(requests)).toBe('');
const wrong = (words: string, ...requests: readonly MetricsRequestJson[]): void =>
  expect(found(requests)).toContain(words);

describe('one request', () => {
  test('an empty one is valid, an empty envelope is not', () => {
    right({});
    right({ resourceMetrics: [] });
    wrong('it is empty', { resourceMetrics: [{}] });
    wrong('it is empty', { resourceMetrics: [{ scopeMetrics: [{ scope: { name: 's' } }] }] });
    wrong('data of 0 kinds', requestOf({ name: 'm' }));
    wrong('it is empty', requestOf({ name: 'm', gauge: {} }));
    const both = { dataPoints: [{ asDouble: 1, ...timesOf(1) }] };
    wrong('data of 2 kinds', requestOf({ name: 'm', gauge: both, sum: both }));
    wrong('has no name', requestOf({ gauge: both }));
  });

  test('attribute keys are unique and not empty, wherever they are', () => {
    const twice = [...texts({ a: '1' }), ...texts({ a: '1' })];
    wrong('the attribute a stands twice', gauge({ asDouble: 1, attributes: twice }));
    wrong('has no key', gauge({ asDouble: 1, attributes: texts({ '': 'x' }) }));
    const exemplars = [{ filteredAttributes: twice, asDouble: 1 }];
    wrong('the attribute a stands twice', gauge({ asDouble: 1, exemplars }));
    const { resourceMetrics = [] } = gauge({ asDouble: 1 });
    const [{ scopeMetrics = [] } = {}] = resourceMetrics;
    const resource = { attributes: twice };
    wrong('the attribute a stands twice', { resourceMetrics: [{ resource, scopeMetrics }] });
    const [{ metrics = [] } = {}] = scopeMetrics;
    const scoped = [{ scope: { attributes: twice }, metrics }];
    wrong('the attribute a stands twice', { resourceMetrics: [{ scopeMetrics: scoped }] });
    const [metric] = metrics;
    wrong('the attribute a stands twice', requestOf({ ...metric, metadata: twice }));
  });

  test('a number has one value, a marker none', () => {
    right(gauge({ asDouble: 'NaN' }));
    right(gauge({ asInt: '1' }));
    right(gauge({ flags: 1 }));
    wrong('it has 0 values', gauge({}));
    wrong('it has 2 values', gauge({ asDouble: 1, asInt: '1' }));
  });

  test('buckets are not negative, add up to the count, and are one more than the bounds', () => {
    right(histogram({ count: '3', bucketCounts: ['1', '2'], explicitBounds: [5] }));
    right(histogram({ count: '3' }));
    right(histogram({ count: '3', bucketCounts: ['3'] }));
    right(histogram({ flags: 1, bucketCounts: ['0', '0'], explicitBounds: [5] }));
    const negative = String(2n ** 64n - 1n);
    const of = (count: string, ...bucketCounts: string[]): MetricsRequestJson =>
      histogram({ count, bucketCounts, explicitBounds: [5] });
    wrong(`a bucket is ${negative}`, of('2', '3', negative));
    wrong('its count is', histogram({ count: negative }));
    wrong('its buckets add up to 3 instead of 4', of('4', '1', '2'));
    wrong('2 buckets for 0 bounds', histogram({ count: '3', bucketCounts: ['1', '2'] }));
    wrong('0 buckets for 1 bounds', histogram({ explicitBounds: [1] }));
  });

  test('bounds are numbers that increase', () => {
    const of = (...explicitBounds: NonNullable<HistogramPointJson['explicitBounds']>) =>
      histogram({ bucketCounts: ['0', '0', '0'], explicitBounds });
    right(of(-1, 0.5));
    wrong('its bounds do not increase', of(1, 1));
    wrong('its bounds do not increase', of(2, 1));
    wrong('its bounds are', of(1, 'Infinity'));
    wrong('its bounds are', of('NaN', 1));
  });

  test('quantiles are from 0 to 1, sorted, each once', () => {
    const of = (...quantiles: readonly (number | 'NaN')[]) =>
      summary({ quantileValues: quantiles.map(quantile => ({ quantile, value: 'NaN' })) });
    right(of(0, 0.5, 1));
    right(of());
    wrong('its quantiles are', of(-0.1));
    wrong('its quantiles are', of(1.5));
    wrong('its quantiles are', of('NaN'));
    wrong('its quantiles do not increase', of(0.9, 0.5));
    wrong('its quantiles do not increase', of(0.5, 0.5));
    wrong('its count is', summary({ count: String(2n ** 63n) }));
  });

  test('sums and histograms have a temporality; growth is not negative', () => {
    wrong('not specified', sum({ asDouble: 1, at: 1 }, 0));
    right(delta(0, 1, 2));
    wrong('its growth is -1', delta(-1, 1, 2));
  });

  test('there is a time, and no start after it', () => {
    wrong('it has no time', gauge({ asDouble: 1 }, 0));
    right(cumulative(1, 5, 5));
    wrong('it starts 1 s after its time', cumulative(1, 6, 5));
  });

  test('an identity occurs once, with its attributes in any order', () => {
    const points = (...attributes: readonly KeyValueJson[][]): MetricsRequestJson => {
      const dataPoints = attributes.map(some => ({ asDouble: 1, attributes: some, ...timesOf(1) }));
      return requestOf({ name: 'g', gauge: { dataPoints } });
    };
    right(points(texts({ a: '1' }), texts({ a: '2' }), texts({ a: '1', b: '2' })));
    right(points(texts({ a: '1,b=2' }), texts({ a: '1', b: '2' })));
    wrong('came before', points(texts({ a: '1', b: '2' }), texts({ b: '2', a: '1' })));
  });
});

describe('requests in a row', () => {
  test('an identity occurs once per time, with the same or another value', () => {
    wrong('with the same point', gauge({ asDouble: 1 }), gauge({ asDouble: 1 }));
    wrong('with another point', gauge({ asDouble: 1 }), gauge({ asDouble: 2 }));
  });

  test('if an answer may be lost, a point may repeat, but only unchanged', () => {
    const requests = [gauge({ asDouble: 1 }, 1), gauge({ asDouble: 2 }, 2)];
    const resent = (asDouble: number): string =>
      found([...requests, gauge({ asDouble }, 1)], { mayResend: true });
    expect(resent(1)).toBe('');
    expect(resent(3)).toContain('with another point');
  });

  test('times increase', () => {
    right(gauge({ asDouble: 1 }, 1), gauge({ flags: 1 }, 2), gauge({ asDouble: 1 }, 3));
    wrong('1 s older', gauge({ asDouble: 1 }, 3), gauge({ flags: 1 }, 2));
  });

  test('a marker ends a series that has a value', () => {
    wrong(
      'follows a marker',
      gauge({ asDouble: 1 }),
      gauge({ flags: 1 }, 2),
      gauge({ flags: 1 }, 3),
    );
  });

  test('they go back only if a clock may be corrected', () => {
    const back = [gauge({ asDouble: 1 }, 9), gauge({ asDouble: 2 }, 1), gauge({ asDouble: 2 }, 2)];
    const after = (...requests: readonly MetricsRequestJson[]): string =>
      found([...back, ...requests], { mayGoBack: true });
    expect(after()).toBe('');
    expect(after(gauge({ asDouble: 3 }, 2))).toContain('with another point');
    // The right clock reaches the time that the wrong clock gave.
    expect(after(gauge({ asDouble: 3 }, 9))).toBe('');
  });

  test('a delta shows by its start that time went back with a baseline, which is not sent', () => {
    const requests = [delta(1, 1, 9), delta(2, 3, 9)];
    expect(found(requests, { mayGoBack: true })).toBe('');
    wrong('with another point', ...requests);
  });

  test('a stream keeps its start, or begins where the previous one ended, or later', () => {
    right(cumulative(1, 1, 5), cumulative(2, 1, 10));
    right(cumulative(1, 1, 5), cumulative(0, 5, 10));
    const overlap = (seconds: number): string => `starts ${seconds} s before the one before ended`;
    wrong(overlap(1), cumulative(1, 1, 5), cumulative(2, 4, 10));
    wrong(overlap(4), cumulative(1, 3, 5), cumulative(2, 1, 10));
    const ended = [cumulative(1, 1, 5), sum({ flags: 1, from: 1, at: 8 })];
    right(...ended, cumulative(2, 8, 10));
    wrong('starts 2 s before the last marker', ...ended, cumulative(2, 6, 10));
    // Points without a start may fall.
    right(sum({ asDouble: 2, at: 5 }), sum({ asDouble: 1, at: 10 }));
  });

  test('deltas do not overlap; a marker between them does not count', () => {
    right(delta(1, 1, 5), delta(1, 5, 9));
    right(delta(1, 1, 5), sum({ flags: 1, from: 5, at: 6 }, DELTA), delta(1, 5, 9));
    wrong('it starts 4 s before the one before ended', delta(1, 1, 5), delta(1, 1, 9));
  });

  test('a cumulative value does not fall while its start stays', () => {
    wrong('its value falls from 5 to 4', cumulative(5, 1, 5), cumulative(4, 1, 9));
    const [first, other] = [{ explicitBounds: [1, 5] }, { explicitBounds: [2] }];
    const four = histogram({ ...first, count: '4', bucketCounts: ['0', '4', '0'] }, 2);
    const less = histogram({ ...first, count: '5', bucketCounts: ['1', '2', '2'] }, 3);
    wrong('what is up to 5 falls from 4 to 3', four, less);
    right(four, histogram({ ...other, count: '5', bucketCounts: ['1', '4'] }, 3));
    // A stream that begins right after a first point whose start is unknown.
    right(cumulative(5, 5, 5), cumulative(4, 5, 9));
  });
});

test('findings are thrown on request', () => {
  const sanity = new WireSanity();
  expect(() => expectSane(sanity, gauge({ asDouble: 1 }))).not.toThrow();
  expect(() => expectSane(sanity, gauge({ asDouble: 2 }))).toThrow(/not sane:\n {2}g\{\}.*another/);
});
