// A page means the same, whatever came before it. Pages of conflicting lines, in either format, are read after other
// pages, and alone; names, types, labels, values, bounds, units and the outcome of each sample must be the same. Starts
// and ends of series depend on history and are left out. So are series that merge when a label is dropped: of these, the
// first one continues.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ExpositionFormat } from '../../src/model/page.ts';
import { at, type Seen, Target } from '../support/target.ts';
import { PARAMETERS, RUNS } from './parameters.ts';

const TYPES =
  'counter gauge untyped unknown histogram summary info stateset gaugehistogram nonsense'.split(
    ' ',
  );
/** Names of families and of their parts. */
const FAMILIES = ['x', 'x_count', 'x_bucket', 'x_sum', 'x_total', 'x_created', 'x_info', 'x_total'];
/** Series keys, each with a value that makes valid histograms and summaries, unless keys conflict. */
const SERIES: readonly (readonly [key: string, value: number])[] = [
  ['x', 1],
  ['{"x"}', 2],
  ['x{a="1"}', 3],
  ['x{a="1",a=""}', 4],
  ['x{a="1",b=""}', 5],
  ['x{b="",a="1"}', 6],
  ['x{a="1",b="2"}', 7],
  ['x { b = "2" , a = "1" }', 8],
  ['x{a="\\t"}', 9],
  ['x{a="\\\\t"}', 10],
  ['x{a="é"}', 11],
  ['x{__name__="y",c="1"}', 12],
  ['x{c="2",__name__="y"}', 13],
  ['x{quantile="0.5"}', 1],
  ['x{quantile="0.50"}', 2],
  ['x{quantile="0.9"}', 3],
  ['x{quantile="95"}', 4],
  ['x{quantile="NaN"}', 5],
  ['x_bucket{le="5"}', 4],
  ['x_bucket{le="1"}', 1],
  ['x_bucket{le="1.0"}', 2],
  ['x_bucket{le="2"}', 3],
  ['x_bucket{le="+Inf"}', 5],
  ['x_bucket{le="x"}', 5],
  ['x_bucket', 5],
  ['x_bucket{a="1",le="1"}', 5],
  ['x_count{a="1"}', 6],
  ['x_count', 5],
  ['x_gcount', 5],
  ['x_sum', 2.5],
  ['x_gsum', 2.5],
  ['x_total', 3],
  ['x_total{a="1"}', 3],
  ['x_created', 1_700_000_000],
  ['x_created{a="1"}', 1_700_000_000],
  ['x_info{v="1"}', 1],
  ['x_count_sum', 1],
  ['x_count_count', 1],
  ['x_total_created', 1_700_000_000],
];

const comment = fc.oneof(
  { weight: 4, arbitrary: tuple('TYPE', TYPES) },
  { weight: 1, arbitrary: tuple('HELP', ['one', 'two \\" \\n', '']) },
  { weight: 1, arbitrary: tuple('UNIT', ['seconds', 'bytes']) },
);
const sample = fc
  .tuple(
    fc.constantFrom(...SERIES),
    fc.constantFrom(' STAMP', '', '', '', ' # {trace_id="1"} 1'),
    fc.nat(9),
  )
  .map(([[key, value], behind, more]) => `${key} ${more === 9 ? -value : value}${behind}`);
/** A family as on most real pages: its parts fit together. */
const family = fc.constantFrom(
  ['# TYPE x histogram', 'x_bucket{le="1"} 1', 'x_bucket{le="5"} 4', 'x_sum 2', 'x_count 5'],
  ['# TYPE x histogram', 'x_bucket{le="1.0"} 2', 'x_bucket{le="2.0"} 4', 'x_count 5'],
  ['# TYPE x summary', 'x{quantile="0.5"} 2', 'x{quantile="0.9"} 1', 'x_sum 2', 'x_count 4'],
  ['# TYPE x summary', 'x{quantile="0.9"} 1', 'x_count 5', '# TYPE x_count gauge'],
  ['# TYPE x counter', 'x_total 5', 'x_created 1700000000'],
  ['# TYPE x_total counter', 'x_total 5', '# TYPE x_created gauge', 'x_created 1700000000'],
);
const lines = fc
  .tuple(
    fc.array(fc.oneof(family, sample.map(one), comment.map(one)), { maxLength: 8 }),
    fc.boolean(),
  )
  // Comments may come before or after their samples.
  .map(([groups, isReversed]) => (isReversed ? groups.flat().reverse() : groups.flat()));

interface AnyPage {
  readonly lines: readonly string[];
  readonly format: ExpositionFormat;
}
const anyPage: fc.Arbitrary<AnyPage> = fc.record({
  lines,
  format: fc.constantFrom('text' as const, 'openmetrics' as const),
});

function tuple(keyword: string, words: readonly string[]): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom(...FAMILIES), fc.constantFrom(...words))
    .map(([name, word]) => `# ${keyword} ${name} ${word}`);
}

function one(line: string): string[] {
  return [line];
}

function show(target: Target, seconds: number, page: AnyPage): Seen {
  const stamp = page.format === 'text' ? at(seconds) : at(seconds) / 1000;
  const end = page.format === 'text' ? '' : '# EOF\n';
  const text = page.lines.map(line => `${line.replace('STAMP', String(stamp))}\n`).join('');
  return target.page(seconds, text + end, { format: page.format });
}

/** The meaning of a page: its points and names without starts and markers, its counts and problems. */
function meaningOf(seen: Seen, { translation: { table } }: Target): unknown {
  const points = seen.points
    .filter(({ flags }) => flags !== 1)
    .map(({ startNs: _start, ...point }) => JSON.stringify(point));
  const names = table.metrics
    .filter(({ seenPage }) => seenPage === table.page)
    .map(({ name, declared }) => `${declared} ${name}`);
  const { page } = seen.translated;
  return {
    points: points.sort(),
    reads: seen.reads,
    names: names.sort(),
    problems: page?.problems,
    badLines: page?.badLines,
  };
}

test('a page reads as if it were the first, after any other page and when it repeats', () => {
  let replayed = 0;
  fc.assert(
    fc.property(fc.array(anyPage, { minLength: 1, maxLength: 4 }), anyPage, (before, page) => {
      const target = new Target({ metrics: { badShare: 1 } });
      for (const [i, other] of before.entries()) show(target, 60 * i, other);
      for (let round = 0; round < 4; round++) {
        const seconds = 60 * (before.length + round);
        const alone = new Target({ metrics: { badShare: 1 } });
        const wanted = meaningOf(show(alone, seconds, page), alone);
        const seen = show(target, seconds, page);
        expect(meaningOf(seen, target)).toEqual(wanted);
        if (seen.translated.path === 'repeating') replayed++;
      }
    }),
    PARAMETERS,
  );
  expect(replayed).toBeGreaterThan(RUNS / 10);
});
