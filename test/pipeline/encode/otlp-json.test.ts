import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decodeLogsRequest,
  decodeMetricsRequest,
  NESTING_DEPTH_MAX,
  otlpJson,
} from '../../../src/pipeline/encode/otlp-json.ts';
import type {
  AnyValueJson,
  MetricJson,
  MetricsRequestJson,
} from '../../../src/pipeline/encode/otlp-fields.ts';
import { WIRE, WireWriter } from '../../../src/pipeline/encode/wire.ts';
import { WireError } from '../../../src/pipeline/encode/wire-reader.ts';
import {
  arbitraryLogsRequest,
  arbitraryMetricsRequest,
} from '../../reference/arbitrary-request.ts';
import {
  oracleDecodeLogs,
  oracleDecodeMetrics,
  oracleEncodeLogs,
  oracleEncodeMetrics,
} from '../../reference/oracle.ts';

const VALUES: Readonly<Record<string, AnyValueJson>> = {
  text: { stringValue: 'größe' },
  empty: { stringValue: '' },
  integer: { intValue: '-9223372036854775808' },
  yes: { boolValue: true },
  bytes: { bytesValue: 'AAH/' },
  list: { arrayValue: { values: [{ doubleValue: 'NaN' }, {}] } },
  map: { kvlistValue: { values: [{ key: 'k', value: {} }] } },
};
const attributes = Object.entries(VALUES).map(([key, value]) => ({ key, value }));

const exemplar = {
  timeUnixNano: '5',
  asInt: '-7',
  traceId: '0102030405060708090a0b0c0d0e0f10',
  spanId: '0102030405060708',
  filteredAttributes: attributes.slice(0, 1),
};
const times = { startTimeUnixNano: '1', timeUnixNano: '18446744073709551615' };
const buckets = { bucketCounts: ['0', '1', '2'], explicitBounds: [0.005, 5e-324] };
const quantiles = [{ quantile: 0.99, value: 'NaN' as const }];
const metrics: readonly MetricJson[] = [
  {
    name: 'a',
    description: 'about a',
    unit: 'By',
    gauge: { dataPoints: [{ timeUnixNano: '1760000000123000001', asDouble: '-Infinity' }] },
    metadata: attributes,
  },
  {
    name: 'b',
    sum: {
      dataPoints: [{ ...times, asDouble: 0, flags: 1, exemplars: [exemplar] }],
      aggregationTemporality: 2,
      isMonotonic: true,
    },
  },
  { histogram: { dataPoints: [{ count: '3', sum: 0, ...buckets }], aggregationTemporality: 2 } },
  { summary: { dataPoints: [{ count: '2', sum: 1.5, quantileValues: quantiles }] } },
];

/** A request with each field, and with values that encoders may get wrong. */
const everything = requestOf(metrics, { attributes, droppedAttributesCount: 1 });

function requestOf(metrics: readonly MetricJson[], resource = {}): MetricsRequestJson {
  const scope = { name: 'prom2otlp/engine' };
  return { resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] };
}

describe('a request is decoded', () => {
  test('to OTLP/JSON, with every kind of message and value', () => {
    expect(decodeMetricsRequest(oracleEncodeMetrics(everything))).toStrictEqual(everything);
    expect(JSON.parse(otlpJson('metrics', oracleEncodeMetrics(everything)))).toStrictEqual(
      everything,
    );
  });

  test('to a text that has every number, negative zeros too', () => {
    const request = requestOf([{ gauge: { dataPoints: [{ asDouble: -0 }, { asDouble: 0 }] } }]);
    const text = otlpJson('metrics', oracleEncodeMetrics(request));
    expect(text).toContain('[{"asDouble":-0},{"asDouble":0}]');
    expect(JSON.parse(text)).toStrictEqual(request);
    fc.assert(
      fc.property(arbitraryMetricsRequest, any => {
        const bytes = oracleEncodeMetrics(any);
        expect(JSON.parse(otlpJson('metrics', bytes))).toStrictEqual(decodeMetricsRequest(bytes));
      }),
    );
  });

  test('as the oracle decodes it', () => {
    fc.assert(
      fc.property(arbitraryMetricsRequest, arbitraryLogsRequest, (metrics, logs) => {
        const metricsBytes = oracleEncodeMetrics(metrics);
        expect(decodeMetricsRequest(metricsBytes)).toStrictEqual(oracleDecodeMetrics(metricsBytes));
        const logsBytes = oracleEncodeLogs(logs);
        expect(decodeLogsRequest(logsBytes)).toStrictEqual(oracleDecodeLogs(logsBytes));
      }),
      { numRuns: 200 },
    );
  });

  test('from the middle of a larger buffer', () => {
    const bytes = oracleEncodeMetrics(everything);
    const larger = Buffer.concat([Buffer.from('before'), bytes, Buffer.from('after')]);
    const part = new Uint8Array(larger.buffer, larger.byteOffset + 6, bytes.length);
    expect(decodeMetricsRequest(part)).toStrictEqual(everything);
  });

  test('when two requests follow each other', () => {
    const bytes = oracleEncodeMetrics(everything);
    const { resourceMetrics = [] } = decodeMetricsRequest(Buffer.concat([bytes, bytes]));
    expect(resourceMetrics).toHaveLength(2);
    expect(resourceMetrics[1]).toStrictEqual(resourceMetrics[0]);
  });
});

