// Judges the rows of a page one by one: whether anything prevents sending a sample, how it
// continues its series, and whether an absent series has ended. In: the table with placed rows and
// weighed uptimes. Out: the outcome of each row, and a count of each sample. Known series need no
// allocation.

import { bug } from '../../errors.ts';
import { isCompound, type Metric } from '../../model/metric.ts';
import {
  type Block,
  OUTCOME,
  NO_ROW,
  ROLE,
  ROW_FLAG,
  type SeriesTable,
} from '../../model/series-table.ts';
import type { Compound, Uptime } from '../../model/memory.ts';
import { isOnPage, judgeCompound, partsOf, settleSpellings } from './compound.ts';
import { endIfStale, isOpen, outcomeOfCompound, outcomeOfScalar } from './outcome.ts';
import type { Judge } from './options.ts';
import { isScraped, serviceOfRow } from './places.ts';
import { compareProcess, PROCESS } from './reset.ts';
import { readTargetInfo } from './resolve.ts';
import type { Tally } from './tally.ts';
import { SHOWS, uptimeOf } from './uptimes.ts';

/** The inputs of judging, and the counts. */
export interface Judging extends Judge {
  readonly tallies: readonly Tally[];
  /** Rows that have been absent for this long are forgotten. */
  readonly keepMs: number;
  /** The rows to forget. */
  readonly gone: number[];
  /** By block; see lookAround(). */
  readonly surroundings: (Surroundings | undefined)[];
  /** By metric; see fastKinds(). */
  readonly fast: Uint8Array;
}

/** The common facts of all rows of a block. */
interface Surroundings {
  readonly block: Block;
  /** The outcome of all its rows, or OUTCOME.none. */
  readonly dropReason: number;
  readonly tally: Tally;
  /** Whether its instance's samples are those of the page before. */
  readonly isRepeated: boolean;
  /**
   * The kind looked up last, and the uptime of its counters: how they are judged, the reading
   * of their previous sample, and that of this page; see askUptime().
   */
  kind: number;
  course: number;
  before: number;
  beforeMs: number;
  uptime: number;
  uptimeMs: number;
}

/**
 * Judges rows [from, to). judgeCompounds() then completes the points of histograms and summaries.
 */
export function judgeRows(judging: Judging, from: number, to: number): void {
  for (let row = from; row < to; row++) {
    row = judgeFastRows(judging, row, to);
    if (row < to) judgeAnyRow(judging, row);
  }
}

function judgeAnyRow(judging: Judging, row: number): void {
  const { table, time } = judging;
  const { outcome, movedAtMs } = table;
  if (!isScraped(table, row)) return;
  outcome[row] = OUTCOME.none;
  const metric = table.metrics[table.metric[row]!]!;
  if (table.seen[row] !== table.page) return missRow(judging, row, metric);
  const around = lookAround(judging, row);
  const judged = judgeRow(judging, row, metric, around.dropReason);
  outcome[row] = judged;
  if (judged === OUTCOME.part) {
    if (table.head[row] !== row) movedAtMs[row] = time.monotonicMs;
    return;
  }
  around.tally.outcomes[judged]!++;
  if (judged === OUTCOME.consumed) movedAtMs[row] = time.monotonicMs;
  else if (!isCompound(metric)) settle(judging, row, judged, around.tally);
}

/** The facts of the block of a row on this page; computed once per block and page. */
function lookAround(judging: Judging, row: number): Surroundings {
  const { table, tallies, time, options } = judging;
  const index = table.block[row]!;
  const known = judging.surroundings[index];
  if (known !== undefined) return known;
  const block = table.blocks[index] ?? bug(`row ${row} is on the page, and in no block`);
  const slot = table.services[block.service]!;
  slot.seenPage = table.page;
  const instance = table.instances[block.instance];
  const tally = tallies[block.service]!;
  let dropReason: number = OUTCOME.none;
  if (!slot.isSent) dropReason = slot.isElsewhere ? OUTCOME.otherShard : OUTCOME.unconfigured;
  else if (tally.reason !== '') dropReason = OUTCOME.serviceFailed;
  else if (instance !== undefined && !(instance.firstTimeMs <= time.futureMs)) {
    const stampMs = table.timeMs[row]!;
    // A process that began after an old stamp may still have begun long before our first scrape.
    const isRecent =
      options.honorTimestamps &&
      stampMs >= time.nowMs - options.staleAfterMs &&
      stampMs <= time.futureMs;
    instance.firstTimeMs = isRecent ? stampMs : time.nowMs;
  }
  const isRepeated = instance?.repeatedPage === table.page;
  const course = COURSE.doubt;
  const around = { block, dropReason, tally, isRepeated, kind: NEVER, course, ...NO_READINGS };
  judging.surroundings[index] = around;
  return around;
}

