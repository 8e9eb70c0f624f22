// Decides about resets (docs/mapping.md F4 to F7). No other file does: judge.ts skips this one only
// for rows that certainly continue. Does a counter, histogram or summary continue, has it begun
// again, or is its growth since the previous sample unknown? In: a sample in time order, whether it
// fell, its creation time if the page has one, and the uptime of its component. Out: one of STREAM,
// and the row's start.
// Guarantees: in doubt a count is lost rather than invented; a start is never later than its point,
// never goes back, and never precedes a point of an earlier stream.
//
// A stream belongs to a process, identified by its start time: that of its uptime sample minus
// the value. Two questions follow. For each component, once per page: is it still the same process
// (weighUptimes)? For each series, if that has changed or its value has fallen: how much of the new
// value was counted since the previous sample (judgeStream)?

import {
  type Compound,
  type Component,
  NO_EVIDENCE,
  NO_PROCESS,
  type RepeatedSample,
  type UptimeEvidence,
} from '../../model/memory.ts';
import type { PointKind } from '../../model/metric.ts';
import { NO_ROW, ROLE, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import { findSeries } from '../decode/row-index.ts';
import type { SeriesKey } from '../decode/series-key.ts';
import { isOnPage, rowsOf } from './compound.ts';
import type { Judge } from './options.ts';
import { componentOfRow } from './places.ts';

/** J of decision 46: uptimes in whole seconds and jitter. Closer starts belong to one process. */
const JITTER_MS = 2000;

/** How a series continues between its previous sample and this one. */
export const STREAM = {
  /** It continues: it grew by the difference of the two values. */
  goesOn: 0,
  /** It began again: all of the new value is growth. */
  began: 1,
  /** Unknown: the new value is a baseline. */
  unknown: 2,
} as const;

/**
 * Judges an accepted sample with its time in timeMs; returns one of STREAM. `byCounts`: the one
 * that its counts alone show. `created`: the row of its creation time, NO_ROW if it has none. Sets
 * processMs (NaN means that the series is unknown), and startMs for a cumulative or first sample.
 */
export function judgeStream(judge: Judge, row: number, byCounts: number, created: number): number {
  const { table, options } = judge;
  const timeMs = table.timeMs[row]!;
  const createdMs = createdMsOf(table, created, timeMs);
  if (Number.isNaN(table.processMs[row]!)) return beginFirst(judge, row, createdMs);
  if (!options.mayDerive) return followPage(judge, row, byCounts, createdMs);
  const evidence = Number.isNaN(createdMs) ? evidenceOf(table, row) : undefined;
  // An uptime may date the same process differently.
  if (lacksCreated(table, created) && hasShownBefore(judge, row, evidence))
    return judgeFall(judge, row, byCounts, evidence);
  const processMs = Number.isNaN(createdMs) ? processOf(evidence) : createdMs;
  // Evidence gathered again, as after a reload, dates the same process slightly differently. Two
  // processes, such as replicas, may have begun at the same time: the series has changed process if
  // the one before the current process was still shown at or after the series' last sample.
  const isAnother =
    !isSameBegin(processMs, table.processMs[row]!) ||
    previousSampleMs(judge, row, evidence) <= leftMsOf(evidence);
  if (isAnother && processMs !== NO_PROCESS && timeMs >= processMs)
    return judgeProcess(judge, row, byCounts, { processMs, evidence });
  return judgeFall(judge, row, byCounts, evidence);
}

/**
 * Only the page gives starts: a creation time is the stream's start unless the series has fallen
 * since. Here processMs is the creation time last believed, or the time of the last sample before
 * a fall without a new creation time.
 */
function followPage(judge: Judge, row: number, byCounts: number, createdMs: number): number {
  const { table } = judge;
  const startMs = table.startMs[row]!;
  const hasFallen = byCounts !== STREAM.goesOn;
  if (createdMs > table.processMs[row]! && !(createdMs <= startMs)) {
    const isLate = Number.isNaN(startMs) && !hasFallen;
    setStart(judge, row, isLate ? createdMs : laterMs(createdMs, table.lastTimeMs[row]!));
    table.setProcess(row, createdMs);
  } else if (hasFallen) {
    setStart(judge, row, Number.NaN);
    table.setProcess(row, table.lastTimeMs[row]!);
  }
  return byCounts;
}

/** The first sample of a series: it began with its process, or at an unknown time. */
function beginFirst({ table, options }: Judge, row: number, createdMs: number): number {
  const { mayDerive } = options;
  const hasCreated = !Number.isNaN(createdMs);
  const timeMs = table.timeMs[row]!;
  const evidence = evidenceOf(table, row);
  // A stuck uptime may be that of a process which has ended.
  const isSure = evidence !== undefined && !evidence.isSplit && evidence.doubt === 0;
  const mayDate = mayDerive && !hasCreated && isSure;
  const processMs = mayDate ? processOf(evidence) : NO_PROCESS;
  const isDated = processMs !== NO_PROCESS && processMs <= timeMs;
  table.setProcess(row, isDated ? processMs : hasCreated ? createdMs : NO_PROCESS);
  if (!hasCreated && !mayDerive) return STREAM.goesOn;
  // A forgotten series may have had a stream until tornMs.
  const tornMs = componentOfRow(table, row)?.tornMs ?? Number.NaN;
  const isTorn = earliestBeginMs(evidence) <= tornMs;
  const beginMs = hasCreated ? createdMs : isDated && !isTorn ? processMs : timeMs;
  // Another stream was sent until lastTimeMs: as another kind of metric, by another row before a
  // restart, or with other starts. In the last case it may have included a part of this process's
  // count, as after a late uptime.
  const isRestored = (table.flags[row]! & ROW_FLAG.restored) !== 0;
  const isOver = beginMs < table.lastTimeMs[row]! || (isDated && isRestored);
  table.setStart(row, isOver ? timeMs : beginMs);
  return STREAM.goesOn;
}

/**
 * The earliest time at which the process may have begun. A late uptime dates it too late: it may
 * have begun when the previous process was last seen. A process that began before that did not
 * follow the previous one, and may be any former process.
 */
function earliestBeginMs(evidence: UptimeEvidence | undefined): number {
  const dateMs = processOf(evidence) - JITTER_MS;
  const leftMs = leftMsOf(evidence);
  if (dateMs + 2 * JITTER_MS < leftMs) return Number.NEGATIVE_INFINITY;
  return evidence !== undefined && evidence.lag > 0 && leftMs < dateMs ? leftMs : dateMs;
}

/**
 * F5: the series has belonged to another process. The count is growth only if the new process began
 * between the previous sample and this one.
 */
function judgeProcess(
  judge: Judge,
  row: number,
  byCounts: number,
  process: { readonly processMs: number; readonly evidence: UptimeEvidence | undefined },
): number {
  const { table } = judge;
  const { processMs, evidence } = process;
  const isUnknown = table.processMs[row] === NO_PROCESS;
  const previousMs = previousSampleMs(judge, row, evidence);
  // A creation time on the page is certain.
  const certain = { shownMs: Number.NaN, leftMs: previousMs, unsure: 0 };
  const { shownMs, leftMs, unsure } = evidence ?? certain;
  table.setProcess(row, processMs);
  if (unsure === 1) return lose(judge, row);
  const hasBegun = processMs >= previousMs - JITTER_MS;
  if (hasBegun && byCounts === STREAM.began) return begin(judge, row, processMs);
  // The uptime or another counter has shown that the previous sample already belonged to the new
  // process, or nothing shows otherwise.
  if ((previousMs >= shownMs && !isMarkedByPage(judge, row)) || isUnknown)
    return judgeFall(judge, row, byCounts, evidence);
  if (!hasBegun) return lose(judge, row);
  // The previous sample may belong to either process if it came with no uptime, a late one, or that
  // of a third process: then the difference of the values is safe.
  const isLater = processMs > previousMs + JITTER_MS;
  const isLate = evidence !== undefined && evidence.lag > 0;
  const hasFollowed = leftMs >= previousMs && processMs >= leftMs - JITTER_MS;
  if (!isLate && (isLater || hasFollowed)) return begin(judge, row, processMs);
  return judgeFall(judge, row, byCounts, evidence);
}

/** F7: the process is the same. A fallen value was flushed; if only a bucket fell, nothing is known. */
function judgeFall(
  judge: Judge,
  row: number,
  byCounts: number,
  evidence: UptimeEvidence | undefined,
): number {
  if (byCounts === STREAM.goesOn) return STREAM.goesOn;
  const timeMs = judge.table.timeMs[row]!;
  // A late uptime may show on the next poll that the fall was a restart.
  if (evidence !== undefined && !(timeMs <= evidence.fellMs)) evidence.fellMs = timeMs;
  // A late uptime that grew by less than the time passed may still be late, or of another process.
  const isAmbiguous =
    evidence !== undefined && evidence.lag > 0 && evidence.timeMs > evidence.provenMs;
  if (byCounts === STREAM.unknown || isAmbiguous) return lose(judge, row);
  return begin(judge, row, Number.NEGATIVE_INFINITY);
}

/** Begins a stream at `atMs` or the previous point. Its start differs from the last stream's. */
function begin(judge: Judge, row: number, atMs: number): number {
  const { startMs, timeMs, lastTimeMs } = judge.table;
  const lastMs = lastTimeMs[row]!;
  // Streams of one series do not overlap.
  const latestMs = laterMs(atMs, lastMs);
  // A process that is less than a second old may begin at the sample's own time.
  const beginMs = latestMs < timeMs[row]! ? latestMs : lastMs;
  setStart(judge, row, beginMs === startMs[row] ? beginMs + 1 : beginMs);
  return STREAM.began;
}

/** Begins a new stream with an unknown start: it starts at its own first point. */
function lose(judge: Judge, row: number): number {
  setStart(judge, row, judge.table.timeMs[row]!);
  return STREAM.unknown;
}

/** Sets the start of a stream. A delta starts at the previous point instead. */
function setStart({ table, options }: Judge, row: number, startMs: number): void {
  const isSummary = table.metrics[table.metric[row]!]!.kind === 'summary';
  if (!options.isDelta || isSummary) table.setStart(row, startMs);
}

/**
 * When the series was last sampled. A staleness marker has a time 1 ms later if samples have
 * timestamps, else the time of the page on which the series was absent. In the second case, the
 * last sample came with the last uptime of the previous process, if that is one poll older.
 */
function previousSampleMs(judge: Judge, row: number, evidence: UptimeEvidence | undefined): number {
  const { table, options } = judge;
  const lastMs = table.lastTimeMs[row]!;
  if (!isMarkedByPage(judge, row)) {
    const isMarked = (table.flags[row]! & ROW_FLAG.staleSent) !== 0;
    return isMarked && options.staleMarkers ? lastMs - 1 : lastMs;
  }
  const leftMs = leftMsOf(evidence);
  return leftMs < lastMs && leftMs > lastMs - 1.5 * options.intervalMs ? leftMs : lastMs;
}

/**
 * True if the last time of a series is only a marker's, so that its last sample is older by an
 * unknown amount.
 */
function isMarkedByPage({ table, options }: Judge, row: number): boolean {
  const flags = table.flags[row]! & (ROW_FLAG.staleSent | ROW_FLAG.explicitTime);
  return options.staleMarkers && flags === ROW_FLAG.staleSent;
}

// Creation times of OpenMetrics counters (F4): `foo_created` is the start of `foo_total` with the
// same labels, not a metric. Those of histograms and summaries are parts of their points
// (compound.ts).

/** Links a new counter to its creation time, or the reverse, whichever came last. */
export function linkCreated(table: SeriesTable, row: number, key: SeriesKey): void {
  const metric = table.metrics[table.metric[row]!]!;
  if (metric.declared !== 'counter' || metric.familyName === metric.name) return;
  if (table.role[row] === ROLE.created) {
    const counter = findSeries(table, metric.name, key.labels);
    if (counter >= 0 && table.role[counter] === ROLE.scalar) table.createdRows.set(counter, row);
  } else if (table.role[row] === ROLE.scalar) {
    const created = findSeries(table, `${metric.familyName}_created`, key.labels);
    if (created >= 0 && table.role[created] === ROLE.created) table.createdRows.set(row, created);
  }
}

/** Whether the series has a creation time that this page leaves out. */
function lacksCreated(table: SeriesTable, created: number): boolean {
  if (created === NO_ROW || isOnPage(table, created)) return false;
  return table.role[created] === ROLE.created;
}

/** Whether the uptime showed its process before the series' last sample; true without an uptime. */
function hasShownBefore(judge: Judge, row: number, evidence: UptimeEvidence | undefined): boolean {
  if (isMarkedByPage(judge, row)) return false;
  return !(previousSampleMs(judge, row, evidence) < (evidence?.shownMs ?? Number.NaN));
}

/** The start that a creation row of this page gives to a sample, in ms; NaN if there is none. */
function createdMsOf(table: SeriesTable, created: number, timeMs: number): number {
  if (!isOnPage(table, created)) return Number.NaN;
  // In the text format the same name may be a metric of its own.
  if (table.role[created] !== ROLE.created) return Number.NaN;
  const createdMs = Math.round(table.value[created]! * 1000);
  return createdMs > 0 && createdMs <= timeMs ? createdMs : Number.NaN;
}

// Falls.

/** Whether the row counts less than its newest finite value. Quantiles and sums may fall anyway. */
function hasFallen({ role, lastValue }: SeriesTable, row: number, value: number): boolean {
  const isCount = role[row] !== ROLE.quantile && role[row] !== ROLE.sum;
  return isCount && value < lastValue[row]!;
}

/**
 * F7 for the parts of a point on this page: one of STREAM. Nothing is known if only the count between
 * two bounds fell, because all cumulative buckets have risen.
 */
export function streamByCounts(
  table: SeriesTable,
  compound: Compound,
  kind: PointKind,
  parts: readonly number[],
): number {
  let isOlder = false;
  for (const row of parts) {
    if (!hasFallen(table, row, table.value[row]!)) continue;
    if (isObserved(table, row)) return STREAM.began;
    // A part that was absent fell at an unknown time, maybe at a reset that is already known.
    isOlder = true;
  }
  const isBucket = isOlder || (kind === 'histogram' && hasBucketFallen(table, compound));
  return isBucket ? STREAM.unknown : STREAM.goesOn;
}

/** Whether the count between two bounds fell, for bounds that the previous sample also had. */
function hasBucketFallen(table: SeriesTable, compound: Compound): boolean {
  const { rows, bounds, count } = compound;
  let [below, belowLast] = [0, 0];
  for (let i = 0; i <= rows.length; i++) {
    const row = i < rows.length ? rows[i] : count;
    if (row === undefined || (i < rows.length && !Number.isFinite(bounds[i]))) continue;
    if (!isOnPage(table, row) || !isObserved(table, row)) continue;
    const [value, last] = [table.value[row]!, table.lastValue[row]!];
    if (value - below < last - belowLast) return true;
    [below, belowLast] = [value, last];
  }
  return false;
}

/** Whether the row was a part of the newest accepted sample of its point. */
export function isObserved(table: SeriesTable, row: number): boolean {
  return (table.flags[row]! & ROW_FLAG.observed) !== 0;
}

/** After a reset, forgets the older values of absent parts: they would look like another reset. */
export function forgetAbsentParts(table: SeriesTable, compound: Compound): void {
  for (const row of rowsOf(compound))
    if (!isOnPage(table, row)) table.setLastValue(row, Number.NaN);
}

// Processes.

/** What the uptime of a row has shown; undefined if it has none. */
export function evidenceOf(table: SeriesTable, row: number): UptimeEvidence | undefined {
  const { uptimeName } = table.metrics[table.metric[row]!]!;
  return uptimeName === null ? undefined : componentOfRow(table, row)?.uptimes.get(uptimeName);
}

/** The start time of the current process, as in processMs of its rows; NO_PROCESS if unknown. */
export function processOf(evidence: UptimeEvidence | undefined): number {
  if (evidence === undefined || Number.isNaN(evidence.processMs)) return NO_PROCESS;
  return evidence.processMs;
}

/**
 * Whether a row's stream began with the current process. Restarts within the jitter look like one
 * process, so the stream must have lasted longer than that.
 */
export function isStreamOfProcess(table: SeriesTable, row: number): boolean {
  const evidence = evidenceOf(table, row);
  const processMs = processOf(evidence);
  if (table.startMs[row] !== processMs || table.processMs[row] !== processMs) return false;
  return table.lastTimeMs[row]! > (evidence?.beginMs ?? Number.NaN) + JITTER_MS;
}

/** The later of two times; NaN means none. */
export function laterMs(aMs: number, bMs: number): number {
  return bMs <= aMs || Number.isNaN(bMs) ? aMs : bMs;
}

/** When the process before the current one was last shown; NaN if there was none. */
export function leftMsOf(evidence: UptimeEvidence | undefined): number {
  return evidence?.leftMs ?? Number.NaN;
}

function isSameBegin(a: number, b: number): boolean {
  return Math.abs(a - b) <= JITTER_MS;
}

/** Restarts in time until an uptime is no longer late: a flush may make a late one seem in time. */
const RESTARTS_IN_TIME = 3;
/** Polls with normal growth after which a stuck uptime is evidence again. */
const POLLS_OF_GROWTH = 2;

/** A sample of an uptime, with its timestamp and our monotonic clock. */
interface UptimeSample {
  readonly value: number;
  readonly timeMs: number;
  readonly atMs: number;
}

/** A component whose uptime shows a new process. */
interface Turn {
  readonly component: Component;
  readonly evidence: UptimeEvidence;
  readonly sample: UptimeSample;
}

/** Weighs the uptimes on this page, before any series is judged. */
export function weighUptimes(judge: Judge): void {
  const { table, time, options } = judge;
  const turns: Turn[] = [];
  const timeOf = (stampMs: number): number =>
    !options.honorTimestamps || Number.isNaN(stampMs) ? time.nowMs : stampMs;
  const firstOf = (row: number): UptimeSample => {
    const atMs = time.monotonicMs;
    return { value: table.value[row]!, timeMs: timeOf(table.timeMs[row]!), atMs };
  };
  // Of several samples on this page the newest one counts, unless a wrong clock dated it.
  const newest = new Map<number, UptimeSample>();
  for (const { row, value, timeMs: stampMs } of table.repeats) {
    if (!table.metrics[table.metric[row]!]!.isUptime) continue;
    const before = newest.get(row) ?? firstOf(row);
    const timeMs = timeOf(stampMs);
    if (timeMs <= time.futureMs && (timeMs > before.timeMs || before.timeMs > time.futureMs))
      newest.set(row, { value, timeMs, atMs: before.atMs });
  }
  for (const component of table.components)
    for (const evidence of component.uptimes.values()) {
      const row = rowOnPage(table, evidence);
      if (row === NO_ROW) continue;
      const sample = newest.get(row) ?? firstOf(row);
      if (weigh(evidence, sample, time.futureMs)) turns.push({ component, evidence, sample });
    }
  if (turns.length === 0) return;
  for (const { evidence } of turns) evidence.hasFallenNow = false;
  noteFalls(judge);
  for (const turn of turns) settleTurn(turn, options.intervalMs);
}

/**
 * Whether the uptime shows that another process began between the row's newest sample and a further
 * one at `timeMs` on the same page.
 */
export function beganSince(table: SeriesTable, row: number, timeMs: number): boolean {
  const processMs = processOf(evidenceOf(table, row));
  if (processMs === NO_PROCESS || isSameBegin(processMs, table.processMs[row]!)) return false;
  return processMs > table.lastTimeMs[row]! - JITTER_MS && processMs <= timeMs;
}

/** The number of stuck uptimes on this page, by service. They cannot show restarts. */
export function countStuckUptimes(table: SeriesTable): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { service, uptimes } of table.components)
    for (const { doubt, rows } of uptimes.values())
      if (doubt > POLLS_OF_GROWTH && rows.some(row => table.seen[row] === table.page))
        counts.set(service, (counts.get(service) ?? 0) + 1);
  return counts;
}

