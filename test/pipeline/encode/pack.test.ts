// When a page is packed, and when it is not. That packed pages inflate to the bytes of the full function, whatever the
// sequence of pages, is shown in test/fuzz/repeating.test.ts.

import { describe, expect, test } from 'vitest';
import { Target } from '../../support/target.ts';

const STATES = ['s1', 's2', 's3'];

function page(
  round: number,
  options: { late?: boolean; without?: string; more?: string } = {},
): string {
  const timeMs = 1_772_614_800_000 + round * 60_000;
  const states = options.more === undefined ? STATES : [...STATES, options.more];
  return states
    .filter(state => state !== options.without)
    .map((state, i) => {
      const stamp = options.late === true && state === 's3' ? timeMs - 5000 : timeMs;
      return `engine_threads{namespace="local",state="${state}"} ${round + i} ${stamp}\n`;
    })
    .join('');
}

function isPacked(target: Target, round: number, text = page(round)): boolean {
  const seen = target.page(60 * round, text);
  expect(seen.points.length).toBeGreaterThan(0);
  return 'packed' in seen.translated.batch;
}

describe('a page', () => {
  test('is packed once it has repeated twice', () => {
    const target = new Target();
    const seen = [1, 2, 3, 4, 5, 6].map(round => isPacked(target, round));
    expect(seen).toEqual([false, false, false, true, true, true]);
    expect(target.translation.table.template).toBeNull();
  });

  test('with a new series is not, and is again once that repeats', () => {
    const target = new Target();
    for (const round of [1, 2, 3, 4]) isPacked(target, round);
    const seen = [5, 6, 7, 8, 9].map(round => isPacked(target, round, page(round, { more: 's4' })));
    expect(seen[0]).toBe(false);
    expect(seen.at(-1)).toBe(true);
  });

  test('whose times no longer move together is laid out anew', () => {
    const target = new Target();
    for (const round of [1, 2, 3, 4]) isPacked(target, round);
    const seen = [5, 6, 7, 8].map(round => isPacked(target, round, page(round, { late: true })));
    expect(seen[0]).toBe(false);
    expect(seen.at(-1)).toBe(true);
  });

  test('whose series come and go is soon left to zlib', () => {
    const target = new Target();
    let packed = 0;
    for (let round = 1; round <= 120; round++) {
      const without = (round >> 2) % 2 === 0 ? {} : { without: 's1' };
      if (isPacked(target, round, page(round, without))) packed++;
    }
    expect(packed).toBeLessThan(20);
  });

  test('is not where the back end takes no gzip, or a service is larger than a request', () => {
    for (const packing of [null, { partBytesMax: 10 }]) {
      const target = new Target({ packing });
      for (let round = 1; round <= 6; round++) expect(isPacked(target, round)).toBe(false);
    }
  });

  test('is not where zlib makes less of it', () => {
    const target = new Target({ packing: { ratioMax: 1 } });
    for (let round = 1; round <= 6; round++) expect(isPacked(target, round)).toBe(false);
  });
});
