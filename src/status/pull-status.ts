// Logs and backup schedules in /status.json and on the page. For each field, this file has its
// declaration, its source, its problems and its place on the page.

import { newestRestorableMs, nextRestorableRunMs } from '../backups/known-backups.ts';
import type { ServiceBackups } from '../backups/service-backups.ts';
import type { Daemon } from '../daemon/daemon.ts';
import { formatCount } from '../lib/format.ts';
import type { GivenUpStatus, PartitionStatus, PullProgress } from '../logs/log-meter.ts';
import type { PullKind, PullReport, PullStatus as PullPart } from '../service/pull-report.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import {
  age,
  badge,
  column,
  countColumn,
  faint,
  meterBar,
  type Named,
  type Reported,
  section,
  serviceNames,
  table,
} from './page-parts.ts';
import { counted, type Finding, problem, sentence } from './problem.ts';
import { instant, instantOrNull, type Shown, shown } from './times.ts';

export interface PullStatus {
  /** All parts that ask the service on a schedule: metrics, then logs, then backups. */
  readonly pulls: readonly PullReportStatus[];
  /** null if no logs are pulled. */
  readonly logs: LogsReport | null;
  /** null if backup schedules are not read. */
  readonly backups: BackupsReport | null;
}

export interface LogsReport {
  /** One per service, source and type of log. */
  readonly partitions: readonly Shown<PartitionStatus>[];
  /** The running pulls that have archives to read. */
  readonly catchUp: readonly Shown<PullProgress>[];
  /** The last archives that were given up, newest first. */
  readonly givenUp: readonly Shown<GivenUpStatus>[];
  readonly nextPullAt: string | null;
}

export interface BackupsReport {
  readonly services: readonly ServiceBackupsReport[];
  readonly nextReadAt: string | null;
}

export type PullReportStatus = Shown<PullPart>;

/** The state by the service's last answer; fields are null if there is none, or if it is too old. */
export interface ServiceBackupsReport {
  /** The database service id. */
  readonly service: string;
  readonly name: string;
  /** True if the last attempt to read the schedules succeeded; null before the first. */
  readonly isUp: boolean | null;
  readonly isRestorableScheduled: boolean | null;
  readonly scheduleCount: number | null;
  readonly nextRestorableRunAt: string | null;
  readonly newestRestorableAt: string | null;
  readonly readAt: string | null;
  readonly lastError: string | null;
  /** What to do about the error; '' if there is none. */
  readonly hint: string;
}

const KINDS = ['metrics', 'logs', 'backups'] as const;

export function pullStatus(daemon: Daemon, nowMs: number): PullStatus {
  const { logs, backups, pulls, targets } = daemon;
  const scrapeMs = new Map(
    targets.map(({ target }, index) => [target.id, daemon.nextScrapeAtMs(index)]),
  );
  const placeOf = ({ options }: PullReport): number => KINDS.indexOf(options.kind);
  const inOrder = [...pulls].sort((a, b) => placeOf(a) - placeOf(b));
  const all = inOrder.map(({ options: { id }, status }) => {
    const dueMs = status.kind === 'metrics' ? scrapeMs.get(id) : undefined;
    return { ...status, nextAttemptAtMs: dueMs ?? status.nextAttemptAtMs };
  });
  const nextOf = (kind: PullKind): string | null => {
    const times = all.flatMap(one => (one.kind === kind ? (one.nextAttemptAtMs ?? []) : []));
    return times.length === 0 ? null : instant(Math.min(...times));
  };
  return {
    pulls: all.map(shown),
    logs: logs && {
      partitions: logs.meter.partitions.map(shown),
      catchUp: logs.meter.progress.filter(({ dueCount }) => dueCount > 0).map(shown),
      givenUp: logs.meter.givenUp.map(shown),
      nextPullAt: nextOf('logs'),
    },
    backups: backups && {
      services: backups.services.map(service => backupsOfService(service, nowMs)),
      nextReadAt: nextOf('backups'),
    },
  };
}

