// Reads the uptimes on a page, for the rules of restarts (reset.ts): which processes the counters of
// an instance come from. In: the rows of an uptime. Out: its newest reading, whether the page is
// cached, and whether this page lacks it. Read when the first counter asks for it; nothing is
// decided here.

import { NO_READING, type Uptime } from '../../model/memory.ts';
import { NO_ROW, type SeriesTable } from '../../model/series-table.ts';
import type { Judge } from './options.ts';
import { instanceOfRow } from './places.ts';

/** What a page shows of an uptime. */
export const SHOWS = {
  /** Nothing: its counters are judged without it. */
  nothing: 0,
  /** It is not on this page, and may be on the next: the counters wait for it. */
  later: 1,
  /** A reading. */
  reading: 2,
} as const;

/** So many pages in a row may lack an uptime before its counters are judged without it. */
const MISSED_MIN = 3;
/** A cache shows one page for up to a minute, to every scrape. */
const CACHED_MS = 60_000;
/** An uptime that stood still tells of a cached page; so does each of this many readings after it. */
export const CACHED_READINGS = 20;

/** The uptime of a counter's process, read from this page; undefined if it has none. */
export function uptimeOf(judge: Judge, row: number): Uptime | undefined {
  const { table } = judge;
  const { uptimeName } = table.metrics[table.metric[row]!]!;
  if (uptimeName === null) return undefined;
  const uptime = instanceOfRow(table, row)?.uptimes.get(uptimeName);
  if (uptime !== undefined && uptime.page !== table.page) read(judge, uptime);
  return uptime;
}

/** Scrapes in a row that may lack an uptime: three pages, or as long as a cache may show one of them. */
function missedMax(intervalMs: number): number {
  return Math.max(MISSED_MIN, Math.ceil(CACHED_MS / intervalMs) + 1);
}

/** The number of uptimes, by service, that their counters are judged without: pages lack them. */
export function countLostUptimes(
  { instances, page }: SeriesTable,
  intervalMs: number,
): ReadonlyMap<number, number> {
  const max = missedMax(intervalMs);
  const counts = new Map<number, number>();
  for (const { service, uptimes } of instances)
    for (const uptime of uptimes.values())
      if (uptime.page === page && uptime.missed > max)
        counts.set(service, (counts.get(service) ?? 0) + 1);
  return counts;
}

function read(judge: Judge, uptime: Uptime): void {
  const { table, time, options } = judge;
  uptime.page = table.page;
  // The newest reading was dated by a wrong clock.
  if (uptime.timeMs > time.futureMs) Object.assign(uptime, { ...NO_READING, page: table.page });
  uptime.valueBefore = uptime.value;
  uptime.sinceBeforeMs = uptime.sinceMs;
  const rows = uptime.rows.filter(row => table.seen[row] === table.page);
  // Two rows with different labels prove nothing.
  if (rows.length > 1) uptime.shows = SHOWS.nothing;
  else if (take(judge, uptime, rows[0] ?? NO_ROW)) {
    uptime.shows = SHOWS.reading;
    uptime.missed = 0;
  } else if (Number.isNaN(uptime.timeMs)) uptime.shows = SHOWS.nothing;
  else {
    const mayCome = ++uptime.missed <= missedMax(options.intervalMs);
    uptime.shows = mayCome ? SHOWS.later : SHOWS.nothing;
  }
}

/** Takes the reading of a row; false if it has none. An older or repeated one changes nothing. */
function take({ table, options, time }: Judge, uptime: Uptime, row: number): boolean {
  if (row === NO_ROW) return false;
  const value = table.value[row]!;
  const stampMs = table.timeMs[row]!;
  const isStamped = options.honorTimestamps && !Number.isNaN(stampMs);
  const timeMs = isStamped ? stampMs : time.nowMs;
  if (!(value >= 0 && timeMs - value * 1000 > 0) || timeMs > time.futureMs) return false;
  if (timeMs <= uptime.timeMs) return true;
  uptime.isCached = uptime.stood > 0;
  uptime.timeMs = timeMs;
  if (value === uptime.value) uptime.stood = CACHED_READINGS;
  else {
    uptime.stood = Math.max(uptime.stood - 1, 0);
    uptime.value = value;
    uptime.sinceMs = timeMs;
  }
  return true;
}