function judgeRow(judging: Judging, row: number, metric: Metric, dropReason: number): number {
  const { table } = judging;
  const role = table.role[row];
  if (dropReason !== OUTCOME.none) return dropReason;
  if (role === ROLE.metadata) {
    readTargetInfo(table, row);
    return OUTCOME.consumed;
  }
  if (!metric.isIncluded) return OUTCOME.excluded;
  if (metric.declared === 'summary' && judging.options.summaries !== 'send' && role !== ROLE.scalar)
    return OUTCOME.summaryDropped;
  if (isCompound(metric)) {
    if (metric.declared === 'gaugehistogram') return OUTCOME.gaugeHistogram;
    if (table.head[row] !== row || table.compounds.has(row)) return OUTCOME.part;
    // The family's bare name, which these types do not have, or an invalid quantile.
    return metric.kind === 'histogram' ? OUTCOME.histogramInvalid : OUTCOME.summaryInvalid;
  }
  if (role !== ROLE.scalar) return OUTCOME.consumed;
  if (table.duplicates.size > 0 && table.duplicates.has(row)) return OUTCOME.duplicate;
  return outcomeOfScalar(judging, row);
}

/** Counts the head's point, or ends its series if there has been none for long. */
function settle(judging: Judging, head: number, outcome: number, tally: Tally): void {
  const { table, time } = judging;
  const isGone = outcome === OUTCOME.serviceFailed;
  if (outcome === OUTCOME.point) tally.points++;
  else if (outcome !== OUTCOME.baseline && endIfStale(judging, head, isGone)) tally.stale++;
  // A row is forgotten an hour after it was last on the page, or its old sample would be sent again.
  else if (table.seen[head] === table.page && !isOpen(table.flags[head]!))
    table.movedAtMs[head] = time.monotonicMs;
}

/** Ends the series of a row that is not on the page, if due; forgets the row after a long time. */
function missRow(judging: Judging, row: number, metric: Metric): void {
  const { table, time, tallies } = judging;
  const head = table.head[row]!;
  // A number whose metric has become a distribution is in none.
  const compound = isCompound(metric) ? table.compounds.get(head) : undefined;
  if (compound === undefined && head === row && endIfStale(judging, row, true)) {
    tallies[serviceOfRow(table, row)]!.stale++;
    return;
  }
  // Parts of an absent point are kept as long as its head, which still has to be ended.
  const owner = compound === undefined || isOnPage(table, compound.count) ? row : head;
  const movedAtMs = table.movedAtMs[owner]!;
  // The flags of a part are those of its head, which alone has a series to end.
  const hasToEnd = owner === head && isOpen(table.flags[head]!);
  if (Number.isNaN(movedAtMs)) table.movedAtMs[row] = time.monotonicMs;
  else if (!hasToEnd && time.monotonicMs - movedAtMs >= judging.keepMs) judging.gone.push(row);
}

/** Judges all histograms and summaries, after all rows. Yields after every `slice` of them. */
export function* judgeCompounds(judging: Judging, slice: number): Generator<void, void> {
  const parts: number[] = [];
  let left = slice;
  for (const [head, compound] of judging.table.compounds) {
    judgePoint(judging, head, compound, parts);
    if (--left > 0) continue;
    left = slice;
    yield;
  }
}

