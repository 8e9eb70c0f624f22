import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Signal } from '../../../src/model/batch.ts';
import {
  countPoints,
  cutAt,
  firstPoint,
  halveRequest,
  splitRequest,
  timesOf,
  timeToCutAt,
} from '../../../src/pipeline/queue/split.ts';
import {
  arbitraryLogsRequest,
  arbitraryMetricsRequest,
} from '../../reference/arbitrary-request.ts';
import { oracleEncodeLogs, oracleEncodeMetrics } from '../../reference/oracle.ts';
import { flatPoints, logsBytes, metricsBytes } from '../../support/otlp-requests.ts';

const arbitraryRequest: fc.Arbitrary<readonly [Signal, Buffer]> = fc.oneof(
  arbitraryMetricsRequest.map(json => ['metrics', oracleEncodeMetrics(json)] as const),
  arbitraryLogsRequest.map(json => ['logs', oracleEncodeLogs(json)] as const),
);

function both(halves: readonly [Buffer, Buffer] | null): readonly [Buffer, Buffer] {
  if (halves === null) throw new Error('cannot be halved');
  return halves;
}

test('points are counted at every depth', () => {
  fc.assert(
    fc.property(arbitraryRequest, ([signal, bytes]) => {
      expect(countPoints(signal, bytes)).toBe(flatPoints(signal, bytes).length);
    }),
    { numRuns: 200 },
  );
});

test('two halves hold the same points in order, with their envelopes, and neither is empty', () => {
  fc.assert(
    fc.property(arbitraryRequest, ([signal, bytes]) => {
      const points = flatPoints(signal, bytes);
      const halves = halveRequest(signal, bytes);
      if (points.length < 2) {
        expect(halves).toBeNull();
        return;
      }
      const [first, second] = both(halves).map(half => flatPoints(signal, half));
      expect(first).not.toEqual([]);
      expect(second).not.toEqual([]);
      expect([...(first ?? []), ...(second ?? [])]).toEqual(points);
    }),
    { numRuns: 300 },
  );
});

test('pieces of a request are within the limit, unless a single point is larger, and lose nothing', () => {
  fc.assert(
    fc.property(
      arbitraryRequest,
      fc.record({
        bytes: fc.integer({ min: 1, max: 2000 }),
        points: fc.integer({ min: 1, max: 20 }),
      }),
      ([signal, bytes], limit) => {
        const pieces = splitRequest(signal, bytes, limit);
        for (const piece of pieces) {
          expect(piece.points).toBe(countPoints(signal, piece.bytes));
          expect(piece.points).toBeLessThanOrEqual(limit.points);
          if (piece.bytes.length > limit.bytes) expect(piece.points).toBeLessThanOrEqual(1);
        }
        expect(pieces.flatMap(piece => flatPoints(signal, piece.bytes))).toEqual(
          flatPoints(signal, bytes),
        );
      },
    ),
    { numRuns: 200 },
  );
});

test('halves are even, wherever the cut goes, and each half has the envelopes of its points', () => {
  const metric = (name: string, count: number) => ({
    name,
    unit: 's',
    gauge: { dataPoints: Array.from({ length: count }, () => ({ asDouble: 1 })) },
  });
  const scopes = [{ metrics: [metric('x', 2), metric('y', 2)] }, { metrics: [metric('z', 1)] }];
  const requests = [
    Buffer.concat([metricsBytes('a', 1), metricsBytes('b', 9)]),
    Buffer.concat(['a', 'b', 'c', 'd'].map(name => metricsBytes(name, 5))),
    oracleEncodeMetrics({ resourceMetrics: [{ schemaUrl: 'u', scopeMetrics: scopes }] }),
    metricsBytes('a', 7),
  ];
  for (const bytes of requests) {
    const halves = both(halveRequest('metrics', bytes));
    const points = halves.map(half => flatPoints('metrics', half));
    expect(points.flat()).toEqual(flatPoints('metrics', bytes));
    expect(points[0]).toHaveLength(Math.floor(points.flat().length / 2));
  }
});

test('a thousand points need ten halvings', () => {
  let bytes = metricsBytes('a', 1000);
  let depth = 0;
  for (let halves = halveRequest('metrics', bytes); halves !== null; depth++) {
    [, bytes] = halves;
    halves = halveRequest('metrics', bytes);
  }
  expect(depth).toBeLessThanOrEqual(10);
});

test('the sample of a request is its first point', () => {
  const check = (signal: Signal, bytes: Buffer): void =>
    expect(flatPoints(signal, firstPoint(signal, bytes))).toEqual(
      flatPoints(signal, bytes).slice(0, 1),
    );
  check('metrics', metricsBytes('a', 1));
  check('metrics', metricsBytes('a', 100));
  check(
    'metrics',
    Buffer.concat([metricsBytes('empty', 0), metricsBytes('b', 3), metricsBytes('c', 3)]),
  );
  check('logs', logsBytes('a', ['one', 'two', 'three']));
});

test('damaged bytes are not split', () => {
  const check = (bytes: Buffer): void => {
    expect(countPoints('metrics', bytes)).toBe(0);
    expect(halveRequest('metrics', bytes)).toBeNull();
    expect(splitRequest('metrics', bytes, { bytes: 1, points: 1 })).toEqual([{ bytes, points: 0 }]);
    expect(firstPoint('metrics', bytes)).toEqual(bytes);
  };
  check(Buffer.from('hello, I am not protobuf'));
  check(metricsBytes('a', 10).subarray(0, 40));
  check(Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]));
  check(Buffer.from([0x0a]));
});

/** The time of a point of `flatPoints`, as a double. */
function timeIn(point: string): number {
  const { point: parsed } = JSON.parse(point) as { point: { timeUnixNano?: string } };
  return Number(parsed.timeUnixNano ?? 0);
}

test('the two pieces of any request hold every point once, older points in the first', () => {
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
