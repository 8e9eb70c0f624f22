// Makes the StatusReport of a running daemon: what its parts know of themselves, put together when somebody asks.

import type { Config, OtlpSignalConfig } from '../config/config.ts';
import type { Daemon } from '../daemon/daemon.ts';
import type { Clock } from '../lib/clock.ts';
import { programVersion } from '../lib/version.ts';
import type { Logs } from '../logs/logs.ts';
import type { Signal } from '../model/batch.ts';
import type { Family } from '../model/metric.ts';
import { FATE, FATE_NAMES, type SeriesTable } from '../model/series-table.ts';
import type { CompressionStatus } from '../pipeline/send/auto-compression.ts';
import type { Reload } from '../daemon/reload.ts';
import { nextFullRunMs } from '../backups/known-backups.ts';
import type { ServiceBackups } from '../backups/service-backups.ts';
import type { Backups } from '../backups/backups.ts';
import { accountReport } from './account-report.ts';
import {
  type BackupsReport,
  type CompressionReport,
  type LogsReport,
  type QueueReport,
  type SenderReport,
  type ServiceBackupsReport,
  type ServiceReport,
  SET_ASIDE_SHOWN_MAX,
  type StatusReport,
  type TargetReport,
} from './status-report.ts';
import type { TargetLog } from './target-log.ts';

const SIGNALS: readonly Signal[] = ['metrics', 'logs'];
/** Fates of samples that made a point, or were not meant to. */
const KEPT_FATES: ReadonlySet<string> = new Set(['used', 'metadata', 'repeated']);

