// Checks that the ledger finds false claims, losses, and streams that overlap. Each case is a few pages of one or two
// processes, with the points that a right or a wrong sender would make of them.

import { describe, expect, test } from 'vitest';
import {
  agrees,
  judge,
  Ledger,
  type Life,
  type Point,
  type Read,
  readByStarts,
  readByValues,
  readDeltas,
  type Reading,
  type Verdict,
} from './truth-ledger.ts';

/** Asks a process for `count` statements, one in each millisecond from `fromMs` on. */
function ask(ledger: Ledger, life: Life, fromMs: number, count: number): void {
  for (let i = 0; i < count; i++) {
    ledger.asked(life, 'statements', fromMs + i);
    ledger.done(life, 'statements', fromMs + i);
  }
}

function page(atMs: number, life: Life, statements: number, position = statements): Reading {
  return {
    atMs,
    askedForMs: atMs,
    fetchedFromMs: atMs,
    fetchedToMs: atMs,
    life,
    values: { statements, refusals: 0 },
    positions: { statements: position, refusals: 0 },
    scene: 'a test',
  };
}

function points(
  ...all: readonly (readonly [startMs: number, timeMs: number, value: number])[]
): Point[] {
  return all.map(([startMs, timeMs, value]) => ({ startMs, timeMs, value }));
}

/** A process counts 10 by 1000 and 16 by 2000, and 4 more that no page shows; another counts 3 from 3000 on. */
function restart(): { ledger: Ledger; pages: Reading[] } {
  const ledger = new Ledger();
  const old = ledger.begin();
  ledger.stand(old, 0);
  ask(ledger, old, 100, 10);
  ask(ledger, old, 1100, 6);
  ask(ledger, old, 2100, 4);
  ledger.stand(null, 2500);
  const young = ledger.begin();
  ledger.stand(young, 2600);
  ask(ledger, young, 2700, 3);
  return { ledger, pages: [page(1000, old, 10), page(2000, old, 16), page(3000, young, 3)] };
}

/** A process with 10 is followed by one that has counted 100 before, and 5 since. */
function failover(): { ledger: Ledger; pages: Reading[] } {
  const ledger = new Ledger();
  const [one, other] = [ledger.begin(), ledger.begin()];
  ledger.stand(one, 0);
  ask(ledger, one, 100, 10);
  ask(ledger, other, 200, 100);
  ledger.stand(other, 1500);
  ask(ledger, other, 1600, 5);
  return { ledger, pages: [page(1000, one, 10), page(2000, other, 105)] };
}

describe('a restart', () => {
  test.each<[what: string, read: Read, verdict: Partial<Verdict>]>([
    [
      'read by its starts, everything that pages show is counted',
      readByStarts(points([50, 1000, 10], [50, 2000, 16], [2600, 3000, 3])),
      { happened: 13, unseen: 4, claimed: 9, over: 0, missed: 0, faults: [] },
    ],
    [
      'a new start with the old value counts it twice',
      readByStarts(points([50, 1000, 10], [1500, 2000, 16])),
      { over: 10, claimed: 6 },
    ],
    [
      'a start at the point’s own time loses counts on the page',
      readByStarts(points([50, 1000, 10], [50, 2000, 16], [3000, 3000, 3])),
      { over: 0, missed: 3, missedIn: new Map([['a test', 3]]) },
    ],
    [
      // The young process's 3 statements are claimed while the old one answers: 3 too many.
      'a loss in one place does not hide a false increase in another',
      readDeltas(points([1000, 2000, 9])),
      { over: 3, claimed: 6 },
    ],
  ])('%s', (_, read, verdict) => {
    const { ledger, pages } = restart();
    expect(judge(ledger, pages, read, 'statements')).toMatchObject(verdict);
  });

  test('counts that no page ever shows are lost to every reader', () => {
    const { ledger, pages } = restart();
    const read = readByStarts(points([50, 1000, 10], [2600, 3000, 3]));
    const verdict = judge(ledger, pages.toSpliced(1, 1), read, 'statements');
    expect(verdict).toMatchObject({ happened: 13, unseen: 10, claimed: 3, missed: 0 });
  });
});

