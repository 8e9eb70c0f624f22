// The queue, the senders and the refused requests in /status.json and on the page. For each field,
// this file has its declaration, its source, its problems and its place on the page.

import { isUsed } from '../config/config.ts';
import type { Daemon } from '../daemon/daemon.ts';
import { DAY_MS } from '../lib/clock.ts';
import { formatAge, formatBytes, formatCount, formatDuration } from '../lib/format.ts';
import { type Signal, SIGNALS } from '../model/batch.ts';
import type { Encoding, QueueStats, SetAside } from '../pipeline/queue/commit.ts';
import { keysFor, type SenderStatus } from '../pipeline/send/sender-health.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import {
  age,
  badge,
  column,
  countColumn,
  meterBar,
  type Named,
  type Reported,
  section,
  serviceNames,
  table,
  type Tone,
} from './page-parts.ts';
import { counted, problem, type Finding } from './problem.ts';
import { instant, type Shown, shown } from './times.ts';

export interface DeliveryStatus {
  /** One per signal that is in use or still has rows in the queue. The same holds for `senders`. */
  readonly queue: readonly QueueReport[];
  /** Why the last commit could not be stored normally; null if it was. */
  readonly queueTrouble: string | null;
  /** When that began. */
  readonly queueTroubleSince: string | null;
  readonly senders: readonly SenderReport[];
  /** The last requests that the back end refused for good, newest first; SET_ASIDE_SHOWN_MAX at most. */
  readonly setAside: readonly SetAsideReport[];
}

export interface QueueReport extends Shown<QueueStats> {
  readonly signal: Signal;
  /** What it can hold: `maxBytes`, or less where the disk has no room for that. */
  readonly roomBytes: number;
  /** Milliseconds until it is full at the present rate; null while it does not grow. */
  readonly fullInMs: number | null;
}

export interface SenderReport extends Shown<SenderStatus> {
  readonly signal: Signal;
  /** The URL without user, password and query. */
  readonly endpoint: string;
  readonly compression: Encoding;
}

type SetAsideReport = Shown<Omit<SetAside, 'sample'>>;

/** The most refused requests in the JSON, and groups of them in a table. */
export const SET_ASIDE_SHOWN_MAX = 20;
/** A queue with more than this share of its limit is worth a warning. */
const QUEUE_SHARE_WARNED = 0.8;
/** Below this share, fast growth is a burst and gets no warning. */
const SHARE_MIN = 0.1;

/** With `isBrief`, the refused requests are left out. */
export async function deliveryStatus(daemon: Daemon, isBrief = false): Promise<DeliveryStatus> {
  const { queue, config, forecast } = daemon;
  const sinceMs = queue.troubleSinceMs();
  const setAside = isBrief ? [] : await queue.readSetAside(SET_ASIDE_SHOWN_MAX);
  const isShown = ({ signal }: { readonly signal: Signal }): boolean =>
    isUsed(config, signal) || queue.size(signal).rows > 0;
  return {
    queue: SIGNALS.map(signal => {
      const stats = queue.stats(signal);
      const roomBytes = Math.min(stats.maxBytes, stats.bytes + queue.freeBytes(signal));
      return { signal, ...shown(stats), roomBytes, fullInMs: forecast.fullInMs(signal) };
    }).filter(isShown),
    queueTrouble: queue.trouble(),
    queueTroubleSince: sinceMs === null ? null : instant(sinceMs),
    senders: daemon.senders.filter(isShown).map(({ signal, endpoint, sender }) => ({
      signal,
      endpoint,
      ...shown(sender.status()),
      compression: config.otlp[signal].compression,
    })),
    setAside: setAside.map(aside => {
      const { sample: _, ...entry } = aside;
      return shown(entry);
    }),
  };
}

export function deliveryProblems(status: DeliveryStatus & Reported): readonly Finding[] {
  return [
    ...senderProblems(status),
    ...learnedProblems(status),
    ...status.queue.flatMap(queueProblems),
  ];
}

