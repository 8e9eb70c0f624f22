// Series that become one when labels are removed: what their scripts (test/rules/duplicates.txt)
// cannot say.
import { expect, test } from 'vitest';
import { Target } from '../../support/target.ts';

test('I1: a forgotten series owns nothing any more', () => {
  const target = new Target({ metrics: { dropLabels: ['pod'] } });
  target.page(0, 'x{pod="1"} 1');
  for (const minute of [1, 2, 61, 62]) target.page(minute * 60, 'y 1');
  expect(target.translation.table.identities.size).toBe(0);
  target.has(4000, 'x{pod="2"} 2\ny 1', 'gauge x{} 2 @4000');
  expect(target.translation.table.duplicates.size).toBe(0);
});
