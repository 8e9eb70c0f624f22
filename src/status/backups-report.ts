// What /status.json says of the watch over backups.

import type { ServiceBackups } from '../watch/service-backups.ts';
import type { Watch } from '../watch/watch.ts';
import { nextFullRunMs } from '../watch/known-backups.ts';
import type { BackupsReport, ServiceBackupsReport } from './status-report.ts';

/** null where no backups are watched. */
export function backupsReport(watch: Watch | null, nowMs: number): BackupsReport | null {
  if (watch === null) return null;
  return {
    services: watch.services.map(service => serviceReport(service, nowMs)),
    nextReadAt: instantOf(watch.nextReadAtMs),
  };
}

function serviceReport(backups: ServiceBackups, nowMs: number): ServiceBackupsReport {
  const { service, isUp, known, error } = backups;
  const nextMs = known === null ? null : nextFullRunMs(known, nowMs);
  return {
    service: service.id,
    name: service.name,
    isUp,
    isFullScheduled: known === null ? null : nextMs !== null,
    scheduleCount: known?.schedules.length ?? null,
    nextFullRunAt: instantOf(nextMs),
    lastFullFinishedAt: instantOf(known?.finishedAtMs['full'] ?? null),
    readAt: instantOf(known?.readAtMs ?? null),
    lastError: error?.message ?? null,
    hint: error?.hint ?? '',
  };
}

function instantOf(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(timeMs).toISOString();
}
