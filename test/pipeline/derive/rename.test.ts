// `metrics.rename`: other names and labels, after the catalog's look-up. Series that become one are sent once.

import { describe, expect, test } from 'vitest';
import type { RenameConfig } from '../../../src/config/config.ts';
import { type Seen, successorOf, Target, type TargetOptions } from '../../support/target.ts';

function rule(match: RegExp, to: Partial<Omit<RenameConfig, 'match'>>): RenameConfig {
  return { match, name: null, labels: {}, attributes: {}, ...to };
}

function renaming(...rename: RenameConfig[]): TargetOptions {
  return { metrics: { rename } };
}

function one(text: string, ...rules: RenameConfig[]): Seen {
  return new Target(renaming(...rules)).page(0, text);
}

const THREADS = rule(/^engine_global_status_threads_(\w+)$/u, {
  name: 'db.threads',
  attributes: { kind: '$1' },
});

describe('a rule', () => {
  test('gives another name, with the groups of its expression in name and labels', () => {
    const running = 'engine_global_status_threads_running{a="b"} 4';
    expect(one(running, THREADS).shown).toEqual(['gauge db.threads{a=b,kind=running} 4 @0']);
    const attributes = { whole: '$0', two: '$2$2' };
    const part = rule(/^(x)_(y)_(z)$/u, { name: '$3.$1', attributes });
    expect(one('x_y_z 1', part).shown).toEqual(['gauge z.x{two=yy,whole=x_y_z} 1 @0']);
  });

  test('gives labels other names, but never one that the series has: the live one wins, counted', () => {
    const moved = rule(/^x$/u, { labels: { a: 'b' } });
    expect(one('x{a="1",c="2"} 3', moved).shown).toEqual(['gauge x{b=1,c=2} 3 @0']);
    const taken = one('x{a="1",b="2"} 3', moved);
    expect(taken.shown).toEqual(['gauge x{a=1,b=2} 3 @0']);
    expect(taken.translated.derived.takenLabels).toBe(1);
    const swapped = rule(/^x$/u, { labels: { a: 'b', b: 'a' } });
    expect(one('x{a="1",b="2"} 3', swapped).shown).toEqual(['gauge x{a=2,b=1} 3 @0']);
    const added = rule(/^x$/u, { attributes: { a: 'new' } });
    expect(one('x{b="1"} 3', added).shown).toEqual(['gauge x{a=new,b=1} 3 @0']);
    expect(one('x{a="1"} 3', added).shown).toEqual(['gauge x{a=1} 3 @0']);
    const chain = rule(/^x$/u, { labels: { c: 'a', a: 'b' } });
    expect(one('x{a="1",b="2",c="3"} 3', chain).shown).toEqual(['gauge x{a=1,b=2,c=3} 3 @0']);
    expect(one('x{a="1",c="3"} 3', chain).shown).toEqual(['gauge x{a=3,b=1} 3 @0']);
  });

  test('is the first that matches, and only for whole names', () => {
    const [first, second] = [rule(/^x.*$/u, { name: 'one' }), rule(/^xy$/u, { name: 'two' })];
    expect(one('xy 1\nz 2', first, second).shown).toEqual(['gauge one{} 1 @0', 'gauge z{} 2 @0']);
  });

  test('leaves the name where its groups give none', () => {
    expect(one('x 1', rule(/^(y)?x$/u, { name: '$1' })).shown).toEqual(['gauge x{} 1 @0']);
  });

  test('comes after the catalog: type, unit and start follow from the name on the page', () => {
    const target = new Target(renaming(rule(/^engine_global_status_(questions)$/u, { name: 'q' })));
    const page = 'engine_global_status_uptime 60\nengine_global_status_questions 7';
    target.has(100, page, 'sum q{} 7 @100 from 40');
  });

  test('makes a gauge of a sum over labels that it adds: the parts may overlap', () => {
    const text = 'engine_global_status_threads_connected 5';
    expect(one(text).shown[0]).toMatch(/^updown|^sum|^gauge/);
    expect(one(text, THREADS).shown).toEqual(['gauge db.threads{kind=connected} 5 @0']);
  });

  test('does not touch filters, nor prom2otlp’s own series', () => {
    const rename = [rule(/^x$/u, { name: 'y' }), rule(/^up$/u, { name: 'up' })];
    const target = new Target({ metrics: { exclude: [/^x$/u], rename } });
    target.shows(0, 'x 1\nz 2', 'gauge z{} 2 @0');
    const up = one('up 1', rule(/^up$/u, { attributes: { a: 'b' } }));
    expect(up.shown).toEqual(['gauge exported_up{a=b} 1 @0']);
    const scraped = one('x 1', rule(/^x$/u, { name: 'scrape_samples_scraped' }));
    expect(scraped.shown).toEqual(['gauge exported_scrape_samples_scraped{} 1 @0']);
  });

  test('renames whole histograms', () => {
    const text = '# TYPE h histogram\nh_bucket{le="1",a="x"} 2\nh_count{a="x"} 3\nh_sum{a="x"} 4';
    const [shown = ''] = one(text, rule(/^h$/u, { name: 'times', labels: { a: 'b' } })).shown;
    expect(shown).toContain('times{b=x}');
  });
});

