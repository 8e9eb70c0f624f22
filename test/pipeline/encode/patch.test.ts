// Bounds and quantiles belong to the point (docs/how-it-works/mapping.md, D2 and E2): a page that changes only these
// must not be sent with the template's. The usual page comes several times first, to make a template.

import { describe, expect, test } from 'vitest';
import { Target } from '../../support/target.ts';

function histogram(buckets: Readonly<Record<string, number>>, count = 9): string {
  const lines = Object.entries(buckets).map(([le, value]) => `h_bucket{le="${le}"} ${value}\n`);
  return `# TYPE h histogram\n${lines.join('')}h_sum 1\nh_count ${count}\n`;
}

function summary(quantiles: Readonly<Record<string, number>>, count = 9): string {
  const lines = Object.entries(quantiles).map(([q, value]) => `s{quantile="${q}"} ${value}\n`);
  return `# TYPE s summary\n${lines.join('')}s_sum 1\ns_count ${count}\n`;
}

describe('a page that is patched', () => {
  const BOTH = summary({ 0.5: 1, 0.9: 9 });
  const ALL = histogram({ 1: 1, 2: 2, 5: 3 });
  const SOME = histogram({ 1: 2, 5: 3 }, 10);
  const NONE = histogram({}, 10);

  test.each([
    ['one quantile less', BOTH, BOTH, summary({ 0.9: 7 }, 10), 's count=10 sum=1 q0.9:7'],
    [
      'one quantile more',
      BOTH,
      summary({ 0.5: 2 }, 10),
      summary({ 0.5: 3, 0.9: 7 }, 11),
      's count=11 sum=1 q0.5:3 q0.9:7',
    ],
    [
      'another quantile',
      BOTH,
      summary({ 0.5: 2 }, 10),
      summary({ 0.9: 7 }, 11),
      's count=11 sum=1 q0.9:7',
    ],
    [
      'another bound',
      ALL,
      SOME,
      histogram({ 2: 4, 5: 5 }, 11),
      'h count=11 sum=1 le2:4 le5:1 inf:6',
    ],
    ['one bound less', ALL, ALL, SOME, 'h count=10 sum=1 le1:2 le5:1 inf:7'],
    [
      'one bound more',
      ALL,
      SOME,
      histogram({ 1: 2, 2: 3, 5: 3 }, 11),
      'h count=11 sum=1 le1:2 le2:1 le5:0 inf:8',
    ],
    ['no bounds any more', ALL, ALL, NONE, 'h count=10 sum=1 inf:10'],
    [
      'bounds again',
      ALL,
      NONE,
      histogram({ 1: 2, 5: 3 }, 11),
      'h count=11 sum=1 le1:2 le5:1 inf:8',
    ],
  ])('a page with another set: %s', (_, known, usual, last, want) => {
    const target = new Target();
    const seen = [known, usual, usual, usual, usual, last].map((page, i) =>
      target.page(60 * i, page),
    );
    const texts = seen
      .at(-1)
      ?.points.map(({ metric, distribution }) => `${metric} ${distribution}`);
    expect(texts).toEqual([want]);
  });
});

test('each page of any set of points leaves the template of its own payload', () => {
  const target = new Target();
  const { table } = target.translation;
  const page = (names: string): string =>
    names
      .split('')
      .map(name => `x{n="${name}"} 1\n`)
      .join('');
  for (const [i, names] of ['ab', 'ab', 'abc', 'bc', 'bcde', 'a'].entries()) {
    const { translated } = target.page(60 * i, page(names));
    expect(table.template?.bytes.equals(translated.batch.payload)).toBe(true);
  }
});
