// derive gives the samples of a page their meaning: type and unit, time and start, staleness, whether they are
// sent at all. In: the table as decode left it. Out: fate, block, head, startMs, timeMs and value of every row as
// they are sent, and what became of each service. Every rule of otlp-mapping B to I stands once, in the files
// beside this one; this file says in which order. It works in slices and never throws on input.

import type { SampleCount } from '../../model/batch.ts';
import type { PageReport, ScrapeTime } from '../../model/page.ts';
import { FATE, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import { endedRows, isUnplaced, type Refused } from './admission.ts';
import { type DriftReport, reportDrift } from './drift-report.ts';
import { forgetEarly, forgetRows, keepMsOf } from './forget.ts';
import { judgeCompounds, judgeRows, type Judging, quietMetrics } from './judge.ts';
import type { DeriveOptions } from './options.ts';
import { clockSkewMs, readPageTime } from './page-time.ts';
import { judgeRepeats } from './repeats.ts';
import { serviceOf } from './places.ts';
import { resolveRows } from './resolve.ts';
import { isWorthSaving, restoreRows } from './state.ts';
import { setScrapeSeries } from './scrape-series.ts';
import {
  countAdded,
  newTallies,
  readsOf,
  samplesOf,
  serviceOfRow,
  type Tally,
  tallyPage,
} from './tally.ts';
import { settleTwins } from './twins.ts';
import { countStuckUptimes, weighUptimes } from './reset.ts';

/** How many rows are judged before the event loop gets its turn. */
const SLICE_ROWS = 1024;

/** What derive needs of a scrape beside the columns. `report` is null when there is no good page. */
export interface ScrapeOutcome extends ScrapeTime {
  readonly bodyBytes: number;
  readonly report: PageReport | null;
  /** Why there is no page; '' with a good one. */
  readonly reason: string;
}

/** What one page meant for one service. */
export interface ServiceOutcome {
  readonly id: string;
  readonly configIndex: number;
  readonly isUp: boolean;
  /** '' when up; else why not: the scrape's reason, `absent`, `bad_lines` or `service_samples`. */
  readonly reason: string;
  readonly samples: number;
  readonly badLines: number;
  /** Points made for it on this page: from samples, markers, and the bridge's own. */
  readonly points: number;
  readonly stalePoints: number;
  /** True when its explicit timestamps have not moved for stale_after (G2). */
  readonly isSourceStale: boolean;
  /** Uptimes on the page that stand still though their times move: restarts cannot be told by them (F5). */
  readonly stuckUptimes: number;
}

export interface DeriveReport {
  readonly services: readonly ServiceOutcome[];
  /** New series for which there was no room; null where there was. */
  readonly refused: Refused | null;
  /** Samples by service and fate, for the account. */
  readonly reads: readonly SampleCount[];
  /** What the page says against the catalog, or null when that is what the one before said. */
  readonly drift: DriftReport | null;
  /** Labels `__name__` on this page: they are dropped. */
  readonly nameLabels: number;
  /** By how much our clock is ahead of the service's; NaN where that does not say. */
  readonly clockSkewMs: number;
}

/** Derives one page; yields between slices and returns the report. */
export function* derive(
  table: SeriesTable,
  scrape: ScrapeOutcome,
  options: DeriveOptions,
): Generator<void, DeriveReport> {
  const { report } = scrape;
  if (report === null) turnPage(table);
  const time = readPageTime(table.clock, scrape);
  for (const id of options.configured.keys()) serviceOf(table, id, options);
  const addedRows = report === null ? [] : table.fresh.filter(row => !table.filedBefore.has(row));
  let refused: Refused | null = null;
  if (report === null) forgetUnused(table, scrape.reason);
  else {
    refused = yield* resolveRows(table, options);
    yield* restoreRows(table, addedRows, { options, monotonicMs: time.monotonicMs });
  }
  yield;
  const tallies =
    report === null ? newTallies(table, scrape.reason) : tallyPage(table, report, options, refused);
  countAdded(table, tallies, addedRows);
  settleTwins(table);
  weighUptimes(table, time, options);
  const mayDerive = options.mapping === 'semantic' && options.startTimes;
  const keepMs = keepMsOf(options);
  const found = { gone: [], surroundings: [] };
  const quiet = quietMetrics(table, options, mayDerive);
  const judging: Judging = { table, options, time, mayDerive, tallies, keepMs, quiet, ...found };
  for (let from = 0; from < table.count; from += SLICE_ROWS) {
    judgeRows(judging, from, Math.min(from + SLICE_ROWS, table.count));
    yield;
  }
  yield* judgeCompounds(judging, SLICE_ROWS);
  judgeRepeats(judging);
  const reads = readsOf(table, tallies, report, refused);
  for (const tally of tallies)
    if (tally.reason === '' && samplesOf(tally) === 0) tally.reason = 'absent';
  const gone = judging.gone.filter(row => isForgettable(table, tallies, row));
  forgetRows(table, gone);
  const services = outcomesOf(judging, scrape);
  const drift = report === null ? null : reportDrift(table, options);
  const nameLabels = countNameLabels(table);
  return { services, refused, reads, drift, nameLabels, clockSkewMs: clockSkewMs(scrape) };
}

function countNameLabels(table: SeriesTable): number {
  let count = 0;
  for (const row of table.named) if (table.seen[row] === table.page) count++;
  return count;
}

/** There is no page to decode, or it cannot be used: nothing of it, or of the one before, is on this page. */
function turnPage(table: SeriesTable): void {
  table.page++;
  table.repeats.length = 0;
  table.exemplars.clear();
}

/**
 * New rows of a page that could not be used are given up; where memory is short, those whose end was told, too, and those
 * of which nothing is known. (All rows are missing on such a page.)
 */
function forgetUnused(table: SeriesTable, reason: string): void {
  const isOver = (row: number): boolean =>
    (table.flags[table.head[row]!]! & ROW_FLAG.staleSent) !== 0 || !isWorthSaving(table, row);
  // A page with too many samples says nothing of what the table holds.
  const isShort = SHORT_OF_MEMORY.has(reason) && reason !== 'limit_samples';
  const gone = isShort ? endedRows(table).filter(isOver) : [];
  const placed: number[] = [];
  for (const row of table.fresh) (isUnplaced(table, row) ? gone : placed).push(row);
  table.fresh.length = 0;
  table.fresh.push(...placed);
  forgetEarly(table, gone);
}

/** Why there is no page where memory is short. */
export const SHORT_OF_MEMORY: ReadonlySet<string> = new Set([
  'limit_memory',
  'limit_samples',
  'too_large',
]);

/** What a configured service had before it failed is what it will have when it is back. */
function isForgettable(table: SeriesTable, tallies: readonly Tally[], row: number): boolean {
  const service = serviceOfRow(table, row);
  const isStranger = (table.services[service]?.configIndex ?? -1) < 0;
  return isStranger || tallies[service]?.reason === '';
}

/** Tells each service that is sent how it fared, in points as in the report. */
function outcomesOf(judging: Judging, scrape: ScrapeOutcome): ServiceOutcome[] {
  const { table, tallies } = judging;
  const hasMoved = new Uint8Array(table.services.length);
  for (const { service, movedPage } of table.blocks)
    if (movedPage === table.page) hasMoved[service] = 1;
  const outcomes: ServiceOutcome[] = [];
  const stuck = countStuckUptimes(table);
  for (const [index, tally] of tallies.entries()) {
    const slot = table.services[index];
    // A slot whose service is gone waits for the next one.
    if (slot === undefined || table.serviceById.get(slot.id) !== index || !slot.isSent) continue;
    if (hasMoved[index] === 1 || Number.isNaN(slot.movedAtMs))
      slot.movedAtMs = judging.time.monotonicMs;
    const outcome = outcomeOf(judging, scrape, index, tally);
    outcomes.push({ ...outcome, stuckUptimes: stuck.get(index) ?? 0 });
  }
  return outcomes;
}

function outcomeOf(
  judging: Judging,
  scrape: ScrapeOutcome,
  index: number,
  tally: Tally,
): Omit<ServiceOutcome, 'stuckUptimes'> {
  const { table, time, options } = judging;
  const { id, configIndex, movedAtMs } = table.services[index] ?? NO_SLOT;
  const samples = samplesOf(tally);
  const isUp = tally.reason === '';
  const facts = {
    isUp,
    durationMs: scrape.durationMs,
    samples,
    samplesKept: samples - tally.fates[FATE.excluded]!,
    seriesAdded: tally.added,
    bodyBytes: scrape.bodyBytes,
  };
  // What is filtered, or read into the Resource, does not tell whether the source moves.
  const hasTimes = facts.samplesKept > tally.fates[FATE.consumed]!;
  const own = setScrapeSeries(table, index, facts, { time, options });
  return {
    id,
    configIndex,
    isUp,
    reason: tally.reason,
    samples,
    badLines: tally.badLines,
    points: tally.points + tally.stale + own,
    stalePoints: tally.stale,
    isSourceStale: hasTimes && isUp && time.monotonicMs - movedAtMs >= options.staleAfterMs,
  };
}

const NO_SLOT = { id: '', configIndex: -1, movedAtMs: Number.NaN } as const;
