// Logs and backups, as the status shows them. One chapter holds all of a field: its declaration for /status.json, where it
// is read from, its problems, and its place on the page.

import type { Backups } from '../backups/backups.ts';
import { nextFullRunMs } from '../backups/known-backups.ts';
import type { ServiceBackups } from '../backups/service-backups.ts';
import type { Daemon } from '../daemon/daemon.ts';
import { formatCount } from '../lib/format.ts';
import type { GivenUpStatus, PartitionStatus, PullProgress } from '../logs/log-meter.ts';
import type { Logs } from '../logs/logs.ts';
import { html, type Html } from './html.ts';
import { age, badge, countCell, meterBar, type Reported, section, table } from './page-parts.ts';
import { problem, sentence, type StatusProblem } from './problem.ts';
import { instantOrNull, type Shown, shown } from './times.ts';

/** The fields of the status report that this file fills in. */
export interface PullStatus {
  /** null while no logs are pulled. */
  readonly logs: LogsReport | null;
  /** null while backups are not watched. */
  readonly backups: BackupsReport | null;
}

/** The log puller, per service, source and type of log. */
export interface LogsReport {
  readonly partitions: readonly Shown<PartitionStatus>[];
  /** Empty while no pull is running. */
  readonly catchUp: readonly Shown<PullProgress>[];
  /** The latest archives that were given up, latest first. */
  readonly givenUp: readonly Shown<GivenUpStatus>[];
  readonly nextPullAt: string | null;
}

export interface BackupsReport {
  readonly services: readonly ServiceBackupsReport[];
  readonly nextReadAt: string | null;
}

/** By the last answer of the service; null where there is none that is young enough. */
export interface ServiceBackupsReport {
  /** The database service id. */
  readonly service: string;
  readonly name: string;
  /** Whether the schedules could be read the last time; null before the first. */
  readonly isUp: boolean | null;
  readonly isFullScheduled: boolean | null;
  readonly scheduleCount: number | null;
  readonly nextFullRunAt: string | null;
  readonly lastFullFinishedAt: string | null;
  readonly readAt: string | null;
  readonly lastError: string | null;
  /** What to do about it; '' where all is well. */
  readonly hint: string;
}

/** Logs and backups as the last pulls left them. */
export function pullStatus({ logs, backups }: Daemon, nowMs: number): PullStatus {
  return {
    logs: logs === null ? null : logsReport(logs),
    backups: backups === null ? null : backupsReport(backups, nowMs),
  };
}

function logsReport(logs: Logs): LogsReport {
  const { partitions, progress, givenUp, nextPullAtMs } = logs;
  return {
    partitions: partitions.map(shown),
    catchUp: progress.filter(({ dueCount }) => dueCount > 0).map(shown),
    givenUp: givenUp.map(shown),
    nextPullAt: instantOrNull(nextPullAtMs),
  };
}

function backupsReport(backups: Backups, nowMs: number): BackupsReport {
  return {
    services: backups.services.map(service => backupsOfService(service, nowMs)),
    nextReadAt: instantOrNull(backups.nextReadAtMs),
  };
}

function backupsOfService(backups: ServiceBackups, nowMs: number): ServiceBackupsReport {
  const { service, isUp, known, error } = backups;
  const nextMs = known === null ? null : nextFullRunMs(known, nowMs);
  return {
    service: service.id,
    name: service.name,
    isUp,
    isFullScheduled: known === null ? null : nextMs !== null,
    scheduleCount: known?.schedules.length ?? null,
    nextFullRunAt: instantOrNull(nextMs),
    lastFullFinishedAt: instantOrNull(known?.finishedAtMs['full'] ?? null),
    readAt: instantOrNull(known?.readAtMs ?? null),
    lastError: error?.message ?? null,
    hint: error?.hint ?? '',
  };
}

export function pullProblems({ logs, backups }: PullStatus): readonly StatusProblem[] {
  const failed = (logs?.partitions ?? []).filter(({ state }) => state === 'failed');
  const found = failed.map(({ service, type, lastError }) =>
    problem('error', `${type} of ${service}`, {
      message: lastError ?? 'cannot be pulled',
      hint: 'The service keeps the logs; the daemon retries.',
    }),
  );
  for (const { service, type, archive, reason, file } of logs?.givenUp ?? [])
    found.push(
      problem('warning', `${type} of ${service}`, {
        message: `the archive ${archive} was given up: ${reason}`,
        hint: `Its records may be missing; a gap record in the back end reports it.${file === null ? '' : ` It is kept as ${file}.`}`,
      }),
    );
  return [...found, ...(backups?.services ?? []).flatMap(backupProblems)];
}

