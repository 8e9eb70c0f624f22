// The one place where a reset is decided (otlp-mapping F4 to F7): does a counter, histogram or summary go on, did it begin
// again, or is nothing known of what it counted since its previous sample? In: a sample in time order, whether it fell,
// what the page says of its creation, and the uptime of its component. Out: one of STREAM, and the row's start.
// Guarantees: in doubt a count is lost and never claimed; a start is never later than its point, never goes back, and
// never lies before the previous point of another stream.
//
// A stream belongs to a process, and a process is known by the time at which it began: the time of its uptime sample minus
// the value. So there are two questions. Of each component, once per page: is this still the process that it was
// (weighUptimes)? Of each series, where the answer has changed or its value has fallen: what of the new value was counted
// since the previous sample (judgeStream)?

import {
  type Compound,
  type Component,
  NO_PROCESS,
  type UptimeEvidence,
} from '../../model/memory.ts';
import type { Metric } from '../../model/metric.ts';
import { NO_ROW, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import type { DeriveOptions } from './options.ts';
import type { PageTime } from './page-time.ts';

/** J: uptimes are whole seconds, and stamps jitter. Begins that are closer than this are those of one process. */
const JITTER_MS = 2000;

/** What became of a series between its previous sample and this one. */
export const STREAM = {
  /** It goes on: it grew by the difference of the two values. */
  goesOn: 0,
  /** It began again in between: all of the new value is growth. */
  began: 1,
  /** Nothing tells what was counted in between: the new value is a baseline. */
  unknown: 2,
} as const;

/** How a sample is lower than the one before it. */
export const FALL = {
  none: 0,
  /** The value, the count or a cumulative bucket. */
  value: 1,
  /** Only what lies between two bounds: all cumulative buckets have risen. */
  bucket: 2,
} as const;

/** What there is to know of a sample beside its row. Times in ms, NaN where there is none. */
export interface StreamFacts {
  /** One of FALL. */
  readonly fall: number;
  /** What the page says; see createdMsOf(). */
  readonly createdMs: number;
  readonly component: Component | undefined;
  /** The series that dates the process, or null. */
  readonly uptimeName: string | null;
  /** True where startMs is to be that of the stream; a delta begins where the one before it ended. */
  readonly isCumulative: boolean;
}

export interface Judge {
  readonly table: SeriesTable;
  readonly options: DeriveOptions;
  /** False where only the page's own word counts: in strict mode, and without start_times. */
  readonly mayDerive: boolean;
}

/**
 * Judges a sample that has been accepted and whose time is in timeMs; gives one of STREAM. Sets startMs, where it is
 * cumulative or the first of its series, and processMs: NaN there means that nothing is known of the series.
 */
export function judgeStream(judge: Judge, row: number, facts: StreamFacts): number {
  const { table, mayDerive } = judge;
  const { createdMs, fall } = facts;
  const timeMs = table.timeMs[row]!;
  const isTold = createdMs > 0 && createdMs <= timeMs;
  if (Number.isNaN(table.processMs[row]!)) return beginFirst(judge, row, facts, isTold);
  if (!mayDerive) {
    const startMs = table.startMs[row]!;
    if (isTold && facts.isCumulative && !(createdMs <= startMs))
      setStart(table, row, Number.isNaN(startMs) ? createdMs : notBefore(table, row, createdMs));
    return AFTER_FALL[fall] ?? STREAM.unknown;
  }
  const evidence = isTold ? undefined : evidenceOf(facts);
  const processMs = isTold ? createdMs : processOf(evidence);
  const known = table.processMs[row]!;
  // Evidence that was gathered anew, as after a reload, dates the same process a little differently.
  const isAnother =
    processMs !== NO_PROCESS && !isSameBegin(processMs, known) && timeMs >= processMs;
  if (isAnother) return judgeProcess(judge, row, facts, { processMs, evidence });
  return judgeFall(table, row, facts, evidence);
}

/** The first sample of a series: it began with its process, or nobody knows when. */
function beginFirst(
  { table, mayDerive }: Judge,
  row: number,
  facts: StreamFacts,
  isTold: boolean,
): number {
  const { component, createdMs } = facts;
  const timeMs = table.timeMs[row]!;
  const evidence = evidenceOf(facts);
  const mayDate = mayDerive && !isTold && evidence?.isSplit !== true;
  const processMs = mayDate ? processOf(evidence) : NO_PROCESS;
  const isDated = processMs !== NO_PROCESS && processMs <= timeMs;
  table.savedStarts = null;
  table.processMs[row] = NO_PROCESS;
  if (isDated) table.processMs[row] = processMs;
  else if (isTold) table.processMs[row] = createdMs;
  if (!isTold && !mayDerive) return STREAM.goesOn;
  // A stream of a series that was forgotten may have lasted until then. A late uptime dates its process too late: it may
  // have begun at any time since the process before it was last seen.
  const earliestMs = evidence !== undefined && evidence.lag > 0 ? evidence.leftMs : processMs;
  const tornMs = component?.tornMs ?? Number.NaN;
  const isTorn = processMs <= tornMs || earliestMs <= tornMs;
  const beginMs = isTold ? createdMs : isDated && !isTorn ? processMs : timeMs;
  // Another stream was sent until then: while the series was of another kind, or by another row to a process before ours.
  const isOver = beginMs < table.lastTimeMs[row]!;
  setStart(table, row, isOver ? timeMs : beginMs);
  return STREAM.goesOn;
}

/**
 * F5: another process counts than the one that the series belonged to. It is growth only if it began between the
 * previous sample and this one.
 */
function judgeProcess(
  { table, options }: Judge,
  row: number,
  facts: StreamFacts,
  process: { readonly processMs: number; readonly evidence: UptimeEvidence | undefined },
): number {
  const { processMs, evidence } = process;
  const isUnknown = table.processMs[row] === NO_PROCESS;
  const previousMs = previousSampleMs(table, row, { evidence, options });
  // The page itself says of this series when it began: then it is certain.
  const { shownMs, leftMs, unsure } = evidence ?? { ...PAGE_SAYS, leftMs: previousMs };
  table.savedStarts = null;
  table.processMs[row] = processMs;
  if (unsure === 1) return lose(table, row, facts);
  const hasBegun = processMs >= previousMs - JITTER_MS;
  if (hasBegun && facts.fall === FALL.value) return begin(table, row, facts, processMs);
  // The previous sample was already its own, as the uptime or another counter has shown; or nothing tells that it was not.
  const isMarked = isMarkedByPage(table, row, options);
  if ((previousMs >= shownMs && !isMarked) || isUnknown)
    return judgeFall(table, row, facts, evidence);
  if (!hasBegun) return lose(table, row, facts);
  // Without an uptime beside the previous sample, or with one that is late, that may have been of either process: the
  // difference is safe.
  const isLater = processMs > previousMs + JITTER_MS;
  const isLate = evidence !== undefined && evidence.lag > 0;
  if (!isLate && (isLater || leftMs >= previousMs)) return begin(table, row, facts, processMs);
  return judgeFall(table, row, facts, evidence);
}

const PAGE_SAYS = { shownMs: Number.NaN, unsure: 0 };

/** F7: the process is the same. A value that fell was flushed; a bucket that fell by itself says nothing. */
function judgeFall(
  table: SeriesTable,
  row: number,
  facts: StreamFacts,
  evidence: UptimeEvidence | undefined,
): number {
  if (facts.fall === FALL.none) return STREAM.goesOn;
  const timeMs = table.timeMs[row]!;
  // It may turn out to be a restart that the uptime tells a poll later.
  if (evidence !== undefined && !(timeMs <= evidence.fellMs)) evidence.fellMs = timeMs;
  if (facts.fall === FALL.bucket) return lose(table, row, facts);
  return begin(table, row, facts, Number.NEGATIVE_INFINITY);
}

const AFTER_FALL: readonly number[] = [STREAM.goesOn, STREAM.began, STREAM.unknown];

/** A new stream that began then, or with the previous point; its start is never that of the one before it. */
function begin(table: SeriesTable, row: number, facts: StreamFacts, atMs: number): number {
  if (!facts.isCumulative) return STREAM.began;
  const lastMs = table.lastTimeMs[row]!;
  const latestMs = notBefore(table, row, atMs);
  // A process that is not a second old.
  const startMs = latestMs < table.timeMs[row]! ? latestMs : lastMs;
  setStart(table, row, startMs === table.startMs[row] ? startMs + 1 : startMs);
  return STREAM.began;
}

/** A new stream of which the beginning is not known: it starts with its own first point. */
function lose(table: SeriesTable, row: number, facts: StreamFacts): number {
  if (facts.isCumulative) setStart(table, row, table.timeMs[row]!);
  return STREAM.unknown;
}

/** Streams of one series do not overlap. */
function notBefore(table: SeriesTable, row: number, atMs: number): number {
  const lastMs = table.lastTimeMs[row]!;
  return lastMs > atMs ? lastMs : atMs;
}

function setStart(table: SeriesTable, row: number, startMs: number): void {
  table.savedStarts = null;
  table.startMs[row] = startMs;
}

/**
 * When the series was last sampled. A staleness marker bears another time: 1 ms more where samples have timestamps, else
 * that of the page on which the series was missing. The sample before it came with the last uptime, if that was one poll
 * earlier.
 */
function previousSampleMs(
  table: SeriesTable,
  row: number,
  around: { readonly evidence: UptimeEvidence | undefined; readonly options: DeriveOptions },
): number {
  const lastMs = table.lastTimeMs[row]!;
  if (!isMarkedByPage(table, row, around.options)) {
    const isMarked = (table.flags[row]! & ROW_FLAG.staleSent) !== 0;
    return isMarked && around.options.staleMarkers ? lastMs - 1 : lastMs;
  }
  const leftMs = around.evidence?.leftMs ?? Number.NaN;
  return leftMs < lastMs && leftMs > lastMs - 1.5 * around.options.intervalMs ? leftMs : lastMs;
}

/** True where the last time of a series is that of a marker which says no more than that the sample before it is older. */
function isMarkedByPage(
  table: SeriesTable,
  row: number,
  { staleMarkers }: Pick<DeriveOptions, 'staleMarkers'>,
): boolean {
  const flags = table.flags[row]! & (ROW_FLAG.staleSent | ROW_FLAG.explicitTime);
  return staleMarkers && flags === ROW_FLAG.staleSent;
}

// Falls.

/**
 * F7 for the parts of a point that are on this page: how they fell against the newest finite value of each. Quantiles and
 * sums fall in the ordinary course of things.
 */
export function fallOfCompound(
  table: SeriesTable,
  compound: Compound,
  { kind }: Metric,
  parts: readonly number[],
): number {
  for (const row of parts) {
    if (row === compound.sum || (kind !== 'histogram' && row !== compound.count)) continue;
    if (table.value[row]! < table.lastValue[row]!) return FALL.value;
  }
  return kind === 'histogram' && hasBucketFallen(table, compound) ? FALL.bucket : FALL.none;
}

/** Whether less lies between two bounds than did; bounds that the observation before had not are passed over. */
function hasBucketFallen(table: SeriesTable, compound: Compound): boolean {
  const { rows, bounds, count } = compound;
  let [below, belowLast] = [0, 0];
  for (let i = 0; i <= rows.length; i++) {
    const row = i < rows.length ? rows[i] : count;
    if (row === undefined || (i < rows.length && !Number.isFinite(bounds[i]))) continue;
    const isIn = table.seen[row] === table.page && isObserved(table, row);
    if (!isIn) continue;
    const [value, last] = [table.value[row]!, table.lastValue[row]!];
    if (value - below < last - belowLast) return true;
    [below, belowLast] = [value, last];
  }
  return false;
}

/** True when the row was a part of the newest accepted observation of its point. */
export function isObserved(table: SeriesTable, row: number): boolean {
  return (table.flags[row]! & ROW_FLAG.observed) !== 0;
}

/** After a reset: what is remembered of parts that are not on this page is older than it, and would look like another. */
export function forgetAbsentParts(table: SeriesTable, compound: Compound): void {
  for (const row of [...compound.rows, compound.sum]) {
    if (row === NO_ROW || table.seen[row] === table.page) continue;
    if (Number.isNaN(table.lastValue[row]!)) continue;
    table.savedStarts = null;
    table.lastValue[row] = Number.NaN;
  }
}

// Processes.

function evidenceOf({ component, uptimeName }: StreamFacts): UptimeEvidence | undefined {
  return uptimeName === null ? undefined : component?.uptimes.get(uptimeName);
}

/** When the process began that counts now, as processMs of its rows has it; NO_PROCESS where nothing tells. */
export function processOf(evidence: UptimeEvidence | undefined): number {
  if (evidence === undefined || Number.isNaN(evidence.processMs)) return NO_PROCESS;
  return evidence.processMs;
}

/**
 * True if the stream of a row began with the process that counts now. Restarts within the jitter of one another look like
 * one process: the stream must have lasted for longer than that.
 */
export function isStreamOfProcess(
  table: SeriesTable,
  row: number,
  evidence: UptimeEvidence | undefined,
): boolean {
  const processMs = processOf(evidence);
  if (table.startMs[row] !== processMs || table.processMs[row] !== processMs) return false;
  return table.lastTimeMs[row]! > (evidence?.beginMs ?? Number.NaN) + JITTER_MS;
}

function isSameBegin(a: number, b: number): boolean {
  return Math.abs(a - b) <= JITTER_MS;
}

/** Evidence before the first sample. */
export const NO_EVIDENCE: Omit<UptimeEvidence, 'rows'> = {
  value: Number.NaN,
  timeMs: Number.NaN,
  sinceMs: Number.NaN,
  processMs: Number.NaN,
  beginMs: Number.NaN,
  shownMs: Number.NaN,
  provenMs: Number.NaN,
  leftMs: Number.NaN,
  fellMs: Number.NaN,
  lag: Number.NaN,
  doubt: 0,
  unsure: 0,
  isSplit: false,
  hasFallenNow: false,
  provenAtMs: Number.NaN,
};

/** Restarts after which an uptime that was late is relied on again: a flush may fall together with one that is late. */
const RESTARTS_IN_TIME = 3;
/** Polls of true growth after which an uptime that stood still is evidence again. */
const POLLS_OF_GROWTH = 2;

/** One sample of an uptime, with its time by the stamps and by our monotonic clock. */
interface UptimeSample {
  readonly value: number;
  readonly timeMs: number;
  readonly atMs: number;
}

/** A component whose uptime says that another process counts now. */
interface Turn {
  readonly component: Component;
  readonly evidence: UptimeEvidence;
  readonly sample: UptimeSample;
}

/** Weighs the uptimes on this page, before any series is judged. */
export function weighUptimes(
  table: SeriesTable,
  time: PageTime,
  options: Pick<DeriveOptions, 'honorTimestamps' | 'intervalMs' | 'staleMarkers'>,
): void {
  const turns: Turn[] = [];
  for (const component of table.components)
    for (const evidence of component.uptimes.values()) {
      const row = rowOnPage(table, evidence);
      if (row === NO_ROW) continue;
      const stampMs = table.timeMs[row]!;
      const isImplicit = !options.honorTimestamps || Number.isNaN(stampMs);
      const timeMs = isImplicit ? time.nowMs : stampMs;
      const value = table.value[row]!;
      const sample = { value, timeMs, atMs: time.monotonicMs };
      if (weigh(evidence, sample, time.futureMs)) turns.push({ component, evidence, sample });
    }
  if (turns.length === 0) return;
  for (const { evidence } of turns) evidence.hasFallenNow = false;
  noteFalls(table, time.nowMs - 1.5 * options.intervalMs, options);
  for (const turn of turns) settleTurn(turn, options.intervalMs);
}

/** How many uptimes on this page stand still, by service: nothing that they date is known to have begun again. */
export function countStuckUptimes(table: SeriesTable): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { service, uptimes } of table.components)
    for (const { doubt, rows } of uptimes.values())
      if (doubt > POLLS_OF_GROWTH && rows.some(row => table.seen[row] === table.page))
        counts.set(service, (counts.get(service) ?? 0) + 1);
  return counts;
}

