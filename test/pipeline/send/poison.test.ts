// The results and the cost of a search for poison, in complete simulated runs.

import { expect, test } from 'vitest';
import { ROUNDS } from '../../../src/pipeline/send/poison.ts';
import { memoryBench } from '../../support/sender-scripts.ts';
import {
  type Mood,
  type Outcome,
  pagesOf,
  runScript,
  type Script,
  scriptOf,
} from '../../support/sender-simulation.ts';

const MINUTE_MS = 60_000;
const always: Mood = { answer: 500, isForEmpty: false };

async function run(changes: Partial<Script>): Promise<Outcome> {
  const outcome = await runScript(scriptOf(changes), memoryBench());
  expect(outcome.wrong).toEqual([]);
  return outcome;
}

/** Pages with four series, one a minute. */
const pages = (count: number): Script['pages'] => pagesOf(count, 4);
/** Every series of the first page is poison. */
const ALL = [0, 1, 2, 3].map(series => ({ service: 0, series, from: 0, to: 1, status: 500 }));

/** The time of a log line, in minutes. */
const minutesOf = (line: string | undefined): number => Number.parseFloat(line ?? '') / 60;

test('one poisonous series on one page costs that point alone, after rounds a minute apart', async () => {
  const poison = [{ service: 0, series: 2, from: 0, to: 1, status: 500 }];
  const { aside, taken, log } = await run({ pages: pages(12), poison });
  expect([taken, aside]).toEqual([47, 1]);
  const refusals = log.filter(line => line.includes('500') && line.endsWith(' s0/m2@0'));
  const found = minutesOf(refusals[0]);
  const gone = minutesOf(log.find(line => line.includes('aside')));
  expect(found).toBeGreaterThan(1);
  expect(gone - found).toBeGreaterThan(ROUNDS - 0.1);
  expect(gone - found).toBeLessThan(ROUNDS + 1);
  // The other points of the page did not wait for the search, and later pages passed the point in rounds.
  const others = log.find(line => line.includes('200') && line.includes('s0/m3@0'));
  expect(minutesOf(others)).toBeLessThan(1.2);
  const passed = log.filter(line => line.includes('200') && minutesOf(line) < gone).slice(2);
  for (const [i, line] of passed.entries()) {
    const apart = i === 0 ? 0 : minutesOf(line) - minutesOf(passed[i - 1]);
    if (apart > 0.01) expect(apart).toBeGreaterThan(0.99);
  }
});

test('a series that is poison on every page costs only its points, and the queue does not grow', async () => {
  const poison = [{ service: 0, series: 1, from: 0, to: 100, status: 500 }];
  const { aside, taken, drainedMs } = await run({ pages: pages(30), poison });
  expect(aside).toBe(30);
  expect(taken).toBeGreaterThanOrEqual(90);
  expect(drainedMs).toBeLessThan(15 * MINUTE_MS);
});

test('nor does it grow if three other rows come between two such pages', async () => {
  const poison = Array.from({ length: 30 }, (_, i) => {
    return { service: 0, series: 1, from: 4 * i, to: 4 * i + 1, status: 500 };
  });
  const { aside, drainedMs } = await run({ pages: pagesOf(120, 4, 15_000), poison });
  expect(aside).toBe(30);
  expect(drainedMs).toBeLessThan(15 * MINUTE_MS);
});

test('a row of which nothing is accepted is passed by one row only before it is searched again', async () => {
  // Rows of two services in turn: the row of the other service is the first that is accepted.
  const alternating = Array.from({ length: 24 }, (_, i) => ({
    afterMs: i === 0 ? 0 : 30_000,
    services: [0, 1].map(service => ({ series: i % 2 === service ? 3 : 0, lagMs: 0 })),
    isDouble: false,
  }));
  for (let count = 1; count <= 60; count++) {
    const answers = Array.from({ length: count }, () => always);
    const { aside } = await run({ pages: alternating, answers });
    expect([count, aside]).toEqual([count, 0]);
  }
});

test('a back end that answers 500 to every second request costs nothing', async () => {
  for (const first of [0, 1]) {
    const answers = Array.from({ length: 400 }, (_, i) => (i % 2 === first ? always : null));
    const { aside, drainedMs } = await run({ pages: pages(10), answers });
    expect(aside).toBe(0);
    expect(drainedMs).toBeLessThan(MINUTE_MS);
  }
});

test('a back end that answers 500 to all for an hour costs nothing, and no row passes another', async () => {
  const phases = [{ lengthMs: 60 * MINUTE_MS, mood: always, share: 1 }];
  const { aside, passedInVain, drainedMs, requests } = await run({ pages: pages(20), phases });
  expect([aside, passedInVain]).toEqual([0, 0]);
  expect(drainedMs).toBeLessThan(2 * MINUTE_MS);
  expect(requests).toBeLessThan(60 * 64);
});

test.each([401, 403, 404, 405])('%i says nothing about content, however long', async answer => {
  const mood: Mood = { answer, isForEmpty: false };
  const phases = [{ lengthMs: 60 * MINUTE_MS, mood, share: 1 }];
  const { aside, requests, drainedMs } = await run({ pages: pages(20), phases });
  expect(aside).toBe(0);
  // One request a minute for the first row, and one for each of the others.
  expect(requests).toBeLessThan(60 + 10 + 20);
  expect(drainedMs).toBeLessThan(MINUTE_MS + 2000);
});

test('a row of which nothing is accepted does not block the queue for days', async () => {
  const { aside, taken, drainedMs } = await run({ pages: pages(20), poison: ALL });
  expect([taken, aside]).toEqual([76, 4]);
  expect(drainedMs).toBeLessThan(10 * MINUTE_MS);
});

test('with concurrency, what other lanes get accepted proves that the back end works', async () => {
  const { aside, taken, log } = await run({ pages: pages(20), poison: ALL, concurrency: 2 });
  expect([taken, aside]).toEqual([76, 4]);
  // The first round begins after a minute, and no round is in vain although nothing of the row itself is ever accepted.
  const gone = log.filter(line => line.includes('aside')).map(minutesOf);
  expect(Math.max(...gone)).toBeLessThan(1 + ROUNDS + 0.5);
});
