// The rules of restarts (F5 to F8) over hours of ordinary life: what readers of the sent points claim though it did not
// happen, what they miss, and how often a start moves though nothing has begun. The bounds are those of the rules; a
// world of fewer hours may exceed them by half. The intervals in which prom2otlp was killed are counted apart.

import { describe, expect, test } from 'vitest';
import { type LifeOptions, noScore, type Score, scoreLife } from '../support/ordinary-readers.ts';
import { LIFE, ORDINARY } from '../support/ordinary-world.ts';

/** Hours of all worlds together. */
const HOURS = Number(process.env['ORDINARY_HOURS'] ?? 2000);
const { hour, never, second } = LIFE;

interface World {
  readonly name: string;
  readonly seed: number;
  readonly changes: Partial<LifeOptions>;
  readonly bounds: Bounds;
}

/** `over`: false claims in an hour. `lost`: per cent of the true growth. `falseStarts`: in 1,000 calm points. */
interface Bounds {
  readonly over: number;
  readonly lost: number;
  readonly falseStarts: number;
}

const TWINS: Partial<LifeOptions> = {
  isStamped: false,
  twinsMs: 180 * second,
  failoverMs: 3 * hour,
  restartMs: never,
  flushMs: never,
};
const MILD = { isCached: false, isUptimeApart: false, hasOldStamps: false };
/** No clock, cache or scrape is ever wrong, but the uptime is that of the poll before. */
const LATE: Partial<LifeOptions> = {
  ...MILD,
  isStamped: false,
  isSlow: false,
  skewMs: 0,
  clockStepMs: never,
  failures: 0,
  failoverMs: never,
  flushMs: never,
  restartMs: 24 * hour,
  proxyRestartMs: 24 * hour,
  isUptimeLate: true,
};

const CALM: World = {
  name: 'ordinary life, stamped',
  seed: 1,
  changes: { isStamped: true },
  bounds: { over: 0, lost: 0.25, falseStarts: 0.1 },
};

const WORLDS: readonly World[] = [
  CALM,
  {
    name: 'ordinary life, without stamps',
    seed: 1,
    changes: { isStamped: false },
    bounds: { over: 0, lost: 0.28, falseStarts: 0.1 },
  },
  {
    name: 'twins that began within three minutes, mild',
    seed: 9,
    changes: { ...TWINS, ...MILD },
    bounds: { over: 6 / 600, lost: 0.13, falseStarts: 0.1 },
  },
  {
    name: 'twins that began within three minutes',
    seed: 9,
    changes: TWINS,
    bounds: { over: 38 / 600, lost: 0.2, falseStarts: 0.2 },
  },
  {
    name: 'an uptime that is always a poll late',
    seed: 1,
    changes: LATE,
    bounds: { over: 40 / 240, lost: 0.05, falseStarts: 0.4 },
  },
];

/** A world of some hours, every second one read without the repeating path. */
function live(hours: number, { seed: first, changes }: World, isDelta: boolean): Score {
  const score = noScore();
  for (let i = 0; i * 20 < hours; i++) {
    const seed = first + i;
    const options = {
      ...ORDINARY,
      intervalMs: ([15, 30][seed % 3] ?? 60) * second,
      restartMs: ([1, 6, 24][(seed >> 1) % 4] ?? 168) * hour,
      isDelta,
      isFull: seed % 2 === 0,
      endMs: never,
    };
    scoreLife(score, seed, { ...options, ...changes });
  }
  return score;
}

function lostShare({ truth, claimed, killed }: Score): number {
  return (100 * (truth - claimed - killed)) / truth;
}

describe.each(WORLDS)('F5: $name', world => {
  const hours = HOURS / 10;
  // Fewer hours scatter.
  const slack = hours < 600 ? 1.5 : 1;

  test.each([
    { isDelta: false, as: 'starts and values' },
    { isDelta: true, as: 'deltas' },
  ])('read as $as', ({ isDelta }) => {
    const score = live(hours, world, isDelta);
    const { over, lost, falseStarts } = world.bounds;
    expect(score.wrong).toEqual([]);
    // One count of a rare event may be claimed an interval early.
    expect(score.overTimes).toBeLessThanOrEqual(Math.ceil(over * hours * slack) + hours / 200);
    if (over === 0) expect(score.over / score.truth).toBeLessThan(1e-5);
    expect(lostShare(score)).toBeLessThanOrEqual(lost * slack);
    expect(score.repeating).toBeGreaterThan(hours);
    if (isDelta) return;
    expect(score.calm).toBeGreaterThan(100 * hours);
    expect((1000 * score.falseStarts) / score.calm).toBeLessThanOrEqual(falseStarts * slack);
  });
});

describe('F8: prom2otlp is killed or stopped every third hour', () => {
  test.each([
    { name: 'stamped', isStamped: true, hasCreated: false },
    { name: 'without stamps', isStamped: false, hasCreated: false },
    { name: 'creation times, stamped', isStamped: true, hasCreated: true },
    { name: 'creation times, without stamps', isStamped: false, hasCreated: true },
  ])('$name, while counters leave and return', changes => {
    for (const isDelta of [false, true]) {
      const ends = { ...changes, absenceMs: 5 * hour, endMs: 3 * hour };
      const score = live(40, { ...CALM, changes: ends }, isDelta);
      expect(score.wrong).toEqual([]);
      expect(score.over / score.truth).toBeLessThan(1e-5);
    }
  });

  test('a stop loses nothing, and a kill at most an interval', () => {
    const score = live(100, { ...CALM, changes: { endMs: 3 * hour } }, false);
    const undisturbed = live(100, CALM, false);
    expect(score.killed / score.truth).toBeLessThan(0.01);
    expect(lostShare(score)).toBeLessThanOrEqual(lostShare(undisturbed) + 0.05);
  });
});
