// The tables of the status page: services, targets, the way to the back end, the account. What needs attention
// stands on top of each.

import { formatBytes, formatCount, formatDuration } from '../lib/format.ts';
import { html, type Html } from './html.ts';
import {
  age,
  badge,
  countCell,
  meterBar,
  numberList,
  section,
  table,
  type Tone,
} from './page-parts.ts';
import { isFillingUp } from './problems.ts';
import type {
  AccountNumbers,
  QueueReport,
  SenderReport,
  ServiceReport,
  StatusReport,
  TargetReport,
} from './status-report.ts';

export function servicesSection(report: StatusReport): Html {
  const columns = [
    { title: 'Service' },
    { title: 'State' },
    { title: 'Samples', isNumber: true },
    { title: 'Points', isNumber: true },
    { title: 'Dropped', isNumber: true },
    { title: 'Series per family' },
    { title: 'Accepted in all', isNumber: true },
    { title: 'Waiting', isNumber: true },
    { title: 'Lost', isNumber: true },
  ];
  const sorted = [...report.services].sort((a, b) => serviceRank(a) - serviceRank(b));
  const rows = table(columns, sorted, service => serviceRow(service, report));
  return section('Services', 'samples and points of the last page', rows);
}

function serviceRow(service: ServiceReport, { account }: StatusReport): Html {
  const { id, name, samples, points, badLines, droppedByReason, families } = service;
  const numbers = account.services[id]?.points;
  const dropped = numberList(droppedByReason);
  const droppedCount = Object.values(droppedByReason).reduce((sum, count) => sum + count, 0);
  const lost = numbers === undefined ? 0 : numbers.rejected + numbers.setAside + numbers.evicted;
  return html`<tr><th scope="row">${name}${name === id ? null : html` <small class="faint">${id}</small>`}</th>
<td>${serviceState(service)}</td>${countCell(samples)}${countCell(points)}
${countCell(droppedCount + badLines, dropped)}
<td class="text">${numberList(families) ?? '–'}</td>
${countCell(numbers?.accepted ?? 0)}${countCell(numbers?.queued ?? 0)}${countCell(lost)}</tr>
`;
}

function serviceState({ isUp, reason, isSourceStale }: ServiceReport): Html {
  if (isUp === null) return badge('busy', 'waiting');
  if (!isUp) return html`${badge('bad', 'down')}<small>${reason}</small>`;
  return isSourceStale
    ? html`${badge('warn', 'up')}<small>stands still</small>`
    : badge('good', 'up');
}

function serviceRank({ isUp, isSourceStale }: ServiceReport): number {
  if (isUp === false) return 0;
  return isSourceStale ? 1 : 2;
}

const TARGET_TONES: Readonly<Record<TargetReport['state'], Tone>> = {
  waiting: 'busy',
  up: 'good',
  down: 'bad',
  auth: 'bad',
};

export function targetsSection(report: StatusReport): Html {
  const columns = [
    { title: 'Target' },
    { title: 'State' },
    { title: 'Last scrape' },
    { title: 'Next' },
    { title: 'Scrapes', isNumber: true },
    { title: 'Failed', isNumber: true },
    { title: 'Samples', isNumber: true },
    { title: 'Series', isNumber: true },
    { title: 'Page', isNumber: true },
    { title: 'Last error' },
  ];
  const isDown = ({ state }: TargetReport): boolean => state === 'down' || state === 'auth';
  const sorted = [...report.targets].sort((a, b) => Number(isDown(b)) - Number(isDown(a)));
  const rows = table(columns, sorted, target => targetRow(target, report));
  return section('Targets', 'an address that is polled for one or more services', rows);
}

function targetRow(target: TargetReport, report: StatusReport): Html {
  const { name, url, state, lastDurationMs, bodyBytes, path } = target;
  const word = state === 'auth' ? 'key refused' : state;
  const took =
    lastDurationMs === null ? null : html`<small>took ${formatDuration(lastDurationMs)}</small>`;
  return html`<tr><th scope="row">${name}<code class="faint">${url}</code></th>
<td>${badge(TARGET_TONES[state], word)}</td>
<td>${age(report, target.lastScrapeAt)}${took}</td><td>${age(report, target.nextScrapeAt)}</td>
${countCell(target.scrapeCount)}${countCell(target.failureCount)}
${countCell(target.samples)}${countCell(target.series)}
<td class="n">${formatBytes(bodyBytes)}${path === null ? null : html`<small>${path}</small>`}</td>
<td class="text">${lastErrorOf(target)}</td></tr>
`;
}

