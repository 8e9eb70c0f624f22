// The sink reads the three forms of a request alike.

import protobuf from 'protobufjs';
import { expect, test } from 'vitest';
import { readOtlpJson, readOtlpProtobuf, readRemoteWrite } from '../../bench/sink/read.ts';
import { Received, type ReceivedReport } from '../../bench/sink/received.ts';
import type { MetricsRequestJson } from '../../src/pipeline/encode/otlp-fields.ts';
import { oracleEncodeMetrics } from '../reference/oracle.ts';

const AT = '1700000000000000000';

function attribute(key: string, stringValue: string) {
  return { key, value: { stringValue } };
}

const REQUEST: MetricsRequestJson = {
  resourceMetrics: [
    {
      resource: { attributes: [attribute('service.name', 'a')] },
      scopeMetrics: [
        {
          metrics: [
            {
              name: 'g',
              gauge: {
                dataPoints: [
                  { timeUnixNano: AT, asDouble: 1.5, attributes: [attribute('x', '1')] },
                  { timeUnixNano: AT, asInt: '7', attributes: [attribute('x', '2')] },
                  { timeUnixNano: AT, flags: 1 },
                ],
              },
            },
            {
              name: 'h',
              histogram: {
                aggregationTemporality: 2,
                dataPoints: [
                  {
                    timeUnixNano: AT,
                    count: '5',
                    sum: 9,
                    bucketCounts: ['2', '3'],
                    explicitBounds: [1],
                  },
                ],
              },
            },
            { name: 'up', gauge: { dataPoints: [{ timeUnixNano: AT, asDouble: 1 }] } },
          ],
        },
      ],
    },
  ],
};

function report(read: (received: Received) => void): ReceivedReport {
  const received = new Received();
  read(received);
  return received.report();
}

test.each([
  ['protobuf', (received: Received) => readOtlpProtobuf(oracleEncodeMetrics(REQUEST), received)],
  ['JSON', (received: Received) => readOtlpJson(Buffer.from(JSON.stringify(REQUEST)), received)],
])(
  'OTLP in %s: samples, buckets as they were on the page, no marker and nothing added',
  (_, read) => {
    const { byTime, total, seriesByCount } = report(read);
    expect([...byTime.keys()]).toEqual([1_700_000_000_000]);
    // 1.5, 7; the buckets 2 and 5, the count 5, the sum 9.
    expect([total.samples, total.sum]).toEqual([6, 1.5 + 7 + 2 + 5 + 5 + 9]);
    expect(seriesByCount).toEqual(new Map([[1, 3]]));
  },
);

test('remote write', () => {
  const { root } = protobuf.parse(`syntax = "proto3";
    message W { repeated T timeseries = 1; } message T { repeated L labels = 1; repeated S samples = 2; }
    message L { string name = 1; string value = 2; } message S { double value = 1; int64 timestamp = 2; }`);
  const type = root.lookupType('W');
  const series = (name: string, ...values: readonly number[]) => ({
    labels: [{ name: '__name__', value: name }],
    samples: values.map((value, index) => ({ value, timestamp: 1_700_000_000_000 + index })),
  });
  const timeseries = [series('a', 1, 2, Number.NaN), series('scrape_duration_seconds', 3)];
  const body = Buffer.from(type.encode(type.fromObject({ timeseries })).finish());
  const { total, byTime, seriesByCount } = report(received => readRemoteWrite(body, received));
  expect([total.samples, total.sum]).toEqual([2, 3]);
  expect([...byTime.keys()]).toEqual([1_700_000_000_000, 1_700_000_000_001]);
  expect(seriesByCount).toEqual(new Map([[2, 1]]));
});