/** The daemon's state as /status.json says it. */
export async function reportOf(
  daemon: Daemon,
  clock: Clock,
  lastReload: Reload | null,
): Promise<StatusReport> {
  const waitingFor = waitingForOf(daemon);
  return {
    version: programVersion(),
    reportedAt: instant(clock.nowMs()),
    startedAt: instant(daemon.startedAtMs),
    state: daemon.isStopping ? 'stopping' : waitingFor.length > 0 ? 'starting' : 'ready',
    waitingFor,
    targets: daemon.targets.map((log, index) => targetReport(daemon, log, index)),
    services: daemon.config.services.map(({ id, name }) => serviceReport(daemon.targets, id, name)),
    unconfigured: daemon.targets.flatMap(unconfiguredOf),
    queue: queueReports(daemon),
    queueTrouble: daemon.queue.trouble(),
    senders: senderReports(daemon),
    setAside: await setAsideReports(daemon),
    account: accountReport(daemon.queue.account),
    logs: logsReport(daemon.logs),
    backups: backupsReport(daemon.backups, clock.nowMs()),
    reload: reloadReport(lastReload),
    timeline: {
      slotMs: daemon.timeline.slotMs,
      slots: daemon.timeline.slots(clock.monotonicMs()),
    },
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

function targetReport(daemon: Daemon, log: TargetLog, index: number): TargetReport {
  const { target, last, table } = log;
  const reason = last?.reason ?? '';
  const [problem] = last?.problems ?? [];
  const isDown = reason === 'auth' ? 'auth' : 'down';
  return {
    name: target.name,
    url: `${target.api.baseUrl}${target.path}`,
    state: last === null ? 'waiting' : reason === '' ? 'up' : isDown,
    scrapeCount: log.scrapeCount,
    failureCount: log.failureCount,
    lastScrapeAt: last === null ? null : instant(last.atMs),
    lastDurationMs: last?.durationMs ?? null,
    lastReason: reason,
    lastMessage: reason === '' ? '' : (last?.message ?? ''),
    hint: last?.hint ?? '',
    nextScrapeAt: instant(daemon.nextScrapeAtMs(index)),
    bodyBytes: last?.bodyBytes ?? 0,
    samples: last?.samples ?? 0,
    badLines: last?.badLines ?? 0,
    firstProblem: problem ?? null,
    series: table.count - table.free.length,
    path: last?.path ?? null,
    clockSkewMs: last?.clockSkewMs ?? null,
    drift: Object.fromEntries(log.drift),
  };
}

function serviceReport(targets: readonly TargetLog[], id: string, name: string): ServiceReport {
  const log = targets.find(({ target }) => target.configured.has(id));
  const outcome = log?.last?.services.find(service => service.id === id);
  const dropped = (log?.last?.reads ?? [])
    .filter(({ service, fate }) => service === id && !KEPT_FATES.has(fate))
    .map(({ fate, count }) => [fate, count]);
  return {
    id,
    name,
    isUp: outcome?.isUp ?? null,
    reason: outcome?.reason ?? '',
    samples: outcome?.samples ?? 0,
    badLines: outcome?.badLines ?? 0,
    points: outcome?.points ?? 0,
    stalePoints: outcome?.stalePoints ?? 0,
    isSourceStale: outcome?.isSourceStale ?? false,
    stuckUptimes: outcome?.stuckUptimes ?? 0,
    families: log === undefined ? {} : familiesOf(log.table, id),
    droppedByReason: Object.fromEntries(dropped) as Record<string, number>,
  };
}

/** Series that are sent, per family; the bridge's own are counted with `other`. */
function familiesOf(table: SeriesTable, id: string): Partial<Record<Family, number>> {
  const service = table.serviceById.get(id);
  const counts: Partial<Record<Family, number>> = {};
  for (const row of table.order) {
    if (table.keyLength[row] === 0 || table.fate[row] === FATE.excluded) continue;
    if (table.blocks[table.block[row] ?? 0]?.service !== service) continue;
    const family = table.metrics[table.metric[row] ?? 0]?.family ?? 'other';
    counts[family] = (counts[family] ?? 0) + 1;
  }
  return counts;
}

function unconfiguredOf({ table, last }: TargetLog): StatusReport['unconfigured'] {
  const unconfigured = FATE_NAMES[FATE.unconfigured];
  return table.services
    .filter(({ id, configIndex, isElsewhere }, index) => {
      const isStranger = configIndex < 0 && !isElsewhere;
      return isStranger && table.serviceById.get(id) === index;
    })
    .map(({ id, isSent }) => {
      const reads = (last?.reads ?? []).filter(
        ({ service, fate }) => service === id && (isSent || fate === unconfigured),
      );
      return { id, samples: reads.reduce((sum, { count }) => sum + count, 0), isSent };
    });
}

function queueReports(daemon: Daemon): readonly QueueReport[] {
  return SIGNALS.flatMap(signal => {
    const { oldestAtMs, newestAtMs, ...stats } = daemon.queue.stats(signal);
    if (!isUsed(daemon.config, signal) && stats.rows === 0) return [];
    const oldestAt = oldestAtMs === null ? null : instant(oldestAtMs);
    const newestAt = newestAtMs === null ? null : instant(newestAtMs);
    return [{ signal, ...stats, oldestAt, newestAt }];
  });
}

function senderReports(daemon: Daemon): readonly SenderReport[] {
  return daemon.senders
    .filter(({ signal }) => isUsed(daemon.config, signal))
    .map(({ signal, endpoint, sender, compression }) => {
      const status = sender.status();
      return {
        signal,
        endpoint,
        state: status.state,
        lastError: status.lastError,
        lastErrorAt: orNull(status.lastErrorAtMs),
        lastAcceptedAt: orNull(status.lastAcceptedAtMs),
        nextAttemptAt: orNull(status.nextAttemptAtMs),
        compression: compressionReport(daemon.config.otlp[signal], compression?.status() ?? null),
      };
    });
}

function compressionReport(
  { compression, protocol }: OtlpSignalConfig,
  status: CompressionStatus | null,
): CompressionReport {
  if (status !== null)
    return { encoding: status.encoding, since: orNull(status.sinceMs), reason: status.reason };
  if (compression !== 'auto')
    return { encoding: compression, since: null, reason: 'otlp.compression says so' };
  return { encoding: 'gzip', since: null, reason: `${protocol} knows no zstd` };
}

async function setAsideReports(daemon: Daemon): Promise<StatusReport['setAside']> {
  const kept = await daemon.queue.readSetAside(SET_ASIDE_SHOWN_MAX);
  return kept
    .toSorted((a, b) => b.atMs - a.atMs)
    .slice(0, SET_ASIDE_SHOWN_MAX)
    .map(({ signal, service, points, reason, atMs }) => ({
      signal,
      service,
      points,
      reason,
      at: instant(atMs),
    }));
}

function reloadReport(last: Reload | null): StatusReport['reload'] {
  return last === null ? null : { at: instant(last.atMs), mistakes: last.mistakes };
}

function notesOf(daemon: Daemon): readonly string[] {
  const { queue } = daemon;
  const damaged = queue
    .corruptFiles()
    .map(
      file =>
        `a damaged queue file was kept aside: ${file}; what could be read of it was delivered`,
    );
  return [...damaged, ...queue.notes()];
}

function isUsed(config: Config, signal: Signal): boolean {
  // Backups are told of in both.
  return config.backups.isEnabled || config[signal].isEnabled;
}

function orNull(timeMs: number | null): string | null {
  return timeMs === null ? null : instant(timeMs);
}

function instant(timeMs: number): string {
  return new Date(Number.isFinite(timeMs) ? timeMs : 0).toISOString();
}

// What /status.json says of backups.

/** null where no backups are watched. */
function backupsReport(backups: Backups | null, nowMs: number): BackupsReport | null {
  if (backups === null) return null;
  return {
    services: backups.services.map(service => backupsOfService(service, nowMs)),
    nextReadAt: orNull(backups.nextReadAtMs),
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
    nextFullRunAt: orNull(nextMs),
    lastFullFinishedAt: orNull(known?.finishedAtMs['full'] ?? null),
    readAt: orNull(known?.readAtMs ?? null),
    lastError: error?.message ?? null,
    hint: error?.hint ?? '',
  };
}

// What /status.json says of the log puller.

/** null where no logs are pulled. */
function logsReport(logs: Logs | null): LogsReport | null {
  if (logs === null) return null;
  const { partitions, progress, givenUp, nextPullAtMs } = logs;
  return {
    partitions: partitions.map(status => ({
      service: status.service,
      source: status.source,
      type: status.type,
      state: status.state,
      doneUntil: orNull(status.doneUntilMs),
      recordCount: status.recordCount,
      gapCount: status.gapCount,
      lastError: status.lastError,
    })),
    catchUp: progress.filter(({ dueCount }) => dueCount > 0).map(one => ({ ...one })),
    givenUp: givenUp.map(({ atMs, ...one }) => ({ ...one, at: new Date(atMs).toISOString() })),
    nextPullAt: orNull(nextPullAtMs),
  };
}
