// What is wrong, worst first, and what to do about it: read off a StatusReport, the same for the page and for
// /status.json. Nothing is remembered: a problem is gone with the report that no longer shows it. What the account
// has counted since the queue was created is told as a warning for as long as that lasts.

import { formatAge, formatBytes, formatCount, formatDuration } from '../lib/format.ts';
import type { Family } from '../model/metric.ts';
import {
  CLOCK_SKEWED,
  DROP_ADVICE,
  SERVICE_ADVICE,
  SOURCE_STALE,
  UPTIME_STUCK,
  type Advice,
} from './advice.ts';
import type {
  QueueReport,
  SenderReport,
  ServiceBackupsReport,
  ServiceReport,
  StatusReport,
  TargetReport,
} from './status-report.ts';
import { isSkewed } from './target-log.ts';

/** `error`: data is missing or waits. `warning`: data was lost or soon will be. `note`: worth knowing. */
export type Severity = 'error' | 'warning' | 'note';

export interface StatusProblem {
  readonly severity: Severity;
  /** What it is about: a target, a service, a signal. */
  readonly subject: string;
  readonly message: string;
  /** What to do, as a sentence; '' where there is nothing to do. */
  readonly hint: string;
}

/** What /status.json answers and the page renders. */
export interface StatusDocument extends StatusReport {
  readonly problems: readonly StatusProblem[];
}

/** More are counted in one line instead of being told. */
export const PROBLEMS_SHOWN_MAX = 100;

const SEVERITIES: readonly Severity[] = ['error', 'warning', 'note'];
/** From this share of its limit on, a queue is told to fill up. */
const QUEUE_SHARE_WARNED = 0.8;

/** The report as /status.json has it. */
export function withProblems(report: StatusReport): StatusDocument {
  return { ...report, problems: findProblems(report) };
}

/** All problems, errors first; at most PROBLEMS_SHOWN_MAX, and one more that counts the rest. */
export function findProblems(report: StatusReport): readonly StatusProblem[] {
  const all = [
    ...reloadProblems(report),
    ...report.targets.flatMap(targetProblems),
    ...serviceProblems(report),
    ...report.senders.flatMap(sender => senderProblems(sender, report)),
    ...troubleProblems(report),
    ...report.queue.flatMap(queueProblems),
    ...accountProblems(report),
    ...pullProblems(report),
    ...report.unconfigured.flatMap(({ id, samples, isSent }) =>
      isSent ? [] : [unconfiguredNote(id, samples)],
    ),
    ...report.targets.flatMap(driftNotes),
    ...report.notes.map(message => problem('note', 'bridge', { message, hint: '' })),
  ];
  const sorted = SEVERITIES.flatMap(severity => all.filter(entry => entry.severity === severity));
  const rest = sorted.length - PROBLEMS_SHOWN_MAX;
  if (rest <= 0) return sorted;
  const more = { message: `${formatCount(rest)} more are not listed here`, hint: '' };
  return [...sorted.slice(0, PROBLEMS_SHOWN_MAX), problem('note', 'bridge', more)];
}

function problem(severity: Severity, subject: string, { message, hint }: Advice): StatusProblem {
  return { severity, subject, message, hint };
}

function reloadProblems({ reload }: StatusReport): readonly StatusProblem[] {
  const [first, ...rest] = reload?.mistakes ?? [];
  if (first === undefined) return [];
  const more = rest.length === 0 ? '' : `; and ${counted(rest.length, 'more mistake')}`;
  const message = `the changed configuration is not used, the former one stays: ${first}${more}`;
  const hint = 'Mend it: it is read again when it changes. prom2otlp check tells all of it.';
  return [problem('error', 'configuration', { message, hint })];
}