/** The row of an uptime on this page. Two that other labels tell apart are no evidence of either process. */
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

/** Takes a sample of an uptime; true when it shows another process than the one before. */
function weigh(evidence: UptimeEvidence, sample: UptimeSample, futureMs: number): boolean {
  const { value, timeMs } = sample;
  if (!(value >= 0 && timeMs - value * 1000 > 0) || timeMs > futureMs) return false;
  // What a clock that was wrong has dated is no measure.
  if (evidence.timeMs > futureMs) Object.assign(evidence, NO_EVIDENCE);
  // A sample that was seen before says nothing new, nor does an older one.
  if (timeMs <= evidence.timeMs) return false;
  const before = { value: evidence.value, timeMs: evidence.timeMs };
  evidence.value = value;
  evidence.timeMs = timeMs;
  if (Number.isNaN(evidence.processMs)) {
    evidence.sinceMs = timeMs;
    Object.assign(evidence, knownFrom(sample));
    return false;
  }
  // One that stood still and goes on has not grown by more than the time: that would be an older process.
  const isOlder = timeMs - value * 1000 < evidence.beginMs - JITTER_MS;
  if (isInDoubt(evidence, before.value, sample) && !isOlder) return false;
  return isAnother(evidence, before.timeMs, sample);
}

/** An uptime that stands still though its time moves is no evidence, until it has truly grown for two polls. */
function isInDoubt(evidence: UptimeEvidence, before: number, sample: UptimeSample): boolean {
  const { value, timeMs } = sample;
  const stood = value === before;
  const passedMs = timeMs - evidence.sinceMs;
  if (!stood) evidence.sinceMs = timeMs;
  if (stood && passedMs > JITTER_MS) evidence.doubt = POLLS_OF_GROWTH + 1;
  else if (evidence.doubt > 0) {
    const grownMs = (value - before) * 1000;
    // The step with which it moves again is no growth yet.
    const isMoving = evidence.doubt <= POLLS_OF_GROWTH;
    const hasGrown = !stood && Math.abs(grownMs - passedMs) <= JITTER_MS;
    evidence.doubt = isMoving && hasGrown ? evidence.doubt - 1 : POLLS_OF_GROWTH;
  }
  return evidence.doubt > 0;
}

