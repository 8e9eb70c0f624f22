// Pages of the past: each line of today's page with what the history has of its series.

import { describe, expect, test } from 'vitest';
import { defaultConfig } from '../../../src/config/load.ts';
import { PageForm, type PastSeries } from '../../../src/pipeline/decode/history-pages.ts';

const { limits } = defaultConfig().metrics;

const TODAY = `# HELP engine_up Whether it runs.
# TYPE engine_up gauge
engine_up{namespace="db1",service_name="orders",server_name="a"} 1 9000
engine_up{namespace="db2",service_name="ledger",server_name="a"} 1 9000
# TYPE engine_global_status_queries counter
engine_global_status_queries{namespace="db1",service_name="orders",server_name="a"} 500 9000
engine_global_status_queries{namespace="db1",service_name="orders",server_name="b",path="C:\\\\x"} 7 9000
`;

function formOf(text: string, format: 'text' | 'openmetrics' = 'text'): PageForm {
  const takes = (id: string): boolean => id === 'db1';
  return new PageForm(
    { bytes: Buffer.from(text), format },
    { limits, takes, nameLabel: 'service_name' },
  );
}

/** A stored series; samples as [time, value]. */
function past(
  name: string,
  labels: Record<string, string>,
  ...samples: (readonly [timeMs: number, value: string])[]
): PastSeries {
  return { name, labels, samples: samples.map(([timeMs, value]) => ({ timeMs, value })) };
}

const A = { service_name: 'orders', server_name: 'a', job: 'scrapes', instance: 'host:1' };
const B = { service_name: 'orders', server_name: 'b', path: 'C:\\x' };
const QUERIES = 'engine_global_status_queries';

function textsOf(
  form: PageForm,
  series: readonly PastSeries[],
  seen = new Set<number>(),
): string[] {
  return [...form.pagesOf(series, seen)].map(({ bytes }) => bytes.toString());
}

describe('pages of the past', () => {
  test('have the keys and metadata of today, with the values and times of the history', () => {
    const series = [past('engine_up', A, [1000, '1'], [2000, '0']), past(QUERIES, A, [1000, '10'])];
    expect(textsOf(formOf(TODAY), series)).toEqual([
      `# HELP engine_up Whether it runs.
# TYPE engine_up gauge
engine_up{namespace="db1",service_name="orders",server_name="a"} 1 1000
# TYPE engine_global_status_queries counter
engine_global_status_queries{namespace="db1",service_name="orders",server_name="a"} 10 1000
`,
      `# HELP engine_up Whether it runs.
# TYPE engine_up gauge
engine_up{namespace="db1",service_name="orders",server_name="a"} 0 2000
`,
    ]);
  });

  test('come in the order of time, with one sample of a series on each', () => {
    const series = [
      past(QUERIES, A, [1000, '1'], [2000, '2'], [3000, '3']),
      past(QUERIES, B, [1500, '7'], [2500, '8']),
    ];
    const pages = [...formOf(TODAY).pagesOf(series, new Set())];
    expect(pages.map(({ timeMs, samples }) => [timeMs, samples])).toEqual([
      [1500, 2],
      [2500, 2],
      [3000, 1],
    ]);
  });

  test('leave out what today does not have, and name what the history does not have', () => {
    const form = formOf(TODAY);
    const seen = new Set<number>();
    const series = [
      past('engine_gone', A, [1000, '1']),
      past(QUERIES, { ...A, server_name: 'c' }, [1000, '1']),
      past('engine_up', { ...A, service_name: 'ledger' }, [1000, '1']),
      past(QUERIES, B, [1000, '7']),
    ];
    expect(textsOf(form, series, seen)).toHaveLength(1);
    expect([form.series, form.names]).toEqual([3, new Set(['orders'])]);
    expect(form.without(seen)).toEqual([
      'engine_up{namespace="db1",service_name="orders",server_name="a"}',
      'engine_global_status_queries{namespace="db1",service_name="orders",server_name="a"}',
    ]);
  });

  test('continue a series with another instance, unless both overlap', () => {
    const later = { ...A, instance: 'host:2' };
    const both = { ...A, instance: 'host:3' };
    const series = [
      past(QUERIES, later, [3000, '3']),
      past(QUERIES, A, [1000, '1'], [2000, '2']),
      past(QUERIES, both, [1500, '7'], [2500, '8']),
    ];
    const pages = textsOf(formOf(TODAY), series);
    expect(pages.map(text => text.trim().split(' ').slice(-2).join(' '))).toEqual([
      '1 1000',
      '2 2000',
      '3 3000',
    ]);
  });

  test('keep together what was measured at one time', () => {
    const today = `a_bucket{namespace="db1",le="+Inf"} 1
b{namespace="db1"} 1
a_count{namespace="db1"} 1
`;
    const series = [
      past('b', {}, [5, '1'], [10, '2']),
      past('a_bucket', { le: '+Inf' }, [10, '1']),
      past('a_count', {}, [10, '1']),
    ];
    const pages = [...formOf(today).pagesOf(series, new Set())];
    expect(pages.map(({ timeMs, samples }) => [timeMs, samples])).toEqual([
      [5, 1],
      [10, 3],
    ]);
  });

  test('are OpenMetrics where today is', () => {
    const today = '# TYPE a gauge\na{namespace="db1"} 1\n# EOF\n';
    expect(textsOf(formOf(today, 'openmetrics'), [past('a', {}, [1500, 'NaN'])])).toEqual([
      '# TYPE a gauge\na{namespace="db1"} NaN 1.5\n# EOF\n',
    ]);
  });
});
