// Targets over reloads, some before they saw a page, show the same as one target that saw all pages.

import { expect, test } from 'vitest';
import { successorOf, T0, Target } from '../support/target.ts';

const OPTIONS = { services: ['db1', 'db2'], temporality: 'delta' } as const;

/** A page with a counter and a gauge of each service, both with timestamps, and without an uptime. */
function pageText(ids: readonly string[], value: number, atS: number): string {
  return ids
    .flatMap(id => [
      `engine_global_status_questions{namespace="${id}"} ${value} ${T0 + atS * 1000}\n`,
      `engine_global_status_threads_connected{namespace="${id}"} ${value} ${T0 + atS * 1000}\n`,
    ])
    .join('');
}

/** The target after a reload, which keeps the clock of the pages. */
function successor(former: Target): Target {
  const next = successorOf(former, OPTIONS);
  Object.assign(next.translation.table.clock, former.translation.table.clock);
  return next;
}

/** The points of each page, with this many reloads between two pages. */
function shown(heirs: number): readonly (readonly string[])[] {
  let target = new Target(OPTIONS);
  const all: (readonly string[])[] = [];
  const then = (see: () => readonly string[]): void => {
    all.push(see());
    for (let i = 0; i < heirs; i++) target = successor(target);
  };
  then(() => target.page(0, pageText(['db1', 'db2'], 100, 0)).shown);
  then(() => target.page(60, pageText(['db1', 'db2'], 110, 60)).shown);
  // The same page again, then a page without the second service.
  then(() => target.page(120, pageText(['db1', 'db2'], 110, 60)).shown);
  then(() => target.page(180, pageText(['db1'], 125, 180)).shown);
  then(() => target.page(240, pageText(['db1', 'db2'], 130, 240)).shown);
  return all.map(lines => lines.filter(line => !line.includes('stale')));
}

test('nothing is forgotten over two reloads between two pages', () => {
  const expected = shown(0);
  expect(expected.map(lines => lines.length)).toEqual([2, 4, 0, 2, 4]);
  expect(shown(1)).toEqual(expected);
  expect(shown(3)).toEqual(expected);
});

test('a clock that was set back by minutes makes no time go back', () => {
  const text = (value: number): string => `x{namespace="db1"} ${value}\n`;
  let target = new Target(OPTIONS);
  target.page(0, text(1));
  target.page(60, text(2));
  expect(target.page(120, text(3), { wall: -180 }).shown).toEqual(['gauge x{} 3 @90']);
  // The second target is replaced before it sees a page.
  target = successor(successor(target));
  const { shown, own } = target.page(180, text(4), { wall: -120 });
  expect(shown).toEqual(['gauge x{} 4 @120']);
  expect(new Set(own.map(({ timeNs }) => timeNs))).toEqual(new Set([`${T0 + 120_000}000000`]));
});

test('without start times none is taken over, also past a reload without a page', () => {
  const page = (seconds: number): string =>
    ['questions 100', `uptime ${1000 + seconds}`]
      .map(sample => `engine_global_status_${sample}\n`)
      .join('');
  let target = new Target();
  expect(target.page(0, page(0)).shown).toContain(
    'sum engine_global_status_questions{} 100 @0 from -1000',
  );
  for (const startTimes of [true, false]) {
    target = successorOf(target, { metrics: { startTimes } });
  }
  expect(target.page(60, page(60)).shown).toContain('sum engine_global_status_questions{} 100 @60');
});

test('a service that was down and stays down is awaited for an hour, not for ever', () => {
  const former = new Target(OPTIONS);
  former.page(0, pageText(['db1', 'db2'], 100, 0));
  former.page(60, pageText(['db2'], 110, 60));
  const next = successor(former);
  const { table } = next.translation;
  for (let minute = 2; minute < 30; minute++)
    next.page(60 * minute, pageText(['db2'], 110 + minute, 60 * minute));
  expect(table.restored).not.toBeNull();
  for (let minute = 30; minute < 80; minute++)
    next.page(60 * minute, pageText(['db2'], 110 + minute, 60 * minute));
  expect(table.restored).toBeNull();
});