function backupsOfService(backups: ServiceBackups, nowMs: number): ServiceBackupsReport {
  const { service, isUp, known, error } = backups;
  const nextMs = known === null ? null : nextRestorableRunMs(known, nowMs);
  return {
    service: service.id,
    name: service.name,
    isUp,
    isRestorableScheduled: known === null ? null : nextMs !== null,
    scheduleCount: known?.schedules.length ?? null,
    nextRestorableRunAt: instantOrNull(nextMs),
    newestRestorableAt: instantOrNull(known && newestRestorableMs(known)),
    readAt: instantOrNull(known?.readAtMs ?? null),
    lastError: error?.message ?? null,
    hint: error?.hint ?? '',
  };
}

/** By reason, the words for a failure; the origin follows them. */
const CAUSES: Readonly<Record<string, string>> = {
  auth: 'key refused by',
  right: 'the key lacks a right at',
  timeout: 'no answer within the timeout from',
  connect_timeout: 'no connection to',
  refused: 'connection refused by',
  dns: 'no address found for',
  network: 'no network to',
  reset: 'connection closed by',
  cut: 'answers cut short by',
  tls: 'no TLS with',
  proxy: 'no way through the proxy to',
  rate_limited: 'too many requests for',
  server_error: 'server errors from',
  not_found: 'nothing at the address of',
  not_metrics: 'no metrics from',
  empty: 'an empty page from',
};

/** By reason, what to do; for the others the failure says it. */
const HINTS: Readonly<Record<string, string>> = {
  auth: 'Replace the key in the file that api.key names: it is read again within seconds. A key in a variable takes a restart. If it is the right one, look at its rights and its expiry date.',
  right:
    'The key works for other requests. Let the provider give it the right to read this, or do not ask for it.',
};

/** The failed pulls. Those of one origin with one reason have the same cause, and so become one problem. */
export function pullFindings({ pulls }: Pick<PullStatus, 'pulls'>): readonly Finding[] {
  const failed = pulls.filter(({ state }) => state === 'failed');
  const causeOf = ({ reason, isKeyRefused }: PullReportStatus): string =>
    reason === 'auth' && !isKeyRefused ? 'right' : reason;
  const groups = Map.groupBy(failed, pull => `${causeOf(pull)} ${pull.origin}`);
  return [...groups].flatMap(([cause, group]) => {
    const [first] = group;
    if (first === undefined) return [];
    const { origin, hint } = first;
    const reason = causeOf(first);
    const what = whatFails(group);
    const words = `${CAUSES[reason] ?? `${reason} at`} ${origin}`;
    const advice = { message: `${what}: ${first.message}`, hint: HINTS[reason] ?? sentence(hint) };
    const title = `${words} {since}: ${what}`;
    return group.map(({ failingSinceAt: since, lastAttemptAt: lastSeen }) =>
      problem('error', words, advice, { cause, title, headline: words, since, lastSeen }),
    );
  });
}

/** `metrics of 150 services, logs, backups`. */
function whatFails(pulls: readonly PullReportStatus[]): string {
  let before = '';
  return [...Map.groupBy(pulls, ({ kind }) => kind)]
    .map(([kind, parts]) => {
      const count = parts.reduce((sum, part) => sum + part.serviceCount, 0);
      const whose = count === 1 ? (parts[0]?.firstService ?? '') : counted(count, 'service');
      const text = whose === before || count === 0 ? kind : `${kind} of ${whose}`;
      before = whose;
      return text;
    })
    .join(', ');
}

/** The messages of failed pulls. pullFindings reports them, so they are not repeated for single services. */
function messagesOf(pulls: PullStatus['pulls']): ReadonlySet<string> {
  return new Set(pulls.filter(({ state }) => state === 'failed').map(one => one.message));
}

