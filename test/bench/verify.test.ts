// The bench's check of the received samples finds every sample that is missing, duplicate, changed, misplaced, invented
// or under the labels of another series.

import { expect, test } from 'vitest';
import { pageOf } from '../../bench/corpus/corpora.ts';
import { PageSource } from '../../bench/corpus/page-source.ts';
import { findLosses, type SeriesSet } from '../../bench/corpus/series-set.ts';
import { Received, SeriesHash } from '../../bench/sink/received.ts';

const SPEC = { corpus: 'engine', addresses: 1, services: 2, series: 200 } as const;

interface Line {
  readonly series: string;
  readonly value: number;
  readonly timeMs: number;
}

/** Reads the samples from the page's text, without the parsers of the bench and of the program. */
function readPage(text: string): Line[] {
  return text
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => {
      const [time = '', value = '', ...rest] = line.split(' ').reverse();
      return { series: rest.reverse().join(' '), value: Number(value), timeMs: Number(time) };
    });
}

// Uptimes on the page count from shortly before now.
const NOW_MS = Date.now();
const TIMES = [NOW_MS, NOW_MS + 10_000, NOW_MS + 20_000];

function serve(corpus: 'engine' | 'histograms' | 'churning' = 'engine') {
  const source = new PageSource(pageOf({ ...SPEC, corpus }, 0));
  const lines = TIMES.flatMap(timeMs => {
    const page = source.render(timeMs);
    source.count();
    return readPage(page.toString());
  });
  const served: SeriesSet = new Map();
  source.addServed(served);
  return { served, lines };
}

function lossesOf(lines: readonly Line[], served: SeriesSet, isRounded = false): string {
  const received = new Received(true);
  const hash = new SeriesHash();
  for (const { series, value, timeMs } of lines)
    received.sample(hash.reset().add(series), timeMs, value);
  return findLosses(served, received.series(), isRounded).join('\n');
}

test.each(['engine', 'histograms', 'churning'] as const)(
  '%s: every sample of a page counts as arrived, in any order',
  corpus => {
    const { served, lines } = serve(corpus);
    expect(lines.length).toBeGreaterThan(1000);
    expect(lossesOf(lines.toReversed(), served)).toBe('');
  },
);

test('a page that was given up does not count', () => {
  const source = new PageSource(pageOf(SPEC, 0));
  source.render(NOW_MS);
  const text = source.render(NOW_MS + 1).toString();
  source.count();
  const served: SeriesSet = new Map();
  source.addServed(served);
  expect(lossesOf(readPage(text), served)).toBe('');
});

test('values and timestamps move at every poll', () => {
  const { lines } = serve();
  const [first, second] = [lines.slice(0, 400), lines.slice(400, 800)];
  expect(second.map(line => line.series)).toEqual(first.map(line => line.series));
  const same = first.filter(({ value }, index) => second[index]?.value === value);
  expect(same.map(line => line.series)).toEqual([]);
  expect(new Set(second.map(line => line.timeMs))).toEqual(new Set([TIMES[1]]));
});

test('a missing, duplicate, changed, misplaced, invented or mislabelled sample is found', () => {
  const { served, lines } = serve();
  const [first, second, ...others] = lines;
  if (first === undefined || second === undefined) throw new Error('the page is empty');
  const rest = [second, ...others];
  const other = /some had other values, times or labels/;
  expect(lossesOf(rest, served)).toMatch(/1199 of 1200 samples/);
  expect(lossesOf([...lines, first], served)).toMatch(/1201 of 1200 samples/);
  expect(lossesOf([{ ...first, value: first.value + 1 }, ...rest], served)).toMatch(other);
  const nearly = { ...first, value: first.value * (1 + 2e-16) };
  expect(lossesOf([nearly, ...rest], served)).toMatch(other);
  expect(lossesOf([{ ...first, timeMs: 1 }, ...rest], served)).toMatch(other);
  expect(lossesOf([{ ...first, series: 'other' }, ...rest], served)).toMatch(/series by count/);
  const swapped = [
    { ...first, series: second.series },
    { ...second, series: first.series },
  ];
  expect(lossesOf([...swapped, ...others], served)).toMatch(other);
});

test('rounding is accepted only where the contender declares it', () => {
  const { served, lines } = serve();
  const rounded = lines.map(line => ({ ...line, value: line.value * (1 + 2e-16) }));
  expect(lossesOf(rounded, served, true)).toBe('');
  const changed = lines.map(line => ({ ...line, value: line.value * (1 + 1e-6) }));
  expect(lossesOf(changed, served, true)).not.toBe('');
});

test('any number of series are distinguished and counted', () => {
  const received = new Received(true);
  const hash = new SeriesHash();
  for (let series = 0; series < 100_000; series++)
    received.sample(hash.reset().add(`series ${series}`), 1, 1);
  received.sample(hash.reset().add('series 7'), 1, 1);
  const counts = [...received.series()].map(([samples, { series }]) => [samples, series]);
  expect(new Map(counts as [number, number][])).toEqual(
    new Map([
      [1, 99_999],
      [2, 1],
    ]),
  );
});

test('names and values of a series do not run into each other', () => {
  const hash = (...parts: readonly string[]): number => {
    const all = new SeriesHash();
    for (const part of parts) all.add(part);
    return all.value;
  };
  expect(hash('a', 'bc')).not.toBe(hash('ab', 'c'));
  expect(hash('a', 'bc')).toBe(hash('a', 'bc'));
});