test.each<[what: string, read: Read, verdict: Partial<Verdict>]>([
  [
    "values alone report the other process's earlier counts",
    readByValues(points([50, 1000, 10], [50, 2000, 105])),
    {
      claimed: 5,
      over: 90,
      falseClaims: [{ fromMs: 1000, toMs: 2000, amount: 95, excess: 90, scene: 'a test' }],
    },
  ],
  [
    'so does the true start of the other process',
    readByStarts(points([50, 1000, 10], [1001, 2000, 105])),
    { over: 100 },
  ],
  [
    'an unknown start reports nothing',
    readByStarts(points([50, 1000, 10], [2000, 2000, 105])),
    { over: 0, missed: 5 },
  ],
])('a failover: %s', (_, read, verdict) => {
  const { ledger, pages } = failover();
  expect(judge(ledger, pages, read, 'statements')).toMatchObject(verdict);
});

describe('invalid points', () => {
  test('a stream that begins before the last one ends', () => {
    const { faults } = readByStarts(points([50, 1000, 10], [900, 2000, 3]));
    expect(faults).toEqual(['the stream from 900 overlaps the one until 1000']);
    expect(readDeltas(points([0, 1000, 1], [999, 2000, 1])).faults).toHaveLength(1);
  });

  test('a value that falls under one start', () => {
    expect(readByStarts(points([50, 1000, 10], [50, 2000, 3])).faults).toHaveLength(1);
  });

  test('a start that goes back, or lies after its point', () => {
    const { faults } = readByStarts(points([50, 1000, 10], [2500, 2000, 3], [2200, 3000, 3]));
    expect(faults).toEqual([
      'the start 2500 is later than its point 2000',
      'the start went back from 2500 to 2200 at 3000',
    ]);
  });

  test('a delta below zero, or without a duration', () => {
    expect(readDeltas(points([0, 1000, -1])).faults).toEqual(['the delta at 1000 is -1']);
    expect(readDeltas(points([1000, 1000, 1])).faults).toHaveLength(1);
  });
});

describe('the account', () => {
  test('begins with the first page, where a false increase still counts', () => {
    const { ledger, pages } = restart();
    const honest = readByStarts(points([50, 1000, 10]));
    expect(judge(ledger, pages, honest, 'statements')).toMatchObject({ claimed: 0, over: 0 });
    const false_ = readByStarts(points([50, 1000, 11]));
    expect(judge(ledger, pages, false_, 'statements')).toMatchObject({ claimed: 0, over: 1 });
  });

  test('a point without a page is an error of the test', () => {
    const { ledger, pages } = restart();
    const read = readByStarts(points([50, 1234, 10]));
    expect(() => judge(ledger, pages, read, 'statements')).toThrow('no page at 1234');
  });

  test('a flush lowers the value, not the true count', () => {
    const ledger = new Ledger();
    const life = ledger.begin();
    ledger.stand(life, 0);
    const refuse = (atMs: number): void => {
      ledger.asked(life, 'refusals', atMs);
      ledger.done(life, 'refusals', atMs);
    };
    [1, 2, 3].forEach(refuse);
    ledger.flushed(life);
    refuse(1500);
    expect(life.counts.refusals.atFlush).toBe(3);
    const reading = page(2000, life, 0);
    const agreesAt = (refusals: number): boolean =>
      agrees({ ...reading, positions: { statements: 0, refusals } }, 'refusals');
    expect([4, 1, 5].map(agreesAt)).toEqual([true, false, false]);
  });

  test('statements between a page and a flush are on no page', () => {
    const ledger = new Ledger();
    const life = ledger.begin();
    ledger.stand(life, 0);
    const flushed = (atMs: number, value: number, position: number): Reading => ({
      ...page(atMs, life, 0),
      values: { statements: 0, refusals: value },
      positions: { statements: 0, refusals: position },
    });
    // Sixteen on the page, one more, a flush, and two.
    const pages = [flushed(1000, 16, 16), flushed(2000, 2, 19)];
    const read = readByStarts(points([50, 1000, 16], [1000, 2000, 2]));
    expect(judge(ledger, pages, read, 'refusals')).toMatchObject({
      happened: 3,
      unseen: 1,
      claimed: 2,
      over: 0,
      missed: 0,
    });
  });
});