/** The row of an uptime on this page. Two rows with different labels prove nothing. */
function rowOnPage(table: SeriesTable, evidence: UptimeEvidence): number {
  let found: number = NO_ROW;
  let count = 0;
  for (const row of evidence.rows)
    if (table.seen[row] === table.page) {
      found = row;
      count++;
    }
  if (count > 0) evidence.isSplit = count > 1;
  return count === 1 ? found : NO_ROW;
}

/** Accepts a sample of an uptime; true if it shows a new process. */
function weigh(evidence: UptimeEvidence, sample: UptimeSample, futureMs: number): boolean {
  const { value, timeMs } = sample;
  if (!(value >= 0 && timeMs - value * 1000 > 0) || timeMs > futureMs) return false;
  // The last sample was dated by a wrong clock.
  if (evidence.timeMs > futureMs) Object.assign(evidence, NO_EVIDENCE);
  // A repeated or older sample shows nothing new.
  if (timeMs <= evidence.timeMs) return false;
  const before = { value: evidence.value, timeMs: evidence.timeMs };
  evidence.value = value;
  evidence.timeMs = timeMs;
  if (Number.isNaN(evidence.processMs)) {
    evidence.sinceMs = timeMs;
    Object.assign(evidence, knownFrom(sample));
    return false;
  }
  // An older process shows at once even if the uptime was stuck: no uptime grows faster than time.
  const isOlder = timeMs - value * 1000 < evidence.beginMs - JITTER_MS;
  if (isInDoubt(evidence, before.value, sample) && !isOlder) return false;
  // An unchanged value may be left over from an ended process: it does not prove a running one.
  if (value === before.value) return false;
  return isAnother(evidence, before.timeMs, sample);
}