/** Problems with the logs and backups of single services. */
export function pullProblems({
  pulls,
  logs,
  backups,
  services,
}: PullStatus & { readonly services: readonly Named[] }): readonly Finding[] {
  const known = messagesOf(pulls);
  const names = new Map(services.map(({ id, name }) => [id, name]));
  const subjectOf = (service: string, type: string): string =>
    `${type} of ${names.get(service) ?? service}`;
  const failed = (logs?.partitions ?? []).filter(
    ({ state, lastError }) => state === 'failed' && !known.has(lastError ?? ''),
  );
  const found = failed.map(({ service, type, lastError }) => {
    const why = lastError ?? 'cannot be pulled';
    const message = `${why}; the service keeps the logs, and the daemon retries`;
    const about = { cause: `logs: ${lastError ?? ''}` };
    return problem('error', subjectOf(service, type), { message, hint: '' }, about);
  });
  for (const { at, service, type, archive, reason } of logs?.givenUp ?? []) {
    const advice = {
      message: `the archive ${archive} was given up: ${reason}; its records may be missing`,
      hint: 'Look for its gap record in the back end.',
    };
    const shared = `archives were given up: ${reason}`;
    const about = { cause: `given up: ${reason}`, shared, since: at, lastSeen: at };
    found.push(problem('warning', subjectOf(service, type), advice, about));
  }
  const apart = (backups?.services ?? []).map(one =>
    known.has(one.lastError ?? '') ? { ...one, lastError: null } : one,
  );
  return [...found, ...apart.flatMap(backupProblems)];
}

function backupProblems(backups: ServiceBackupsReport): readonly Finding[] {
  const { name, isRestorableScheduled, lastError, hint } = backups;
  const subject = `backups of ${name}`;
  const found: Finding[] = [];
  if (lastError !== null) {
    const advice = { message: lastError, hint: sentence(hint) };
    found.push(problem('error', subject, advice, { cause: `backups: ${lastError}` }));
  }
  if (isRestorableScheduled === false) {
    const advice = {
      message: 'no backup that restores is scheduled',
      hint: 'prom2otlp backups schedules create creates a schedule.',
    };
    found.push(
      problem('warning', subject, advice, { cause: 'no backup that restores is scheduled' }),
    );
  }
  return found;
}

/** The sections of the page; null where nothing is pulled. `isClose`: a line for each log, also of a healthy service. */
export function pullSections(
  report: PullStatus & Reported & { readonly services: readonly Named[] },
  isClose = false,
): readonly (Html | null)[] {
  const { pulls, logs, backups } = report;
  // Metrics alone are in the table of the targets.
  const isMore = pulls.some(({ kind }) => kind !== 'metrics');
  return [
    isMore ? readingSection(report) : null,
    logs === null ? null : logsSection(logs, report, isClose),
    backups === null ? null : backupsSection(backups, report, messagesOf(pulls)),
  ];
}

const PULL_TONES = { waiting: 'busy', ok: 'good', failed: 'bad' } as const;

function readingSection(report: PullStatus & Reported): Html {
  const rows = table(
    report.pulls,
    [
      column('What', ({ kind, target }) => html`${kind}${faint(target)}`, 'head'),
      column('State', ({ state }) => badge(PULL_TONES[state], state)),
      column('Since', ({ failingSinceAt }) => age(report, failingSinceAt)),
      column('Last success', ({ lastSuccessAt }) => age(report, lastSuccessAt)),
      column('Last attempt', ({ lastAttemptAt }) => age(report, lastAttemptAt)),
      column('Next', ({ nextAttemptAt }) => age(report, nextAttemptAt)),
      column(
        'Why',
        ({ reason, message }) => (reason === '' ? '–' : [badge('bad', reason), ` ${message}`]),
        'text',
      ),
    ],
    { id: 'reading', noun: 'part', toneOf: ({ state }) => PULL_TONES[state] },
  );
  return section('Reading', 'what is asked of the service, and how that goes', rows);
}

const PARTITION_TONES = { waiting: 'good', pulling: 'good', failed: 'bad' } as const;

type PartitionReport = Shown<PartitionStatus>;

/** One line of the table: a log, or all logs of a service that are well, or fail alike. */
interface LogLine extends PartitionReport {
  readonly logCount: number;
}

function logLines(partitions: readonly PartitionReport[]): readonly LogLine[] {
  const keyOf = ({ service, state, lastError }: PartitionReport): string =>
    `${service} ${String(state === 'failed')} ${lastError ?? ''}`;
  return [...Map.groupBy(partitions, keyOf).values()].flatMap(logs => {
    const [first] = logs;
    if (first === undefined) return [];
    const done = logs.map(({ doneUntil }) => doneUntil).filter(at => at !== null);
    return [
      {
        ...first,
        state: logs.some(({ state }) => state === 'pulling') ? 'pulling' : first.state,
        logCount: logs.length,
        doneUntil: done.length < logs.length ? null : (done.sort()[0] ?? null),
        recordCount: logs.reduce((sum, log) => sum + log.recordCount, 0),
        gapCount: logs.reduce((sum, log) => sum + log.gapCount, 0),
      },
    ];
  });
}

