// The results of a target's last scrape, for the log and the status page. A change of state is
// logged at once, a lasting failure through a throttle.

import type { LogFields, ThrottledLog } from '../lib/log.ts';
import { didYouMean } from '../lib/nearest.ts';
import type { Problem, SeriesLimit } from '../model/page.ts';
import { OUTCOME, OUTCOME_NAMES, SeriesTable } from '../model/series-table.ts';
import type { ScrapeResult } from '../pipeline/collect/scrape.ts';
import type { Target } from '../pipeline/collect/plan-targets.ts';
import type { DeriveReport, ServiceOutcome } from '../pipeline/derive/derive.ts';
import { SKEW_MS_MAX } from '../pipeline/derive/page-time.ts';
import type { Translated } from '../pipeline.ts';
import type { DriftReport } from './drift-report.ts';

// Each has a message without a full stop, and a hint in whole sentences. The log and the status
// page share them.

/** Uptimes do not grow while their timestamps, or our scrapes, go on. */
export const UPTIME_LOST = {
  message: 'an uptime series has left the page: it no longer shows restarts and failovers',
  hint: 'A counter that falls is still a reset. Check the exporter of the uptime series.',
};

/** A stored state that cannot be read. */
export const STATE_LOST = {
  message: 'the state of the target is lost: its series begin anew',
  hint: 'It was damaged, or another version stored it. Cumulative series get new starts, deltas a baseline.',
};

/** New series for which these keys of metrics.limits had no room. */
export function seriesRefused(limits: Iterable<SeriesLimit>): typeof CLOCK_SKEWED {
  const keys = [...limits].map(limit => `metrics.limits.${limit}`).join(' and ');
  return {
    message: `new series are dropped: ${keys} allows no more`,
    hint: 'Look for a label whose values change without end, and leave its series out with metrics.exclude; or raise the limit if there is memory for it.',
  };
}

/** A series has a label under the name that metrics.rename gives another of its labels. */
export const LABELS_TAKEN = {
  message:
    'series have a label of the name that metrics.rename gives another one: that one is not renamed',
  hint: 'Give it another name in metrics.rename.',
};

/** Timestamps in seconds where milliseconds belong. */
export const TIMES_EARLY = {
  message:
    'samples are stamped before the year 2000, as with seconds where milliseconds belong: they get the time of the scrape',
  hint: 'Have the exporter stamp in milliseconds, or not at all.',
};

/** The clock of this machine and the one of the service are far apart. */
export const CLOCK_SKEWED = {
  message: 'the clock of this machine and the one of the service differ',
  hint: 'Set the clock of this machine: samples without a timestamp, and the series up and scrape_*, get its time.',
};

/** A target's scrapes as the status page shows them. Times are wall clock, in milliseconds. */
export interface TargetStatus {
  readonly scrapeCount: number;
  readonly failureCount: number;
  /** null before the first scrape. */
  readonly lastScrapeAtMs: number | null;
  readonly lastDurationMs: number | null;
  /** '' after a good scrape; else a word of a closed set, such as `timeout`. */
  readonly lastReason: string;
  /** `cannot <verb> <address>: <cause>`; '' after a good scrape. */
  readonly lastMessage: string;
  /** What to do about a failure; '' after a good scrape. */
  readonly hint: string;
  readonly firstProblem: Problem | null;
  /**
   * New series of the last page that were dropped because there was no room: the limits, and the
   * samples in all and by family; null if none was.
   */
  readonly refused: {
    readonly limits: readonly SeriesLimit[];
    readonly samples: number;
    readonly families: Readonly<Record<string, number>>;
  } | null;
  /** Series whose label metrics.rename could not rename, and samples stamped too early, on the last page. */
  readonly takenLabels: number;
  readonly earlyTimes: number;
  /** The size of the page, unpacked. */
  readonly bodyBytes: number;
  /** Sample lines of the page, and those of them that cannot be read. */
  readonly samples: number;
  readonly badLines: number;
  /** Whether decode read the whole page, or only where it differs from the previous one. */
  readonly path: Translated['path'];
  /** How far our clock is ahead of the service's, by its answer; null if the answer has no time. */
  readonly clockSkewMs: number | null;
  /** Whether the stored state could not be read at the start. */
  readonly isStateLost: boolean;
}