function targetProblems(target: TargetReport): readonly StatusProblem[] {
  const { name, state, lastReason, lastMessage, badLines, firstProblem, clockSkewMs } = target;
  const found: StatusProblem[] = [];
  if (state === 'down' || state === 'auth') {
    const message = lastMessage === '' ? `cannot be scraped: ${lastReason}` : lastMessage;
    found.push(problem('error', name, { message, hint: sentence(target.hint) }));
  }
  if (isSkewed(clockSkewMs)) {
    const where = clockSkewMs > 0 ? 'ahead' : 'behind';
    const message = `${CLOCK_SKEWED.message}: ours is ${formatDuration(Math.abs(clockSkewMs))} ${where}`;
    found.push(problem('warning', name, { message, hint: CLOCK_SKEWED.hint }));
  }
  if (badLines > 0) {
    const first =
      firstProblem === null
        ? ''
        : `; the first at line ${firstProblem.line}, column ${firstProblem.column}: ${firstProblem.reason}`;
    found.push(
      problem('warning', name, {
        message: `${counted(badLines, 'line')} of the last page cannot be read${first}`,
        hint: 'They are left out, the lines around them are used. Save the page and run prom2otlp show decode on it.',
      }),
    );
  }
  return found;
}

function serviceProblems({ targets, services }: StatusReport): readonly StatusProblem[] {
  // A target that is down takes its services with it: that is told once, above.
  const targetReasons = new Set(targets.map(target => target.lastReason));
  return services.flatMap(service => {
    const { name, isUp, reason, isSourceStale, stuckUptimes } = service;
    const isAlone = isUp === false && !targetReasons.has(reason);
    const advice = SERVICE_ADVICE[reason] ?? { message: `is down: ${reason}`, hint: '' };
    return [
      ...(isAlone ? [problem('error', name, advice)] : []),
      ...(isSourceStale ? [problem('warning', name, SOURCE_STALE)] : []),
      ...(stuckUptimes > 0 ? [problem('warning', name, UPTIME_STUCK)] : []),
      ...dropWarnings(service),
    ];
  });
}

function dropWarnings({ name, droppedByReason }: ServiceReport): readonly StatusProblem[] {
  return Object.entries(droppedByReason).flatMap(([reason, count]) => {
    const advice = DROP_ADVICE[reason];
    if (advice === undefined || count === 0) return [];
    const message = `${counted(count, 'sample')} of the last page dropped: ${advice.message}`;
    return [problem('warning', name, { message, hint: advice.hint })];
  });
}

function senderProblems(sender: SenderReport, report: StatusReport): readonly StatusProblem[] {
  const { signal, endpoint, state, lastError, nextAttemptAt } = sender;
  if (state === 'idle' || state === 'sending') return [];
  const inMs =
    nextAttemptAt === null ? 0 : Date.parse(report.reportedAt) - Date.parse(nextAttemptAt);
  const again = inMs >= 0 ? 'is due' : `is ${formatAge(inMs)}`;
  const waiting = report.queue.find(queue => queue.signal === signal)?.points ?? 0;
  return [
    problem('error', `${signal} to ${endpoint}`, {
      message: lastError ?? 'the back end does not accept',
      hint: `${counted(waiting, signal === 'logs' ? 'record' : 'point')} wait in the queue; the next attempt ${again}.`,
    }),
  ];
}

/** True when a queue should be looked at before it is full. */
export function isFillingUp({ bytes, maxBytes }: QueueReport): boolean {
  return maxBytes > 0 && bytes >= maxBytes * QUEUE_SHARE_WARNED;
}

function troubleProblems({ queueTrouble }: StatusReport): readonly StatusProblem[] {
  if (queueTrouble === null) return [];
  const hint =
    'Look at the disk of queue.directory. Until it can be written, metrics are sent from a small memory, and logs wait.';
  return [problem('error', 'queue', { message: queueTrouble, hint })];
}

