import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutAt, timesOf, timeToCutAt } from '../../../src/pipeline/send/cut-by-time.ts';
import { arbitraryMetricsRequest } from '../../reference/arbitrary-request.ts';
import { oracleEncodeMetrics } from '../../reference/oracle.ts';
import { flatPoints } from '../../support/otlp-requests.ts';

/** The time of a point in the words of `flatPoints`, as near as a double is. */
function timeIn(point: string): number {
  const { point: parsed } = JSON.parse(point) as { point: { timeUnixNano?: string } };
  return Number(parsed.timeUnixNano ?? 0);
}

test('the pieces of any request hold every point once, each on its side', () => {
  fc.assert(
    fc.property(arbitraryMetricsRequest, fc.nat(), (request, pick) => {
      const bytes = oracleEncodeMetrics(request);
      const points = flatPoints('metrics', bytes);
      const times = timesOf(bytes);
      expect(times).toEqual(points.map(timeIn));
      const time = times[pick % Math.max(times.length, 1)] ?? 0;
      const [older, newer] = cutAt(bytes, time).map(piece => flatPoints('metrics', piece));
      expect(older).toEqual(points.filter(point => timeIn(point) < time));
      expect(newer).toEqual(points.filter(point => timeIn(point) >= time));
    }),
  );
});

test('a request is split where about half of its points are newer', () => {
  expect(timeToCutAt([])).toBeNull();
  expect(timeToCutAt([5, 5, 5])).toBeNull();
  expect(timeToCutAt([5, 9, 5])).toBe(9);
  expect(timeToCutAt([9, 1, 2, 3, 4, 4, 4])).toBe(4);
});

test('a piece without points is not a request, and no envelope without points remains', () => {
  const gauge = (name: string, timeUnixNano: string) => ({
    name,
    gauge: { dataPoints: [{ timeUnixNano, asDouble: 1 }] },
  });
  const bytes = oracleEncodeMetrics({
    resourceMetrics: [
      { scopeMetrics: [{ scope: { name: 'a' }, metrics: [gauge('old', '1')] }] },
      { scopeMetrics: [{ scope: { name: 'b' }, metrics: [gauge('new', '2')] }] },
    ],
  });
  const [older, newer] = cutAt(bytes, 2);
  expect(older).toEqual(bytes.subarray(0, older.length));
  expect(newer).toEqual(bytes.subarray(older.length));
  expect(cutAt(bytes, 1).map(({ length }) => length)).toEqual([0, bytes.length]);
});

test('damaged bytes have no times, and stay together', () => {
  const bytes = Buffer.from([0x0a, 0x7f, 0x01]);
  expect(timesOf(bytes)).toEqual([]);
  expect(cutAt(bytes, 1)).toEqual([bytes, Buffer.alloc(0)]);
});
