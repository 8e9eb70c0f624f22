import { expect, test } from 'vitest';
import {
  LogsRequest,
  type LogAttribute,
  type LogRecord,
} from '../../../src/pipeline/encode/logs.ts';
import { type ServiceResource, writeResource } from '../../../src/pipeline/encode/identity.ts';
import { WireWriter } from '../../../src/pipeline/encode/wire.ts';
import type { LogRecordJson } from '../../../src/pipeline/encode/otlp-fields.ts';
import { countPoints } from '../../../src/pipeline/queue/split.ts';
import { oracleDecodeLogs } from '../../reference/oracle.ts';

const TIME_MS = Date.UTC(2026, 2, 4, 9, 5, 33, 120);
const OBSERVED_MS = TIME_MS + 300_000;

const ORDERS: ServiceResource = {
  identity: {
    name: 'orders',
    id: 'dbpgf1',
    attributes: { 'deployment.environment.name': 'production' },
    server: { address: 'api.example.com', port: 443, scheme: 'https' },
  },
  info: new Map([['engine', 'x']]),
};

const PLAIN: LogRecord = {
  timeMs: TIME_MS,
  timeExtraNs: 0,
  severityNumber: 9,
  severityText: 'Note',
  body: 'ready',
  eventName: null,
  attributes: [],
};

const PLAIN_JSON: LogRecordJson = {
  timeUnixNano: `${TIME_MS}000000`,
  observedTimeUnixNano: `${OBSERVED_MS}000000`,
  severityNumber: 9,
  severityText: 'Note',
  body: { stringValue: 'ready' },
};

function encoded(
  records: readonly Partial<LogRecord>[],
  more: readonly LogAttribute[] = [],
): Buffer {
  const request = new LogsRequest(new WireWriter(), ORDERS);
  for (const record of records) request.add({ ...PLAIN, ...record }, OBSERVED_MS, more);
  expect(request.count).toBe(records.length);
  return Buffer.from(request.end());
}

function decoded(record: Partial<LogRecord>, more: readonly LogAttribute[] = []): LogRecordJson {
  const { resourceLogs } = oracleDecodeLogs(encoded([record], more));
  return resourceLogs?.[0]?.scopeLogs?.[0]?.logRecords?.[0] ?? {};
}

test('a request follows the official definitions', () => {
  const { resourceLogs = [] } = oracleDecodeLogs(encoded([{}, { body: 'two' }]));
  expect(resourceLogs.map(({ scopeLogs }) => scopeLogs)).toEqual([
    [
      {
        scope: { name: 'prom2otlp/logs' },
        logRecords: [PLAIN_JSON, { ...PLAIN_JSON, body: { stringValue: 'two' } }],
      },
    ],
  ]);
});

test('the Resource has the same bytes as in the metrics of the service', () => {
  const metrics = new WireWriter();
  writeResource(metrics, ORDERS);
  expect(encoded([{}]).includes(metrics.written())).toBe(true);
});

test('times are exact to the nanosecond, and omitted if unknown', () => {
  const check = (timeMs: number, timeExtraNs: number, want: string | undefined): void =>
    expect(decoded({ timeMs, timeExtraNs }).timeUnixNano).toBe(want);
  check(TIME_MS, 394_001, `${TIME_MS}394001`);
  check(TIME_MS, 999_999, `${TIME_MS}999999`);
  check(1, 7, '1000007');
  check(Number.NaN, 0, undefined);
  check(-1, 0, undefined);
  // The carry is right for any low half of the nanoseconds.
  for (let i = 0; i < 50; i++) check(TIME_MS + 86 * i, 999_999, `${TIME_MS + 86 * i}999999`);
});

test('unknown fields are omitted', () => {
  const record = decoded({ severityNumber: 0, severityText: '', body: '' });
  expect(Object.keys(record).sort()).toEqual(['body', 'observedTimeUnixNano', 'timeUnixNano']);
});

test('attributes keep their types; an event has its name', () => {
  const rows: readonly (readonly [LogAttribute, object])[] = [
    [['text', 'größe'], { stringValue: 'größe' }],
    [['yes', true], { boolValue: true }],
    [['no', false], { boolValue: false }],
    [['count', 90_210], { intValue: '90210' }],
    [['big', Number.MAX_SAFE_INTEGER], { intValue: '9007199254740991' }],
    [['negative', -2], { intValue: '-2' }],
    [['seconds', 2, 'double'], { doubleValue: 2 }],
    [['log.record.uid', 'abc'], { stringValue: 'abc' }],
  ];
  const all = rows.map(([attribute]) => attribute);
  const record = decoded({ attributes: all.slice(0, -1), eventName: 'slow' }, all.slice(-1));
  expect(record.eventName).toBe('slow');
  expect(record.attributes).toEqual(rows.map(([[key], value]) => ({ key, value })));
});

test('the span of a record is its trace id, span id and flags', () => {
  const [traceId, spanId] = ['5bd66ef5095369c7b0d1f8f4bd33716a', 'c532cb4098ac3dd2'];
  const { flags, ...ids } = decoded({ span: { traceId, spanId, flags: 1 } });
  expect({ flags, traceId: ids.traceId, spanId: ids.spanId }).toEqual({
    flags: 1,
    traceId,
    spanId,
  });
  expect(decoded({ span: { traceId, spanId, flags: 0 } }).flags).toBeUndefined();
});

test('requests can be counted and cut as the queue does', () => {
  expect(countPoints('logs', encoded([{}, {}, {}]))).toBe(3);
});

test('the same records give the same bytes, even from a used writer', () => {
  const writer = new WireWriter(64);
  const once = (): Buffer => {
    const request = new LogsRequest(writer, ORDERS);
    request.add(PLAIN, OBSERVED_MS, []);
    return Buffer.from(request.end());
  };
  expect(once().equals(once())).toBe(true);
});
