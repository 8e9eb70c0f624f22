// The answer of /status.json: the state of the running daemon as plain data, with its problems, made for each request.
// The fields, problems and tables are in scrape-status.ts, delivery-status.ts, pull-status.ts and account-report.ts.
// Times are RFC 3339 in UTC, durations milliseconds, sizes bytes; null means not known yet. No field holds a secret:
// addresses have no user, password or query, and messages are redacted. A problem ends with the first report that does
// not find it; losses in the account stay a warning.

import { memoryNotes, memoryWarnings } from '../config/memory-limits.ts';
import type { Daemon } from '../daemon/daemon.ts';
import type { Clock } from '../lib/clock.ts';
import { formatCount } from '../lib/format.ts';
import { programVersion } from '../lib/version.ts';
import { type Loaded, type Reload, restartFor } from '../daemon/reload.ts';
import { printableLine } from '../lib/printable.ts';
import type { TimelineReport } from '../daemon/timeline.ts';
import {
  accountProblems,
  type AccountReport,
  accountReport,
  balanceProblems,
} from './account-report.ts';
import {
  deliveryProblems,
  type DeliveryStatus,
  deliveryStatus,
  troubleProblems,
} from './delivery-status.ts';
import {
  counted,
  type Finding,
  problem,
  ProblemBook,
  type Severity,
  type StatusProblem,
} from './problem.ts';
import { pullFindings, pullProblems, type PullStatus, pullStatus } from './pull-status.ts';
import { scrapeProblems, type ScrapeStatus, scrapeStatus } from './scrape-status.ts';
import { instant, type Shown, shown } from './times.ts';

export interface StatusReport extends ScrapeStatus, DeliveryStatus, PullStatus {
  readonly version: string;
  /** Ages are counted from this time. */
  readonly reportedAt: string;
  readonly startedAt: string;
  /** `starting` until /readyz answers 200, `stopping` from the first signal to stop. */
  readonly state: 'starting' | 'ready' | 'stopping';
  /** While starting: the missing steps. */
  readonly waitingFor: readonly string[];
  readonly account: AccountReport;
  /** What is in use; null without a file. `isStale`: the file was changed, and its new content is not in use, or not yet. */
  readonly configuration: {
    readonly file: string;
    readonly loadedAt: string;
    readonly isStale: boolean;
  } | null;
  /** The last attempt to load a changed configuration; null before the first. */
  readonly reload: Shown<Reload> | null;
  readonly timeline: TimelineReport;
  /** Configured limits for which the memory is too small, as sentences. */
  readonly memoryWarnings: readonly string[];
  /** Other sentences for the operator, on limits that follow from the memory, or a repaired queue. */
  readonly notes: readonly string[];
}

/** The report with its problems, for /status.json and the page. */
export interface StatusDocument extends StatusReport {
  readonly problems: readonly StatusProblem[];
}

/** A brief report has all problems, but lacks the fields that take time to look up. */
export async function reportOf(
  daemon: Daemon,
  clock: Clock,
  loaded: Loaded | null,
  isBrief = false,
): Promise<StatusReport> {
  const waitingFor = waitingForOf(daemon);
  const { config, queue } = daemon;
  const configured = new Set(config.services.map(({ id }) => id));
  return {
    version: programVersion(),
    reportedAt: instant(clock.nowMs()),
    startedAt: instant(daemon.startedAtMs),
    state: daemon.isStopping ? 'stopping' : waitingFor.length > 0 ? 'starting' : 'ready',
    waitingFor,
    ...scrapeStatus(daemon, isBrief),
    ...(await deliveryStatus(daemon, isBrief)),
    account: accountReport(queue.account, configured),
    ...pullStatus(daemon, clock.nowMs()),
    configuration: loaded && {
      file: printableLine(loaded.file),
      loadedAt: instant(loaded.atMs),
      isStale: loaded.isStale,
    },
    reload: loaded?.lastReload ? shown(loaded.lastReload) : null,
    timeline: daemon.timeline.report(config.metrics.intervalMs),
    memoryWarnings: memoryWarnings(config.memory),
    notes: [
      ...memoryNotes(config.memory),
      ...queue.corruptFiles().map(damagedNote),
      ...queue.notes(),
    ],
  };
}

/** The steps that are missing before the daemon is ready. */
export function waitingForOf(daemon: Daemon): readonly string[] {
  if (daemon.hasCycled) return [];
  return daemon.targets
    .filter(({ status }) => status.scrapeCount === 0)
    .map(({ target }) => `the first scrape of ${target.name}`);
}

function damagedNote(file: string): string {
  return `a damaged queue file was kept aside: ${file}; what could be read of it was delivered`;
}

const MEMORY_HINT =
  'A page or series up to this limit may end the process. Leave the key out, or give the process more memory.';

/** Beyond this number, one further problem counts the rest. */
export const PROBLEMS_SHOWN_MAX = 100;

const SEVERITIES: readonly Severity[] = ['error', 'warning', 'note'];

/**
 * Adds the problems to a report: errors first, of these a queue that loses data, then failures to read the service; at most
 * PROBLEMS_SHOWN_MAX and one that counts the rest. `book` dates them. `isPart`: the report covers a part of the book.
 */
export function withProblems<Report extends StatusReport>(
  report: Report,
  book: ProblemBook = new ProblemBook(),
  isPart = false,
): Report & StatusDocument {
  const found = [
    ...troubleProblems(report),
    ...pullFindings(report),
    ...reloadProblems(report),
    ...scrapeProblems(report),
    ...deliveryProblems(report),
    ...accountProblems(report),
    ...(isPart ? [] : balanceProblems(report)),
    ...pullProblems(report),
    ...report.memoryWarnings.map(message =>
      problem('warning', 'memory', { message, hint: MEMORY_HINT }),
    ),
    ...report.notes.map(message => problem('note', 'prom2otlp', { message, hint: '' })),
  ];
  const { reportedAt } = report;
  const all = book.date(found, reportedAt, isPart);
  const sorted = SEVERITIES.flatMap(severity => all.filter(entry => entry.severity === severity));
  const rest = sorted.length - PROBLEMS_SHOWN_MAX;
  if (rest <= 0) return { ...report, problems: sorted };
  const more = { message: `${formatCount(rest)} more are not listed here`, hint: '' };
  const last = new ProblemBook().date([problem('note', 'prom2otlp', more)], reportedAt);
  return { ...report, problems: [...sorted.slice(0, PROBLEMS_SHOWN_MAX), ...last] };
}

function reloadProblems({ reload }: StatusReport): readonly Finding[] {
  const { mistakes = [], restart = [] } = reload ?? {};
  const [first, ...rest] = mistakes;
  if (first === undefined && restart.length > 0)
    return [problem('warning', 'configuration', restartFor(restart), { cause: 'configuration' })];
  if (first === undefined) return [];
  const more = rest.length === 0 ? '' : `; and ${counted(rest.length, 'more mistake')}`;
  const message = `the changed configuration is not used, the previous one stays in use: ${first}${more}`;
  const hint =
    'Fix it: the daemon reads it again when it changes. prom2otlp check lists all mistakes.';
  const about = { cause: 'configuration', since: reload?.at ?? null };
  return [problem('error', 'configuration', { message, hint }, about)];
}
