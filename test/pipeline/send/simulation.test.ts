// The sender in simulation: hostile scripts of answers must not change the order, and sending must resume soon. The
// same with many more scripts is in test/fuzz/sender.test.ts.

import { expect, test } from 'vitest';
import {
  arbitraryOutage,
  arbitraryScript,
  fileBench,
  memoryBench,
  runScripts,
  slowResumes,
} from '../../support/sender-scripts.ts';
import {
  type Mood,
  type Outcome,
  pagesOf,
  runScript,
  type Script,
  scriptOf,
} from '../../support/sender-simulation.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const run = (changes: Partial<Script>): Promise<Outcome> =>
  runScript(scriptOf(changes), memoryBench());

const once = (answer: Mood['answer']): Mood => ({ answer, isForEmpty: false });

test.each<[what: string, changes: Partial<Script>]>([
  [
    'from a back end that restarts with 503 and then 500',
    { answers: [503, 503, 503, 500, 500].map(once) },
  ],
  [
    'from a gRPC back end that resets and then runs out of resources',
    { answers: (['drop', { grpc: 14 }, { grpc: 8 }, { grpc: 8 }] as const).map(once) },
  ],
])('pages are taken in order %s', async (_, changes) => {
  const { wrong, aside } = await run({ pages: pagesOf(2, 3, 500), ...changes });
  expect([wrong, aside]).toEqual([[], 0]);
});

test('nothing passes in a flush', async () => {
  const answers = [500, 500, 500].map(once);
  const events = [{ atMs: 800, kind: 'stop', lengthMs: 5000 } as const];
  const { wrong, aside } = await run({ pages: pagesOf(2, 3, 500), answers, events });
  expect([wrong, aside]).toEqual([[], 0]);
});

test.each([500, 404])('a single %i costs seconds', async status => {
  const { wrong, drainedMs } = await run({ answers: [once(status)] });
  expect(wrong).toEqual([]);
  expect(drainedMs).toBeLessThan(2000);
});

test.each([0.3, 0.5])('a backlog goes out in minutes while the share of 500 is %d', async share => {
  const phases = [{ lengthMs: 24 * 3_600_000, mood: once(500), share }];
  const { wrong, log } = await run({ pages: pagesOf(100, 3, 10), phases, seed: 7 });
  expect(wrong).toEqual([]);
  const seconds = Number(
    /^[\d.]+/.exec(log.filter(line => !line.includes('(empty)')).at(-1) ?? '')?.[0],
  );
  expect(seconds).toBeLessThan(10 * 60);
});

test.each([3, 6])('%d rows that are refused as a whole do not stop all others', async bad => {
  const poison = Array.from({ length: 60 }, (_, series) => ({
    service: 0,
    series,
    from: 0,
    to: bad,
    status: 500,
  }));
  const { taken, aside, drainedMs } = await run({ pages: pagesOf(bad + 20, 60), poison });
  expect(taken).toBeGreaterThanOrEqual(20 * 60);
  expect(aside).toBeLessThanOrEqual(bad * 60);
  expect(drainedMs).toBeLessThan(3_600_000);
});

test('no row passes a part of an older one that was not sent directly before', async () => {
  const { wrong } = await run({
    pages: [
      { afterMs: 10, services: [{ series: 2, lagMs: 0 }], isDouble: true },
      {
        afterMs: 15_000,
        services: [
          { series: 2, lagMs: 0 },
          { series: 1, lagMs: 0 },
        ],
        isDouble: true,
      },
      { afterMs: 10, services: [{ series: 1, lagMs: 0 }], isDouble: false },
    ],
    // The back end refuses only the poison in the first 23 requests, and then accepts none for ten minutes.
    answers: Array.from({ length: 23 }, () => null),
    phases: [{ lengthMs: 600_000, mood: { answer: 500, isForEmpty: false }, share: 1 }],
    poison: [{ service: 0, series: 1, from: 0, to: 2, status: 500 }],
    seed: 0,
  });
  expect(wrong).toEqual([]);
});

test('an outage of a quarter of an hour with 500 costs nothing, whenever it ends', async () => {
  let aside = 0;
  for (let lengthMs = 740_000; lengthMs < 760_000; lengthMs += 1000) {
    const phases = [{ lengthMs, mood: { answer: 500, isForEmpty: false } as const, share: 1 }];
    aside += (await run({ pages: pagesOf(14, 60), phases })).aside;
  }
  expect(aside).toBe(0);
}, 60_000);

test('after an outage of less than a minute the first row is sent within two seconds', async () => {
  const total = await runScripts(arbitraryOutage, { numRuns: 50 }, { check: slowResumes });
  expect(total.scripts).toBe(50);
});

test('with any answers, nothing is lost and no row is passed without cause', async () => {
  const total = await runScripts(arbitraryScript, { numRuns: 200 });
  expect(total.scripts).toBe(200);
});

test('the same with a queue file that is reopened after a restart', async () => {
  const directory = temporaryDirectory();
  let runs = 0;
  const open = () => fileBench(`${directory}/${String(runs++)}`);
  const total = await runScripts(arbitraryScript, { numRuns: 10, endOnFailure: true }, { open });
  expect(total.scripts).toBe(10);
});
