// The functions for repeated pages (replay, patch) and the full ones give the same bytes for any sequence of pages.
// Where bounds and quantiles come and go, the sent points are also compared with the page: both paths could be wrong.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SeriesTable } from '../../src/model/series-table.ts';
import { at, Target } from '../support/target.ts';
import { PARAMETERS, RUNS } from './parameters.ts';
import { mostly } from '../support/random.ts';

const NAMES = 'engine_up engine_global_status_questions engine_global_status_uptime x_plain'.split(
  ' ',
);
const SERVICES = ['a', 'b'];
const SERVERS = ['s1', 's2'];
const KINDS = 'gone come relabel swap family bad twice retype help late frozen cut fail'.split(' ');

/** One series of the generated world, and how its line is written on a page. */
interface Line {
  readonly name: string;
  readonly service: string;
  readonly server: string;
}

const lines: readonly Line[] = NAMES.flatMap(name =>
  SERVICES.flatMap(service => SERVERS.map(server => ({ name, service, server }))),
);

interface PageChange {
  /** One of KINDS, or `none`. */
  readonly kind: string;
  readonly at: number;
  readonly values: readonly number[];
}

const anyValue = fc.oneof(
  { weight: 6, arbitrary: fc.nat(1_000_000) },
  { weight: 3, arbitrary: fc.double() },
  { weight: 1, arbitrary: fc.constantFrom(Number.NaN, -0, 1e300) },
);
const change: fc.Arbitrary<PageChange> = fc.record({
  kind: fc.oneof(
    { weight: 8, arbitrary: fc.constant('none') },
    { weight: 4, arbitrary: fc.constantFrom(...KINDS) },
  ),
  at: fc.nat(lines.length - 1),
  values: fc.array(anyValue, { minLength: lines.length, maxLength: lines.length }),
});

function pageText(page: PageChange, timeMs: number, previous: string, isTimed: boolean): string {
  if (page.kind === 'frozen' && previous !== '') return previous;
  const shown = lines.map((line, i) => ({ line, value: page.values[i] ?? 0 }));
  if (page.kind === 'gone') shown.splice(page.at, 1);
  if (page.kind === 'swap') shown.push(...shown.splice(page.at, 1));
  if (page.kind === 'family') shown.unshift(...shown.splice(page.at, 4));
  const added = { name: `x_${page.at % 3}`, service: 'a', server: `s${page.at}` };
  if (page.kind === 'come') shown.splice(page.at, 0, { line: added, value: 1 });
  if (page.kind === 'relabel') shown.splice(page.at, 1, { line: added, value: 1 });
  const text: string[] = [`# TYPE engine_up ${page.kind === 'retype' ? 'counter' : 'gauge'}`];
  if (page.kind === 'help') text.unshift(`# HELP engine_up Help ${page.at % 3}.`);
  for (const [i, { line, value }] of shown.entries()) {
    const stamp = isTimed ? ` ${timeMs - (line.server === 's2' ? 500 : 0)}` : '';
    const labels = `{namespace="${line.service}",server_name="${line.server}"}`;
    if (page.kind === 'late' && i === page.at) text.push(`# TYPE ${line.name} gauge`);
    text.push(`${line.name}${labels} ${valueText(value)}${stamp}`);
    if (page.kind === 'bad' && i === page.at) text.push('not a { line');
    if (page.kind === 'twice' && i === page.at) text.push(text.at(-1) ?? '');
  }
  const isLarge = Math.abs(page.values[0] ?? 0) > 500_000;
  text.push(
    '# TYPE h histogram',
    ...['0.1', '1', '+Inf'].map(
      (le, i) => `h_bucket{namespace="a",le="${le}"} ${isLarge ? i + 1 : i}`,
    ),
    'h_sum{namespace="a"} 1.5',
    `h_count{namespace="a"} ${isLarge ? 3 : 2}`,
    '# TYPE q summary',
    `q{namespace="a",quantile="0.5"} ${valueText(page.values[1] ?? 0)}`,
    'q_sum{namespace="a"} 3',
    'q_count{namespace="a"} 4',
    '',
  );
  const whole = text.join('\n');
  return page.kind === 'cut' ? whole.slice(0, whole.length - 20) : whole;
}

