// Random OTLP requests for property tests, with every message, field and kind of value that src/ knows of.
import * as fc from 'fast-check';
import type {
  AnyValueJson,
  JsonDouble,
  KeyValueJson,
  LogsRequestJson,
  MetricsRequestJson,
} from '../../src/pipeline/encode/otlp-fields.ts';

/** A record of which any member may be missing. */
function message<T>(members: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<Partial<T>> {
  return fc.record(members, { requiredKeys: [] }) as fc.Arbitrary<Partial<T>>;
}

/** An object with one of the members. */
function oneOf<T>(members: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<Partial<T>> {
  const names = Object.keys(members) as (keyof T)[];
  return fc.oneof(...names.map(name => members[name].map(value => ({ [name]: value }) as T)));
}

function join<A extends object, B extends object>(
  left: fc.Arbitrary<A>,
  right: fc.Arbitrary<B>,
): fc.Arbitrary<A & B> {
  return fc.tuple(left, right).map(([a, b]) => ({ ...a, ...b }));
}

const list = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(item, { maxLength: 3 });

const double: fc.Arbitrary<JsonDouble> = fc
  .double()
  .map(value => (Number.isFinite(value) ? value : (String(value) as JsonDouble)));
const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 8 }), fc.string({ minLength: 40 }));
const uint32 = fc.nat(0xffff_ffff);
const uint64 = fc.bigInt(0n, 2n ** 64n - 1n).map(String);
const int64 = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map(String);
const hex = (bytes: number): fc.Arbitrary<string> =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map(value => Buffer.from(value).toString('hex'));
const base64 = fc.uint8Array({ maxLength: 5 }).map(value => Buffer.from(value).toString('base64'));

const { anyValue, keyValue } = fc.letrec<{ anyValue: AnyValueJson; keyValue: KeyValueJson }>(
  tie => ({
    anyValue: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constant({}),
      oneOf({
        stringValue: text,
        boolValue: fc.boolean(),
        intValue: int64,
        doubleValue: double,
        bytesValue: base64,
      }),
      fc.record({ arrayValue: message({ values: list(tie('anyValue')) }) }),
      fc.record({ kvlistValue: message({ values: list(tie('keyValue')) }) }),
    ),
    keyValue: message({ key: text, value: tie('anyValue') }),
  }),
);

const attributed = { attributes: list(keyValue), droppedAttributesCount: uint32 };
const resource = message(attributed);
const scope = message({ name: text, version: text, ...attributed });
const number = oneOf({ asDouble: double, asInt: int64 });
const exemplars = list(
  join(
    message({
      filteredAttributes: list(keyValue),
      timeUnixNano: uint64,
      spanId: hex(8),
      traceId: hex(16),
    }),
    number,
  ),
);

const point = {
  attributes: list(keyValue),
  startTimeUnixNano: uint64,
  timeUnixNano: uint64,
  flags: uint32,
};
const counted = { ...point, count: uint64, sum: double };
const temporality = { aggregationTemporality: fc.constantFrom(0, 1, 2) };
const numberPoints = list(join(message({ ...point, exemplars }), number));

const data = oneOf({
  gauge: message({ dataPoints: numberPoints }),
  sum: message({ dataPoints: numberPoints, isMonotonic: fc.boolean(), ...temporality }),
  histogram: message({
    dataPoints: list(
      message({ ...counted, exemplars, bucketCounts: list(uint64), explicitBounds: list(double) }),
    ),
    ...temporality,
  }),
  summary: message({
    dataPoints: list(
      message({ ...counted, quantileValues: list(message({ quantile: double, value: double })) }),
    ),
  }),
});

const metric = join(
  message({ name: text, description: text, unit: text, metadata: list(keyValue) }),
  data,
);

export const arbitraryMetricsRequest: fc.Arbitrary<MetricsRequestJson> = message({
  resourceMetrics: list(
    message({
      resource,
      scopeMetrics: list(message({ scope, metrics: list(metric), schemaUrl: text })),
      schemaUrl: text,
    }),
  ),
});

const logRecord = message({
  timeUnixNano: uint64,
  observedTimeUnixNano: uint64,
  severityNumber: fc.nat(24),
  severityText: text,
  body: anyValue,
  flags: uint32,
  traceId: hex(16),
  spanId: hex(8),
  eventName: text,
  ...attributed,
});

export const arbitraryLogsRequest: fc.Arbitrary<LogsRequestJson> = message({
  resourceLogs: list(
    message({
      resource,
      scopeLogs: list(message({ scope, logRecords: list(logRecord), schemaUrl: text })),
      schemaUrl: text,
    }),
  ),
});