/** Signals that the same back end refuses with the same words are one problem. */
function senderProblems(report: DeliveryStatus & Reported): readonly Finding[] {
  const failing = report.senders.filter(isFailing);
  const causeOf = ({ endpoint, lastError }: SenderReport): string =>
    `${URL.parse(endpoint)?.host ?? endpoint} ${lastError ?? ''}`;
  return [...Map.groupBy(failing, causeOf)].flatMap(([cause, senders]) => {
    const [first, ...more] = senders;
    if (first === undefined) return [];
    const signals = senders.map(({ signal }) => signal).join(' and ');
    const to = more.length === 0 ? first.endpoint : (URL.parse(first.endpoint)?.origin ?? '');
    const subject = `${signals} to ${to}`;
    const advice = {
      message: [
        first.lastError ?? 'the back end does not accept',
        ...senders.map(sender => waitingText(sender, report)),
      ].join('; '),
      hint: 'prom2otlp check --probe asks it once, and says what it answers.',
    };
    const title = `${subject}: ${first.lastError ?? 'nothing is accepted'}, {since}`;
    const headline = `back end accepts no ${signals}`;
    return senders.map(({ failingSinceAt: since, lastErrorAt: lastSeen }) =>
      problem('error', subject, advice, { cause, title, headline, since, lastSeen }),
    );
  });
}

/** In words: how much waits for a sender, when its queue will be full, and when it tries again. */
function waitingText(sender: SenderReport, report: DeliveryStatus & Reported): string {
  const { signal, nextAttemptAt } = sender;
  const inMs =
    nextAttemptAt === null ? 0 : Date.parse(report.reportedAt) - Date.parse(nextAttemptAt);
  const again = inMs >= 0 ? 'is due' : `is ${formatAge(inMs)}`;
  const queue = report.queue.find(one => one.signal === signal);
  const left = fullInText(queue?.fullInMs ?? null);
  const points = counted(queue?.points ?? 0, signal === 'logs' ? 'record' : 'point');
  const full = left === '' ? '' : `, which is ${left}`;
  return `${points} wait in the queue${full}; the next attempt ${again}`;
}

/** `full in 5 h at this rate`; '' while the queue does not grow. */
export function fullInText(fullInMs: number | null): string {
  if (fullInMs === null) return '';
  if (fullInMs === 0) return 'full';
  return fullInMs > FORECAST_MS_MAX ? '' : `full in ${formatDuration(fullInMs)} at this rate`;
}

/** A longer forecast says nothing, and is not shown. */
const FORECAST_MS_MAX = 30 * DAY_MS;
/** A queue that will be full sooner is worth a warning. */
const FULL_SOON_MS = 6 * 3_600_000;

/** True while the back end does not accept. */
export function isFailing({ state }: SenderReport): boolean {
  return state === 'retrying' || state === 'holding';
}

/** `warn` while a queue fills: it grows, or is nearly full. */
export function queueTone(queue: QueueReport | undefined): Tone {
  if (queue === undefined) return 'good';
  return isFillingUp(queue) || fullInText(queue.fullInMs) !== '' ? 'warn' : 'good';
}

/** True while a queue is nearly full, or will be soon. */
function isFillingUp({ bytes, roomBytes, fullInMs }: QueueReport): boolean {
  const isSoon = fullInMs !== null && fullInMs < FULL_SOON_MS && bytes > roomBytes * SHARE_MIN;
  return bytes > 0 && (isSoon || bytes >= roomBytes * QUEUE_SHARE_WARNED);
}

/** Data is being lost, or will be: the first problem of all. */
export function troubleProblems({
  queueTrouble,
  queueTroubleSince: since,
}: DeliveryStatus): readonly Finding[] {
  if (queueTrouble === null) return [];
  const hint =
    'Look at the disk of queue.directory. Until it can be written, metrics are sent from a small memory, and logs wait.';
  return [
    problem('error', 'queue', { message: queueTrouble, hint }, { cause: 'queue trouble', since }),
  ];
}

function queueProblems(queue: QueueReport): readonly Finding[] {
  const { signal, bytes, maxBytes, roomBytes, fullInMs } = queue;
  if (!isFillingUp(queue)) return [];
  const left = fullInText(fullInMs);
  const share = Math.floor((bytes / roomBytes) * 100);
  const remedy =
    roomBytes < maxBytes
      ? 'Free space on the disk of queue.directory'
      : `Raise queue.${signal}.max_bytes`;
  const consequence =
    signal === 'logs'
      ? 'When it is full, pulling waits'
      : 'When it is full, the oldest are dropped';
  return [
    problem(
      'warning',
      `queue of ${signal}`,
      {
        message: `${share} % full: ${formatBytes(bytes)} of ${formatBytes(roomBytes)}${left === '' ? '' : `; ${left}`}`,
        hint: `${consequence}. ${remedy}, or see why the back end does not accept.`,
      },
      { cause: `queue of ${signal}` },
    ),
  ];
}

