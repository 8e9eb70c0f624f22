// The backups that there are. The specification does not show this operation: it is as seen on deployments, and one
// that lacks it answers 404.

import * as z from 'zod';
import { lenient, type ReadOptions, readList } from './answers.ts';
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

const text = lenient(z.string());
const bytes = lenient(z.number());

const backup: z.ZodType<Backup> = z.looseObject({
  id: lenient(z.union([z.number(), z.string()])),
  service_id: text,
  type: text,
  status: text,
  start_time: text,
  end_time: text,
  storage_bytes: bytes,
  backup_size: bytes,
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
    const query = {
      ...(id === undefined ? {} : { service_id: id }),
      ...(status === undefined ? {} : { status }),
    };
    const request = { path: this.#path, name: 'backups', query, item: backup, signal };
    const read = await readList(this.#http, request);
    if (!read.ok) return read;
    // The service may not know the parameters.
    const backups = read.items.filter(
      one =>
        (id === undefined || (one.service_id ?? id) === id) &&
        (status === undefined || (one.status ?? status) === status),
    );
    return { ok: true, backups, isComplete: read.isComplete };
  }
}