/** An uptime that does not grow while its time moves is no evidence until two polls of normal growth. */
function isInDoubt(evidence: UptimeEvidence, before: number, sample: UptimeSample): boolean {
  const { value, timeMs } = sample;
  const stood = value === before;
  const passedMs = timeMs - evidence.sinceMs;
  if (!stood) evidence.sinceMs = timeMs;
  if (stood && passedMs > JITTER_MS) evidence.doubt = POLLS_OF_GROWTH + 1;
  else if (evidence.doubt > 0) {
    const grownMs = (value - before) * 1000;
    // The first step after standing still is no growth yet.
    const isMoving = evidence.doubt <= POLLS_OF_GROWTH;
    const hasGrown = !stood && Math.abs(grownMs - passedMs) <= JITTER_MS;
    evidence.doubt = isMoving && hasGrown ? evidence.doubt - 1 : POLLS_OF_GROWTH;
  }
  return evidence.doubt > 0;
}

/**
 * Compares with the newest certain sample. Unless the uptime fell, both clocks must show a change.
 */
function isAnother(evidence: UptimeEvidence, lastMs: number, sample: UptimeSample): boolean {
  const { value, timeMs, atMs } = sample;
  const beginMs = timeMs - value * 1000;
  const laterMs = beginMs - evidence.beginMs;
  if (Math.abs(laterMs) > JITTER_MS) {
    const grownMs = value * 1000 - (evidence.provenMs - evidence.beginMs);
    // A late uptime lags by one poll, which may have been longer than usual.
    const isLate = evidence.lag > 0 && laterMs > 0 && laterMs <= JITTER_MS + timeMs - lastMs;
    if (isLate && grownMs >= 0) return false;
    // NaN after a restart of prom2otlp.
    const passedMs = atMs - evidence.provenAtMs;
    // By our own clock it grew normally: the clock of the timestamps was set.
    const isStep = laterMs > 0 ? passedMs - grownMs <= JITTER_MS : grownMs - passedMs <= JITTER_MS;
    if (grownMs < 0 || !isStep) {
      evidence.unsure = grownMs >= 0 && Number.isNaN(passedMs) ? 1 : 0;
      return true;
    }
  }
  evidence.beginMs = beginMs;
  evidence.provenMs = timeMs;
  evidence.provenAtMs = atMs;
  return false;
}

