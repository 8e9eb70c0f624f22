// What time it is for a page (otlp-mapping F1): the time of samples that have none of their own, the limit beyond
// which a timestamp is no time to believe, and the clock that ages are counted by. The machine's clock may be set
// by days at any moment. Then the service's own clock, told by the Date of its answers, says which was right: the
// clock as it was, or as it is now. See docs/decisions/0009-clocks.md.

import type { ScrapeTime } from '../../model/page.ts';
import type { PageClock } from '../../model/memory.ts';

/** A timestamp further ahead of the scrape than this is no time to believe. */
const FUTURE_MS_MAX: number = 10 * 60_000;

/** From here on our clock and the service's are told to differ: far more than an answer takes. See docs/decisions/0026-a-clock-wrong-from-the-start.md. */
export const SKEW_MS_MAX: number = 5 * 60_000;

/** The times of one page, in ms since the epoch, but for `monotonicMs`. */
export interface PageTime {
  /** Time of what has no time of its own. It goes back only when the clock was set back by more than FUTURE_MS_MAX. */
  readonly nowMs: number;
  /** Later timestamps are not believed, whether they come now or were believed before. */
  readonly futureMs: number;
  readonly monotonicMs: number;
}

/** Reads the time of a scrape and notes it for the next one. */
export function readPageTime(clock: PageClock, scrape: ScrapeTime): PageTime {
  const { startedAtMs: wallMs, monotonicMs } = scrape;
  const elapsedMs = monotonicMs - clock.monotonicMs;
  const serverAtMs = Number.isNaN(scrape.serverAtMs)
    ? clock.serverAtMs + elapsedMs
    : scrape.serverAtMs;
  const nowMs = Math.round(believedMs(wallMs, { clock, elapsedMs, serverAtMs }));
  Object.assign(clock, { nowMs, monotonicMs, serverAtMs });
  const latestMs = serverAtMs > nowMs ? serverAtMs : nowMs;
  return { nowMs, futureMs: latestMs + FUTURE_MS_MAX, monotonicMs };
}

/** By how much our clock is ahead of the service's; NaN where that does not say. An answer's way is a part of it. */
export function clockSkewMs({ startedAtMs, serverAtMs }: ScrapeTime): number {
  return startedAtMs - serverAtMs;
}

/** The wall clock, unless it was set: NaN in what is known of before makes every comparison false. */
function believedMs(
  wallMs: number,
  before: {
    readonly clock: PageClock;
    readonly elapsedMs: number;
    readonly serverAtMs: number;
  },
): number {
  const { clock, elapsedMs, serverAtMs } = before;
  const pacedMs = clock.nowMs + elapsedMs;
  if (Math.abs(wallMs - pacedMs) > FUTURE_MS_MAX)
    return Math.abs(serverAtMs - pacedMs) < Math.abs(serverAtMs - wallMs) ? pacedMs : wallMs;
  // Set back by a little: time goes on at half its pace until the clock has caught up, and no sample is lost.
  const slowMs = clock.nowMs + elapsedMs / 2;
  return slowMs > wallMs ? slowMs : wallMs;
}