function valueText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return value === Infinity ? '+Inf' : value === -Infinity ? '-Inf' : String(value);
}

/** Makes the table read and write the next page in full, without an expected row. */
function forgetPage(table: SeriesTable): void {
  table.layout = null;
  table.template = null;
  table.line.fill(0);
}

test('a repeated page gives the bytes that the full functions give', () => {
  let patchedCount = 0;
  let replayedCount = 0;
  const pages = fc.array(change, { minLength: 3, maxLength: 12 });
  fc.assert(
    fc.property(pages, fc.boolean(), (changes, isTimed) => {
      const full = new Target({ services: SERVICES });
      const repeating = new Target({ services: SERVICES });
      const { table } = repeating.translation;
      let text = '';
      for (const [index, page] of changes.entries()) {
        const seconds = index * 60;
        text = pageText(page, at(seconds - 1), text, isTimed);
        forgetPage(full.translation.table);
        const isFailed = page.kind === 'fail';
        const { template, layout } = table;
        const [expected, actual] = [full, repeating].map(
          target => (isFailed ? target.fail(seconds) : target.page(seconds, text)).translated,
        );
        expect(actual?.batch.payload.equals(expected?.batch.payload ?? Buffer.of())).toBe(true);
        expect(actual?.batch.parts).toEqual(expected?.batch.parts);
        expect(actual?.derived).toEqual(expected?.derived);
        // A page that is compared with the last one needs no memory for its lines.
        const [found, expectedPage] = [actual, expected].map(one => ({ ...one?.page, bytes: 0 }));
        expect(found).toEqual(expectedPage);
        if (template !== null && table.template === template) patchedCount++;
        if (layout !== null && table.layout === layout) replayedCount++;
      }
    }),
    PARAMETERS,
  );
  // Without enough repeated pages, the property would prove nothing.
  expect(patchedCount).toBeGreaterThan(RUNS / 10);
  expect(replayedCount).toBeGreaterThan(RUNS / 10);
});

/** The bounds (the last one is +Inf) or quantiles of the distributions in the second world. */
const MARKS = { h: ['0.1', '1', '2.5', '5', '+Inf'], s: ['0', '0.5', '0.9', '0.99', '1'] } as const;
/** The index after the marks: in `isShown`, whether there is a sum. */
const SUM = 5;
const DISTRIBUTIONS = (['h', 's'] as const).flatMap(name => ['1', '2'].map(pod => ({ name, pod })));

/** One page of this world: the growth of each distribution, and the mark that came or went, if any. */
interface Step {
  readonly growth: readonly (readonly number[])[];
  readonly turned: readonly [distribution: number, mark: number] | null;
  /** Whether the page is in OpenMetrics, which writes `1.0` for `1`. */
  readonly isOpenMetrics: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  growth: fc.array(fc.array(fc.nat(9), { minLength: 6, maxLength: 6 }), {
    minLength: DISTRIBUTIONS.length,
    maxLength: DISTRIBUTIONS.length,
  }),
  turned: mostly(2, fc.constant(null), fc.tuple(fc.nat(DISTRIBUTIONS.length - 1), fc.nat(SUM))),
  isOpenMetrics: fc.nat(9).map(number => number === 0),
});

/** A distribution in the world: its observations by interval, and for each mark whether it is on the page. */
interface Told {
  readonly observed: number[];
  readonly isShown: boolean[];
}

/** The lines of a distribution on a page; `stamp` begins with a blank, or is empty. */
function distributionText(
  index: number,
  { observed, isShown }: Told,
  ...[stamp, isOpenMetrics]: [string, boolean]
): string {
  const { name, pod } = DISTRIBUTIONS[index] ?? { name: 'h', pod: '' };
  const labels = `pod="${pod}"`;
  const shown = MARKS[name].flatMap((mark, i) => {
    if (isShown[i] !== true) return [];
    const written = isOpenMetrics && /^\d$/.test(mark) ? `${mark}.0` : mark;
    const value = name === 'h' ? totalOf(observed, i) : (observed[i] ?? 0) / 2;
    return name === 'h'
      ? [`h_bucket{${labels},le="${written}"} ${value}${stamp}`]
      : [`s{${labels},quantile="${written}"} ${value}${stamp}`];
  });
  const count = totalOf(observed, SUM);
  if (isShown[SUM] === true) shown.push(`${name}_sum{${labels}} ${count * 1.5}${stamp}`);
  return [...shown, `${name}_count{${labels}} ${count}${stamp}`, ''].join('\n');
}