function judgePoint(judging: Judging, head: number, compound: Compound, parts: number[]): void {
  const { table } = judging;
  const tally = judging.tallies[serviceOfRow(table, head)]!;
  settleSpellings(table, compound);
  partsOf(table, compound, parts);
  const hasCreated = isOnPage(table, compound.created);
  const first = parts[0] ?? (hasCreated ? compound.created : NO_ROW);
  if (first === NO_ROW || table.outcome[first] !== OUTCOME.part) {
    // The point is absent, or all of its rows had the same drop reason and are counted already.
    const isGone = first === NO_ROW || table.outcome[first] === OUTCOME.serviceFailed;
    if (endIfStale(judging, head, isGone)) tally.stale++;
    return;
  }
  const isDuplicate = table.duplicates.has(head);
  let outcome = isDuplicate ? OUTCOME.duplicate : judgeCompound(judging, head, compound, parts);
  if (outcome === OUTCOME.point) outcome = outcomeOfCompound(judging, head, compound, parts);
  const ofParts = outcome === OUTCOME.point ? OUTCOME.part : outcome;
  for (const row of parts) table.outcome[row] = ofParts;
  tally.outcomes[ofParts]! += parts.length;
  if (hasCreated) {
    table.outcome[compound.created] = OUTCOME.consumed;
    tally.outcomes[OUTCOME.consumed]!++;
  }
  table.outcome[head] = outcome;
  settle(judging, head, outcome, tally);
}

// The fast path takes almost all rows of almost every page: numbers of known series with a newer
// time, no drop reason and, for counters, neither a fall nor a restart. They get the results of
// judgeAnyRow(), but are counted in runs of one block.

/**
 * How a metric's rows take the fast path: never, or as numbers, counters, or counters with an
 * uptime.
 */
const NEVER = 0;
const NUMBER = 1;
const COUNTER = 2;
/** From here on, one kind for each name of an uptime. */
const DATED = 3;

/** The flags that an accepted sample clears. */
const CLEARED = ~(
  ROW_FLAG.staleSent |
  ROW_FLAG.restored |
  ROW_FLAG.explicitTime |
  ROW_FLAG.notNumber
);

/** By metric, how its rows take the fast path; made once per page. */
export function fastKinds({ table, options }: Judge): Uint8Array {
  const uptimeNames: string[] = [];
  const kindOf = (metric: Metric): number => {
    const { isIncluded, kind, uptimeName } = metric;
    if (!isIncluded || isCompound(metric)) return NEVER;
    if (kind !== 'sum') return NUMBER;
    if (options.isDelta) return NEVER;
    if (uptimeName === null || !options.mayDerive) return COUNTER;
    let at = uptimeNames.indexOf(uptimeName);
    if (at < 0) at = uptimeNames.push(uptimeName) - 1;
    return DATED + at <= KINDS_MAX ? DATED + at : NEVER;
  };
  return Uint8Array.from(table.metrics, kindOf);
}

const KINDS_MAX = 255;

/** Judges rows from `from` on the fast path; returns the first that cannot take it, or `to`. */
function judgeFastRows(judging: Judging, from: number, to: number): number {
  const { surroundings } = judging;
  const blockOf = judging.table.block;
  for (let row = from; row < to; ) {
    const block = blockOf[row]!;
    const around = surroundings[block];
    if (around === undefined || around.isRepeated || around.dropReason !== OUTCOME.none) return row;
    const end = judgeRun(judging, row, to, { block, around });
    if (end > row) countPoints(judging.table, around, end - row);
    // The run ended at another block, or at a row that cannot take the fast path.
    if (end < to && blockOf[end] === block) return end;
    row = end;
  }
  return to;
}

function countPoints({ page }: SeriesTable, { block, tally }: Surroundings, count: number): void {
  block.movedPage = page;
  tally.outcomes[OUTCOME.point]! += count;
  tally.points += count;
}

/** How the counters of an uptime are judged on this page. */
const COURSE = {
  /** One by one. */
  doubt: 0,
  /** They have none, and their previous samples had none. */
  bare: 1,
  /** It grew as time passed, for those that came with its previous reading. */
  calm: 2,
  /** This page lacks it. */
  waits: 3,
} as const;

const NO_READINGS = {
  before: Number.NaN,
  beforeMs: Number.NaN,
  uptime: Number.NaN,
  uptimeMs: Number.NaN,
} as const;

/**
 * Looks up the uptime of counters of the row's kind; rarely repeated, since most blocks have one
 * kind.
 */
