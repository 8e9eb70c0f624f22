// The memory of one target for status and log: its last scrape, its services, its drift. A change of state is logged at
// once, a lasting failure through a throttle.

import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Throttle } from '../lib/throttle.ts';
import type { Problem } from '../model/page.ts';
import { SeriesTable } from '../model/series-table.ts';
import type { ScrapeResult } from '../pipeline/collect/scrape.ts';
import type { Target } from '../pipeline/collect/plan-targets.ts';
import type { ServiceOutcome } from '../pipeline/derive/derive.ts';
import type { DriftReport } from '../pipeline/derive/drift-report.ts';
import { SKEW_MS_MAX } from '../pipeline/derive/page-time.ts';
import type { Translated } from '../pipeline.ts';
import type { Advice } from './problem.ts';

/** Uptimes do not grow while their timestamps, or our scrapes, go on. */
export const UPTIME_STUCK: Advice = {
  message: 'an uptime series does not move: it cannot show restarts and failovers',
  hint: 'A counter that falls is still a reset. Check the exporter of the uptime series.',
};

/** New series for which metrics.limits had no room. */
export const SERIES_REFUSED: Advice = {
  message: 'new series are dropped: metrics.limits allows no more (series, services, memory)',
  hint: 'Look for a label whose values change without end, and have the service leave it out; or raise the limit if there is memory for it.',
};

/** Our clock and the service's are far apart. */
export const CLOCK_SKEWED: Advice = {
  message: 'the clock of this machine and the one of the service differ',
  hint: 'Set the clock of this machine: samples without a timestamp, and the series up and scrape_*, get its time.',
};

/** Facts of the last scrape that the status shows as they are. */
export interface PageFacts {
  /** What to do about a failure; '' after a good scrape. */
  readonly hint: string;
  /** The size of the page, unpacked. */
  readonly bodyBytes: number;
  /** Sample lines of the page, and those of them that cannot be read. */
  readonly samples: number;
  readonly badLines: number;
  /** Whether decode read the page as a whole, or only where it differs from the one before. */
  readonly path: 'full' | 'repeating' | null;
  /** By how much our clock is ahead of the service's, by its answer; null where the answer has no time. */
  readonly clockSkewMs: number | null;
}

/** Before the first scrape. */
export const NO_PAGE: PageFacts = {
  hint: '',
  bodyBytes: 0,
  samples: 0,
  badLines: 0,
  path: null,
  clockSkewMs: null,
};

/** The last scrape of a target. Times are wall clock, in milliseconds. */
export interface LastScrape {
  readonly atMs: number;
  readonly durationMs: number;
  /** '' after a good one; else one of the closed set of reasons. */
  readonly reason: string;
  readonly message: string;
  readonly facts: PageFacts;
  readonly problems: readonly Problem[];
  readonly services: readonly ServiceOutcome[];
  /** Samples by service and fate, as for the account. */
  readonly reads: Translated['derived']['reads'];
  /** New series for which there was no room; null if there was. */
  readonly refused: Translated['derived']['refused'];
}

export class TargetLog {
  readonly target: Target;
  /** The target's memory, to be looked at only. */
  readonly table: SeriesTable = new SeriesTable();
  /** Where the last good page differed from the catalog. */
  drift: DriftReport['families'] = new Map();
  scrapeCount = 0;
  failureCount = 0;
  last: LastScrape | null = null;
  readonly #logger: Logger;
  readonly #throttle: Throttle;

  constructor(
    target: Target,
    options: { readonly clock: Clock; readonly logger: Logger; readonly throttle: Throttle },
  ) {
    this.target = target;
    this.#logger = options.logger;
    this.#throttle = options.throttle;
  }

  /** Takes over what one scrape gave. */
  note(scrape: ScrapeResult, translated: Translated): void {
    const { page, derived } = translated;
    const last: LastScrape = {
      atMs: scrape.kind === 'page' ? scrape.page.startedAtMs : scrape.startedAtMs,
      durationMs: scrape.kind === 'page' ? scrape.page.durationMs : scrape.durationMs,
      reason: reasonOf(scrape, translated),
      message: scrape.kind === 'page' ? (page?.problems[0]?.reason ?? '') : scrape.message,
      facts: {
        hint: scrape.kind === 'page' ? hintOf(page?.limit ?? null) : scrape.hint,
        bodyBytes: scrape.kind === 'page' ? scrape.page.bytes.length : 0,
        samples: page?.samples ?? 0,
        badLines: page?.badLines ?? 0,
        path: translated.path,
        clockSkewMs: Number.isNaN(derived.clockSkewMs) ? null : derived.clockSkewMs,
      },
      problems: page?.problems.slice(0, 5) ?? [],
      services: derived.services,
      reads: derived.reads,
      refused: derived.refused,
    };
    if (derived.drift !== null) this.drift = derived.drift.families;
    this.#report(last);
    this.last = last;
    this.scrapeCount++;
    if (last.reason !== '') this.failureCount++;
  }

