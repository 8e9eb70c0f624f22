import { expect, test } from 'vitest';
import { parseWithReference } from '../../src/cli/prom2json.ts';

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
  expect(await parseWithReference(page)).toStrictEqual({
    ok: true,
    reason: '',
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
      {
        name: 'b',
        type: 'unknown',
        help: '',
        unit: '',
        samples: [{ name: 'b', labels: {}, value: '-Inf' }],
      },
      {
        name: 'c',
        type: 'unknown',
        help: '',
        unit: '',
        samples: [{ name: 'c', labels: {}, value: 'NaN' }],
      },
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
    ok: false,
    families: [],
    reason: 'Encountered invalid line: bad{x=1} 2',
  });
});
