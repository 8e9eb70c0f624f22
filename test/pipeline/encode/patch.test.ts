// Bounds and quantiles belong to the point (otlp-mapping D2, E2): a page that changes only these must
// not be sent with the template's. The usual page comes several times first, to make a template.

import { describe, expect, test } from 'vitest';
import { Target } from '../../support/target.ts';

/** The points of the last of these pages, which are a minute apart. */
function sentOf(pages: readonly string[]): readonly string[] {
  const target = new Target();
  let texts: readonly string[] = [];
  for (const [i, page] of pages.entries()) {
    const { points } = target.page(60 * i, page);
    texts = points.map(({ metric, distribution }) => `${metric} ${distribution}`);
  }
  return texts;
}

function histogram(buckets: Readonly<Record<string, number>>, count = 9): string {
  const lines = Object.entries(buckets).map(([le, value]) => `h_bucket{le="${le}"} ${value}\n`);
  return `# TYPE h histogram\n${lines.join('')}h_sum 1\nh_count ${count}\n`;
}

function summary(quantiles: Readonly<Record<string, number>>, count = 9): string {
  const lines = Object.entries(quantiles).map(([q, value]) => `s{quantile="${q}"} ${value}\n`);
  return `# TYPE s summary\n${lines.join('')}s_sum 1\ns_count ${count}\n`;
}

describe('a page that is patched', () => {
  /** Pages that introduce all series, and `last`, which changes only the set of a point. */
  function lastOf(known: string, usual: string, last: string): readonly string[] {
    return sentOf([known, usual, usual, usual, usual, last]);
  }

  test('one quantile less', () => {
    const both = summary({ 0.5: 1, 0.9: 9 });
    expect(lastOf(both, both, summary({ 0.9: 7 }, 10))).toEqual(['s count=10 sum=1 q0.9:7']);
  });

  test('one quantile more', () => {
    const both = summary({ 0.5: 1, 0.9: 9 });
    const one = summary({ 0.5: 2 }, 10);
    const last = summary({ 0.5: 3, 0.9: 7 }, 11);
    expect(lastOf(both, one, last)).toEqual(['s count=11 sum=1 q0.5:3 q0.9:7']);
  });

  test('another quantile', () => {
    const both = summary({ 0.5: 1, 0.9: 9 });
    const last = summary({ 0.9: 7 }, 11);
    expect(lastOf(both, summary({ 0.5: 2 }, 10), last)).toEqual(['s count=11 sum=1 q0.9:7']);
  });

  test('another bound', () => {
    const all = histogram({ 1: 1, 2: 2, 5: 3 });
    const last = histogram({ 2: 4, 5: 5 }, 11);
    const sent = 'h count=11 sum=1 le2:4 le5:1 inf:6';
    expect(lastOf(all, histogram({ 1: 2, 5: 3 }, 10), last)).toEqual([sent]);
  });

  test('one bound less, and one more', () => {
    const all = histogram({ 1: 1, 2: 2, 5: 3 });
    const less = histogram({ 1: 2, 5: 3 }, 10);
    expect(lastOf(all, all, less)).toEqual(['h count=10 sum=1 le1:2 le5:1 inf:7']);
    const more = histogram({ 1: 2, 2: 3, 5: 3 }, 11);
    expect(lastOf(all, less, more)).toEqual(['h count=11 sum=1 le1:2 le2:1 le5:0 inf:8']);
  });

  test('no bounds any more, and bounds again', () => {
    const all = histogram({ 1: 1, 5: 3 });
    expect(lastOf(all, all, histogram({}, 10))).toEqual(['h count=10 sum=1 inf:10']);
    const last = histogram({ 1: 2, 5: 3 }, 11);
    expect(lastOf(all, histogram({}, 10), last)).toEqual(['h count=11 sum=1 le1:2 le5:1 inf:8']);
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
