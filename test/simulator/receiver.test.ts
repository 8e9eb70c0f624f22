import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { decodeLogsRequest, decodeMetricsRequest } from '../../src/pipeline/encode/otlp-json.ts';
import type { LogsRequestJson, MetricsRequestJson } from '../../src/pipeline/encode/otlp-shape.ts';
import { type Receiver, startReceiver } from '../../src/simulator/receiver.ts';
import { oracleEncodeLogs, oracleEncodeMetrics } from '../reference/oracle.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { ask, type Heard } from './ask.ts';

const PROTOBUF = 'application/x-protobuf';
const JSON_TYPE = 'application/json';

const at = { timeUnixNano: '1772614800000000000' };
const metrics: MetricsRequestJson = {
  resourceMetrics: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'orders' } }] },
      scopeMetrics: [
        {
          scope: { name: 'prom2otlp/engine' },
          metrics: [
            {
              name: 'queries',
              unit: '{query}',
              sum: {
                aggregationTemporality: 2,
                isMonotonic: true,
                dataPoints: [
                  {
                    ...at,
                    startTimeUnixNano: '1772000000000000000',
                    asDouble: 42.5,
                    attributes: [{ key: 'command', value: { stringValue: 'select' } }],
                  },
                ],
              },
            },
            { name: 'sessions', sum: { dataPoints: [{ ...at, asInt: '3' }] } },
            {
              name: 'load',
              gauge: {
                dataPoints: [
                  { ...at, asDouble: 'NaN' },
                  { ...at, flags: 1 },
                ],
              },
            },
            { name: 'times', histogram: { dataPoints: [{ ...at, count: '0' }] } },
            { name: 'quantiles', summary: { dataPoints: [{ ...at, count: '0' }] } },
          ],
        },
      ],
    },
  ],
};
const logs: LogsRequestJson = {
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: 'a' } }, { ...at }] }] }],
};

let clock: FakeClock;
let receiver: Receiver;
const accepted: string[] = [];

beforeEach(async () => {
  clock = new FakeClock();
  accepted.length = 0;
  receiver = await startReceiver({
    clock,
    decodeMetrics: decodeMetricsRequest,
    decodeLogs: decodeLogsRequest,
    onAccepted: (signal, body, format) => {
      accepted.push(`${signal} ${format} ${body.length}`);
    },
  });
});
afterEach(() => receiver.close());

function post(
  path: string,
  body: Buffer,
  type = PROTOBUF,
  headers: Record<string, string> = {},
): Promise<Heard> {
  return ask(receiver.url + path, {
    method: 'POST',
    body,
    headers: { 'content-type': type, ...headers },
  });
}

const protobufMetrics = oracleEncodeMetrics(metrics);
const jsonMetrics = Buffer.from(JSON.stringify(metrics));
const send = (): Promise<Heard> => post('/v1/metrics', protobufMetrics);

const POINTS = { sum: 1, updown: 1, gauge: 2, histogram: 1, summary: 1, other: 0 };