function totalOf(observed: readonly number[], last: number): number {
  // The bucket +Inf holds all observations.
  const end = last === 4 ? SUM : last;
  return observed.slice(0, end + 1).reduce((sum, count) => sum + count, 0);
}

/** The expected point as text (see support/otlp-points.ts); `before`: the earlier observations, for a delta. */
function expectedText(index: number, told: Told, before: readonly number[]): string {
  const { name, pod } = DISTRIBUTIONS[index] ?? { name: 'h', pod: '' };
  const grown = told.observed.map((count, i) => count - (before[i] ?? 0));
  const count = totalOf(grown, SUM);
  const sum = told.isShown[SUM] === true ? ` sum=${count * 1.5}` : name === 's' ? ' sum=0' : '';
  const parts: string[] = [];
  let last = 0;
  for (const [i, mark] of MARKS[name].entries()) {
    if (told.isShown[i] !== true || mark === '+Inf') continue;
    const total = totalOf(grown, i);
    parts.push(name === 'h' ? `le${mark}:${total - last}` : `q${mark}:${(grown[i] ?? 0) / 2}`);
    last = total;
  }
  if (name === 'h') parts.push(`inf:${count - last}`);
  return [`${name}{pod=${pod}} count=${count}${sum}`, ...parts].join(' ');
}

test('bounds and quantiles are those of the page, on either path', () => {
  let patchedCount = 0;
  const steps = fc.array(step, { minLength: 4, maxLength: 16 });
  const facts = fc.record({ isDelta: fc.boolean(), isTimed: fc.boolean() });
  fc.assert(
    fc.property(steps, facts, (pages, { isDelta, isTimed }) => {
      const temporality = isDelta ? 'delta' : 'cumulative';
      const full = new Target({ temporality });
      const repeating = new Target({ temporality });
      const { table } = repeating.translation;
      const world: Told[] = DISTRIBUTIONS.map(() => ({
        observed: Array.from({ length: 6 }, () => 0),
        isShown: Array.from({ length: 6 }, () => true),
      }));
      for (const [index, { growth, turned, isOpenMetrics }] of pages.entries()) {
        const seconds = 60 * index;
        const expected: string[] = [];
        for (const [i, told] of world.entries()) {
          const before = isDelta && i < 2 ? [...told.observed] : [];
          for (const [j, count] of (growth[i] ?? []).entries())
            told.observed[j] = (told.observed[j] ?? 0) + count;
          // The first two pages show all marks, so that every series is known.
          const isTurned = turned?.[0] === i && index > 1;
          if (isTurned) told.isShown[turned[1]] = told.isShown[turned[1]] !== true;
          // The growth is unknown on the first page, and when the bounds have changed.
          if (!isDelta || i >= 2 || (index > 0 && !isTurned))
            expected.push(expectedText(i, told, before));
        }
        const time = at(seconds - 1) / (isOpenMetrics ? 1000 : 1);
        const stamp = isTimed ? ` ${time}` : '';
        const lines = world.map((told, i) => distributionText(i, told, stamp, isOpenMetrics));
        const end = isOpenMetrics ? '# EOF\n' : '';
        const text = `# TYPE h histogram\n# TYPE s summary\n${lines.join('')}${end}`;
        forgetPage(full.translation.table);
        const { template } = table;
        const first = full.page(seconds, text);
        const second = repeating.page(seconds, text);
        const { payload } = first.translated.batch;
        expect(second.translated.batch.payload.equals(payload)).toBe(true);
        expect(
          second.points.map(point => `${point.metric}{${point.attributes}} ${point.distribution}`),
        ).toEqual(expected);
        if (template !== null && table.template === template) patchedCount++;
      }
    }),
    PARAMETERS,
  );
  expect(patchedCount).toBeGreaterThan(RUNS / 10);
});