function backupProblems(backups: ServiceBackupsReport): readonly StatusProblem[] {
  const { name, isFullScheduled, lastError, hint } = backups;
  const subject = `backups of ${name}`;
  const found: StatusProblem[] = [];
  if (lastError !== null)
    found.push(problem('error', subject, { message: lastError, hint: sentence(hint) }));
  if (isFullScheduled === false)
    found.push(
      problem('warning', subject, {
        message: 'no full backup is scheduled',
        hint: 'prom2otlp backups schedules create creates a schedule.',
      }),
    );
  return found;
}

/** Logs and backups on the page; null for either where it is not pulled. */
export function pullSections(report: PullStatus & Reported): readonly (Html | null)[] {
  const { logs, backups } = report;
  return [
    logs === null ? null : logsSection(logs, report),
    backups === null ? null : backupsSection(backups, report),
  ];
}

function logsSection(logs: LogsReport, report: Reported): Html {
  const { partitions, nextPullAt, catchUp, givenUp } = logs;
  const columns = [
    { title: 'Log' },
    { title: 'State' },
    { title: 'Done until' },
    { title: 'Records', isNumber: true },
    { title: 'Gaps', isNumber: true },
    { title: 'Last error' },
  ];
  const tones = { waiting: 'good', pulling: 'busy', failed: 'bad' } as const;
  const rows = table(
    columns,
    partitions,
    ({ service, source, type, state, doneUntil, recordCount, gapCount, lastError }) =>
      html`<tr><th scope="row">${service} <small class="faint">${type}, ${source}</small></th>
<td>${badge(tones[state], state)}</td><td>${age(report, doneUntil)}</td>
${countCell(recordCount)}${countCell(gapCount)}<td class="text">${lastError ?? '–'}</td></tr>
`,
  );
  const next =
    nextPullAt === null ? null : html`<p class="faint">Next pull ${age(report, nextPullAt)}.</p>`;
  const progress = catchUp.map(
    ({ name, doneCount, dueCount }) =>
      html`<p>Reading ${formatCount(doneCount)} of ${formatCount(dueCount)} archives of ${name}.${meterBar(doneCount / dueCount, 'none')}</p>`,
  );
  const broken = givenUp.length === 0 ? null : givenUpTable(givenUp, report);
  const content = [rows, progress, broken, next];
  return section('Logs', 'pulled from the service on a schedule', content);
}

function givenUpTable(givenUp: LogsReport['givenUp'], report: Reported): Html {
  const columns = [
    { title: 'Given up' },
    { title: 'Archive' },
    { title: 'Reason' },
    { title: 'Kept as' },
  ];
  return table(
    columns,
    givenUp,
    ({ at, service, type, archive, reason, file }) =>
      html`<tr><td>${age(report, at)}</td>
<th scope="row">${archive} <small class="faint">${type} of ${service}</small></th>
<td>${reason}</td><td class="text">${file === null ? '–' : html`<code>${file}</code>`}</td></tr>
`,
  );
}

function backupsSection({ services, nextReadAt }: BackupsReport, report: Reported): Html {
  const columns = [
    { title: 'Service' },
    { title: 'Full backup' },
    { title: 'Schedules', isNumber: true },
    { title: 'Next' },
    { title: 'Last' },
    { title: 'Last error' },
  ];
  const rows = table(
    columns,
    services,
    one =>
      html`<tr><th scope="row">${one.name}<small class="faint">${one.service}</small></th>
<td>${fullBackupBadge(one.isFullScheduled)}</td>${one.scheduleCount === null ? html`<td class="n">–</td>` : countCell(one.scheduleCount)}
<td>${age(report, one.nextFullRunAt)}</td><td>${age(report, one.lastFullFinishedAt)}</td><td class="text">${one.lastError ?? '–'}</td></tr>
`,
  );
  const next =
    nextReadAt === null ? null : html`<p class="faint">Next look ${age(report, nextReadAt)}.</p>`;
  return section('Backups', 'what the schedules of the service amount to', [rows, next]);
}

function fullBackupBadge(isScheduled: boolean | null): Html {
  if (isScheduled === null) return badge('none', 'unknown');
  return isScheduled ? badge('good', 'scheduled') : badge('bad', 'none scheduled');
}
