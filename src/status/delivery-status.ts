// Delivery, as the status shows it: the queue, the senders, requests that were set aside. One chapter holds all of a
// field: its declaration for /status.json, where it is read from, its problems, and its place on the page.

import type { Config, OtlpSignalConfig } from '../config/config.ts';
import type { Daemon } from '../daemon/daemon.ts';
import { formatAge, formatBytes, formatCount } from '../lib/format.ts';
import { type Signal, SIGNALS } from '../model/batch.ts';
import type { Encoding, QueueStats, SetAside } from '../pipeline/queue/queue.ts';
import type { CompressionStatus } from '../pipeline/send/auto-compression.ts';
import type { SenderStatus } from '../pipeline/send/presence.ts';
import { html, type Html } from './html.ts';
import {
  age,
  badge,
  countCell,
  meterBar,
  type Reported,
  section,
  table,
  type Tone,
} from './page-parts.ts';
import { counted, problem, type StatusProblem } from './problem.ts';
import { instantOrNull, type Shown, shown } from './times.ts';

/** The fields of the status report that this file fills in. */
export interface DeliveryStatus {
  /** One per signal that is in use or still has something waiting. */
  readonly queue: readonly QueueReport[];
  /** Why the last commit was not simply stored; null when it was. */
  readonly queueTrouble: string | null;
  readonly senders: readonly SenderReport[];
  /** The last requests that the back end refused for good, newest first; at most SET_ASIDE_SHOWN_MAX. */
  readonly setAside: readonly SetAsideReport[];
}

export interface QueueReport extends Shown<QueueStats> {
  readonly signal: Signal;
}

export interface SenderReport extends Shown<SenderStatus> {
  readonly signal: Signal;
  /** Without user, password and query. */
  readonly endpoint: string;
  readonly compression: CompressionReport;
}

/** How requests are compressed, since when, and why. */
export interface CompressionReport {
  readonly encoding: Encoding;
  /** null: since the start. */
  readonly since: string | null;
  readonly reason: string;
}

type SetAsideReport = Shown<Omit<SetAside, 'sample'>>;

const SET_ASIDE_SHOWN_MAX = 20;
/** From this share of its limit on, a queue fills up. */
const QUEUE_SHARE_WARNED = 0.8;

/** Queue and senders as they are now. */
export async function deliveryStatus(daemon: Daemon): Promise<DeliveryStatus> {
  return {
    queue: queueReports(daemon),
    queueTrouble: daemon.queue.trouble(),
    senders: senderReports(daemon),
    setAside: await setAsideReports(daemon),
  };
}

function queueReports(daemon: Daemon): readonly QueueReport[] {
  return SIGNALS.flatMap(signal => {
    const stats = daemon.queue.stats(signal);
    if (!isUsed(daemon.config, signal) && stats.rows === 0) return [];
    return [{ signal, ...shown(stats) }];
  });
}

function senderReports(daemon: Daemon): readonly SenderReport[] {
  return daemon.senders
    .filter(({ signal }) => isUsed(daemon.config, signal))
    .map(({ signal, endpoint, sender, compression }) => ({
      signal,
      endpoint,
      ...shown(sender.status()),
      compression: compressionReport(daemon.config.otlp[signal], compression?.status() ?? null),
    }));
}

function compressionReport(
  { compression, protocol }: OtlpSignalConfig,
  status: CompressionStatus | null,
): CompressionReport {
  if (status !== null)
    return {
      encoding: status.encoding,
      since: instantOrNull(status.sinceMs),
      reason: status.reason,
    };
  if (compression !== 'auto')
    return { encoding: compression, since: null, reason: 'otlp.compression says so' };
  return { encoding: 'gzip', since: null, reason: `${protocol} knows no zstd` };
}

async function setAsideReports(daemon: Daemon): Promise<readonly SetAsideReport[]> {
  const kept = await daemon.queue.readSetAside(SET_ASIDE_SHOWN_MAX);
  return kept
    .toSorted((a, b) => b.atMs - a.atMs)
    .slice(0, SET_ASIDE_SHOWN_MAX)
    .map(({ signal, service, points, reason, atMs }) =>
      shown({ signal, service, points, reason, atMs }),
    );
}

function isUsed(config: Config, signal: Signal): boolean {
  // Backups send both signals.
  return config.backups.isEnabled || config[signal].isEnabled;
}

/** Problems of queue and senders. */
export function deliveryProblems(status: DeliveryStatus & Reported): readonly StatusProblem[] {
  return [
    ...status.senders.flatMap(sender => senderProblems(sender, status)),
    ...troubleProblems(status),
    ...status.queue.flatMap(queueProblems),
  ];
}

function senderProblems(
  sender: SenderReport,
  report: DeliveryStatus & Reported,
): readonly StatusProblem[] {
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

function troubleProblems({ queueTrouble }: DeliveryStatus): readonly StatusProblem[] {
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

const SENDER_TONES: Readonly<Record<SenderReport['state'], Tone>> = {
  idle: 'good',
  sending: 'good',
  retrying: 'bad',
  holding: 'bad',
};

export function backEndSection(report: DeliveryStatus & Reported): Html {
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

function senderRow(sender: SenderReport, queue: QueueReport | undefined, report: Reported): Html {
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

/** null where nothing was. */
export function setAsideSection(report: DeliveryStatus & Reported): Html | null {
  if (report.setAside.length === 0) return null;
  const columns = [
    { title: 'When' },
    { title: 'Signal' },
    { title: 'Service' },
    { title: 'Points', isNumber: true },
    { title: 'The back end said' },
  ];
  const rows = table(
    columns,
    report.setAside,
    ({ at, signal, service, points, reason }) =>
      html`<tr><td>${age(report, at)}</td><td>${signal}</td><td>${service}</td>${countCell(points)}
<td class="text">${reason}</td></tr>
`,
  );
  return section('Set aside', 'refused by the back end for good', rows);
}