function askUptime(judge: Judge, row: number, kind: number, around: Surroundings): void {
  around.kind = kind;
  const uptime = uptimeOf(judge, row);
  around.course = courseOf(judge, uptime);
  if (uptime === undefined) return;
  around.before = uptime.valueBefore;
  around.beforeMs = uptime.sinceBeforeMs;
  around.uptime = uptime.value;
  around.uptimeMs = uptime.sinceMs;
}

function courseOf({ options }: Judge, uptime: Uptime | undefined): number {
  if (uptime === undefined || uptime.shows === SHOWS.nothing) return COURSE.bare;
  if (uptime.shows === SHOWS.later) return COURSE.waits;
  const { valueBefore, sinceBeforeMs } = uptime;
  const process = compareProcess(options.intervalMs, valueBefore, sinceBeforeMs, uptime);
  return process === PROCESS.same ? COURSE.calm : COURSE.doubt;
}

/**
 * judgeFastRows() within one block. Uses only local variables and columns: the time of judging a
 * page is spent here.
 */
function judgeRun(
  judging: Judging,
  from: number,
  to: number,
  { block, around }: { readonly block: number; readonly around: Surroundings },
): number {
  const { table, options, time, fast } = judging;
  const { page, seen, role, metric, block: blockOf, outcome, duplicates, createdRows } = table;
  const { value, timeMs, lastValue, lastTimeMs, movedAtMs, changedAtS, flags } = table;
  const { uptime, uptimeMs } = table;
  const { nowMs, futureMs, monotonicMs } = time;
  const { honorTimestamps } = options;
  const hasDuplicates = duplicates.size > 0;
  const hasCreated = createdRows.size > 0;
  for (let row = from; row < to; row++) {
    if (blockOf[row] !== block || seen[row] !== page || role[row] !== ROLE.scalar) return row;
    const kind = fast[metric[row]!]!;
    if (kind === NEVER || (hasDuplicates && duplicates.has(row))) return row;
    const stampMs = timeMs[row]!;
    const isExplicit = honorTimestamps && stampMs === stampMs;
    const sentMs = isExplicit ? stampMs : nowMs;
    // False without a previous sample, or if a wrong clock dated it.
    if (!(sentMs > lastTimeMs[row]! && sentMs <= futureMs && sentMs > 0)) return row;
    const now = value[row]!;
    if (kind >= COUNTER) {
      // A fall, a first sample or another process: judgeStream() in reset.ts decides.
      if (!(now >= lastValue[row]!) || (flags[row]! & ROW_FLAG.known) === 0) return row;
      if (hasCreated && createdRows.has(row)) return row;
      if (kind >= DATED) {
        if (kind !== around.kind) askUptime(judging, row, kind, around);
        const { course } = around;
        const rowUptime = uptime[row]!;
        const isCalm = course === COURSE.calm;
        const cameBefore = rowUptime === around.before && uptimeMs[row] === around.beforeMs;
        if (course === COURSE.doubt || (isCalm && !cameBefore)) return row;
        // NaN: its previous sample came without an uptime, too.
        if (course === COURSE.bare && rowUptime === rowUptime) return row;
        uptime[row] = isCalm ? around.uptime : rowUptime;
        uptimeMs[row] = isCalm ? around.uptimeMs : uptimeMs[row]!;
      }
    }
    const last = lastValue[row]!;
    // A first value is no change.
    if (now !== last && last === last) changedAtS[row] = sentMs / 1000;
    lastValue[row] = now;
    lastTimeMs[row] = sentMs;
    movedAtMs[row] = monotonicMs;
    outcome[row] = OUTCOME.point;
    const kept = flags[row]! & CLEARED;
    if (isExplicit) flags[row] = kept | ROW_FLAG.sent | ROW_FLAG.explicitTime;
    else {
      flags[row] = kept | ROW_FLAG.sent;
      timeMs[row] = nowMs;
    }
  }
  return to;
}

/** Only the first sample of a series on a page is sent. Counts the others, after the rows. */
export function dropRepeats(judging: Judging): void {
  const { repeats, metrics, metric } = judging.table;
  for (const { row } of repeats) {
    const { dropReason, tally } = lookAround(judging, row);
    const own = metrics[metric[row]!]!.isIncluded ? OUTCOME.duplicate : OUTCOME.excluded;
    tally.outcomes[dropReason === OUTCOME.none ? own : dropReason]!++;
  }
}
