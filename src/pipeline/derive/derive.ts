// derive determines the type, unit, time, start and staleness of samples, and whether they are
// sent. In: the table after decode. Out: outcome, block, head, startMs, timeMs and value of each row
// as sent, and the outcome of each service. The files of this folder implement each rule of
// docs/how-it-works/mapping.md B to I once; this file sets their order. derive works in slices and never throws
// on input.

import type { SampleCount } from '../../model/batch.ts';
import type { PageReport, Refused, ScrapeTime } from '../../model/page.ts';
import { OUTCOME, type SeriesTable } from '../../model/series-table.ts';
import { isUnplaced } from './admission.ts';
import { isOnPage } from './compound.ts';
import { forgetRows, keepMsOf, stopAgeing } from './forget.ts';
import { judgeCompounds, dropRepeats, judgeRows, type Judging, fastKinds } from './judge.ts';
import type { DeriveOptions } from './options.ts';
import { readPageTime } from './page-time.ts';
import { serviceOf, serviceOfRow } from './places.ts';
import { resolveRows } from './resolve.ts';
import { restoreRows, setStartMode } from './state.ts';
import { countAdded, readsOf, samplesOf, setScrapeSeries, tallyPage } from './tally.ts';
import { settleDuplicates } from './duplicates.ts';
import { countLostUptimes } from './uptimes.ts';
import { findRepeated } from './outcome.ts';

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
  /** '' if up; else the scrape's reason, `absent`, `stopped` or `bad_lines`. */
  readonly reason: string;
  readonly samples: number;
  readonly badLines: number;
  /** Its points on this page, including markers and prom2otlp's own series. */
  readonly points: number;
  readonly stalePoints: number;
  /** True if its explicit timestamps have not moved for stale_after (G2). */
  readonly isSourceStale: boolean;
  /** Uptimes that the last pages lacked: their counters are judged without them (F5). */
  readonly lostUptimes: number;
}

export interface DeriveReport {
  readonly services: readonly ServiceOutcome[];
  /** New series that were refused; null if none. */
  readonly refused: Refused | null;
  /** Samples by service and outcome, for the account. */
  readonly reads: readonly SampleCount[];
  /** Rows on this page with a label `__name__`, which is dropped. */
  readonly nameLabels: number;
  /** Rows on this page that have a label under the name that metrics.rename gives another one. */
  readonly takenLabels: number;
  /** Samples of this page stamped before 2000, which got the time of the scrape. */
  readonly earlyTimes: number;
  /**
   * How far our clock is ahead of the service's, less the time that the answer took; NaN if
   * unknown.
   */
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
  const time = readPageTime(table.clock, scrape, options.intervalMs);
  const judge = { table, options, time };
  setStartMode(table, options);
  for (const id of options.configured.keys()) serviceOf(table, id, options);
  const earlyTimes = report === null || !options.honorTimestamps ? 0 : dropEarlyTimes(table);
  const addedRows = report === null ? [] : table.fresh.filter(row => !table.filedBefore.has(row));
  if (report === null) forgetUnplaced(table);
  else {
    yield* resolveRows(table, options, report);
    yield* restoreRows(judge, addedRows, report.refused.samples > 0);
  }
  yield;
  const tallies = tallyPage(judge, report, scrape.reason);
  countAdded(table, tallies, addedRows);
  settleDuplicates(table);
  if (report !== null) findRepeated(judge);
  const judging: Judging = {
    ...judge,
    tallies,
    keepMs: keepMsOf(options),
    gone: [],
    surroundings: [],
    fast: fastKinds(judge),
  };
  for (let from = 0; from < table.count; from += SLICE_ROWS) {
    judgeRows(judging, from, Math.min(from + SLICE_ROWS, table.count));
    yield;
  }
  yield* judgeCompounds(judging, SLICE_ROWS);
  dropRepeats(judging);
  const reads = readsOf(table, tallies, report);
  for (const [index, tally] of tallies.entries()) {
    if (samplesOf(tally) > 0) continue;
    // Whatever the page, which is empty if it has no other service.
    if (options.isStopped?.(table.services[index]?.id ?? '') === true) tally.reason = 'stopped';
    else if (tally.reason === '') tally.reason = 'absent';
  }
  // A configured service that is down keeps its series for its return.
  const isDown = tallies.map(({ reason }, service) => {
    const isConfigured = (table.services[service]?.configIndex ?? -1) >= 0;
    return isConfigured && reason !== '';
  });
  if (isDown.includes(true)) stopAgeing(judge, isDown);
  const gone = judging.gone.filter(row => isDown[serviceOfRow(table, row)] !== true);
  forgetRows(table, gone);
  const services = outcomesOf(judging, scrape);
  const countOnPage = (rows: ReadonlySet<number>): number =>
    [...rows].filter(row => isOnPage(table, row)).length;
  return {
    services,
    refused: report !== null && report.refused.samples > 0 ? report.refused : null,
    reads,
    nameLabels: countOnPage(table.named),
    takenLabels: countOnPage(table.unrenamed),
    earlyTimes,
    clockSkewMs: scrape.startedAtMs - scrape.serverAtMs,
  };
}

