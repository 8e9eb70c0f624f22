// A whole request: envelopes, parts, metadata, the order of points.
import { describe, expect, test } from 'vitest';
import { oracleDecodeMetrics } from '../../reference/oracle.ts';
import { otlpPoints } from '../../support/otlp-points.ts';
import { type Seen, Target } from '../../support/target.ts';

const PAGE = `# TYPE engine_up gauge
engine_up{namespace="a",server_name="s1"} 1
engine_up{namespace="b",server_name="s1"} 1
engine_up{namespace="a",server_name="s2"} 1
proxy_up{namespace="a",server_name="p1"} 1
# TYPE c counter
c{namespace="b"} 1
# TYPE h histogram
h_count{namespace="a"} 1
# TYPE q summary
q_count{namespace="a"} 1
# TYPE s stateset
s{namespace="b",s="on"} 1
# EOF
`;

function encoded(): { seen: Seen; payload: Buffer } {
  const seen = new Target({ services: ['a', 'b'] }).page(60, PAGE);
  return { seen, payload: seen.translated.batch.payload };
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
    const { resourceMetrics = [] } = oracleDecodeMetrics(encoded().payload);
    const scopes = resourceMetrics.flatMap(({ scopeMetrics = [] }) => scopeMetrics);
    const shown = scopes.map(
      ({ scope, metrics = [] }) => `${scope?.name}: ${metrics.map(({ name }) => name).join(' ')}`,
    );
    const own =
      'prom2otlp/other: up scrape_duration_seconds scrape_samples_scraped scrape_samples_post_metric_relabeling scrape_series_added scrape_body_size_bytes';
    const engine = 'prom2otlp/engine: engine_up';
    const ofA = [engine, engine, 'prom2otlp/proxy: proxy_up', 'prom2otlp/other: h q', own];
    expect(shown).toEqual([...ofA, engine, 'prom2otlp/other: c s', own]);
  });

  test.each(['cumulative', 'lowmemory', 'delta'] as const)(
    'C: temporality and monotonicity by kind (%s)',
    temporality => {
      const target = new Target({ services: ['a', 'b'], temporality });
      target.page(0, PAGE);
      const natures = target
        .page(60, PAGE)
        .points.map(point => [
          point.metric,
          `${point.type} ${point.temporality}${point.isMonotonic ? ' monotonic' : ''}`,
        ]);
      const grown = temporality === 'delta' ? 'delta' : 'cumulative';
      expect(Object.fromEntries(natures)).toEqual({
        engine_up: 'gauge none',
        proxy_up: 'gauge none',
        c: `sum ${grown} monotonic`,
        h: `histogram ${grown}`,
        q: 'summary none',
        s: 'sum cumulative',
      });
    },
  );

  test('I2: a scope from labels has version, schema and attributes', () => {
    const labels =
      'otel_scope_name="lib",otel_scope_version="1.2",otel_scope_schema_url="u",otel_scope_color="red"';
    const { payload } = new Target().page(60, `x{${labels}} 1`).translated.batch;
    const attributes = [{ key: 'color', value: { stringValue: 'red' } }];
    expect(oracleDecodeMetrics(payload).resourceMetrics?.[0]?.scopeMetrics?.[0]).toMatchObject({
      scope: { name: 'lib', version: '1.2', attributes },
      schemaUrl: 'u',
    });
  });

  test('I5: a page without points and a repeated page contain only the added series', () => {
    const target = new Target();
    target.page(60, 'x 1 @50\n');
    const { translated, points } = target.page(120, 'x 1 @50\n');
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
