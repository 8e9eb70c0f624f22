// The backups that there are. The specification does not show this operation: it is as seen on deployments, and one
// that lacks it answers 404.

import * as z from 'zod';
import { anyId, anyNumber, anyText, type ReadOptions, readOwned } from './answers.ts';
import type { ServiceHttp } from './http.ts';
import type { Result } from './service-error.ts';

/** A backup as the service tells it. Any field may be missing; fields beyond these are kept. */
export interface Backup {
  readonly [field: string]: unknown;
  /** Has colons in it. */
  readonly id?: string | number | undefined;
  readonly service_id?: string | undefined;
  readonly type?: string | undefined;
  readonly status?: string | undefined;
  /** Times are RFC 3339. */
  readonly start_time?: string | undefined;
  readonly end_time?: string | undefined;
  /** Bytes. */
  readonly storage_bytes?: number | undefined;
  readonly backup_size?: number | undefined;
}

export interface BackupQuery extends ReadOptions {
  readonly service_id?: string | undefined;
  readonly status?: string | undefined;
}

const backup: z.ZodType<Backup> = z.looseObject({
  id: anyId,
  service_id: anyText,
  type: anyText,
  status: anyText,
  start_time: anyText,
  end_time: anyText,
  storage_bytes: anyNumber,
  backup_size: anyNumber,
});

export class BackupsApi {
  readonly #http: ServiceHttp;
  readonly #path: string;

  constructor(http: ServiceHttp, path: string) {
    this.#http = http;
    this.#path = path;
  }

  async list({
    service_id: id,
    status,
    signal,
  }: BackupQuery = {}): Promise<
    Result<{ readonly backups: readonly Backup[]; readonly isComplete: boolean }>
  > {
    const query = status === undefined ? {} : { status };
    const request = { path: this.#path, name: 'backups', query, item: backup, signal };
    const read = await readOwned(this.#http, request, id);
    if (!read.ok) return read;
    // The service may not know the parameter.
    const backups = read.items.filter(
      one => status === undefined || (one.status ?? status) === status,
    );
    return { ok: true, backups, isComplete: read.isComplete };
  }
}