/** A stamp before this is none: it has seconds where milliseconds belong, or its clock was never set. */
const EARLIEST_MS = Date.UTC(2000);

/** Removes the times of samples stamped before EARLIEST_MS; returns their number. */
function dropEarlyTimes(table: SeriesTable): number {
  const { timeMs, seen, page } = table;
  let count = 0;
  for (let row = 0; row < table.count; row++) {
    if (!(timeMs[row]! < EARLIEST_MS) || seen[row] !== page) continue;
    timeMs[row] = Number.NaN;
    count++;
  }
  return count;
}

/** After an unusable page, frees its new rows. */
function forgetUnplaced(table: SeriesTable): void {
  const unplaced = table.fresh.filter(row => isUnplaced(table, row));
  const placed = table.fresh.filter(row => !isUnplaced(table, row));
  table.fresh.length = 0;
  table.fresh.push(...placed);
  forgetRows(table, unplaced);
}

/** Makes each sent service's outcome and its own series. */
function outcomesOf(judging: Judging, scrape: ScrapeOutcome): ServiceOutcome[] {
  const { table, tallies, time, options } = judging;
  const hasMoved = new Uint8Array(table.services.length);
  for (const { service, movedPage } of table.blocks)
    if (movedPage === table.page) hasMoved[service] = 1;
  const outcomes: ServiceOutcome[] = [];
  const lost = countLostUptimes(table, options.intervalMs);
  for (const [index, tally] of tallies.entries()) {
    const slot = table.services[index];
    // The slot of a service that is gone, free for reuse.
    if (slot === undefined || table.serviceById.get(slot.id) !== index || !slot.isSent) continue;
    if (hasMoved[index] === 1 || Number.isNaN(slot.movedAtMs)) slot.movedAtMs = time.monotonicMs;
    const samples = samplesOf(tally);
    const isUp = tally.reason === '';
    const kept = samples - tally.outcomes[OUTCOME.excluded]!;
    const seconds = scrape.durationMs / 1000;
    const values = [isUp ? 1 : 0, seconds, samples, kept, tally.added, scrape.bodyBytes];
    const isScrape = options.isPast !== true;
    if (isScrape) setScrapeSeries(judging, index, values);
    // Samples that are filtered or read into the Resource do not show whether the source moves.
    const hasTimes = kept > tally.outcomes[OUTCOME.consumed]!;
    const hasStood = time.monotonicMs - slot.movedAtMs >= options.staleAfterMs;
    outcomes.push({
      id: slot.id,
      configIndex: slot.configIndex,
      isUp,
      reason: tally.reason,
      samples,
      badLines: tally.badLines,
      points: tally.points + tally.stale + (isScrape ? values.length : 0),
      stalePoints: tally.stale,
      isSourceStale: hasTimes && isUp && hasStood,
      lostUptimes: lost.get(index) ?? 0,
    });
  }
  return outcomes;
}
