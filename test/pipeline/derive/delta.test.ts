// Rule F8, what its scripts (test/rules/delta.txt) cannot say: the temporality of a request.
import { expect, test } from 'vitest';
import { Target } from '../../support/target.ts';

test('F8: lowmemory is cumulative for scraped metrics', () => {
  const target = new Target({ temporality: 'lowmemory' });
  const counter = (value: number): string => `# TYPE x counter\nx ${value}`;
  target.shows(0, counter(5), 'sum x{} 5 @0 from 0');
  target.shows(60, counter(7), 'sum x{} 7 @60 from 0');
});

test('F8: a histogram of growth says that it is a delta', () => {
  const target = new Target({ temporality: 'delta' });
  target.page(0, '# TYPE h histogram\nh_bucket{le="1"} 1\nh_count 4');
  const [point] = target.page(60, '# TYPE h histogram\nh_bucket{le="1"} 2\nh_count 9').points;
  expect(point).toMatchObject({ temporality: 'delta', distribution: 'count=5 le1:1 inf:4' });
});
