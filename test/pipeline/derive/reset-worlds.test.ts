// F5 to F8 in a few random worlds of processes with known increments; test/fuzz has many more.
import { assert, property } from 'fast-check';
import { expect, test } from 'vitest';
import { CALM, processWorlds, restartWorlds, type WorldStep } from '../../support/process-world.ts';
import { expectAllCounted, expectNothingFalse, readWorld } from '../../support/reset-readers.ts';

const FEW = { numRuns: 40, seed: 57 };

/** A page with growth; the worlds below differ from it where something happens. */
const PAGE: WorldStep = { ...CALM, growthElsewhere: 7 };

test('F5: no reader of starts or deltas reports false growth', () => {
  assert(property(processWorlds, expectNothingFalse), FEW);
});

test('F5: with a punctual uptime, everything that pages show over a restart is counted', () => {
  assert(property(restartWorlds, expectAllCounted), FEW);
});

test('F5: the readers count what a page shows, and values alone mislead at a failover', () => {
  const steps = [
    ...Array.from({ length: 6 }, () => PAGE),
    { ...PAGE, act: 'failover' } as const,
    PAGE,
  ];
  const world = { intervalSeconds: 60, isStamped: true, uptime: 'in time', steps } as const;
  const { claims } = readWorld(world);
  const queries = (reader: string): (readonly number[])[] =>
    claims
      .filter(claim => claim.reader === reader && claim.counter === 'queries' && claim.page > 4)
      .map(({ amount, happened }) => [amount, happened]);
  expect(queries('start')).toEqual([
    [5, 5],
    [0, 7],
    [5, 5],
  ]);
  expect(queries('delta')).toEqual([
    [5, 5],
    [5, 5],
  ]);
  expect(queries('value')).toEqual([
    [5, 5],
    [4_000_019, 7],
    [5, 5],
  ]);
});

test('F5: a long poll that a late uptime may explain is no flush: the other process had counted before', () => {
  const still = { ...PAGE, share: 0.01, growth: 0, growthElsewhere: 0 } as const;
  const shuffle = { ...still, act: 'shuffle' } as const;
  const restart = { ...still, act: 'restart' } as const;
  const failover = { ...still, act: 'failover', other: 1 } as const;
  const steps = [
    restart,
    { ...shuffle, kind: 'failure' } as const,
    still,
    restart,
    restart,
    { ...restart, isOurRestart: true } as const,
    { ...failover, absent: 'counter' } as const,
    shuffle,
    { ...failover, isLong: true } as const,
  ];
  expectNothingFalse({ intervalSeconds: 15, isStamped: false, uptime: 'in time', steps });
});
