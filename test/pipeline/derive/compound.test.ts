// Rules D and E: what makes a histogram or a summary, and what makes it invalid.
import { describe, expect, test } from 'vitest';
import { Target } from '../../support/target.ts';

type Kind = 'histogram' | 'summary';

/** Scrapes one page with these lines, and declares their type. */
function seenAs(kind: Kind, lines: string): ReturnType<Target['page']> {
  return new Target().page(60, `# TYPE ${kind[0]} ${kind}\n${lines}`);
}

/** `check` expects one point; `invalid` expects none, and each line to count as invalid. */
function checksOf(kind: Kind) {
  return {
    check: (lines: string, want: string): void =>
      expect(seenAs(kind, lines).shown).toEqual([`${kind} ${want}`]),
    invalid: (...pages: readonly string[]): void => {
      for (const lines of pages) {
        const { shown, reads } = seenAs(kind, lines);
        expect(shown, lines).toEqual([]);
        expect(reads, lines).toEqual({ [`${kind}_invalid`]: lines.split('\n').length });
      }
    },
  };
}

describe('D: histograms', () => {
  const { check, invalid } = checksOf('histogram');

  test('D: the last bucket is the count minus the last finite one; a missing +Inf line is fine', () => {
    check('h_bucket{le="+Inf"} 7\nh_count 8', 'h{} count=8 inf:8 @60 from 60');
  });

  test('D: a sum may be anything; no buckets: one for all', () => {
    check('h_count 8\nh_sum NaN', 'h{} count=8 sum=NaN inf:8 @60 from 60');
  });

  test('D: counts are whole numbers within 64 bits, sign included', () => {
    invalid('h_bucket{le="+Inf"} 9\nh_count 8', 'h_bucket{le="1"} 0.5\nh_count 3');
    invalid(
      ...['NaN', '-1', '+Inf', '1e30', '9223372036854775808'].map(count => `h_count ${count}`),
    );
    const most = '9223372036854774784';
    check(`h_count ${most}`, `h{} count=${most} inf:${most} @60 from 60`);
  });

  test('D: a bound that is missing, not a number, or duplicate drops the point', () => {
    invalid('h_bucket 3\nh_count 8', 'h_bucket{le="1"} 3\nh_bucket{le="1.0"} 3\nh_count 8');
    invalid('h_bucket{le="x"} 3\nh_count 8', 'h_bucket{le="NaN"} 3\nh_count 8');
  });

  test('D: bounds that change their spelling are the same histogram', () => {
    const target = new Target();
    const text = (le: string, count: number): string =>
      `# TYPE h histogram\nh_bucket{le="${le}"} ${count}\nh_count ${count}\n`;
    target.page(0, text('1', 3));
    target.shows(60, text('1.0', 4), 'histogram h{} count=4 le1:4 inf:0 @60 from 0');
  });

  test('D: a page after one with a bound that is not a number is sent with its own bounds in order', () => {
    const target = new Target();
    target.page(0, '# TYPE h histogram\nh_bucket{le="5"} 3\nh_bucket{le="x"} 1\nh_count 8');
    const page = '# TYPE h histogram\nh_bucket{le="1"} 1\nh_bucket{le="5"} 3\nh_count 8\n';
    target.shows(60, page, 'histogram h{} count=8 le1:1 le5:2 inf:5 @60 from 60');
  });

  test('D: timestamps inside a group must agree', () => {
    const stamped = (first: number, second: number): string =>
      `h_bucket{le="1"} 3 @${first}\nh_sum 3 @${first}\nh_count 8 @${second}`;
    check(stamped(50, 50), 'h{} count=8 sum=3 le1:3 inf:5 @50 from 50');
    invalid(stamped(50, 51), 'h_bucket{le="1"} 3 @50\nh_count 8');
    const target = new Target({ metrics: { honorTimestamps: false } });
    expect(target.page(60, `# TYPE h histogram\n${stamped(50, 51)}`).shown).toHaveLength(1);
  });

  test('D: one broken label set does not affect others, nor does a stray sample of the bare name', () => {
    const { shown, reads } = seenAs(
      'histogram',
      'h{a="2"} 5\nh_count{a="1"} NaN\nh_count{a="2"} 4\nh 5',
    );
    expect(shown).toEqual(['histogram h{a=2} count=4 inf:4 @60 from 60']);
    expect(reads).toEqual({ used: 1, histogram_invalid: 3 });
  });

  test.each([
    ['is dropped and counted', 'g_bucket{le="+Inf"} 3\ng_gcount 3\ng_gsum 4', 3],
    ['with a duplicate count is counted whole', 'g_gcount 3\ng_count 3\ng_created 1\ng 4', 4],
  ])('D: a gaugehistogram %s', (_, lines, count) => {
    const seen = new Target().shows(60, `# TYPE g gaugehistogram\n${lines}\n# EOF`);
    expect(seen.reads).toEqual({ gauge_histogram: count });
  });

  test('D: a family that becomes a histogram, or stops being one, is sent with its new type', () => {
    const target = new Target();
    const lines = 'h_bucket{le="1"} 2\nh_count 3';
    for (const seconds of [0, 120]) {
      target.shows(
        seconds,
        lines,
        `gauge h_bucket{le=1} 2 @${seconds}`,
        `gauge h_count{} 3 @${seconds}`,
      );
      const next = seconds + 60;
      const point = `histogram h{} count=3 le1:2 inf:1 @${next} from ${next}`;
      target.shows(next, `# TYPE h histogram\n${lines}`, point);
    }
  });
});

describe('E: summaries', () => {
  const { check, invalid } = checksOf('summary');

  test('E: no sum: 0', () => {
    check('s{quantile="1"} 2\ns_count 4', 's{} count=4 sum=0 q1:2 @60 from 60');
  });

  test('E: a quantile that is missing, not a number, or duplicate drops the point', () => {
    invalid('s 2\ns_count 4', 's{quantile="x"} 2\ns_count 4');
    invalid('s{quantile="0.5"} 2\ns{quantile="0.50"} 2\ns_count 4');
  });

  test('E: a quantile outside 0 to 1 is dropped and counted, the others are sent', () => {
    const seen = seenAs(
      'summary',
      's{quantile="95"} 3\ns{quantile="-0.1"} 1\ns{quantile="0.5"} 2\ns_count 4',
    );
    expect(seen.shown).toEqual(['summary s{} count=4 sum=0 q0.5:2 @60 from 60']);
    expect(seen.reads).toEqual({ used: 2, summary_invalid: 2 });
    const ends = 's{quantile="0"} 1\ns{quantile="1"} 2\ns_count 4';
    check(ends, 's{} count=4 sum=0 q0:1 q1:2 @60 from 60');
  });
});
