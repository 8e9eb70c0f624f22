// A whole request: envelopes, parts, metadata, the order of points.
import { describe, expect, test } from 'vitest';
import type { MetricsRequestJson } from '../../../src/pipeline/encode/otlp-fields.ts';
import { oracleDecodeMetrics } from '../../reference/oracle.ts';
import { otlpPoints } from '../../support/otlp-points.ts';
import { type Seen, Target, type TargetOptions } from '../../support/target.ts';

const PAGE = [
  '# TYPE engine_up gauge',
  'engine_up{namespace="a",server_name="s1"} 1',
  'engine_up{namespace="b",server_name="s1"} 1',
  'engine_up{namespace="a",server_name="s2"} 1',
  'proxy_up{namespace="a",server_name="p1"} 1',
  '# TYPE c counter',
  'c{namespace="b"} 1',
  '# TYPE h histogram',
  'h_count{namespace="a"} 1',
  '# TYPE q summary',
  'q_count{namespace="a"} 1',
  '# TYPE s stateset',
  's{namespace="b",s="on"} 1',
  '# EOF\n',
].join('\n');

function encoded(options: TargetOptions = {}): {
  seen: Seen;
  request: MetricsRequestJson;
  payload: Buffer;
} {
  const seen = new Target({ services: ['a', 'b'], ...options }).page(60, PAGE);
  const payload = seen.translated.batch.payload;
  return { seen, request: oracleDecodeMetrics(payload), payload };
}

describe('a request', () => {
  test('I1: each part is one service, and a valid request alone', () => {
    const { seen, payload } = encoded();
    const { parts } = seen.translated.batch;
    expect(parts.map(({ service }) => service)).toEqual(['a', 'b']);
    expect(parts.reduce((sum, { length }) => sum + length, 0)).toBe(payload.length);
    for (const { service, points, offset, length } of parts) {
      const rows = otlpPoints(oracleDecodeMetrics(payload.subarray(offset, offset + length)));
      expect(rows).toHaveLength(points);
      expect(new Set(rows.map(({ serviceId }) => serviceId))).toEqual(new Set([service]));
    }
  });

  test('I2: a server and scope is one envelope, with each metric once', () => {
    const { request } = encoded();
    const scopes = request.resourceMetrics?.flatMap(({ scopeMetrics = [] }) => scopeMetrics) ?? [];
    expect(
      scopes.map(
        ({ scope, metrics = [] }) => `${scope?.name}: ${metrics.map(({ name }) => name).join(' ')}`,
      ),
    ).toEqual([
      'prom2otlp/engine: engine_up',
      'prom2otlp/engine: engine_up',
      'prom2otlp/proxy: proxy_up',
      'prom2otlp/other: h q',
      'prom2otlp/other: up scrape_duration_seconds scrape_samples_scraped scrape_samples_post_metric_relabeling scrape_series_added scrape_body_size_bytes',
      'prom2otlp/engine: engine_up',
      'prom2otlp/other: c s',
      'prom2otlp/other: up scrape_duration_seconds scrape_samples_scraped scrape_samples_post_metric_relabeling scrape_series_added scrape_body_size_bytes',
    ]);
  });

  test('C: temporality and monotonicity by kind', () => {
    const natures = (options: TargetOptions): Record<string, string> =>
      Object.fromEntries(
        encoded(options).seen.points.map(({ metric, type, temporality, isMonotonic }) => [
          metric,
          `${type} ${temporality}${isMonotonic ? ' monotonic' : ''}`,
        ]),
      );
    const cumulative = {
      engine_up: 'gauge none',
      proxy_up: 'gauge none',
      c: 'sum cumulative monotonic',
      h: 'histogram cumulative',
      q: 'summary none',
      s: 'sum cumulative',
    };
    expect(natures({})).toEqual(cumulative);
    expect(natures({ temporality: 'lowmemory' })).toEqual(cumulative);
    const target = new Target({ services: ['a', 'b'], temporality: 'delta' });
    target.page(0, PAGE);
    const later = target
      .page(60, PAGE)
      .points.map(({ metric, type, temporality }) => [metric, `${type} ${temporality}`]);
    expect(Object.fromEntries(later)).toMatchObject({
      c: 'sum delta',
      h: 'histogram delta',
      s: 'sum cumulative',
    });
  });

  test('I2: a scope from labels has version, schema and attributes', () => {
    const labels =
      'otel_scope_name="lib",otel_scope_version="1.2",otel_scope_schema_url="u",otel_scope_color="red"';
    const { translated } = new Target().page(60, `x{${labels}} 1\n`);
    const [scoped] =
      oracleDecodeMetrics(translated.batch.payload).resourceMetrics?.[0]?.scopeMetrics ?? [];
    expect(scoped?.scope).toEqual({
      name: 'lib',
      version: '1.2',
      attributes: [{ key: 'color', value: { stringValue: 'red' } }],
    });
    expect(scoped?.schemaUrl).toBe('u');
  });

  test('I5: a page without points and a repeated page contain only the added series', () => {
    const target = new Target();
    target.page(60, 'x 1 1000\n');
    const { translated, points } = target.page(120, 'x 1 1000\n');
    expect(points).toEqual([]);
    const { resourceMetrics = [] } = oracleDecodeMetrics(translated.batch.payload);
    expect(resourceMetrics).toHaveLength(1);
    expect(resourceMetrics[0]?.scopeMetrics?.[0]?.metrics).toHaveLength(6);
  });

  test('unusual labels arrive unchanged', () => {
    const line = 'x{a="q\\"b\\\\s\\nn",empty="",u="ä€𝄞","b c"="d"} 1\n';
    expect(new Target().page(60, line).points[0]?.attributes).toBe('a=q"b\\s\nn,b c=d,u=ä€𝄞');
  });
});
