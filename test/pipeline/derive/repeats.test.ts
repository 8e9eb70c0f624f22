// A series that occurs on a page more than once (F2, F3).
import { describe, expect, test } from 'vitest';
import { Target } from '../../support/target.ts';

describe('F2: several samples of a series on one page', () => {
  /** Expects a page to lead to these points. Returns an expectation of its outcomes. */
  const readsOf = (text: string, ...shown: readonly string[]) =>
    expect(new Target().shows(60, text, ...shown).reads);

  test('F2: newer times make further points, in order; older and equal ones do not', () => {
    readsOf('x 1 @10\nx 2 @20', 'gauge x{} 1 @10', 'gauge x{} 2 @20').toEqual({ used: 2 });
    const counter = '# TYPE x counter\nx 1 @10\nx 2 @20';
    readsOf(counter, 'sum x{} 1 @10 from 10', 'sum x{} 2 @20 from 10').toEqual({ used: 2 });
    readsOf('x 1 @20\nx 2 @10', 'gauge x{} 1 @20').toEqual({ used: 1, time_backwards: 1 });
    readsOf('x 1 @20\nx 1 @20', 'gauge x{} 1 @20').toEqual({ used: 1, repeated: 1 });
    readsOf('x 1 @20\nx 2 @20', 'gauge x{} 1 @20').toEqual({ used: 1, time_conflict: 1 });
    readsOf('x 1\nx 2', 'gauge x{} 1 @60').toEqual({ used: 1, time_conflict: 1 });
    const swapped = 'x{a="1",b="2"} 1\nx{b="2",a="1"} 1';
    readsOf(swapped, 'gauge x{a=1,b=2} 1 @60').toEqual({ used: 1, repeated: 1 });
  });

  test.each(['gauge', 'counter'])('F2: NaN equals NaN, also after a number (%s)', type => {
    const target = new Target();
    const reads = (seconds: number, ...samples: readonly string[]) =>
      expect(target.page(seconds, `# TYPE x ${type}\n${samples.join('\n')}`).reads);
    reads(60, 'x 5 @10').toEqual({ used: 1 });
    reads(120, 'x NaN @70', 'x NaN @70').toEqual({ used: 1, repeated: 1 });
    reads(180, 'x NaN @70').toEqual({ repeated: 1 });
    reads(240, 'x 5 @70').toEqual({ time_conflict: 1 });
    reads(300, 'x 7 @250').toEqual({ used: 1 });
    reads(360, 'x NaN @250').toEqual({ time_conflict: 1 });
  });

  test('F2: a sample replaces one that could not be sent, or that is a repeat', () => {
    readsOf('x 1 @7200\nx 2 @10', 'gauge x{} 2 @10').toEqual({ used: 1, time_future: 1 });
    const target = new Target();
    target.page(60, 'x 1 @50');
    const { reads } = target.shows(120, 'x 1 @50\nx 2 @110', 'gauge x{} 2 @110');
    expect(reads).toEqual({ used: 1, repeated: 1 });
  });

  test('F2: if a counter or a bucket falls between two of them, or in delta mode, they are duplicates', () => {
    const fallen = '# TYPE x counter\nx 5 @10\nx 2 @20';
    readsOf(fallen, 'sum x{} 5 @10 from 10').toEqual({ used: 1, duplicate: 1 });
    const histogram = '# TYPE h histogram\nh_count 3\nh_count 3';
    readsOf(histogram, 'histogram h{} count=3 inf:3 @60 from 60').toEqual({
      used: 1,
      duplicate: 1,
    });
    const { reads } = new Target({ temporality: 'delta' }).page(60, fallen.replace('x 2', 'x 6'));
    expect(reads).toEqual({ baseline: 1, duplicate: 1 });
  });

  test('F2: the next page is compared with the last of them', () => {
    const target = new Target();
    target.page(60, 'x 1 @10\nx 2 @20');
    expect(target.page(120, 'x 2 @20').reads).toEqual({ repeated: 1 });
    expect(target.page(180, 'x 3 @15').reads).toEqual({ time_backwards: 1 });
  });

  test('F2: a series whose first sample stands still does not end if a later one moves', () => {
    const target = new Target();
    target.page(60, 'x 1 @50');
    const next = target.shows(360, 'x 1 @50\nx 2 @350', 'gauge x{} 2 @350');
    expect(next.reads).toEqual({ used: 1, repeated: 1 });
    target.shows(660, 'x 1 @50\nx 2 @350', 'gauge x{} stale @350.001');
  });

  test('F2: filters and services apply to them as well', () => {
    const filtered = new Target({ metrics: { exclude: [/^x$/] } });
    expect(filtered.page(60, 'x 1\nx 2').reads).toEqual({ excluded: 2 });
    const strangers = 'x{namespace="z"} 1\nx{namespace="z"} 2';
    expect(new Target({ services: ['a'] }).page(60, strangers).reads).toEqual({ unconfigured: 2 });
  });
});