const NOT_SCRAPED: TargetStatus = {
  scrapeCount: 0,
  failureCount: 0,
  lastScrapeAtMs: null,
  lastDurationMs: null,
  lastReason: '',
  lastMessage: '',
  hint: '',
  firstProblem: null,
  refused: null,
  takenLabels: 0,
  earlyTimes: 0,
  bodyBytes: 0,
  samples: 0,
  badLines: 0,
  path: null,
  clockSkewMs: null,
  isStateLost: false,
};

export class TargetLog {
  readonly target: Target;
  /** The target's memory; only to be read. */
  readonly table: SeriesTable = new SeriesTable();
  status: TargetStatus = NOT_SCRAPED;
  /** The services on the last page, and their samples by outcome as in the account. */
  services: readonly ServiceOutcome[] = [];
  reads: DeriveReport['reads'] = [];
  /** Where the last good page differed from the catalog. */
  drift: DriftReport['families'] = new Map();
  readonly #log: ThrottledLog;

  constructor(target: Target, log: ThrottledLog) {
    this.target = target;
    this.#log = log;
  }

  /** Notes that the stored state of the target could not be read. */
  noteLostState(): void {
    this.status = { ...this.status, isStateLost: true };
    this.#warn(`state ${this.target.id}`, { target: this.target.id }, STATE_LOST);
  }

  /** Notes how the time before the first page was filled; `failure`: why not to its end. */
  noteBackfill(facts: LogFields, failure: string): void {
    const fields = { target: this.target.id, ...facts };
    if (failure === '') this.#log.plain.info(fields, 'the gap is filled from the history');
    else
      this.#log.plain.warn(
        { ...fields, cause: failure },
        'the gap is not filled to its end; the verb backfill may fill the rest',
      );
  }

  note(scrape: ScrapeResult, translated: Translated): void {
    const { derived } = translated;
    const before = { reason: this.status.lastReason, services: this.services };
    this.status = statusAfter(this.status, scrape, translated);
    this.services = derived.services;
    this.reads = derived.reads;
    this.#reportPage(before.reason);
    this.#reportServices(before.services);
  }

  #reportPage(reasonBefore: string): void {
    const target = this.target.name;
    const { lastReason: reason, lastMessage: message, hint, badLines, clockSkewMs } = this.status;
    if (reason !== '') {
      // All targets of one origin that fail for one reason have one cause, and so one line.
      const origin = URL.parse(this.target.api.baseUrl)?.host ?? '';
      this.#log.warn(
        `scrape ${origin} ${reason}`,
        { target, reason, message, hint },
        'cannot scrape the target',
      );
    } else if (reasonBefore !== '')
      this.#log.plain.info({ target, after: reasonBefore }, 'the target answers again');
    const { firstProblem, refused } = this.status;
    if (badLines > 0 && firstProblem !== null)
      this.#log.warn(
        `lines ${target}`,
        { target, badLines, ...firstProblem },
        'dropped lines of the page that cannot be read; the first is named',
      );
    if (refused !== null)
      this.#warn(`series ${target}`, { target, ...refused }, seriesRefused(refused.limits));
    const { takenLabels, earlyTimes } = this.status;
    if (takenLabels > 0) this.#warn(`labels ${target}`, { target, takenLabels }, LABELS_TAKEN);
    if (earlyTimes > 0) this.#warn(`early ${target}`, { target, earlyTimes }, TIMES_EARLY);
    if (isSkewed(clockSkewMs)) this.#warn(`clock ${target}`, { target, clockSkewMs }, CLOCK_SKEWED);
  }

  #warn(key: string, fields: object, { message, hint }: typeof CLOCK_SKEWED): void {
    this.#log.warn(key, { ...fields, hint }, message);
  }

  /** The services on the page that no entry names, whether they are sent or not. */
  get #strangers(): readonly string[] {
    const sent = this.services.filter(({ configIndex }) => configIndex < 0);
    const unsent = this.reads.filter(
      ({ outcome }) => outcome === OUTCOME_NAMES[OUTCOME.unconfigured],
    );
    return [...sent.map(({ id }) => id), ...unsent.map(({ service }) => service)];
  }

  /** A line for each configured service; one line for all others, which may be any number. */
  #reportServices(servicesBefore: readonly ServiceOutcome[]): void {
    for (const { id, lostUptimes } of this.services)
      if (lostUptimes > 0) this.#warn(`uptime ${id}`, { service: id, lostUptimes }, UPTIME_LOST);
    const before = new Map(servicesBefore.map(({ id, reason }) => [id, reason]));
    const changed = this.services.filter(
      ({ id, reason }) => reason !== (before.get(id) ?? '') && reason !== this.status.lastReason,
    );
    for (const { id, configIndex, reason } of changed) {
      if (configIndex < 0) continue;
      if (reason === '') this.#log.plain.info({ service: id }, 'the service is back on the page');
      else if (reason === 'stopped')
        this.#log.plain.info(
          { service: id },
          'the service is stopped: it has no series, and is not down',
        );
      else {
        const hint = reason === 'absent' ? didYouMean(id, this.#strangers) : '';
        const said = { service: id, reason, ...(hint === '' ? {} : { hint }) };
        this.#log.plain.warn(said, 'the service is down on a page that is good');
      }
    }
    const others = changed.filter(
      ({ configIndex, reason }) => configIndex < 0 && reason !== '' && reason !== 'stopped',
    );
    const [first] = others;
    if (first === undefined) return;
    const target = this.target.name;
    this.#log.warn(
      `unconfigured ${target}`,
      { target, services: others.length, first: first.id, reason: first.reason },
      'services that no entry names are down on a page that is good; the first is named',
    );
  }
}