/** Compares with the newest sample that was certain. The clocks are believed only where both say the same. */
function isAnother(evidence: UptimeEvidence, lastMs: number, sample: UptimeSample): boolean {
  const { value, timeMs, atMs } = sample;
  const beginMs = timeMs - value * 1000;
  const laterMs = beginMs - evidence.beginMs;
  if (Math.abs(laterMs) > JITTER_MS) {
    const grownMs = value * 1000 - (evidence.provenMs - evidence.beginMs);
    // What is late by a poll is so by one that may have been longer.
    const isLate = evidence.lag > 0 && laterMs > 0 && laterMs <= JITTER_MS + timeMs - lastMs;
    if (isLate && grownMs >= 0) return false;
    // Not known after a restart of our own.
    const passedMs = atMs - evidence.provenAtMs;
    // By our own clock it has grown as it should: the clock of the stamps was set.
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

/** What is known of a process by its first sample. */
function knownFrom({ value, timeMs, atMs }: UptimeSample): Partial<UptimeEvidence> {
  const beginMs = Math.round(timeMs - value * 1000);
  return { processMs: beginMs, beginMs, shownMs: timeMs, provenMs: timeMs, provenAtMs: atMs };
}

/** Finds out in which components counters have fallen on this page, that were sampled a poll ago. */
function noteFalls(
  table: SeriesTable,
  pollAgoMs: number,
  options: Pick<DeriveOptions, 'staleMarkers'>,
): void {
  const { seen, page, value, lastValue, lastTimeMs, metrics, metric, blocks, block } = table;
  for (let row = 0; row < table.count; row++) {
    if (seen[row] !== page || !(value[row]! < lastValue[row]!)) continue;
    const name = metrics[metric[row]!]?.uptimeName ?? null;
    const component = table.components[blocks[block[row]!]?.component ?? -1];
    const evidence = name === null ? undefined : component?.uptimes.get(name);
    if (evidence === undefined) continue;
    const lastMs = lastTimeMs[row]!;
    // On the page of a marker the uptime must have been missing, too: then their last samples came together.
    const isEnded = isMarkedByPage(table, row, options);
    const sampledMs = isEnded ? Math.min(evidence.provenMs, lastMs) : lastMs;
    if (sampledMs >= pollAgoMs && !(isEnded && sampledMs === lastMs)) evidence.hasFallenNow = true;
  }
}

/**
 * Another process counts. Where counters fell before, it is the restart that they have shown, if it did not begin more than
 * a poll after that. If the uptime went on until after the fall, it shows what was true a poll ago. That is learned, and
 * unlearned when both fall together.
 */
function settleTurn({ component, evidence, sample }: Turn, pollMs: number): void {
  const { fellMs, provenMs, lag } = evidence;
  const hasFallenNow = evidence.hasFallenNow && sample.value * 1000 < provenMs - evidence.beginMs;
  const beginMs = sample.timeMs - sample.value * 1000;
  const wentOn = provenMs >= fellMs;
  const isTold =
    beginMs <= fellMs + pollMs + JITTER_MS &&
    beginMs > provenMs - JITTER_MS &&
    !(wentOn && hasFallenNow && lag === 0);
  if (hasFallenNow && !isTold) evidence.lag = lag > 0 ? lag - 1 : 0;
  // A fall that came with a process of its own, before or now, teaches nothing: this may be a further restart. Nor does one
  // of which a page is missing since: the process may have begun after it.
  else if (
    isTold &&
    wentOn &&
    !hasFallenNow &&
    fellMs > evidence.shownMs &&
    sample.timeMs - fellMs <= 1.5 * pollMs
  )
    evidence.lag = RESTARTS_IN_TIME;
  Object.assign(evidence, knownFrom(sample), { leftMs: provenMs, doubt: 0 });
  if (isTold) evidence.shownMs = Math.min(fellMs, sample.timeMs);
  // A fall on this page may be the sign of a further restart, while it is not known how late the uptime is.
  evidence.fellMs = hasFallenNow && lag !== 0 ? sample.timeMs : Number.NaN;
  if (!(component.tornMs >= component.firstTimeMs)) component.tornMs = component.firstTimeMs;
}
