// The sink reads the three forms of a request alike.

import protobuf from 'protobufjs';
import { expect, test } from 'vitest';
import { readOtlpJson, readOtlpProtobuf, readRemoteWrite } from '../../bench/sink/read.ts';
import { addSample, addSeries, newSeries, type SeriesSet } from '../../bench/corpus/series-set.ts';
import { Received } from '../../bench/sink/received.ts';
import type { MetricsRequestJson } from '../../src/pipeline/encode/otlp-fields.ts';
import { oracleEncodeMetrics } from '../reference/oracle.ts';

const AT_MS = 1_700_000_000_000;
const AT = `${AT_MS}000000`;

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

function arrived(read: (received: Received) => void): SeriesSet {
  const received = new Received(true);
  read(received);
  return received.series();
}

/** One series for each list of samples, from AT on, a millisecond apart. */
function setOf(...series: readonly (readonly number[])[]): SeriesSet {
  const set: SeriesSet = new Map();
  for (const values of series) {
    const tally = newSeries();
    for (const [index, value] of values.entries()) addSample(tally, value, AT_MS + index);
    addSeries(set, tally);
  }
  return set;
}

test.each([
  ['protobuf', (received: Received) => readOtlpProtobuf(oracleEncodeMetrics(REQUEST), received)],
  ['JSON', (received: Received) => readOtlpJson(Buffer.from(JSON.stringify(REQUEST)), received)],
])(
  'OTLP in %s: samples, buckets as they were on the page, no marker and nothing added',
  (_, read) => {
    // The gauge; of the histogram the buckets 2 and 5, the count 5 and the sum 9.
    expect(arrived(read)).toEqual(setOf([1.5], [7], [2], [5], [5], [9]));
  },
);

test('remote write', () => {
  const { root } = protobuf.parse(`syntax = "proto3";
    message W { repeated T timeseries = 1; } message T { repeated L labels = 1; repeated S samples = 2; }
    message L { string name = 1; string value = 2; } message S { double value = 1; int64 timestamp = 2; }`);
  const type = root.lookupType('W');
  const series = (name: string, ...values: readonly number[]) => ({
    labels: [{ name: '__name__', value: name }],
    samples: values.map((value, index) => ({ value, timestamp: AT_MS + index })),
  });
  const timeseries = [series('a', 1, 2, Number.NaN), series('scrape_duration_seconds', 3)];
  const body = Buffer.from(type.encode(type.fromObject({ timeseries })).finish());
  expect(arrived(received => readRemoteWrite(body, received))).toEqual(setOf([1, 2]));
});
