import { expect, test } from 'vitest';
import { swayingLine } from '../../bench/corpus/line.ts';
import { PageSource } from '../../bench/corpus/page-source.ts';

test('a value with a fraction never ends in 0, at any poll', () => {
  const lines = Array.from({ length: 3000 }, (_, index) => swayingLine('a ', index * 7919));
  const fractions = lines.filter(({ places, isDouble }) => places > 0 && !isDouble);
  expect(fractions.length).toBeGreaterThan(1000);
  const source = new PageSource({ lines: fractions, isTimed: false });
  for (let poll = 0; poll < 1000; poll++) {
    const page = source.render(poll).bytes.toString();
    expect(page.match(/^a \d+\.\d*0(?:e.*)?$/m), `poll ${poll}`).toBeNull();
  }
});
