import { inspect } from 'node:util';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { JsonMetricsSerializer, ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import { DataPointType, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { describe, expect, onTestFinished, test } from 'vitest';
import { decodeMetricsRequest, otlpJson } from '../../src/pipeline/encode/otlp-json.ts';
import type { MetricsRequestJson } from '../../src/pipeline/encode/otlp-fields.ts';
import { type Answerer, BackEnd, type ReceivedRequest } from '../support/back-end.ts';
import { otlpPoints } from '../support/otlp-points.ts';
import { oracleDecodeMetrics } from './oracle.ts';
import { createPlainStack, plainTranslate } from './plain-stack.ts';

const NOW_MS = 1_760_000_060_123;
const OPTIONS = { nowMs: NOW_MS, startMs: NOW_MS - 1000, resource: { 'service.name': 'plain' } };
const PAGE = ['# TYPE c counter', 'c{x="1"} 2', 'g 3', '# TYPE h histogram', 'h_count 4', ''].join(
  '\n',
);

async function listen(answer: Answerer): Promise<BackEnd> {
  const server = await BackEnd.start(answer);
  onTestFinished(() => server.stop());
  return server;
}

/** Sends one page with the official exporter to a back end with the given answer. */
async function exported(
  answer: Answerer,
): Promise<{ result: ExportResult; received: readonly ReceivedRequest[] }> {
  const { url, requests: received } = await listen(answer);
  const exporter = new OTLPMetricExporter({ url });
  onTestFinished(() => exporter.shutdown());
  const metrics = plainTranslate(PAGE, OPTIONS);
  const result = await new Promise<ExportResult>(resolve => exporter.export(metrics, resolve));
  return { result, received };
}

test('a cycle sends the key and forwards the page', async () => {
  const service = await listen(({ headers }) => ({
    status: headers['x-api-key'] === 'secret' ? 200 : 401,
    body: PAGE,
  }));
  const backEnd = await listen(() => ({ status: 200, body: '{}' }));
  const stack = createPlainStack(service.url, 'secret', backEnd.url);
  onTestFinished(() => stack.close());
  expect(await stack.cycle()).toBe(3);
  const sent = JSON.parse(String(backEnd.requests[0]?.raw)) as MetricsRequestJson;
  const rows = otlpPoints(sent).map(row => [
    row.serviceName,
    row.metric,
    row.attributes,
    row.value,
  ]);
  expect(rows).toStrictEqual([
    ['plain-stack', 'c', 'x=1', 2],
    ['plain-stack', 'g', '', 3],
    ['plain-stack', 'h', '', undefined],
  ]);
});

test('a cycle fails when the service refuses', async () => {
  const service = await listen(() => ({ status: 401 }));
  const stack = createPlainStack(service.url, 'wrong', 'http://127.0.0.1:1');
  onTestFinished(() => stack.close());
  await expect(stack.cycle()).rejects.toThrow('answered 401');
});

describe('the official serializers and our decoder', () => {
  const metrics = plainTranslate(PAGE, OPTIONS);
  const bytes = ProtobufMetricsSerializer.serializeRequest(metrics) ?? new Uint8Array();

  test('agree on protobuf', () => {
    expect(decodeMetricsRequest(bytes)).toStrictEqual(oracleDecodeMetrics(bytes));
    expect(otlpPoints(decodeMetricsRequest(bytes))).toHaveLength(3);
  });

  test('agree on JSON', () => {
    const official = JSON.parse(
      Buffer.from(JsonMetricsSerializer.serializeRequest(metrics) ?? []).toString(),
    ) as MetricsRequestJson;
    const ours = JSON.parse(otlpJson('metrics', bytes)) as MetricsRequestJson;
    expect(otlpPoints(ours)).toStrictEqual(otlpPoints(official));
  });
});

describe('what keeps the SDK and its exporter out of the data path:', () => {
  /** The sent form of a number point to which `more` was added. */
  function sentWith(more: object): unknown {
    const metrics = plainTranslate('a 1\n', OPTIONS);
    const point = metrics.scopeMetrics[0]?.metrics[0]?.dataPoints[0];
    Object.assign(point ?? {}, more);
    const bytes = ProtobufMetricsSerializer.serializeRequest(metrics) ?? new Uint8Array();
    const request = oracleDecodeMetrics(bytes);
    return request.resourceMetrics?.[0]?.scopeMetrics?.[0]?.metrics?.[0]?.gauge?.dataPoints?.[0];
  }

  test('there is no kind of data for a summary', () => {
    const kinds = Object.keys(DataPointType).filter(name => Number.isNaN(Number(name)));
    expect(kinds.sort()).toStrictEqual(['EXPONENTIAL_HISTOGRAM', 'GAUGE', 'HISTOGRAM', 'SUM']);
  });

  test('a point has no flags, so that no series can be marked as stale', () => {
    expect(sentWith({ flags: 1 })).toStrictEqual(sentWith({}));
  });

  test('a point has no exemplars', () => {
    const exemplar = {
      value: 1,
      timestamp: [1, 0],
      filteredAttributes: {},
      traceId: 'a',
      spanId: 'b',
    };
    expect(sentWith({ exemplars: [exemplar] })).toStrictEqual(sentWith({}));
  });

  test('a metric has no metadata', () => {
    const metrics = plainTranslate('a 1\n', OPTIONS);
    const [metric] = metrics.scopeMetrics[0]?.metrics ?? [];
    Object.assign(metric ?? {}, { metadata: [{ key: 'prometheus.type', value: 'unknown' }] });
    const bytes = ProtobufMetricsSerializer.serializeRequest(metrics) ?? new Uint8Array();
    const [row] = otlpPoints(oracleDecodeMetrics(bytes));
    expect(row?.metadata).toBe('');
  });

  test('even a gauge has a start time', () => {
    expect(sentWith({})).toHaveProperty('startTimeUnixNano', '1760000059123000000');
  });

  test('a request has one resource', () => {
    const two = [plainTranslate('a 1\n', OPTIONS), plainTranslate('b 2\n', OPTIONS)];
    // @ts-expect-error The type says so; the code would fail.
    expect(() => ProtobufMetricsSerializer.serializeRequest(two)).toThrow(TypeError);
    const one: ResourceMetrics | undefined = two[0];
    const bytes = one === undefined ? undefined : ProtobufMetricsSerializer.serializeRequest(one);
    expect(oracleDecodeMetrics(bytes ?? new Uint8Array()).resourceMetrics).toHaveLength(1);
  });

  test('the exporter sends JSON only', async () => {
    const { received } = await exported(() => ({ status: 200, body: '{}' }));
    expect(received[0]?.headers['content-type']).toBe('application/json');
  });

  test('the exporter calls a partial success a success, and tells nobody', async () => {
    const partialSuccess = { rejectedDataPoints: '2', errorMessage: 'two were too old' };
    const body = JSON.stringify({ partialSuccess });
    const { result } = await exported(() => ({ status: 200, body }));
    expect(result).toStrictEqual({ code: ExportResultCode.SUCCESS });
  });

  test('the exporter keeps Retry-After to itself', async () => {
    const { result, received } = await exported(() => ({
      status: 503,
      headers: { 'retry-after': '3600' },
    }));
    expect(received).toHaveLength(1);
    expect(result.code).toBe(ExportResultCode.FAILED);
    const said = inspect(result, { depth: 5, showHidden: true });
    expect(said).toContain('Error: ');
    expect(said).not.toContain('3600');
  });
});