describe('accepted data', () => {
  test('counts points by kind, the same from protobuf and JSON', async () => {
    for (const [body, type] of [
      [protobufMetrics, PROTOBUF],
      [jsonMetrics, `${JSON_TYPE}; charset=utf-8`],
    ] as const) {
      const before = structuredClone(receiver.totals);
      expect((await post('/v1/metrics', body, type)).status).toBe(200);
      expect(receiver.totals.requests).toBe(before.requests + 1);
      expect(receiver.totals.stalePoints).toBe(before.stalePoints + 1);
      expect(receiver.totals.bodyBytes).toBe(before.bodyBytes + body.length);
      for (const [kind, count] of Object.entries(POINTS)) {
        const now = new Map(Object.entries(receiver.totals.points)).get(kind) ?? 0;
        const then = new Map(Object.entries(before.points)).get(kind) ?? 0;
        expect(now - then, kind).toBe(count);
      }
    }
    expect(accepted).toEqual([
      `metrics protobuf ${protobufMetrics.length}`,
      `metrics json ${jsonMetrics.length}`,
    ]);
  });

  test('keeps each point with its metric, resource and scope', async () => {
    await send();
    expect(receiver.points).toHaveLength(6);
    expect(receiver.points[0]).toEqual({
      name: 'queries',
      kind: 'sum',
      unit: '{query}',
      isDelta: false,
      resource: { 'service.name': 'orders' },
      scope: 'prom2otlp/engine',
      attributes: { command: 'select' },
      startTimeUnixNano: 1_772_000_000_000_000_000n,
      timeUnixNano: 1_772_614_800_000_000_000n,
      value: 42.5,
      isStale: false,
    });
    const seen = receiver.points.map(({ kind, value, isStale }) => [kind, value, isStale]);
    expect(seen.slice(1)).toEqual([
      ['updown', 3, false],
      ['gauge', NaN, false],
      ['gauge', NaN, true],
      ['histogram', NaN, false],
      ['summary', NaN, false],
    ]);
  });

  test('may be compressed', async () => {
    for (const [encoding, compress] of [
      ['gzip', gzipSync],
      ['zstd', zstdCompressSync],
    ] as const) {
      const { wireBytes } = receiver.totals;
      const wire = compress(protobufMetrics);
      const heard = await post('/v1/metrics', wire, PROTOBUF, { 'content-encoding': encoding });
      expect([heard.status, receiver.totals.wireBytes - wireBytes]).toEqual([200, wire.length]);
    }
    expect(receiver.totals.points.sum).toBe(2);
  });

  test('may be logs', async () => {
    expect((await post('/v1/logs', oracleEncodeLogs(logs))).status).toBe(200);
    const body = Buffer.from(JSON.stringify(logs));
    expect((await post('/v1/logs', body, JSON_TYPE)).status).toBe(200);
    expect(receiver.totals.logRecords).toBe(4);
  });

  test('is answered in the format of the request', async () => {
    const protobuf = await send();
    expect([protobuf.headers['content-type'], protobuf.body.length]).toEqual([PROTOBUF, 0]);
    const json = await post('/v1/metrics', jsonMetrics, JSON_TYPE);
    expect([json.headers['content-type'], json.body.toString()]).toEqual([
      JSON_TYPE,
      '{"partialSuccess":{}}',
    ]);
  });
});

test('only the latest points are kept', async () => {
  await using small = await startReceiver({
    clock,
    decodeMetrics: decodeMetricsRequest,
    pointsMax: 8,
  });
  const question = { method: 'POST', body: jsonMetrics, headers: { 'content-type': JSON_TYPE } };
  for (let i = 0; i < 3; i++) await ask(`${small.url}/v1/metrics`, question);
  expect(small.totals.points.gauge).toBe(6);
  expect(small.points.map(point => point.kind)).toEqual([
    'histogram',
    'summary',
    'sum',
    'updown',
    'gauge',
    'gauge',
    'histogram',
    'summary',
  ]);
});

test('unreadable data is refused and not counted', async () => {
  const check = async (status: number, heard: Promise<Heard>): Promise<void> =>
    expect((await heard).status).toBe(status);
  await check(404, post('/v1/traces', protobufMetrics));
  await check(405, ask(`${receiver.url}/v1/metrics`));
  await check(415, post('/v1/metrics', protobufMetrics, 'text/plain'));
  await check(415, post('/v1/metrics', protobufMetrics, PROTOBUF, { 'content-encoding': 'br' }));
  await check(400, post('/v1/metrics', Buffer.from('{'), JSON_TYPE));
  await check(400, post('/v1/metrics', Buffer.from([0x0a, 0xff]), PROTOBUF));
  await check(400, post('/v1/metrics', jsonMetrics, JSON_TYPE, { 'content-encoding': 'gzip' }));
  expect(receiver.totals).toMatchObject({ requests: 7, refused: 7, bodyBytes: 0 });
  expect(accepted).toEqual([]);
});

