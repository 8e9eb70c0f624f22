import { verb as show } from '../../src/cli/show.ts';
import { tempDirectory } from '../support/program.ts';
import { callVerb } from '../support/verb-context.ts';
import { expect, test } from 'vitest';
import { shownValue } from '../../src/status/series-report.ts';
import { decodePage } from '../support/decode-page.ts';

test('families keep the order of the page, and their samples stay unchanged', () => {
  const page = [
    '# HELP only This family has no samples.',
    'b 1',
    '# TYPE a histogram',
    '# HELP a Help of a.',
    'a_bucket{x="1",le="+Inf"} 2 1395066363000',
    'b 3',
    'a_count{x="1"} 2',
    '# TYPE c gauge',
    '',
  ].join('\n');
  expect(decodePage(page).families).toStrictEqual([
    { name: 'only', type: 'unknown', help: 'This family has no samples.', unit: '', samples: [] },
    {
      name: 'b',
      type: 'unknown',
      help: '',
      unit: '',
      samples: [
        { name: 'b', labels: {}, value: 1 },
        { name: 'b', labels: {}, value: 3 },
      ],
    },
    {
      name: 'a',
      type: 'histogram',
      help: 'Help of a.',
      unit: '',
      samples: [
        {
          name: 'a_bucket',
          labels: { x: '1', le: '+Inf' },
          value: 2,
          timestampMs: 1_395_066_363_000,
        },
        { name: 'a_count', labels: { x: '1' }, value: 2 },
      ],
    },
    { name: 'c', type: 'gauge', help: '', unit: '', samples: [] },
  ]);
});

test('a family with a late TYPE keeps the place of its first sample', () => {
  const { families } = decodePage('a_sum 1\nb 2\n# TYPE a summary\n');
  expect(families.map(({ name, type }) => `${name} ${type}`)).toStrictEqual([
    'a summary',
    'b unknown',
  ]);
});

test('units and exemplars of OpenMetrics', () => {
  const page =
    '# TYPE a_seconds counter\n# UNIT a_seconds seconds\na_seconds_total 1 2 # {b="c"} +Inf 3\n# EOF\n';
  expect(decodePage(page, { format: 'openmetrics' }).families).toStrictEqual([
    {
      name: 'a_seconds',
      type: 'counter',
      help: '',
      unit: 'seconds',
      samples: [
        {
          name: 'a_seconds_total',
          labels: {},
          value: 1,
          timestampMs: 2000,
          exemplar: { labels: { b: 'c' }, value: '+Inf', timestampMs: 3000 },
        },
      ],
    },
  ]);
});

test('only this page is shown, not older rows of the table', () => {
  const { table } = decodePage('# TYPE a gauge\na 1\nb 2\n');
  expect(decodePage('b 3\n', { table }).families.map(({ name }) => name)).toStrictEqual(['b']);
});

test('labels may have any name', () => {
  const [sample] = decodePage('a{__proto__="x",constructor="y"} 1\n').samples;
  expect(Object.entries(sample?.labels ?? {})).toStrictEqual([
    ['__proto__', 'x'],
    ['constructor', 'y'],
  ]);
});

test('numbers that JSON lacks are shown as words', () => {
  const shown = [1.5, Number.NaN, Infinity, -Infinity].map(shownValue);
  expect(shown).toStrictEqual([1.5, 'NaN', '+Inf', '-Inf']);
});

test.each(['decode --jsonl', 'decode --output prom2json', 'derive --jsonl'])(
  'show %s escapes what controls a terminal',
  async what => {
    using files = tempDirectory();
    const page = files.write('page.prom', 'a{b="\u009B2J\u202E\u007F"} 1\n');
    const { code, out } = await callVerb(show, [...what.split(' '), page]);
    expect([code, out]).toEqual([0, expect.stringContaining('"\\u009b2J\\u202e\\u007f"')]);
    expect(JSON.stringify(JSON.parse(out))).toContain('\u009B2J\u202E\u007F');
  },
);