function queueProblems(queue: QueueReport): readonly StatusProblem[] {
  const { signal, bytes, maxBytes } = queue;
  if (!isFillingUp(queue)) return [];
  const share = Math.floor((bytes / maxBytes) * 100);
  const consequence =
    signal === 'logs' ? 'When it is full, pulling waits' : 'When it is full, the oldest go';
  return [
    problem('warning', `queue of ${signal}`, {
      message: `${share} % full: ${formatBytes(bytes)} of ${formatBytes(maxBytes)}`,
      hint: `${consequence}. Raise queue.${signal}.max_bytes, or see why the back end does not accept.`,
    }),
  ];
}

function accountProblems({ account, setAside, queue }: StatusReport): readonly StatusProblem[] {
  const { rejected, setAside: aside, evicted, queued } = account.total.points;
  const found: StatusProblem[] = [];
  if (rejected + aside > 0) {
    const reason = setAside[0] === undefined ? '' : `; the last time: ${setAside[0].reason}`;
    const message = `the back end has refused ${counted(rejected + aside, 'point')} for good${reason}`;
    const hint = 'prom2otlp queue inspect shows what was set aside.';
    found.push(problem('warning', 'back end', { message, hint }));
  }
  if (evicted > 0)
    found.push(
      problem('warning', 'queue', {
        message: `${counted(evicted, 'point')} dropped before the back end accepted them`,
        hint: 'The queue was full or they were too old. See queue.metrics in the configuration.',
      }),
    );
  const waiting = queue.reduce((sum, { points }) => sum + points, 0);
  if (queued !== waiting)
    found.push(
      problem('warning', 'account', {
        message: `it does not balance: ${formatCount(queued)} points should wait, the queue holds ${formatCount(waiting)}`,
        hint: 'This is a mistake in the program. Please report it with /status.json.',
      }),
    );
  return found;
}

function pullProblems({ logs, backups }: StatusReport): readonly StatusProblem[] {
  const failed = (logs?.partitions ?? []).filter(({ state }) => state === 'failed');
  const found = failed.map(({ service, type, lastError }) =>
    problem('error', `${type} of ${service}`, {
      message: lastError ?? 'cannot be pulled',
      hint: 'The service keeps the logs; pulling is tried again.',
    }),
  );
  for (const { service, type, archive, reason, file } of logs?.givenUp ?? [])
    found.push(
      problem('warning', `${type} of ${service}`, {
        message: `the archive ${archive} was given up: ${reason}`,
        hint: `What it holds may be missing; a record of a gap says so in the back end.${file === null ? '' : ` It is kept as ${file}.`}`,
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
        hint: 'prom2otlp backups schedules create makes a schedule.',
      }),
    );
  return found;
}

function unconfiguredNote(id: string, samples: number): StatusProblem {
  return problem('note', id, {
    message: `${counted(samples, 'sample')} of a service that no entry names are not sent`,
    hint: 'Add it to services, or set unconfigured_services: send.',
  });
}

function driftNotes({ name, drift }: TargetReport): readonly StatusProblem[] {
  const families = Object.keys(drift) as Family[];
  return families.flatMap(family => {
    const { contradicted, mangled } = drift[family] ?? {};
    const hint = 'The names are listed under drift.';
    const notes: StatusProblem[] = [];
    if (contradicted !== undefined && contradicted.count > 0) {
      const message = `${counted(contradicted.count, 'series')} of ${family} declared otherwise than the catalog has it; the catalog's type is sent`;
      notes.push(problem('note', name, { message, hint: `${hint} metrics.overrides settles it.` }));
    }
    if (mangled !== undefined && mangled.count > 0) {
      const message = `${counted(mangled.count, 'series')} of ${family} came under a damaged name`;
      notes.push(problem('note', name, { message, hint }));
    }
    return notes;
  });
}

/** `1 line`, `3 lines`; `series` is both. */
function counted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 || noun === 'series' ? '' : 's'}`;
}

/** A hint of the collector, which begins and ends in the middle of a sentence. */
function sentence(hint: string): string {
  return hint === '' ? '' : `${hint.charAt(0).toUpperCase()}${hint.slice(1)}.`;
}