/** The evidence that the first sample of a process gives. */
function knownFrom({ value, timeMs, atMs }: UptimeSample): Partial<UptimeEvidence> {
  const beginMs = Math.round(timeMs - value * 1000);
  return { processMs: beginMs, beginMs, shownMs: timeMs, provenMs: timeMs, provenAtMs: atMs };
}

/** Finds the components whose counters fell since the previous poll. */
function noteFalls(judge: Judge): void {
  const { seen, page, count, value, timeMs, repeats } = judge.table;
  for (let row = 0; row < count; row++)
    if (seen[row] === page && hasFallen(judge.table, row, value[row]!))
      noteFall(judge, { row, value: value[row]!, timeMs: timeMs[row]! });
  for (const sample of repeats) noteFall(judge, sample);
}

function noteFall(
  judge: Judge,
  { row, value, timeMs }: Pick<RepeatedSample, 'row' | 'value' | 'timeMs'>,
): void {
  const { table, options, time } = judge;
  if (!hasFallen(table, row, value)) return;
  // A first sample is compared with nothing.
  if (Number.isNaN(table.processMs[table.head[row]!]!)) return;
  const evidence = evidenceOf(table, row);
  const lastMs = table.lastTimeMs[row]!;
  // An older sample may be lower.
  if (evidence === undefined || (options.honorTimestamps && timeMs <= lastMs)) return;
  // After a marker, the fall counts only if the uptime was absent too: then the last samples of
  // both came together.
  const isEnded = isMarkedByPage(judge, row);
  const sampledMs = isEnded ? Math.min(evidence.provenMs, lastMs) : lastMs;
  const pollAgoMs = time.nowMs - 1.5 * options.intervalMs;
  if (sampledMs >= pollAgoMs && !(isEnded && sampledMs === lastMs)) evidence.hasFallenNow = true;
}