describe('a receiver that misbehaves', () => {
  test('refuses with a status, for some requests or until a change', async () => {
    for (const status of [400, 401, 404, 413, 429, 500, 503]) {
      receiver.behave({ status });
      expect((await send()).status).toBe(status);
    }
    receiver.behave({ status: 503, retryAfter: '3', times: 1 });
    const refused = await send();
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '3']);
    expect((await send()).status).toBe(200);
    expect(receiver.totals).toMatchObject({ requests: 9, refused: 8, points: { sum: 1 } });
  });

  test('gives the reason, as a google.rpc.Status', async () => {
    receiver.behave({ status: 401 });
    const { body } = await send();
    const message = Buffer.from('simulated refusal');
    expect(body.equals(Buffer.concat([Buffer.from([8, 16, 0x12, 17]), message]))).toBe(true);
    const json = await post('/v1/metrics', jsonMetrics, JSON_TYPE);
    expect(JSON.parse(json.body.toString())).toEqual({ code: 16, message: 'simulated refusal' });
  });

  test('accepts in part', async () => {
    receiver.behave({ partialSuccess: { rejected: 300, message: 'too old' } });
    const { body } = await send();
    // partial_success {1: varint 300, 2: "too old"}
    expect(body.toString('hex')).toBe(`0a0c08ac021207${Buffer.from('too old').toString('hex')}`);
    const json = await post('/v1/metrics', jsonMetrics, JSON_TYPE);
    expect(JSON.parse(json.body.toString())).toEqual({
      partialSuccess: { rejectedDataPoints: '300', errorMessage: 'too old' },
    });
    const log = await post('/v1/logs', Buffer.from(JSON.stringify(logs)), JSON_TYPE);
    expect(log.body.toString()).toContain('"rejectedLogRecords":"300"');
    receiver.behave({ partialSuccess: { rejected: 0, message: 'slow' } });
    expect((await send()).body.toString('hex')).toBe('0a061204736c6f77');
  });

  test('keeps the data, and cuts the answer', async () => {
    receiver.behave({ isAnswerCut: true, times: 1 });
    expect((await send()).isWhole).toBe(false);
    expect((await send()).isWhole).toBe(true);
    expect(receiver.totals.points.sum).toBe(2);
  });

  test('answers late', async () => {
    receiver.behave({ delayMs: 5_000 });
    const answer = send();
    while (clock.sleeps().length === 0) await new Promise(resolve => setImmediate(resolve));
    expect(clock.sleeps()).toEqual([5_000]);
    expect(receiver.totals.points.sum).toBe(1);
    await clock.advance(5_000);
    expect((await answer).status).toBe(200);
  });

  test('never answers', async () => {
    receiver.behave({ isSilent: true });
    const answer = send().then(
      () => 'answered',
      () => 'broken',
    );
    while (receiver.requests.count === 0) await new Promise(resolve => setImmediate(resolve));
    await receiver.close();
    expect(await answer).toBe('broken');
  });
});

test('headers are recorded', async () => {
  await post('/v1/metrics', protobufMetrics, PROTOBUF, { authorization: 'Bearer x' });
  expect(receiver.requests.latest[0]?.headers).toMatchObject({
    authorization: 'Bearer x',
    'content-type': PROTOBUF,
  });
});

test('without a decoder, only the bytes of protobuf are counted', async () => {
  await using plain = await startReceiver({ clock });
  const question = { method: 'POST', body: protobufMetrics, headers: { 'content-type': PROTOBUF } };
  expect((await ask(`${plain.url}/v1/metrics`, question)).status).toBe(200);
  expect(plain.totals).toMatchObject({ bodyBytes: protobufMetrics.length, points: { sum: 0 } });
});