describe('encodings that OTLP allows and our encoder does not use', () => {
  /** The decoded metric of a request, whose message `write` writes. */
  function metricOf(write: (writer: WireWriter) => void): unknown {
    const writer = new WireWriter();
    const marks = [writer.begin(1), writer.begin(2), writer.begin(2)];
    write(writer);
    for (const mark of marks.toReversed()) writer.end(mark);
    const bytes = writer.written();
    expect(oracleDecodeMetrics(bytes)).toStrictEqual(decodeMetricsRequest(bytes));
    return decodeMetricsRequest(bytes).resourceMetrics?.[0]?.scopeMetrics?.[0]?.metrics?.[0];
  }

  test('fields of a later version are skipped', () => {
    const metric = metricOf(writer => {
      writer.tag(100, WIRE.varint);
      writer.varint(5);
      writer.tag(101, WIRE.fixed64);
      writer.fixed64(5);
      writer.tag(102, WIRE.fixed32);
      writer.raw(Buffer.alloc(4));
      writer.string(103, 'later');
      writer.string(1, 'name');
    });
    expect(metric).toStrictEqual({ name: 'name' });
  });

  test('a default on the wire counts as absent, and the last value counts', () => {
    const metric = metricOf(writer => {
      writer.string(1, 'first');
      writer.string(1, 'name');
      writer.string(2, 'gone');
      writer.string(2, '');
    });
    expect(metric).toStrictEqual({ name: 'name' });
  });

  test('the last member of a oneof counts', () => {
    const metric = metricOf(writer => {
      writer.end(writer.begin(5));
      writer.end(writer.begin(11));
    });
    expect(metric).toStrictEqual({ summary: {} });
  });

  test('the pieces of one message are joined', () => {
    const metric = metricOf(writer => {
      for (let piece = 0; piece < 2; piece++) {
        const gauge = writer.begin(5);
        writer.end(writer.begin(1));
        writer.end(gauge);
      }
    });
    expect(metric).toStrictEqual({ gauge: { dataPoints: [{}, {}] } });
  });

  test('bucket counts need not be packed', () => {
    const metric = metricOf(writer => {
      const marks = [writer.begin(9), writer.begin(1)];
      for (const count of [1, 2]) {
        writer.tag(6, WIRE.fixed64);
        writer.fixed64(count);
      }
      for (const mark of marks.toReversed()) writer.end(mark);
    });
    expect(metric).toStrictEqual({ histogram: { dataPoints: [{ bucketCounts: ['1', '2'] }] } });
  });
});

describe('damaged input', () => {
  const bytes = oracleEncodeMetrics(everything);

  test('reports what could not be decoded, why and where', () => {
    const check = (input: string, words: string): void => {
      const read = (): unknown => decodeMetricsRequest(Buffer.from(input, 'hex'));
      expect(read).toThrow(WireError);
      expect(read).toThrow(`cannot decode metrics request: ${words}`);
    };
    check('0a', 'a value of 1 bytes where 0 are left at byte 1');
    check('0a0501', 'a value of 5 bytes where 1 are left at byte 2');
    check('0d00000000', 'field resourceMetrics with wire type 5 at byte 1');
    check('03', 'an invalid tag at byte 0');
    check('5b', 'wire type 3, which OTLP does not use, at byte 1');
    expect(() => decodeLogsRequest(Buffer.from([0x0a]))).toThrow('cannot decode logs request: ');
  });

  test('is refused if truncated, except at the end of a whole request', () => {
    for (let length = 1; length < bytes.length; length++) {
      expect(() => decodeMetricsRequest(bytes.subarray(0, length))).toThrow(WireError);
    }
  });

  test('gives a request or a WireError for any bytes, and with any byte changed', () => {
    const changed = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)).map(([offset, value]) => {
      const damaged = Buffer.from(bytes);
      damaged[offset] = value;
      return damaged;
    });
    fc.assert(
      fc.property(fc.oneof(changed, fc.uint8Array({ maxLength: 40 })), input => {
        for (const decode of [decodeMetricsRequest, decodeLogsRequest])
          try {
            decode(input);
          } catch (error) {
            expect(error).toBeInstanceOf(WireError);
          }
      }),
      { numRuns: 1000 },
    );
  });

  test('is refused with endless nesting before the stack is full', () => {
    const nested = (depth: number): Buffer => {
      const writer = new WireWriter();
      // Request, resource logs, scope logs, record, body: then arrays of arrays.
      const marks = [1, 2, 2, 5].map(field => writer.begin(field));
      for (let i = 0; i < depth; i++) marks.push(writer.begin(5), writer.begin(1));
      for (const mark of marks.toReversed()) writer.end(mark);
      return writer.written();
    };
    const levels = (NESTING_DEPTH_MAX - 6) / 2;
    expect(decodeLogsRequest(nested(levels)).resourceLogs).toHaveLength(1);
    expect(() => decodeLogsRequest(nested(levels + 1))).toThrow(
      `more than ${NESTING_DEPTH_MAX} levels`,
    );
    expect(() => decodeLogsRequest(nested(20_000))).toThrow(WireError);
  });
});
