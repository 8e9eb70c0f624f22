// The watch over backups as a table: what `once` and `check --probe` print of it.

import { formatAge } from '../lib/format.ts';
import type { ServiceError } from '../service/service-error.ts';
import { type KnownBackups, nextFullRunMs } from '../watch/known-backups.ts';
import { renderTable } from './table.ts';

/** What is known of one service, and what went wrong. */
export interface BackupsRow {
  readonly id: string;
  readonly known: KnownBackups | null;
  readonly error: ServiceError | null;
}

export function backupsTable(services: readonly BackupsRow[], nowMs: number): string {
  const head = ['SERVICE', 'FULL BACKUP', 'SCHEDULES', 'NEXT', 'LAST', 'REASON'];
  const rows = services.map(({ id, known, error }) => {
    const nextMs = known === null ? null : nextFullRunMs(known, nowMs);
    const full = nextMs === null ? 'none scheduled' : 'scheduled';
    return [
      id,
      known === null ? 'unknown' : full,
      known === null ? '-' : String(known.schedules.length),
      ageOf(nextMs, nowMs),
      ageOf(known?.finishedAtMs['full'] ?? null, nowMs),
      error?.message ?? '',
    ];
  });
  return renderTable([head, ...rows]);
}

function ageOf(atMs: number | null, nowMs: number): string {
  return atMs === null ? '-' : formatAge(nowMs - atMs);
}
