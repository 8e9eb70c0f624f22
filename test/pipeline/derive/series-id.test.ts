// The ids by which the next process of prom2otlp finds its series.
import { describe, expect, test } from 'vitest';
import { SeriesIds } from '../../../src/pipeline/derive/state.ts';
import { serviceOfRow } from '../../../src/pipeline/derive/places.ts';
import { Target } from '../../support/target.ts';

/** The id of the only series of a page of the service `a`. */
function idOf(key: string): number {
  const target = new Target({ services: ['a'] });
  target.page(0, `${key} 1`);
  const { table } = target.translation;
  const ids = new SeriesIds(table);
  const id = ids.idOf(0, serviceOfRow(table, 0));
  // The id is made once.
  expect(ids.idOf(0, serviceOfRow(table, 0))).toBe(id);
  expect(Number.isSafeInteger(id)).toBe(true);
  return id;
}

describe('the id of a series', () => {
  test.each([
    ['x{b="1",c="2"}', 'x{c="2",b="1"}'],
    ['x{b="1",c="2"}', 'x { c = "2" , b = "1" ,}'],
    ['x{b="1"}', 'x{b="1",c=""}'],
    ['x{b="1"}', '{"x",b="1"}'],
    ['x{b="\\\\t"}', '{"x","b"="\\t"}'],
    ['x', 'x{}'],
    ['x{b="1"}', 'x{b="1",namespace="a"}'],
    ['x{b="é\\n"}', 'x{namespace="a",b="é\\n"}'],
  ])('is the same: %s and %s', (one, other) => {
    expect(idOf(one)).toBe(idOf(other));
  });

  test('is another one for another series', () => {
    const keys = [
      'x',
      'y',
      'x{b="1"}',
      'x{b="2"}',
      'x{c="1"}',
      'x{b1="1"}',
      'x{b="11"}',
      'x{b="1",c="2"}',
      'x{b="2",c="1"}',
      'x{c="1",d="2"}',
      'x{b="x"}',
      'x{x="b"}',
      'x{b="\\\\"}',
      'x{b="\\n"}',
      'x{b="\\""}',
    ];
    expect(new Set(keys.map(idOf)).size).toBe(keys.length);
  });
});
