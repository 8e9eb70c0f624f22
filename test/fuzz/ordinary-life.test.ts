// The rules of restarts (F5 to F8) over hours of ordinary life: what readers of the sent points claim though it did not
// happen, what they miss, and how often a start moves though nothing has begun. Every sample is compared with the plain
// rules (test/support/ordinary-rule.ts), and must agree with them.
//
// The bounds are those of the plain rules over some thousand hours; fewer hours may exceed them by half. Each leaves out
// the tenth of the worlds that is worst for it: about one world of ten has an uptime that alternates between 30 s and
// 90 s and never stands still, for which the plain rules have no answer either. The intervals in which prom2otlp was
// killed are counted apart.

import { describe, expect, test } from 'vitest';
import {
  type LifeOptions,
  noScore,
  type Score,
  scoreLife,
  sumOf,
} from '../support/ordinary-readers.ts';
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

/** Worlds of 20 hours each, every second one read without the repeating path. */
function live(hours: number, { seed: first, changes }: World, isDelta: boolean): Score[] {
  return Array.from({ length: hours / 20 }, (_, i) => {
    const seed = first + i;
    const options = {
      ...ORDINARY,
      intervalMs: ([15, 30][seed % 3] ?? 60) * second,
      restartMs: ([1, 6, 24][(seed >> 1) % 4] ?? 168) * hour,
      isDelta,
      isFull: seed % 2 === 0,
      endMs: never,
    };
    const score = noScore();
    scoreLife(score, seed, { ...options, ...changes });
    return score;
  });
}

/** The sum of the scores without the tenth in which this figure is largest. */
function usual(scores: readonly Score[], figure: (score: Score) => number): Score {
  const sorted = [...scores].sort((a, b) => figure(a) - figure(b));
  return sumOf(sorted.slice(0, Math.ceil(0.9 * scores.length)));
}

function overShare({ over, truth }: Score): number {
  return over / truth;
}

function lostShare({ truth, claimed, killed }: Score): number {
  return (100 * (truth - claimed - killed)) / truth;
}

/** In 1,000 calm points. */
function falseStartRate({ falseStarts, calm }: Score): number {
  return (1000 * falseStarts) / calm;
}

describe.each(WORLDS)('F5: $name', world => {
  const hours = HOURS / 10;
  // Fewer hours scatter.
  const slack = hours < 600 ? 1.5 : 1;

  test.each([
    { isDelta: false, as: 'starts and values' },
    { isDelta: true, as: 'deltas' },
  ])('read as $as', ({ isDelta }) => {
    const scores = live(hours, world, isDelta);
    const { over, lost, falseStarts } = world.bounds;
    const all = sumOf(scores);
    expect(all.wrong).toEqual([]);
    expect(all.different).toEqual([]);
    expect(all.judged).toBeGreaterThan(100 * hours);
    expect(all.repeating).toBeGreaterThan(hours);
    // One count of a rare event may be claimed an interval early.
    const overMax = Math.ceil(over * hours * slack) + hours / 200;
    expect(usual(scores, ({ overTimes }) => overTimes).overTimes).toBeLessThanOrEqual(overMax);
    if (over === 0) expect(overShare(usual(scores, overShare))).toBeLessThan(1e-5);
    expect(lostShare(usual(scores, lostShare))).toBeLessThanOrEqual(lost * slack);
    if (isDelta) return;
    expect(all.calm).toBeGreaterThan(100 * hours);
    const rate = falseStartRate(usual(scores, falseStartRate));
    expect(rate).toBeLessThanOrEqual(falseStarts * slack);
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
      const score = sumOf(live(40, { ...CALM, changes: ends }, isDelta));
      expect(score.wrong).toEqual([]);
      expect(overShare(score)).toBeLessThan(1e-5);
    }
  });

  test('a stop loses nothing, and a kill at most an interval', () => {
    const score = sumOf(live(100, { ...CALM, changes: { endMs: 3 * hour } }, false));
    const undisturbed = sumOf(live(100, CALM, false));
    expect(score.killed / score.truth).toBeLessThan(0.01);
    expect(lostShare(score)).toBeLessThanOrEqual(lostShare(undisturbed) + 0.05);
  });
});
