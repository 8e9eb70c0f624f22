import { describe, expect, test } from 'vitest';
import type { Family } from 'parse-prometheus-text-format';
import { toProm2Json } from '../../src/cli/prom2json.ts';
import { decodePage, type DecodeOptions } from '../support/decode-page.ts';

function show(page: string, options?: DecodeOptions): Family[] {
  return toProm2Json(decodePage(page, options).families);
}

describe('one object per family', () => {
  test('single values are strings, types in upper case', () => {
    const page =
      '# HELP a Help of a.\n# TYPE a counter\na{x="1"} 2 1395066363000\na 1\n# TYPE b untyped\nb NaN\n';
    expect(show(page)).toStrictEqual([
      {
        name: 'a',
        help: 'Help of a.',
        type: 'COUNTER',
        metrics: [
          { labels: { x: '1' }, timestamp_ms: '1395066363000', value: '2' },
          { value: '1' },
        ],
      },
      { name: 'b', help: '', type: 'UNTYPED', metrics: [{ value: 'NaN' }] },
    ]);
  });

  test('the parts of a histogram are one metric for each label set', () => {
    const page =
      '# TYPE h histogram\nh_bucket{x="1",le="-Inf"} 0\nh_bucket{x="1",le="0.5"} 1\nh_bucket{x="1",le="+Inf"} 2\nh_bucket{le="1e6",x="2"} 3\n' +
      'h_sum{x="1"} 0.75\nh_count{x="1"} 2\n';
    expect(show(page)).toStrictEqual([
      {
        name: 'h',
        help: '',
        type: 'HISTOGRAM',
        metrics: [
          {
            labels: { x: '1' },
            count: '2',
            sum: '0.75',
            buckets: { '-Inf': '0', '0.5': '1', '+Inf': '2' },
          },
          { labels: { x: '2' }, count: '0', sum: '0', buckets: { '1e+06': '3' } },
        ],
      },
    ]);
  });

  test('the parts of a summary are one metric, too, and the last timestamp wins', () => {
    const page = '# TYPE s summary\ns{quantile="0.50"} NaN 5\ns_sum 3\ns_count 4 7\n';
    expect(show(page)[0]?.metrics).toStrictEqual([
      { count: '4', sum: '3', quantiles: { '0.5': 'NaN' }, timestamp_ms: '7' },
    ]);
  });

  test('counts are written in full', () => {
    const page =
      '# TYPE h histogram\nh_bucket{le="+Inf"} 12345678\nh_count 12345678\nh_sum 12345678\n';
    expect(show(page)[0]?.metrics).toStrictEqual([
      { count: '12345678', sum: '1.2345678e+07', buckets: { '+Inf': '12345678' } },
    ]);
  });

  test('families without samples are left out', () => {
    expect(show('# TYPE a counter\n# HELP b text\n')).toStrictEqual([]);
  });

  test('OpenMetrics types keep their names', () => {
    const page =
      '# TYPE g gaugehistogram\ng_bucket{le="+Inf"} 1\ng_gcount 1\ng_gsum 2\n# TYPE i info\ni_info{v="1"} 1\n# EOF\n';
    expect(show(page, { format: 'openmetrics' })).toMatchObject([
      { type: 'GAUGE_HISTOGRAM', metrics: [{ count: '1', sum: '2', buckets: { '+Inf': '1' } }] },
      { type: 'INFO', metrics: [{ labels: { v: '1' }, value: '1' }] },
    ]);
  });
});

test('numbers are written as the tool writes them', () => {
  const check = (text: string, want: string): void => {
    expect(show(`a ${text}\n`)[0]?.metrics[0]?.value, text).toBe(want);
  };
  check('1', '1');
  check('-0', '-0');
  check('0.1', '0.1');
  check('100000', '100000');
  check('1e6', '1e+06');
  check('1234567', '1.234567e+06');
  check('123456789012', '1.23456789012e+11');
  check('1e20', '1e+20');
  check('1e21', '1e+21');
  check('0.0001', '0.0001');
  check('0.00001', '1e-05');
  check('1.5e-7', '1.5e-07');
  check('1e100', '1e+100');
  check('Inf', '+Inf');
  check('-Inf', '-Inf');
});