describe('two series that become one', () => {
  const MERGE = rule(/^x_[ab]$/u, { name: 'x' });

  test.each([
    ['x_a{l="1"} 1\nx_b{l="1"} 2', 'gauge x{l=1} 1 @0', MERGE],
    ['x_a 1\nx 2', 'gauge x{} 2 @0', MERGE],
    ['x 1\nx_a 2', 'gauge x{} 1 @0', MERGE],
    ['x{a="1"} 1\nx{b="1"} 2', 'gauge x{c=1} 1 @0', rule(/^x$/u, { labels: { a: 'c', b: 'c' } })],
  ])('are sent once, and counted as duplicate: %s', (text, want, merging) => {
    const seen = one(text, merging);
    expect(seen.shown).toEqual([want]);
    expect(seen.reads).toEqual({ used: 1, duplicate: 1 });
  });

  test('are none if a rule gives the other one another name, or it is not sent', () => {
    const chain = [rule(/^a$/u, { name: 'b' }), rule(/^b$/u, { name: 'c' })];
    for (const text of ['a 1\nb 2', 'b 2\na 1']) {
      const seen = one(text, ...chain);
      expect(seen.shown.toSorted()).toEqual(['gauge b{} 1 @0', 'gauge c{} 2 @0']);
      expect(seen.reads).toEqual({ used: 2 });
    }
    const replacing = { metrics: { exclude: [/^b$/u], rename: [rule(/^a$/u, { name: 'b' })] } };
    for (const text of ['a 1\nb 2\n', 'b 2\na 1\n'])
      new Target(replacing).shows(0, text, 'gauge b{} 1 @0');
  });

  test.each(['cumulative', 'delta'] as const)(
    'are the live one and no other, whenever it is on the page: %s',
    temporality => {
      const target = new Target({ ...renaming(MERGE), temporality });
      const counters = (lines: string): string => `# TYPE x counter\n# TYPE x_a counter\n${lines}`;
      const values = (seconds: number, lines: string): unknown =>
        target.page(seconds, counters(lines)).points.map(({ value, flags }) => [value, flags]);
      const isDelta = temporality === 'delta';
      values(0, 'x_a 100\nx 7');
      expect(values(60, 'x_a 110\nx 9')).toEqual([[isDelta ? 2 : 9, 0]]);
      expect(values(120, 'x_a 120')).toEqual(isDelta ? [] : [[120, 0]]);
      expect(values(180, 'x_a 130\nx 11')).toEqual(isDelta ? [] : [[11, 0]]);
    },
  );

  test('stay apart by their other labels', () => {
    expect(one('x_a{l="1"} 1\nx_b{l="2"} 2', MERGE).reads).toEqual({ used: 2 });
  });

  test.each([false, true])(
    'follow one another when the first leaves the page (restart: %s)',
    isRestart => {
      const first = new Target(renaming(MERGE));
      first.page(0, 'x_a 1\nx_b 2');
      const next = isRestart ? successorOf(first, renaming(MERGE)) : first;
      next.shows(60, 'x_b 3', 'gauge x{} 3 @60');
      expect(next.page(120, 'x_b 4\nx_a 2').reads).toEqual({ used: 1, duplicate: 1 });
    },
  );
});

test('a page that repeats its layout gives the same names', () => {
  const target = new Target(renaming(THREADS));
  const page = (value: number): string => `engine_global_status_threads_running{a="b"} ${value}\n`;
  target.page(0, page(1));
  for (const second of [60, 120, 180])
    target.shows(second, page(second), `gauge db.threads{a=b,kind=running} ${second} @${second}`);
});
