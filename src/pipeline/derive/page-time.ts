// The time of a page (docs/how-it-works/mapping.md F1): the time of samples without their own, the limit beyond
// which timestamps are refused, and the clock for ages. The machine's clock may be set by days at
// any time. Then the service's clock, from the Date of its answers, decides whether the old or the
// new time holds. See docs/how-it-works/decisions/0009-clocks.md.

import type { ScrapeTime } from '../../model/page.ts';
import type { PageClock } from '../../model/memory.ts';

/** A timestamp ahead of the scrape by more than this, and by more than the interval, is refused. */
const AHEAD_MS_MAX = 60_000;

/** The clock was set if it differs by more than this from the pace of the monotonic one. */
const STEP_MS_MAX: number = 10 * 60_000;

/**
 * A larger difference between our clock and the service's is reported: an answer never takes this
 * long. It is not corrected: the Date may come from a cache or a proxy with a wrong clock.
 */
export const SKEW_MS_MAX: number = 5 * 60_000;

/** The times of one page, in ms since the epoch except `monotonicMs`. */
export interface PageTime {
  /**
   * The time of samples without their own. Goes back only if the clock was set back by more than
   * STEP_MS_MAX.
   */
  readonly nowMs: number;
  /** Later timestamps are refused, and forgotten if they were accepted earlier. */
  readonly futureMs: number;
  readonly monotonicMs: number;
  /** Since the page before; 0 for the first one. */
  readonly elapsedMs: number;
}

/** Reads the time of a scrape and notes it for the next one. */
export function readPageTime(clock: PageClock, scrape: ScrapeTime, intervalMs: number): PageTime {
  const { startedAtMs: wallMs, monotonicMs } = scrape;
  const elapsedMs = monotonicMs - clock.monotonicMs;
  const serverAtMs = Number.isNaN(scrape.serverAtMs)
    ? clock.serverAtMs + elapsedMs
    : scrape.serverAtMs;
  const nowMs = Math.round(believedMs(wallMs, clock.nowMs, elapsedMs, serverAtMs));
  Object.assign(clock, { nowMs, monotonicMs, serverAtMs });
  const latestMs = serverAtMs > nowMs ? serverAtMs : nowMs;
  const futureMs = latestMs + Math.max(AHEAD_MS_MAX, intervalMs);
  return { nowMs, futureMs, monotonicMs, elapsedMs: elapsedMs || 0 };
}

/**
 * The wall clock, unless it was set. Unknown earlier times are NaN and make all comparisons false.
 */
function believedMs(wallMs: number, lastMs: number, elapsedMs: number, serverAtMs: number): number {
  const pacedMs = lastMs + elapsedMs;
  if (Math.abs(wallMs - pacedMs) > STEP_MS_MAX)
    return Math.abs(serverAtMs - pacedMs) < Math.abs(serverAtMs - wallMs) ? pacedMs : wallMs;
  // Set back by a little: time runs at half its pace until the clock has caught up, and no sample
  // is lost.
  const slowMs = lastMs + elapsedMs / 2;
  return slowMs > wallMs ? slowMs : wallMs;
}