export function backEndSection(report: DeliveryStatus & Reported): Html {
  const queueOf = (sender: SenderReport): QueueReport | undefined =>
    report.queue.find(({ signal }) => signal === sender.signal);
  // A back end that accepts, but not as fast as the points come.
  const toneOf = (sender: SenderReport): Tone =>
    isFailing(sender) ? 'bad' : queueTone(queueOf(sender));
  const rows = table(
    report.senders,
    [
      column(
        'Back end',
        ({ signal, endpoint }) => html`${signal}<code class="faint">${endpoint}</code>`,
        'head',
      ),
      column('State', sender => badge(toneOf(sender), sender.state)),
      column('Last accepted', ({ lastAcceptedAt }) => age(report, lastAcceptedAt)),
      column('Next attempt', ({ nextAttemptAt }) => age(report, nextAttemptAt)),
      column(
        'Waiting',
        sender => {
          const { points = 0, rows = 0 } = queueOf(sender) ?? {};
          return html`${formatCount(points)}<small>in ${counted(rows, 'request')}</small>`;
        },
        'n',
      ),
      column('Oldest', sender => age(report, queueOf(sender)?.oldestAt ?? null)),
      column('Queue', sender => fill(queueOf(sender))),
      column('Compression', ({ compression }) => compression),
      column('Request', ({ learned }) => learnedText(learned)),
      column(
        'Last error',
        ({ lastError, lastErrorAt }) =>
          lastError === null
            ? html`<span class="faint">none</span>`
            : html`${lastError}<small>${age(report, lastErrorAt)}</small>`,
        'text',
      ),
    ],
    {
      id: 'back-end',
      noun: 'signal',
      toneOf,
    },
  );
  return section('Back end', 'points stay in the queue until it accepts them', rows);
}

/** The largest request that the back end takes, as far as its refusals have taught, and the key that would set it. */
function learnedText(learned: SenderReport['learned']): HtmlValue {
  if (learned === null) return 'as configured';
  return html`at most ${limitText(learned)}<small>learned; ${keysFor(learned)}</small>`;
}

function limitText({ bytes, points }: NonNullable<SenderReport['learned']>): string {
  const limits = [
    ...(points === null ? [] : [`${formatCount(points)} points`]),
    ...(bytes === null ? [] : [formatBytes(bytes)]),
  ];
  return limits.join(' or ');
}

/** Until the key is set, each start learns the limit anew, from refusals. */
function learnedProblems({ senders }: DeliveryStatus): readonly Finding[] {
  return senders.flatMap(({ signal, endpoint, learned }) => {
    if (learned === null) return [];
    const message = `the back end takes at most ${limitText(learned)} in a request`;
    const hint = `Requests are cut to that. So that the next start need not learn it: ${keysFor(learned)}.`;
    const cause = `limit of ${signal}`;
    return [problem('note', `${signal} to ${endpoint}`, { message, hint }, { cause })];
  });
}

function fill(queue: QueueReport | undefined): HtmlValue {
  if (queue === undefined) return '–';
  const { bytes, roomBytes } = queue;
  const share = roomBytes === 0 ? 0 : bytes / roomBytes;
  const bar = meterBar(share, queueTone(queue));
  const left = fullInText(queue.fullInMs);
  return html`${formatBytes(bytes)} <span class="faint">of ${formatBytes(roomBytes)}</span>${bar}${left === '' ? null : html`<small>${left}</small>`}`;
}

/** null if the back end has refused nothing for good. */
export function setAsideSection(
  report: DeliveryStatus & Reported & { readonly services: readonly Named[] },
): Html | null {
  if (report.setAside.length === 0) return null;
  const nameOf = serviceNames(report.services);
  const rows = table(
    report.setAside,
    [
      column('When', ({ at }) => age(report, at)),
      column('Signal', ({ signal }) => signal),
      column('Service', ({ service }) => nameOf(service)),
      countColumn('Points', ({ points }) => points),
      column('The back end said', ({ reason }) => reason, 'text'),
    ],
    { id: 'set-aside', noun: 'request' },
  );
  return section('Set aside', 'refused by the back end for good', rows);
}
