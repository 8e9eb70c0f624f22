// The starts are saved when one has changed, and only then: a page that adds, refuses or forgets other
// series writes no state.

import { expect, test } from 'vitest';
import { defaultConfig } from '../../../src/config/load.ts';
import { saveStarts } from '../../../src/pipeline/derive/state.ts';
import { finished, Target } from '../../support/target.ts';

const { limits } = defaultConfig().metrics;

/** A counter with its uptime, and gauges with these ids. */
function page(seconds: number, ids: readonly number[], count = seconds): string {
  const gauges = ids.map(id => `load{id="${id}",server_name="s"} 1\n`);
  return `engine_global_status_uptime{server_name="s"} ${1000 + seconds}
engine_global_status_questions{server_name="s"} ${count}\n${gauges.join('')}`;
}

function isSaved({ translation }: Target): boolean {
  return finished(saveStarts(translation.table)) !== null;
}

test('new gauges change no start', () => {
  const target = new Target();
  target.page(0, page(0, [1]));
  expect(isSaved(target)).toBe(true);
  target.page(60, page(60, [1, 2]));
  expect(isSaved(target)).toBe(false);
});

test('series that a limit refuses on each page change no start', () => {
  const target = new Target({ metrics: { limits: { ...limits, series: 3 } } });
  target.page(0, page(0, [1]));
  expect(isSaved(target)).toBe(true);
  const { reads } = target.page(60, page(60, [1, 2]));
  expect(reads).toMatchObject({ series_limit: 1 });
  expect(isSaved(target)).toBe(false);
});

test('a forgotten gauge changes no start', () => {
  const target = new Target();
  target.page(0, page(0, [1]));
  expect(isSaved(target)).toBe(true);
  const rows = (): number => target.translation.table.count - target.translation.table.free.length;
  const before = rows();
  for (let seconds = 60; seconds <= 2 * 3600; seconds += 60) {
    target.page(seconds, page(seconds, []));
    expect([seconds, isSaved(target)]).toEqual([seconds, false]);
  }
  expect(rows()).toBe(before - 1);
});

test.each([
  [
    'a new counter',
    (text: string) => `${text}engine_global_status_slow_queries{server_name="s"} 5\n`,
    60,
  ],
  ['a fall', (text: string) => text.replace(/questions(.*) 60/, 'questions$1 3'), 60],
])('%s changes a start', (_, change, seconds) => {
  const target = new Target();
  target.page(0, page(0, [], 10));
  expect(isSaved(target)).toBe(true);
  target.page(seconds, change(page(seconds, [])));
  expect(isSaved(target)).toBe(true);
  target.page(120, change(page(120, [])));
  expect(isSaved(target)).toBe(false);
});

test('a forgotten counter changes the starts', () => {
  const target = new Target();
  const more = 'engine_global_status_slow_queries{server_name="s"} 5\n';
  target.page(0, page(0, []) + more);
  expect(isSaved(target)).toBe(true);
  let saved = 0;
  for (let seconds = 60; seconds <= 2 * 3600; seconds += 60) {
    target.page(seconds, page(seconds, []));
    if (isSaved(target)) saved++;
  }
  expect(saved).toBe(1);
});
