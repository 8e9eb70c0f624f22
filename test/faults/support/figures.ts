// The judgement at the end of every test of this suite: the findings of the ledger and the program's own account must
// agree to the last point. The figures are printed, and added up over the suite (totals.ts).

import { appendFileSync } from 'node:fs';
import { expect, inject } from 'vitest';
import type { AccountNumbers, Bridge } from './bridge.ts';
import type { Ledger } from './ledger.ts';

export interface Judgement {
  readonly name: string;
  readonly ledger: Ledger;
  readonly bridge: Bridge;
  /** The number of answers that may not have reached the sender: each may cost one batch that comes twice. */
  readonly lostAnswers: number;
  readonly batchPoints: number;
  readonly kills?: number;
  /** Whether the test makes the program give up points: these are missing, and the account must show them. */
  readonly isLossAllowed?: boolean;
}

/** One line of the suite's figures. */
export type Figures = Readonly<typeof NO_FIGURES>;

export const NO_FIGURES = {
  name: '',
  kills: 0,
  points: 0,
  lost: 0,
  wrong: 0,
  duplicates: 0,
  duplicateBatches: 0,
  lostAnswers: 0,
  movedStarts: 0,
  outOfOrder: 0,
  interruptedPages: 0,
  failedPages: 0,
  givenUp: 0,
};

/** Judges a test whose program has ended. */
export function judge(judgement: Judgement): Figures {
  const { name, ledger, bridge, lostAnswers, batchPoints, kills = 0 } = judgement;
  const { isLossAllowed = false } = judgement;
  const found = ledger.findings(bridge.lives);
  const account = bridge.account();
  const givenUp = givenUpOf(account);
  const samplesRead = [...account.samples.values()].reduce((sum, count) => sum + count, 0);
  const excused = isLossAllowed ? givenUp + ledger.unreadPoints(samplesRead, found) : 0;
  const figures: Figures = {
    name,
    kills,
    points: found.received,
    lost: Math.max(0, found.missing - excused),
    wrong: found.wrong,
    duplicates: found.duplicates,
    // A batch may come in pieces.
    duplicateBatches: Math.min(found.duplicateRequests, Math.ceil(found.duplicates / batchPoints)),
    lostAnswers,
    movedStarts: found.movedStarts,
    outOfOrder: found.outOfOrder,
    interruptedPages: found.interruptedPages,
    failedPages: found.failedPages,
    givenUp,
  };
  report(figures);
  const words = [name, ...found.examples].join('\n');
  expect(figures, words).toMatchObject({ lost: 0, wrong: 0, movedStarts: 0, outOfOrder: 0 });
  if (!isLossAllowed) expect(givenUp, `${name}: points given up`).toBe(0);
  // A killed process leaves no times: its successor sends a page again that is still the same.
  expect(figures.duplicateBatches, `${name}: batches twice`).toBeLessThanOrEqual(
    lostAnswers + kills,
  );
  expectBalance(account, found.received, kills === 0 ? 0 : found.duplicates);
  return figures;
}

/**
 * Expects that the account has every point that was made, and that the accepted points are those that arrived. At most
 * `again` of them were made twice.
 */
export function expectBalance(account: AccountNumbers, received: number, again = 0): void {
  expect(account.stored, 'points in the file, against the account').toBe(account.queued);
  const ends = account.accepted + account.rejected + account.setAside + account.evicted;
  expect(ends + account.stored).toBe(account.made);
  const twice = account.accepted - received;
  expect(twice, 'points received, against the account').toBeGreaterThanOrEqual(0);
  expect(twice, 'points received, against the account').toBeLessThanOrEqual(again);
}

/** Prints the figures of one test, and adds them to those of the suite. */
export function report(figures: Figures): void {
  const { name, ...numbers } = figures;
  const words = Object.entries(numbers).map(([key, value]) => `${key} ${String(value)}`);
  console.log(`faults: ${name}: ${words.join(', ')}`);
  appendFileSync(inject('figuresFile'), `${JSON.stringify(figures)}\n`);
}

function givenUpOf({ rejected, setAside, evicted }: AccountNumbers): number {
  return rejected + setAside + evicted;
}
