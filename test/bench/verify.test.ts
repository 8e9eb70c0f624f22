// The bench's check of the received samples finds every sample that is missing, duplicate, changed or invented.

import { expect, test } from 'vitest';
import { pageOf } from '../../bench/corpus/corpora.ts';
import { PageSource } from '../../bench/corpus/page-source.ts';
import type { Poll } from '../../bench/page-server.ts';
import { Received } from '../../bench/sink/received.ts';
import { SeriesCounts, SeriesHash } from '../../bench/sink/series.ts';
import { findLosses } from '../../bench/verify.ts';

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
      return {
        series: rest.reverse().join(' '),
        value: Number(value),
        timeMs: Number(time),
      };
    });
}

function serve(times: readonly number[]): { polls: Poll[]; lines: Line[] } {
  const source = new PageSource(pageOf(SPEC, 0));
  const polls: Poll[] = [];
  const lines: Line[] = [];
  for (const timeMs of times) {
    const { bytes, tally, followed } = source.render(timeMs);
    polls.push({ address: 0, timeMs, tally, followed });
    lines.push(...readPage(bytes.toString()));
  }
  return { polls, lines };
}

function receive(lines: readonly Line[]): Received {
  const received = new Received();
  const hash = new SeriesHash();
  for (const { series, value, timeMs } of lines) {
    received.sample(timeMs, value);
    received.point(hash.reset().add(series));
    const [, service = ''] =
      /^engine_global_status_questions\{.*namespace="([^"]+)"/.exec(series) ?? [];
    if (service !== '') received.follow(timeMs, service, value);
  }
  return received;
}

// Uptimes on the page count from shortly before now.
const NOW_MS = Date.now();
const TIMES = [NOW_MS, NOW_MS + 10_000, NOW_MS + 20_000];

function lossesOf(lines: readonly Line[], polls: readonly Poll[], isRounded = false) {
  const received = receive(lines).report();
  return findLosses({ polls, received, corpus: SPEC.corpus, isRounded });
}

test('every sample of a page counts as arrived', () => {
  const { polls, lines } = serve(TIMES);
  expect(lines).toHaveLength(3 * 2 * SPEC.series);
  expect(polls[0]?.followed).toHaveLength(2);
  expect(lossesOf(lines, polls)).toEqual([]);
});

test('values and timestamps move at every poll', () => {
  const { lines } = serve(TIMES.slice(0, 2));
  const [first, second] = [lines.slice(0, 400), lines.slice(400)];
  expect(second.map(line => line.series)).toEqual(first.map(line => line.series));
  const same = first.filter(({ value }, index) => second[index]?.value === value);
  expect(same.map(line => line.series)).toEqual([]);
  expect(new Set(second.map(line => line.timeMs))).toEqual(new Set([TIMES[1]]));
});

test('a missing, duplicate, changed, misplaced or invented sample is found', () => {
  const { polls, lines } = serve(TIMES);
  const [first] = lines;
  if (first === undefined) throw new Error('the page is empty');
  const rest = lines.slice(1);
  const check = (changed: readonly Line[], words: RegExp): void => {
    expect(lossesOf(changed, polls).join('\n')).toMatch(words);
  };
  check(rest, /399 of 400 samples/);
  check([...lines, first], /401 of 400 samples/);
  check([{ ...first, value: first.value + 1 }, ...rest], /400 samples with other values/);
  check([{ ...first, value: first.value * (1 + 2e-16) }, ...rest], /400 samples with other values/);
  check([{ ...first, timeMs: 1 }, ...rest], /1 samples that were not served/);
  check([{ ...first, series: 'other' }, ...rest], /series by count/);
});

test('rounding is accepted only where the contender declares it', () => {
  const { polls, lines } = serve(TIMES);
  const rounded = lines.map(line => ({ ...line, value: line.value * (1 + 2e-16) }));
  expect(lossesOf(rounded, polls, true)).toEqual([]);
  const changed = lines.map(line => ({ ...line, value: line.value * (1 + 1e-9) }));
  expect(lossesOf(changed, polls, true)).not.toEqual([]);
});

test('any number of series are distinguished and counted', () => {
  const counts = new SeriesCounts();
  const hash = new SeriesHash();
  for (let series = 0; series < 100_000; series++) counts.add(hash.reset().add(`series ${series}`));
  counts.add(hash.reset().add('series 7'));
  expect(counts.byCount()).toEqual(
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