  #report(last: LastScrape): void {
    const target = this.target.name;
    const before = this.last;
    const { hint, badLines, clockSkewMs } = last.facts;
    if (last.reason !== '') {
      const { reason, message } = last;
      this.#throttle.run(`scrape ${target} ${reason}`, swallowed =>
        this.#logger.warn({ target, reason, message, hint, swallowed }, 'cannot scrape the target'),
      );
    } else if (before !== null && before.reason !== '')
      this.#logger.info({ target, after: before.reason }, 'the target answers again');
    const [problem] = last.problems;
    if (badLines > 0 && problem !== undefined)
      this.#throttle.run(`lines ${target}`, swallowed =>
        this.#logger.warn(
          { target, badLines, ...problem, swallowed },
          'dropped lines of the page that cannot be read; the first is named',
        ),
      );
    if (last.refused !== null) {
      const { samples, families } = refusedReport(last.refused);
      this.#throttle.run(`series ${target}`, swallowed =>
        this.#logger.warn(
          { target, samples, families, hint: SERIES_REFUSED.hint, swallowed },
          SERIES_REFUSED.message,
        ),
      );
    }
    if (isSkewed(clockSkewMs))
      this.#throttle.run(`clock ${target}`, swallowed =>
        this.#logger.warn(
          { target, clockSkewMs, hint: CLOCK_SKEWED.hint, swallowed },
          CLOCK_SKEWED.message,
        ),
      );
    this.#reportServices(last);
  }

  /** Configured services one by one; of the others, which may be any number, only how many. */
  #reportServices(last: LastScrape): void {
    for (const { id, stuckUptimes } of last.services)
      if (stuckUptimes > 0)
        this.#throttle.run(`uptime ${id}`, swallowed =>
          this.#logger.warn(
            { service: id, stuckUptimes, hint: UPTIME_STUCK.hint, swallowed },
            UPTIME_STUCK.message,
          ),
        );
    const before = new Map(this.last?.services.map(({ id, reason }) => [id, reason]));
    const changed = last.services.filter(
      ({ id, reason }) => reason !== (before.get(id) ?? '') && reason !== last.reason,
    );
    for (const { id, configIndex, reason } of changed) {
      if (configIndex < 0) continue;
      if (reason === '') this.#logger.info({ service: id }, 'the service is back on the page');
      else this.#logger.warn({ service: id, reason }, 'the service is down on a page that is good');
    }
    const strangers = changed.filter(({ configIndex, reason }) => configIndex < 0 && reason !== '');
    const [first] = strangers;
    if (first === undefined) return;
    const target = this.target.name;
    this.#throttle.run(`strangers ${target}`, swallowed =>
      this.#logger.warn(
        { target, services: strangers.length, first: first.id, reason: first.reason, swallowed },
        'services that no entry names are down on a page that is good; the first is named',
      ),
    );
  }
}

/** What was refused, by family: the largest first, so many of them. */
export function refusedReport(refused: NonNullable<LastScrape['refused']>): {
  readonly samples: number;
  readonly families: Readonly<Record<string, number>>;
} {
  const families = [...refused.byFamily].sort(([, a], [, b]) => b - a);
  const shown = families.filter(([name]) => name !== '').slice(0, FAMILIES_SHOWN_MAX);
  return {
    samples: families.reduce((sum, [, count]) => sum + count, 0),
    families: Object.fromEntries(shown.map(([name, count]) => [name.slice(0, NAME_LENGTH), count])),
  };
}

const FAMILIES_SHOWN_MAX = 10;
const NAME_LENGTH = 100;

function hintOf(limit: string | null): string {
  if (limit === null) return '';
  if (limit === 'memory') return 'give the process more memory if pages like this are expected';
  return `raise metrics.limits.${limit} if pages of this size are expected`;
}

/** True when our clock and the service's differ by too much. */
export function isSkewed(clockSkewMs: number | null): clockSkewMs is number {
  return clockSkewMs !== null && Math.abs(clockSkewMs) > SKEW_MS_MAX;
}

function reasonOf(scrape: ScrapeResult, translated: Translated): string {
  if (scrape.kind !== 'page') return scrape.reason;
  const { page } = translated;
  return page === null || page.isUsable ? '' : `limit_${page.limit ?? 'unknown'}`;
}
