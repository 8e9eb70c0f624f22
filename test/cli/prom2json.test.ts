import { describe, expect, test } from 'vitest';
import type { Family } from 'parse-prometheus-text-format';
import { parseWithReference, toProm2Json } from '../../src/cli/prom2json.ts';
import { decodePage, type DecodeOptions } from '../support/decode-page.ts';

function show(page: string, options?: DecodeOptions): Family[] {
  return toProm2Json(decodePage(page, options).families);
}

describe('one object per family', () => {
  test('single values are strings, types in upper case', () => {
    const page =
      '# HELP a Help of a.\n# TYPE a counter\na{x="1"} 2 1395066363000\na 1\n# TYPE b untyped\nb NaN\n';
    const metrics = [
      { labels: { x: '1' }, timestamp_ms: '1395066363000', value: '2' },
      { value: '1' },
    ];
    expect(show(page)).toStrictEqual([
      { name: 'a', help: 'Help of a.', type: 'COUNTER', metrics },
      { name: 'b', help: '', type: 'UNTYPED', metrics: [{ value: 'NaN' }] },
    ]);
  });

  test('the parts of a histogram are one metric for each label set', () => {
    const page =
      '# TYPE h histogram\nh_bucket{x="1",le="-Inf"} 0\nh_bucket{x="1",le="0.5"} 1\nh_bucket{x="1",le="+Inf"} 2\nh_bucket{le="1e6",x="2"} 3\n' +
      'h_sum{x="1"} 0.75\nh_count{x="1"} 2\n';
    const buckets = { '-Inf': '0', '0.5': '1', '+Inf': '2' };
    const metrics = [
      { labels: { x: '1' }, count: '2', sum: '0.75', buckets },
      { labels: { x: '2' }, count: '0', sum: '0', buckets: { '1e+06': '3' } },
    ];
    expect(show(page)).toStrictEqual([{ name: 'h', help: '', type: 'HISTOGRAM', metrics }]);
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

test.each([
  ['1', '1'],
  ['-0', '-0'],
  ['0.1', '0.1'],
  ['100000', '100000'],
  ['1e6', '1e+06'],
  ['1234567', '1.234567e+06'],
  ['123456789012', '1.23456789012e+11'],
  ['1e20', '1e+20'],
  ['1e21', '1e+21'],
  ['0.0001', '0.0001'],
  ['0.00001', '1e-05'],
  ['1.5e-7', '1.5e-07'],
  ['1e100', '1e+100'],
  ['Inf', '+Inf'],
  ['-Inf', '-Inf'],
])('numbers are written as the tool writes them: %s', (text, want) => {
  expect(show(`a ${text}\n`)[0]?.metrics[0]?.value).toBe(want);
});

describe('the reference parser', () => {
  test('families have the form that show decode prints', async () => {
    const page = [
      '# HELP a Help of a.',
      '# TYPE a counter',
      'a{x="1"} 2 1395066363000',
      'a{x="2"} +Inf',
      'b -Inf',
      'c NaN',
      '',
    ].join('\n');
    const plain = { type: 'unknown', help: '', unit: '' };
    expect(await parseWithReference(page)).toStrictEqual({
      problems: [],
      families: [
        {
          name: 'a',
          type: 'counter',
          help: 'Help of a.',
          unit: '',
          samples: [
            { name: 'a', labels: { x: '1' }, value: 2, timestampMs: 1_395_066_363_000 },
            { name: 'a', labels: { x: '2' }, value: '+Inf' },
          ],
        },
        { ...plain, name: 'b', samples: [{ name: 'b', labels: {}, value: '-Inf' }] },
        { ...plain, name: 'c', samples: [{ name: 'c', labels: {}, value: 'NaN' }] },
      ],
    });
  });

  test('histograms and summaries are taken apart into lines', async () => {
    const page = [
      '# TYPE h histogram',
      'h_bucket{le="0.5"} 1',
      'h_bucket{le="+Inf"} 3',
      'h_sum 4.5',
      'h_count 3',
      '# TYPE s summary',
      's{quantile="0.5"} 7',
      's_sum 8',
      's_count 2',
      '',
    ].join('\n');
    const { families } = await parseWithReference(page);
    const lines = families
      .flatMap(({ samples }) => samples)
      .map(({ name, labels, value }) => `${name}${JSON.stringify(labels)} ${value}`);
    expect(lines).toStrictEqual([
      'h_bucket{"le":"0.5"} 1',
      'h_bucket{"le":"+Inf"} 3',
      'h_sum{} 4.5',
      'h_count{} 3',
      's{"quantile":"0.5"} 7',
      's_sum{} 8',
      's_count{} 2',
    ]);
  });

  test('text in place of a number is shown unchanged', async () => {
    const { families } = await parseWithReference('a\nb 1_000\nc 0x10\n');
    const values = families.map(family => family.samples[0]?.value);
    expect(values).toStrictEqual(['', '1_000', 16]);
  });

  test('a page that the package rejects is reported with the reason', async () => {
    expect(await parseWithReference('good 1\nbad{x=1} 2\n')).toStrictEqual({
      problems: [{ line: 0, column: 0, reason: 'Encountered invalid line: bad{x=1} 2' }],
      families: [],
    });
  });
});