/**
 * Settles a change of process. If counters fell earlier, that fall was this restart, unless the
 * process began more than a poll after it. If the uptime still continued after the fall, it is one
 * poll late: this is learned, and unlearned when both change together.
 */
function settleTurn({ component, evidence, sample }: Turn, pollMs: number): void {
  const { fellMs, provenMs, lag } = evidence;
  const hasFallenNow = evidence.hasFallenNow && sample.value * 1000 < provenMs - evidence.beginMs;
  const beginMs = sample.timeMs - sample.value * 1000;
  const wentOn = provenMs >= fellMs;
  const isExplained =
    beginMs <= fellMs + pollMs + JITTER_MS &&
    beginMs > provenMs - JITTER_MS &&
    !(wentOn && hasFallenNow && lag === 0);
  if (hasFallenNow && !isExplained) evidence.lag = lag > 0 ? lag - 1 : 0;
  // Nothing is learned from a fall that came with its own restart, before or now: this may be
  // another restart. Nor if a page is missing since the fall: the process may have begun after it.
  else if (
    isExplained &&
    wentOn &&
    !hasFallenNow &&
    fellMs > evidence.shownMs &&
    sample.timeMs - fellMs <= 1.5 * pollMs
  )
    evidence.lag = RESTARTS_IN_TIME;
  Object.assign(evidence, knownFrom(sample), { leftMs: provenMs, doubt: 0 });
  if (isExplained) evidence.shownMs = Math.min(fellMs, sample.timeMs);
  // While the uptime's lag is unknown, a fall on this page may announce another restart.
  evidence.fellMs = hasFallenNow && lag !== 0 ? sample.timeMs : Number.NaN;
  component.tornMs = laterMs(component.tornMs, component.firstTimeMs);
}
