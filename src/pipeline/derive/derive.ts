// derive determines the type, unit, time, start and staleness of samples, and whether they are
// sent. In: the table after decode. Out: outcome, block, head, startMs, timeMs and value of each row
// as sent, and the outcome of each service. The files of this folder implement each rule of
// otlp-mapping B to I once; this file sets their order. It works in slices and never throws on
// input.

import type { SampleCount } from '../../model/batch.ts';
import type { PageReport, ScrapeTime } from '../../model/page.ts';
import { OUTCOME, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import { endedRows, isUnplaced, type Refused } from './admission.ts';
import { forgetEarly, forgetRows, keepMsOf, noteCrowding } from './forget.ts';
import { judgeCompounds, judgeRepeats, judgeRows, type Judging, quietMetrics } from './judge.ts';
import type { DeriveOptions } from './options.ts';
import { clockSkewMs, readPageTime } from './page-time.ts';
import { serviceOf, serviceOfRow } from './places.ts';
import { resolveRows } from './resolve.ts';
import { isWorthSaving, restoreRows, setStartMode } from './state.ts';
import { setScrapeSeries } from './scrape-series.ts';
import { countAdded, newTallies, readsOf, samplesOf, type Tally, tallyPage } from './tally.ts';
import { settleDuplicates } from './duplicates.ts';
import { countStuckUptimes, weighUptimes } from './reset.ts';

/** Rows judged before the event loop gets a turn. */
const SLICE_ROWS = 1024;

/** The facts of a scrape beyond the columns. `report` is null without a good page. */
export interface ScrapeOutcome extends ScrapeTime {
  readonly bodyBytes: number;
  readonly report: PageReport | null;
  /** Why there is no page; '' if there is one. */
  readonly reason: string;
}

/** The outcome of a page for one service. */
export interface ServiceOutcome {
  readonly id: string;
  readonly configIndex: number;
  readonly isUp: boolean;
  /** '' if up; else the scrape's reason, `absent`, `bad_lines` or `service_samples`. */
  readonly reason: string;
  readonly samples: number;
  readonly badLines: number;
  /** Points made for it on this page: from samples, markers, and prom2otlp's own. */
  readonly points: number;
  readonly stalePoints: number;
  /** True if its explicit timestamps have not moved for stale_after (G2). */
  readonly isSourceStale: boolean;
  /**
   * Uptimes on the page that do not grow although their times move: they cannot show restarts (F5).
   */
  readonly stuckUptimes: number;
}

export interface DeriveReport {
  readonly services: readonly ServiceOutcome[];
  /** New series that were refused; null if none. */
  readonly refused: Refused | null;
  /** Samples by service and outcome, for the account. */
  readonly reads: readonly SampleCount[];
  /** Labels `__name__` on this page, which are dropped. */
  readonly nameLabels: number;
  /** How far our clock is ahead of the service's; NaN if unknown. */
  readonly clockSkewMs: number;
}

/** Derives one page; yields between slices and returns the report. */
export function* derive(
  table: SeriesTable,
  scrape: ScrapeOutcome,
  options: DeriveOptions,
): Generator<void, DeriveReport> {
  const { report } = scrape;
  if (report === null) table.turnPage();
  const time = readPageTime(table.clock, scrape);
  const mayDerive = options.mapping === 'semantic' && options.startTimes;
  setStartMode(table, { isDelta: options.isDelta, mayDerive });
  for (const id of options.configured.keys()) serviceOf(table, id, options);
  const addedRows = report === null ? [] : table.fresh.filter(row => !table.filedBefore.has(row));
  let refused: Refused | null = null;
  if (report === null) forgetUnused(table, scrape.reason);
  else {
    refused = yield* resolveRows(table, options);
    const { monotonicMs } = time;
    yield* restoreRows(table, addedRows, { options, monotonicMs, isFull: refused !== null });
  }
  yield;
  const tallies =
    report === null ? newTallies(table, scrape.reason) : tallyPage(table, report, options, refused);
  countAdded(table, tallies, addedRows);
  settleDuplicates(table);
  weighUptimes(table, time, options);
  const { monotonicMs } = time;
  const samples = report?.samples ?? Infinity;
  const keepMs = keepMsOf(options, noteCrowding(table, samples, { options, monotonicMs }));
  const repeated = new Set(table.repeats.map(({ row }) => row));
  const found = { gone: [], surroundings: [], repeated };
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
  const nameLabels = countNameLabels(table);
  return { services, refused, reads, nameLabels, clockSkewMs: clockSkewMs(scrape) };
}

function countNameLabels(table: SeriesTable): number {
  let count = 0;
  for (const row of table.named) if (table.seen[row] === table.page) count++;
  return count;
}

/**
 * After an unusable page, frees its new rows. If memory is short, also frees ended rows that have
 * their marker or no state. (On such a page all rows are absent.)
 */
function forgetUnused(table: SeriesTable, reason: string): void {
  const isOver = (row: number): boolean =>
    (table.flags[table.head[row]!]! & ROW_FLAG.staleSent) !== 0 || !isWorthSaving(table, row);
  // A page with too many samples says nothing about the table's size.
  const isShort = SHORT_OF_MEMORY.has(reason) && reason !== 'limit_samples';
  const gone = isShort ? endedRows(table).filter(isOver) : [];
  const placed: number[] = [];
  for (const row of table.fresh) (isUnplaced(table, row) ? gone : placed).push(row);
  table.fresh.length = 0;
  table.fresh.push(...placed);
  forgetEarly(table, gone);
}

/** The reasons for which a page is refused for lack of memory. */
export const SHORT_OF_MEMORY: ReadonlySet<string> = new Set([
  'limit_memory',
  'limit_samples',
  'too_large',
]);

/** A configured service that is down keeps its series for its return. */
function isForgettable(table: SeriesTable, tallies: readonly Tally[], row: number): boolean {
  const service = serviceOfRow(table, row);
  const isStranger = (table.services[service]?.configIndex ?? -1) < 0;
  return isStranger || tallies[service]?.reason === '';
}

/** Makes each sent service's outcome and its own series. */
function outcomesOf(judging: Judging, scrape: ScrapeOutcome): ServiceOutcome[] {
  const { table, tallies } = judging;
  const hasMoved = new Uint8Array(table.services.length);
  for (const { service, movedPage } of table.blocks)
    if (movedPage === table.page) hasMoved[service] = 1;
  const outcomes: ServiceOutcome[] = [];
  const stuck = countStuckUptimes(table);
  for (const [index, tally] of tallies.entries()) {
    const slot = table.services[index];
    // The slot of a service that is gone, free for reuse.
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
    samplesKept: samples - tally.outcomes[OUTCOME.excluded]!,
    seriesAdded: tally.added,
    bodyBytes: scrape.bodyBytes,
  };
  // Samples that are filtered or read into the Resource do not show whether the source moves.
  const hasTimes = facts.samplesKept > tally.outcomes[OUTCOME.consumed]!;
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
