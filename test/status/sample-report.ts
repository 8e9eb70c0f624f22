// A status report of a bridge without problems, and functions that change parts of it, for the tests of the
// status page.

import { Account } from '../../src/pipeline/queue/account.ts';
import { accountReport } from '../../src/status/account-report.ts';
import type { QueueReport, SenderReport } from '../../src/status/delivery-status.ts';
import type { PullReportStatus, ServiceBackupsReport } from '../../src/status/pull-status.ts';
import type { ServiceReport, TargetReport } from '../../src/status/scrape-status.ts';
import { partOf, type ServiceLook } from '../../src/status/service-page.ts';
import type { SeriesReport } from '../../src/status/series-report.ts';
import type { StatusReport } from '../../src/status/status-report.ts';

const REPORTED_AT = Date.UTC(2026, 2, 4, 9, 30);

/** The time this many seconds before the sample report was made. */
export function secondsAgo(seconds: number): string {
  return new Date(REPORTED_AT - seconds * 1000).toISOString();
}

/** The text that a reader sees, without tags, style and script. */
export function textOf(page: string): string {
  return page
    .replace(/<(style|script)>.*?<\/\1>/gs, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
}

/** Makes a sample with these changes. */
type Sample<T> = (changes?: Partial<T>) => T;

function sampleOf<T>(whole: T): Sample<T> {
  return changes => ({ ...whole, ...changes });
}

export function sampleReport(changes: Partial<StatusReport> = {}): StatusReport {
  return {
    version: '0.1.0',
    reportedAt: secondsAgo(0),
    startedAt: secondsAgo(3 * 3600),
    state: 'ready',
    waitingFor: [],
    targets: [sampleTarget()],
    pulls: [samplePull()],
    services: [sampleService('dbpgf1', 'orders'), sampleService('dbpgf2', 'payments')],
    unconfigured: [],
    unconfiguredRest: { services: 0, samples: 0 },
    discovery: null,
    queue: [sampleQueue()],
    queueTrouble: null,
    queueTroubleSince: null,
    senders: [sampleSender()],
    setAside: [],
    account: accountReport(sampleAccount()),
    logs: null,
    backups: null,
    configuration: null,
    reload: null,
    timeline: { slotMs: 60_000, slots: sampleSlots() },
    memoryWarnings: [],
    notes: [],
    ...changes,
  };
}

/** 90 minutes: none in the first 30, then a scrape a minute, one of which failed. */
function sampleSlots(): StatusReport['timeline']['slots'] {
  return Array.from({ length: 90 }, (_, index) =>
    index < 30
      ? null
      : {
          at: secondsAgo((90 - index) * 60),
          samples: index === 60 ? 0 : 1204,
          durationMs: 150 + index,
          failures: index === 60 ? 1 : 0,
          queued: 0,
          made: (index - 29) * 1216,
          accepted: (index - 29) * 1210,
          lost: 0,
        },
  );
}

export const sampleBackups: Sample<ServiceBackupsReport> = sampleOf<ServiceBackupsReport>({
  service: 'dbpgf1',
  name: 'orders',
  isUp: true,
  isRestorableScheduled: true,
  scheduleCount: 1,
  nextRestorableRunAt: secondsAgo(-3600),
  newestRestorableAt: secondsAgo(7200),
  readAt: secondsAgo(60),
  lastError: null,
  hint: '',
});

export const samplePull: Sample<PullReportStatus> = sampleOf<PullReportStatus>({
  kind: 'metrics',
  target: 'api.example.com (orders and 1 more)',
  origin: 'api.example.com',
  serviceCount: 2,
  firstService: 'orders',
  state: 'ok',
  reason: '',
  message: '',
  hint: '',
  isKeyRefused: false,
  lastAttemptAt: secondsAgo(21),
  lastSuccessAt: secondsAgo(21),
  failingSinceAt: null,
  nextAttemptAt: secondsAgo(-39),
});

/** A pull that has failed for ten minutes. */
export function failedPull(
  reason: string,
  changes: Partial<PullReportStatus> = {},
): PullReportStatus {
  return samplePull({
    state: 'failed',
    reason,
    message: 'cannot get https://api.example.com/x: it failed',
    hint: 'look at it',
    isKeyRefused: reason === 'auth',
    lastSuccessAt: secondsAgo(660),
    failingSinceAt: secondsAgo(600),
    ...changes,
  });
}

export const sampleTarget: Sample<TargetReport> = sampleOf<TargetReport>({
  name: 'api.example.com (orders and 1 more)',
  url: 'https://api.example.com/observability/v2/metrics',
  state: 'up',
  scrapeCount: 180,
  failureCount: 0,
  lastScrapeAt: secondsAgo(21),
  lastDurationMs: 184,
  lastReason: '',
  lastMessage: '',
  hint: '',
  nextScrapeAt: secondsAgo(-39),
  bodyBytes: 208_311,
  samples: 1204,
  badLines: 0,
  firstProblem: null,
  series: 1204,
  refused: null,
  takenLabels: 0,
  earlyTimes: 0,
  path: 'repeating',
  clockSkewMs: 400,
  isStateLost: false,
  drift: {},
});

export function sampleService(
  id: string,
  name: string,
  changes: Partial<ServiceReport> = {},
): ServiceReport {
  return {
    id,
    name,
    inventory: null,
    isUp: true,
    reason: '',
    samples: 602,
    badLines: 0,
    points: 608,
    stalePoints: 0,
    isSourceStale: false,
    lostUptimes: 0,
    families: { engine: 540, proxy: 62 },
    ownSeries: 6,
    droppedByReason: {},
    ...changes,
  };
}

type PartitionReport = NonNullable<StatusReport['logs']>['partitions'][number];

export const samplePartition: Sample<PartitionReport> = sampleOf<PartitionReport>({
  service: 'dbpgf1',
  source: 'main',
  type: 'error-log',
  state: 'waiting',
  doneUntil: secondsAgo(60),
  recordCount: 12,
  gapCount: 0,
  lastError: null,
});

export const sampleQueue: Sample<QueueReport> = sampleOf<QueueReport>({
  signal: 'metrics',
  rows: 0,
  bytes: 0,
  maxBytes: 2 ** 30,
  points: 0,
  oldestAt: null,
  newestAt: null,
  roomBytes: 2 ** 30,
  fullInMs: null,
});

export const sampleSender: Sample<SenderReport> = sampleOf<SenderReport>({
  signal: 'metrics',
  endpoint: 'https://otlp.example.com/v1/metrics',
  state: 'idle',
  lastError: null,
  lastErrorAt: null,
  lastAcceptedAt: secondsAgo(20),
  failingSinceAt: null,
  nextAttemptAt: null,
  learned: null,
  compression: 'gzip',
});

/** Two services after 180 scrapes, of which everything was accepted. */
export function sampleAccount(): Account {
  const account = new Account();
  for (const service of ['dbpgf1', 'dbpgf2']) {
    account.add(service, 'sample/used', 105_000);
    account.add(service, 'sample/repeated', 3360);
    account.add(service, 'point/made', 106_080);
    account.add(service, 'point/accepted', 106_080);
  }
  return account;
}

/** The part of the report about a service, and two series. */
export function lookOf(report: StatusReport, id: string): ServiceLook | null {
  const part = partOf(report, id, report.pulls[0]?.target ?? '');
  const series = [
    sampleSeries(),
    sampleSeries({ name: 'engine_threads', type: 'gauge', typeSource: 'catalog', start: null }),
  ];
  return part === null ? null : { ...part, series, seriesCount: series.length };
}

export const sampleSeries: Sample<SeriesReport> = sampleOf<SeriesReport>({
  name: 'engine_queries_total',
  labels: { namespace: 'dbpgf1', server_name: 'orders-0' },
  service: 'dbpgf1',
  family: 'engine',
  type: 'sum',
  typeSource: 'declared',
  declared: 'counter',
  unit: '{query}',
  value: 1234,
  start: secondsAgo(7200),
  time: secondsAgo(21),
  changed: secondsAgo(81),
  outcome: 'used',
});
