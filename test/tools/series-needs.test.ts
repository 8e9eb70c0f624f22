// The series that `check --against` knows to be needed by the shipped alerts and panels.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CATALOG } from '../../src/catalog/all.ts';
import { SERIES_NEEDS } from '../../src/cli/series-needs.ts';
import { COUNTER_SECTIONS } from '../../tools/own-counters.ts';
import { seriesIn, seriesNeedsText } from '../../tools/series-needs.ts';

const FILE = new URL('../../src/cli/series-needs.ts', import.meta.url);
/** The series that the daemon adds to each service. */
const ADDED = /^(?:up|scrape_\w+|prom2otlp_(?:backup|slow_query)_\w+)$/;

test('src/cli/series-needs.ts is current (`node tools/series-needs.ts` writes it)', () => {
  expect(readFileSync(FILE, 'utf8')).toBe(seriesNeedsText());
});

test('each alert and panel needs series, and the program has them all', () => {
  const known = new Set([
    ...CATALOG.map(({ name }) => name),
    ...COUNTER_SECTIONS.flatMap(({ counters }) => counters.map(({ name }) => name)),
  ]);
  const lines = SERIES_NEEDS.trim().split('\n');
  expect(lines.length).toBeGreaterThan(100);
  for (const line of lines) {
    const names = (line.split('\t')[2] ?? '').split(' ');
    const unknown = names.filter(name => !known.has(name) && !ADDED.test(name));
    expect(unknown, line).toEqual([]);
  }
});

test('names are found among functions, labels, texts and comments', () => {
  const expr = `sum by (job, a) (rate(one_total{b=~"two|three"}[5m] offset 1h) * on (a) group_left other) # four
    / on (job) group_left (c) max_over_time(five[1h]) > bool 6e3 unless up == 1`;
  expect(seriesIn(expr)).toEqual(['one_total', 'other', 'five', 'up']);
});
