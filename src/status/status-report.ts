// The answer of /status.json: the state of a running bridge as plain data, made anew for each request, with its problems,
// worst first. Each chapter (scrape-status.ts, delivery-status.ts, pull-status.ts, account-report.ts) has its own fields,
// problems and tables. Times are RFC 3339 in UTC, durations milliseconds, sizes bytes; null means not known yet. No field
// holds a secret: the chapters take user, password and query out of addresses and use redacted messages only. A problem
// ends with the report that no longer shows it; what the account has counted stays a warning while the account lasts.

import { memoryNotes, memoryWarnings } from '../config/memory-limits.ts';
import type { Daemon } from '../daemon/daemon.ts';
import type { Clock } from '../lib/clock.ts';
import { formatCount } from '../lib/format.ts';
import { programVersion } from '../lib/version.ts';
import type { Reload } from '../daemon/reload.ts';
import { accountProblems, type AccountReport, accountReport } from './account-report.ts';
import { deliveryProblems, type DeliveryStatus, deliveryStatus } from './delivery-status.ts';
import { counted, problem, type Severity, type StatusProblem } from './problem.ts';
import { pullProblems, type PullStatus, pullStatus } from './pull-status.ts';
import { scrapeProblems, type ScrapeStatus, scrapeStatus } from './scrape-status.ts';
import type { TimelineReport } from './timeline.ts';
import { instant } from './times.ts';

export interface StatusReport extends ScrapeStatus, DeliveryStatus, PullStatus {
  readonly version: string;
  /** When this report was made: ages are counted from here. */
  readonly reportedAt: string;
  readonly startedAt: string;
  /** `starting` until /readyz says ready, `stopping` from the first signal to stop on. */
  readonly state: 'starting' | 'ready' | 'stopping';
  /** While starting: the missing steps, in words. */
  readonly waitingFor: readonly string[];
  readonly account: AccountReport;
  /** The last attempt to load a changed configuration; null before the first. */
  readonly reload: ReloadReport | null;
  /** What happened lately, for time lines. */
  readonly timeline: TimelineReport;
  /** Limits in the YAML that the memory does not suffice for, as sentences. */
  readonly memoryWarnings: readonly string[];
  /** Whatever else the operator should know, as sentences: limits that follow from the memory, a store that was repaired. */
  readonly notes: readonly string[];
}

export interface ReloadReport {
  readonly at: string;
  /** Why the changed configuration is not used, a line each; [] when it is. */
  readonly mistakes: readonly string[];
}

/** The report with its problems: /status.json answers with it, the page renders it. */
export interface StatusDocument extends StatusReport {
  readonly problems: readonly StatusProblem[];
}

/** The daemon's state as /status.json says it. */
export async function reportOf(
  daemon: Daemon,
  clock: Clock,
  lastReload: Reload | null,
): Promise<StatusReport> {
  const waitingFor = waitingForOf(daemon);
  const configured = new Set(daemon.config.services.map(({ id }) => id));
  return {
    version: programVersion(),
    reportedAt: instant(clock.nowMs()),
    startedAt: instant(daemon.startedAtMs),
    state: daemon.isStopping ? 'stopping' : waitingFor.length > 0 ? 'starting' : 'ready',
    waitingFor,
    ...scrapeStatus(daemon),
    ...(await deliveryStatus(daemon)),
    account: accountReport(daemon.queue.account, configured),
    ...pullStatus(daemon, clock.nowMs()),
    reload: reloadReport(lastReload),
    timeline: {
      slotMs: daemon.timeline.slotMs,
      slots: daemon.timeline.slots(clock.monotonicMs()),
    },
    memoryWarnings: memoryWarnings(daemon.config.memory),
    notes: notesOf(daemon),
  };
}

/** What /readyz still waits for. */
export function waitingForOf(daemon: Daemon): readonly string[] {
  if (daemon.hasCycled) return [];
  return daemon.targets
    .filter(({ scrapeCount }) => scrapeCount === 0)
    .map(({ target }) => `the first scrape of ${target.name}`);
}

function reloadReport(last: Reload | null): StatusReport['reload'] {
  return last === null ? null : { at: instant(last.atMs), mistakes: last.mistakes };
}

function notesOf(daemon: Daemon): readonly string[] {
  const { queue, config } = daemon;
  const damaged = queue
    .corruptFiles()
    .map(
      file =>
        `a damaged queue file was kept aside: ${file}; what could be read of it was delivered`,
    );
  return [...memoryNotes(config.memory), ...damaged, ...queue.notes()];
}

const MEMORY_HINT =
  'A page or series up to this limit may end the process. Leave the key out, or give the process more memory.';

/** One line counts the rest. */
export const PROBLEMS_SHOWN_MAX = 100;

const SEVERITIES: readonly Severity[] = ['error', 'warning', 'note'];

/** The report as /status.json has it. */
export function withProblems(report: StatusReport): StatusDocument {
  return { ...report, problems: findProblems(report) };
}

/** All problems, errors first; at most PROBLEMS_SHOWN_MAX, and one more that counts the rest. */
export function findProblems(report: StatusReport): readonly StatusProblem[] {
  const all = [
    ...reloadProblems(report),
    ...scrapeProblems(report),
    ...deliveryProblems(report),
    ...accountProblems(report),
    ...pullProblems(report),
    ...report.memoryWarnings.map(message =>
      problem('warning', 'memory', { message, hint: MEMORY_HINT }),
    ),
    ...report.notes.map(message => problem('note', 'prom2otlp', { message, hint: '' })),
  ];
  const sorted = SEVERITIES.flatMap(severity => all.filter(entry => entry.severity === severity));
  const rest = sorted.length - PROBLEMS_SHOWN_MAX;
  if (rest <= 0) return sorted;
  const more = { message: `${formatCount(rest)} more are not listed here`, hint: '' };
  return [...sorted.slice(0, PROBLEMS_SHOWN_MAX), problem('note', 'prom2otlp', more)];
}

function reloadProblems({ reload }: StatusReport): readonly StatusProblem[] {
  const [first, ...rest] = reload?.mistakes ?? [];
  if (first === undefined) return [];
  const more = rest.length === 0 ? '' : `; and ${counted(rest.length, 'more mistake')}`;
  const message = `the changed configuration is not used, the previous one stays in use: ${first}${more}`;
  const hint =
    'Fix it: the daemon reads it again when it changes. prom2otlp check lists all mistakes.';
  return [problem('error', 'configuration', { message, hint })];
}
