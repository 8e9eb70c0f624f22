// Checks that every served sample arrived, once and with its value: by timestamp, and by series. A result counts only
// after this check.

import { addTally, isSameTally, newTally, type Tally } from './corpus/checksum.ts';
import type { CorpusName } from './corpus/corpora.ts';
import type { Poll } from './page-server.ts';
import type { ReceivedReport } from './sink/received.ts';

export interface Delivery {
  readonly polls: readonly Poll[];
  readonly received: ReceivedReport;
  readonly corpus: CorpusName;
  /** Whether the last bits of values may differ. */
  readonly isRounded: boolean;
}

/** The problems, in words, at most PROBLEMS_MAX of them; [] when everything arrived. */
export function findLosses(delivery: Delivery): readonly string[] {
  const { corpus } = delivery;
  const byWhole = corpus === 'captured' ? wholeLosses(delivery) : timeLosses(delivery);
  const bySeries = corpus === 'engine' ? seriesLosses(delivery) : [];
  return [...byWhole, ...bySeries].slice(0, PROBLEMS_MAX);
}

const PROBLEMS_MAX = 5;

export function sumPolls(polls: readonly Poll[]): Tally {
  const total = newTally();
  for (const { tally } of polls) addTally(total, tally);
  return total;
}

/** For pages without timestamps: compares all values of all pages together. */
function wholeLosses({ polls, received, isRounded }: Delivery): string[] {
  const served = sumPolls(polls);
  return isSameTally(served, received.total, isRounded) ? [] : [difference(served, received.total)];
}

function timeLosses({ polls, received, isRounded }: Delivery): string[] {
  const byTime = new Map<number, Tally>();
  for (const { timeMs, tally } of polls) {
    const sum = byTime.get(timeMs) ?? newTally();
    addTally(sum, tally);
    byTime.set(timeMs, sum);
  }
  const losses: string[] = [];
  for (const [timeMs, served] of byTime) {
    const arrived = received.byTime.get(timeMs) ?? newTally();
    if (!isSameTally(served, arrived, isRounded))
      losses.push(`at ${timeMs}: ${difference(served, arrived)}`);
  }
  for (const [timeMs, { samples }] of received.byTime)
    if (!byTime.has(timeMs)) losses.push(`at ${timeMs}: ${samples} samples that were not served`);
  return losses;
}

function difference(served: Tally, arrived: Tally): string {
  return served.samples === arrived.samples
    ? `${served.samples} samples with other values`
    : `${arrived.samples} of ${served.samples} samples`;
}

/** Checks that every series of an address came as often as its page was served. */
function seriesLosses({ polls, received }: Delivery): string[] {
  const pages = new Map<number, { count: number; samples: number }>();
  for (const { address, tally } of polls) {
    const page = pages.get(address) ?? { count: 0, samples: tally.samples };
    page.count++;
    pages.set(address, page);
  }
  const wanted = new Map<number, number>();
  for (const { count, samples } of pages.values())
    wanted.set(count, (wanted.get(count) ?? 0) + samples);
  const isSame =
    wanted.size === received.seriesByCount.size &&
    [...wanted].every(([count, series]) => received.seriesByCount.get(count) === series);
  return isSame ? [] : [`series by count: ${show(received.seriesByCount)}, not ${show(wanted)}`];
}

function show(counts: ReadonlyMap<number, number>): string {
  return [...counts].map(([count, series]) => `${series} came ${count} times`).join(', ');
}
