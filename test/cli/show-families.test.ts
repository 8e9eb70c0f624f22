import { verb as show } from '../../src/cli/show.ts';
import { tempDirectory } from '../support/program.ts';
import { callVerb } from '../support/verb-context.ts';
import { expect, test } from 'vitest';
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
  const family = { type: 'unknown', help: '', unit: '', samples: [] };
  const twice = [1, 3].map(value => ({ name: 'b', labels: {}, value }));
  const labels = { x: '1', le: '+Inf' };
  const parts = [
    { name: 'a_bucket', labels, value: 2, timestampMs: 1_395_066_363_000 },
    { name: 'a_count', labels: { x: '1' }, value: 2 },
  ];
  expect(decodePage(page).families).toStrictEqual([
    { ...family, name: 'only', help: 'This family has no samples.' },
    { ...family, name: 'b', samples: twice },
    { ...family, name: 'a', type: 'histogram', help: 'Help of a.', samples: parts },
    { ...family, name: 'c', type: 'gauge' },
  ]);
});

test('a family with a late TYPE keeps the place of its first sample', () => {
  const { families } = decodePage('a_sum 1\nb 2\n# TYPE a summary\n');
  const types = families.map(({ name, type }) => `${name} ${type}`);
  expect(types).toStrictEqual(['a summary', 'b unknown']);
});

test('units and exemplars of OpenMetrics', () => {
  const page =
    '# TYPE a_seconds counter\n# UNIT a_seconds seconds\na_seconds_total 1 2 # {b="c"} +Inf 3\n# EOF\n';
  const exemplar = { labels: { b: 'c' }, value: '+Inf', timestampMs: 3000 };
  const sample = { name: 'a_seconds_total', labels: {}, value: 1, timestampMs: 2000, exemplar };
  expect(decodePage(page, { format: 'openmetrics' }).families).toStrictEqual([
    { name: 'a_seconds', type: 'counter', help: '', unit: 'seconds', samples: [sample] },
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

test.each(['decode --jsonl', 'decode --output prom2json', 'derive --jsonl'])(
  'show %s escapes what controls a terminal',
  async what => {
    using files = tempDirectory();
    const page = files.write('page.prom', 'a{b="\u009B2J\u202E"} 1\n');
    const { code, out } = await callVerb(show, [...what.split(' '), page]);
    expect([code, out]).toEqual([0, expect.stringContaining('"\\u009b2J\\u202e"')]);
    expect(JSON.stringify(JSON.parse(out))).toContain('\u009B2J\u202E');
  },
);