function lastErrorOf({
  lastReason,
  lastMessage,
  hint,
  badLines,
  firstProblem,
}: TargetReport): Html {
  if (lastReason !== '')
    return html`${badge('bad', lastReason)} ${lastMessage}${hint === '' ? null : html`<small>${hint}</small>`}`;
  if (badLines === 0 || firstProblem === null) return html`<span class="faint">none</span>`;
  const { line, column, reason } = firstProblem;
  return html`${badge('warn', `${formatCount(badLines)} bad lines`)} line ${line}, column ${column}: ${reason}`;
}

const SENDER_TONES: Readonly<Record<SenderReport['state'], Tone>> = {
  idle: 'good',
  sending: 'good',
  retrying: 'bad',
  holding: 'bad',
};

export function backEndSection(report: StatusReport): Html {
  const columns = [
    { title: 'Back end' },
    { title: 'State' },
    { title: 'Last accepted' },
    { title: 'Next attempt' },
    { title: 'Waiting', isNumber: true },
    { title: 'Oldest' },
    { title: 'Queue' },
    { title: 'Compression' },
    { title: 'Last error' },
  ];
  const rows = table(columns, report.senders, sender => {
    const queue = report.queue.find(({ signal }) => signal === sender.signal);
    return senderRow(sender, queue, report);
  });
  return section('Back end', 'what waits is kept until it is accepted', rows);
}

function senderRow(
  sender: SenderReport,
  queue: QueueReport | undefined,
  report: StatusReport,
): Html {
  const { signal, endpoint, state, lastError } = sender;
  const error =
    lastError === null
      ? html`<span class="faint">none</span>`
      : html`${lastError}<small>${age(report, sender.lastErrorAt)}</small>`;
  const { encoding, since, reason } = sender.compression;
  const compression = html`${encoding}<small>${reason}${since === null ? '' : html`, ${age(report, since)}`}</small>`;
  return html`<tr><th scope="row">${signal}<code class="faint">${endpoint}</code></th>
<td>${badge(SENDER_TONES[state], state)}</td>
<td>${age(report, sender.lastAcceptedAt)}</td><td>${age(report, sender.nextAttemptAt)}</td>
<td class="n">${formatCount(queue?.points ?? 0)}<small>in ${formatCount(queue?.rows ?? 0)} requests</small></td>
<td>${age(report, queue?.oldestAt ?? null)}</td><td>${queue === undefined ? '–' : fill(queue)}</td>
<td>${compression}</td><td class="text">${error}</td></tr>
`;
}

function fill(queue: QueueReport): Html {
  const { bytes, maxBytes } = queue;
  const share = maxBytes === 0 ? 0 : bytes / maxBytes;
  const bar = meterBar(share, isFillingUp(queue) ? 'warn' : 'none');
  return html`${formatBytes(bytes)} <span class="faint">of ${formatBytes(maxBytes)}</span>${bar}`;
}

export function accountSection({ account }: StatusReport): Html {
  const columns = [
    { title: 'Service' },
    ...['Samples read', '= used', '+ metadata', '+ repeated', '+ dropped'].map(numberColumn),
    ...['Points made', '= accepted', '+ rejected', '+ set aside', '+ evicted', '+ queued'].map(
      numberColumn,
    ),
  ];
  const all: readonly AccountEntry[] = [['all', account.total, 'sum']];
  const services = Object.entries(account.services).map(
    ([id, numbers]): AccountEntry => [id === '' ? '(none)' : id, numbers, ''],
  );
  const about = 'every sample and every point since the queue was created; the sums must balance';
  return section('Account', about, table(columns, [...all, ...services], accountRow));
}

type AccountEntry = readonly [name: string, numbers: AccountNumbers, style: string];

function numberColumn(title: string): { readonly title: string; readonly isNumber: boolean } {
  return { title, isNumber: true };
}

function accountRow([name, { samples, points }, style]: AccountEntry): Html {
  const { read, used, metadata, repeated, dropped } = samples;
  const { made, accepted, rejected, setAside, evicted, queued } = points;
  const counts = [read, used, metadata, repeated, dropped];
  counts.push(made, accepted, rejected, setAside, evicted, queued);
  return html`<tr class="${style}"><th scope="row">${name}</th>${counts.map(count => countCell(count))}</tr>
`;
}
