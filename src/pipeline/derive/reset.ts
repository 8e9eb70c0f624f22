// Decides about restarts (docs/how-it-works/mapping.md F4 to F7). No other file does: judge.ts skips this one only
// for rows that certainly continue. Does a counter, histogram or summary continue, has it begun
// again, or is its growth since the previous sample unknown? In: a sample in time order, whether it
// fell, its creation time if the page has one, and the uptime of its instance. Out: one of STREAM,
// and the row's start.
//
// Guarantees: a start is never later than its point, never goes back, and never precedes a point of
// an earlier stream. Rare doubt may lose the growth of one interval; ordinary life loses nothing.

import type { Compound, Uptime } from '../../model/memory.ts';
import type { PointKind } from '../../model/metric.ts';
import { NO_ROW, ROLE, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import { findSeries } from '../decode/row-index.ts';
import type { SeriesKey } from '../decode/series-key.ts';
import { isOnPage, rowsOf } from './compound.ts';
import type { Judge } from './options.ts';
import { instanceOfRow } from './places.ts';
import { SHOWS, uptimeOf } from './uptimes.ts';

/** How a series continues between its previous sample and this one. */
export const STREAM = {
  /** It continues: it grew by the difference of the two values. */
  goesOn: 0,
  /** It began again: all of the new value is growth. */
  began: 1,
  /** Unknown: the new value is a baseline. */
  unknown: 2,
  /** The next page decides: the sample counts as not seen. */
  waits: 3,
} as const;

/** What a reading of an uptime says of the process since the reading before. */
export const PROCESS = {
  same: 0,
  /** It began later. */
  younger: 1,
  /** It began earlier. */
  older: 2,
} as const;

/** A reading of an uptime, or of a creation time on the page. */
type Reading = Pick<Uptime, 'value' | 'timeMs' | 'sinceMs' | 'isCached'>;

const CLOCKS_MS = 10_000;
/** Pages are cached for up to a minute. */
const CACHED_MS = 60_000;

/** An uptime comes seconds early or late, and clocks step by seconds: less than this is no evidence. */
function tolMs(intervalMs: number): number {
  return Math.max(CLOCKS_MS, intervalMs / 4);
}

/** Compares a reading with an earlier one: `value` seconds, shown since `sinceMs`; NaN if none. */
export function compareProcess(
  intervalMs: number,
  value: number,
  sinceMs: number,
  now: Reading,
): number {
  const tol = tolMs(intervalMs);
  const grewMs = (now.value - value) * 1000;
  const passedMs = now.timeMs - sinceMs;
  // A cached page is older than it seems, by an unknown amount: a small rise says nothing.
  const isSlow = !now.isCached && grewMs > 0 && grewMs < passedMs - tol;
  if (grewMs < 0 || isSlow) return PROCESS.younger;
  const isFast = grewMs > passedMs + (now.isCached ? 2 * intervalMs + CLOCKS_MS : tol);
  return isFast ? PROCESS.older : PROCESS.same;
}

/**
 * Judges an accepted sample with its time in timeMs; returns one of STREAM. `byCounts`: the one
 * that its counts alone show. `created`: the row of its creation time, NO_ROW if it has none. Sets
 * startMs for a cumulative or first sample.
 */
export function judgeStream(judge: Judge, row: number, byCounts: number, created: number): number {
  const { table, options } = judge;
  const createdMs = createdMsOf(table, created, table.timeMs[row]!);
  if (isFirst(table, row)) return beginFirst(judge, row, createdMs);
  if (!options.mayDerive) return followPage(judge, row, byCounts, createdMs);
  if (!Number.isNaN(createdMs))
    return judgeReading(judge, row, byCounts, createdReading(table, row, createdMs));
  // A counter that has a creation time on other pages is not judged by another clock.
  const hasCreated = created !== NO_ROW && table.role[created] === ROLE.created;
  const uptime = hasCreated ? undefined : uptimeOf(judge, row);
  if (uptime?.shows === SHOWS.reading) return judgeReading(judge, row, byCounts, uptime);
  if (uptime?.shows === SHOWS.later)
    return options.isDelta || byCounts !== STREAM.goesOn ? STREAM.waits : STREAM.goesOn;
  note(table, row, null);
  return judgeFall(judge, row, byCounts);
}

/** Whether nothing is known of the row's stream. */
export function isFirst({ flags }: SeriesTable, row: number): boolean {
  return (flags[row]! & ROW_FLAG.known) === 0;
}

/** F5: judges by the uptime, compared with that of the series' own previous sample. */
function judgeReading(judge: Judge, row: number, byCounts: number, now: Reading): number {
  const { table, options } = judge;
  const { intervalMs } = options;
  const process = compareProcess(intervalMs, table.uptime[row]!, table.uptimeMs[row]!, now);
  const previousMs = previousSampleMs(judge, row);
  note(table, row, now);
  if (process === PROCESS.same) return judgeFall(judge, row, byCounts);
  if (process === PROCESS.older) return lose(judge, row);
  const tol = tolMs(intervalMs);
  const beginMs = beginOf(now);
  const fall = table.falls.get(row);
  // The restart that the counter has shown before.
  const isKnown = fall !== undefined && beginMs >= fall.fromMs - tol && beginMs <= fall.toMs + tol;
  if (isKnown && byCounts === STREAM.goesOn) return STREAM.goesOn;
  // Else a failover: the process had counted for others before.
  return beginMs >= previousMs - tol ? begin(judge, row, beginMs) : lose(judge, row);
}

/** F7: nothing shows another process. A fall is a flush, or a restart that the uptime shows later. */
function judgeFall(judge: Judge, row: number, byCounts: number): number {
  if (byCounts === STREAM.goesOn) return STREAM.goesOn;
  if (byCounts === STREAM.unknown) return lose(judge, row);
  const { table } = judge;
  table.falls.set(row, { fromMs: previousSampleMs(judge, row), toMs: table.timeMs[row]! });
  return begin(judge, row, Number.NEGATIVE_INFINITY);
}

/** The first sample of a series: it began with its process, or at an unknown time. */
function beginFirst(judge: Judge, row: number, createdMs: number): number {
  const { table, options } = judge;
  const hasCreated = !Number.isNaN(createdMs);
  const timeMs = table.timeMs[row]!;
  const uptime = options.mayDerive && !hasCreated ? uptimeOf(judge, row) : undefined;
  const shown = uptime?.shows === SHOWS.reading ? uptime : null;
  const reading = hasCreated ? createdReading(table, row, createdMs) : shown;
  note(table, row, reading);
  if (!options.mayDerive) table.uptimeMs[row] = createdMs;
  const flags = table.flags[row]!;
  table.flags[row] = flags | ROW_FLAG.known;
  const fromMs = reading === null ? timeMs : beginOf(reading);
  const savedMs = table.startMs[row]!;
  if (!Number.isNaN(savedMs) && !options.isDelta) {
    // Only the start is known of the previous process. A database that began later is another one;
    // on a cached page it may only seem so.
    const laterBy = Math.max(2 * options.intervalMs, CACHED_MS) + CLOCKS_MS;
    const isOther = fromMs < timeMs && fromMs > savedMs + laterBy;
    if (isOther || savedMs > timeMs) table.setStart(row, timeMs);
    return STREAM.goesOn;
  }
  if (!hasCreated && !options.mayDerive) return STREAM.goesOn;
  // A forgotten series may have had a stream until forgottenMs.
  const forgottenMs = instanceOfRow(table, row)?.forgottenMs ?? Number.NaN;
  const mayOverlap = fromMs - tolMs(options.intervalMs) <= forgottenMs;
  // Another stream was sent until lastTimeMs: as another kind of metric, by another row, or with
  // other starts before a restart of prom2otlp.
  const isRestored = (flags & ROW_FLAG.restored) !== 0;
  const isOver = isRestored || fromMs < table.lastTimeMs[row]!;
  table.setStart(row, fromMs > timeMs || mayOverlap || isOver ? timeMs : fromMs);
  return STREAM.goesOn;
}

/**
 * Only the page gives starts: a creation time is the stream's start unless the series has fallen
 * since. The reading is the creation time last believed, or the time of the last sample before a
 * fall without a new creation time.
 */
function followPage(judge: Judge, row: number, byCounts: number, createdMs: number): number {
  const { table } = judge;
  const startMs = table.startMs[row]!;
  const lastMs = table.lastTimeMs[row]!;
  const hasFallen = byCounts !== STREAM.goesOn;
  const isNewer = !(createdMs <= table.uptimeMs[row]!) && !(createdMs <= startMs);
  if (!Number.isNaN(createdMs) && isNewer) {
    const isLate = Number.isNaN(startMs) && !hasFallen;
    setStart(judge, row, isLate ? createdMs : laterMs(createdMs, lastMs));
    table.uptimeMs[row] = createdMs;
  } else if (hasFallen) {
    setStart(judge, row, Number.NaN);
    table.uptimeMs[row] = lastMs;
  }
  return byCounts;
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
 * timestamps, else the time of the page on which the series was absent: then the uptime of its last
 * sample tells.
 */
function previousSampleMs({ table, options }: Judge, row: number): number {
  const lastMs = table.lastTimeMs[row]!;
  const flags = table.flags[row]!;
  if (!options.staleMarkers || (flags & ROW_FLAG.staleSent) === 0) return lastMs;
  if ((flags & ROW_FLAG.explicitTime) !== 0) return lastMs - 1;
  const uptimeMs = table.uptimeMs[row]!;
  return uptimeMs < lastMs ? uptimeMs : lastMs;
}

/** Notes the reading that came with the row's sample; null for none. */
function note({ uptime, uptimeMs }: SeriesTable, row: number, reading: Reading | null): void {
  uptime[row] = reading?.value ?? Number.NaN;
  uptimeMs[row] = reading?.sinceMs ?? Number.NaN;
}

function beginOf({ timeMs, value }: Reading): number {
  return Math.round(timeMs - value * 1000);
}

/** A creation time is an uptime that is exact. */
function createdReading({ timeMs }: SeriesTable, row: number, createdMs: number): Reading {
  const atMs = timeMs[row]!;
  return { value: (atMs - createdMs) / 1000, timeMs: atMs, sinceMs: atMs, isCached: false };
}

/** The later of two times; NaN means none. */
export function laterMs(aMs: number, bMs: number): number {
  return bMs <= aMs || Number.isNaN(bMs) ? aMs : bMs;
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
  for (const row of rowsOf(compound)) if (!isOnPage(table, row)) table.lastValue[row] = Number.NaN;
}