function logsSection(
  logs: LogsReport,
  report: Reported & { readonly services: readonly Named[] },
  isClose: boolean,
): Html {
  const { partitions, nextPullAt, catchUp, givenUp } = logs;
  const nameOf = serviceNames(report.services);
  const rows =
    partitions.length === 0
      ? html`<p class="faint">No log has been read yet.</p>`
      : table(
          isClose ? partitions.map(log => ({ ...log, logCount: 1 })) : logLines(partitions),
          [
            ...(isClose
              ? []
              : [column<LogLine>('Service', ({ service }) => nameOf(service), 'head')]),
            column(
              'Log',
              ({ type, source, logCount }) =>
                logCount > 1 ? `${formatCount(logCount)} logs` : html`${type}${faint(source)}`,
              isClose ? 'head' : null,
            ),
            column('State', ({ state }) => badge(PARTITION_TONES[state], state)),
            column('Done until', ({ doneUntil }) => age(report, doneUntil)),
            countColumn('Records', ({ recordCount }) => recordCount),
            countColumn('Gaps', ({ gapCount }) => gapCount),
            column('Last error', ({ lastError }) => lastError ?? '–', 'text'),
          ],
          {
            id: 'logs',
            noun: isClose ? 'log' : 'service',
            isLean: isClose,
            toneOf: ({ state }) => PARTITION_TONES[state],
          },
        );
  const progress = catchUp.map(
    ({ name, doneCount, dueCount }) =>
      html`<p>Reading ${formatCount(doneCount)} of ${formatCount(dueCount)} archives of ${name}.${meterBar(doneCount / dueCount, 'none')}</p>`,
  );
  const lost = givenUp.length === 0 ? null : givenUpTable(givenUp, report, nameOf);
  const next = nextLine('Next pull', nextPullAt, report);
  return section('Logs', 'pulled from the service on a schedule', [rows, progress, lost, next]);
}

function nextLine(what: string, at: string | null, report: Reported): Html | null {
  return at === null ? null : html`<p class="faint">${what} ${age(report, at)}.</p>`;
}

function givenUpTable(
  givenUp: LogsReport['givenUp'],
  report: Reported,
  nameOf: (id: string) => HtmlValue,
): Html {
  return table(
    givenUp,
    [
      column('Service', ({ service }) => nameOf(service)),
      column('Given up', ({ at }) => age(report, at)),
      column('Archive', one => html`${one.archive}${faint(one.type)}`, 'head'),
      column('Reason', ({ reason }) => reason),
    ],
    { id: 'given-up', noun: 'archive' },
  );
}

function backupsSection(
  { services, nextReadAt }: BackupsReport,
  report: Reported,
  known: ReadonlySet<string>,
): Html {
  const rows = table(
    services,
    [
      column('Service', ({ name, service }) => html`${name}${faint(service)}`, 'head'),
      column('Backup that restores', ({ isRestorableScheduled }) =>
        isRestorableScheduled === null
          ? badge('none', 'unknown')
          : isRestorableScheduled
            ? badge('good', 'scheduled')
            : badge('warn', 'none scheduled'),
      ),
      countColumn('Schedules', ({ scheduleCount }) => scheduleCount),
      column('Next', ({ nextRestorableRunAt }) => age(report, nextRestorableRunAt)),
      column('Last', ({ newestRestorableAt }) => age(report, newestRestorableAt)),
      column(
        'Last error',
        ({ lastError }) =>
          lastError === null ? '–' : known.has(lastError) ? 'as under Reading' : lastError,
        'text',
      ),
    ],
    {
      id: 'backups',
      noun: 'service',
      toneOf: ({ isUp, isRestorableScheduled }) =>
        isUp === false ? 'bad' : isRestorableScheduled === false ? 'warn' : 'good',
    },
  );
  const next = nextLine('Next look', nextReadAt, report);
  return section('Backups', 'whether the schedules of the service make backups that restore', [
    rows,
    next,
  ]);
}