function statusAfter(
  { scrapeCount, failureCount, isStateLost }: TargetStatus,
  scrape: ScrapeResult,
  { page, path, reason, derived }: Translated,
): TargetStatus {
  const { startedAtMs, durationMs } = scrape.kind === 'page' ? scrape.page : scrape;
  const [firstProblem = null] = page?.problems ?? [];
  const failure =
    scrape.kind === 'page'
      ? { message: firstProblem?.reason ?? '', hint: hintOf(page?.limit ?? null) }
      : scrape;
  const isFailed = reason !== '';
  return {
    scrapeCount: scrapeCount + 1,
    failureCount: failureCount + Number(isFailed),
    lastScrapeAtMs: startedAtMs,
    lastDurationMs: durationMs,
    lastReason: reason,
    lastMessage: isFailed ? failure.message : '',
    hint: isFailed ? failure.hint : '',
    firstProblem,
    refused: derived.refused && refusedReport(derived.refused),
    takenLabels: derived.takenLabels,
    earlyTimes: derived.earlyTimes,
    bodyBytes: scrape.kind === 'page' ? scrape.page.bytes.length : 0,
    samples: page?.samples ?? 0,
    badLines: page?.badLines ?? 0,
    path,
    isStateLost,
    clockSkewMs: Number.isNaN(derived.clockSkewMs) ? null : derived.clockSkewMs,
  };
}

/** The refused samples by family, the largest first; only FAMILIES_SHOWN_MAX families are named. */
function refusedReport(
  refused: NonNullable<DeriveReport['refused']>,
): NonNullable<TargetStatus['refused']> {
  const families = [...refused.byFamily].sort(([, a], [, b]) => b - a);
  const shown = families.filter(([name]) => name !== '').slice(0, FAMILIES_SHOWN_MAX);
  return {
    limits: [...refused.limits],
    samples: refused.samples,
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

export function isSkewed(clockSkewMs: number | null): clockSkewMs is number {
  return clockSkewMs !== null && Math.abs(clockSkewMs) > SKEW_MS_MAX;
}
