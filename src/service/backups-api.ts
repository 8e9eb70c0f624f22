// Backups: the schedules of a service (service-spec 2.4), and its backups. The specification does not describe the list
// of backups: this is the form observed on deployments. A deployment without the list answers 404.

import * as z from 'zod';
import { ApiArea, type OwnedQuery } from './api-area.ts';
import {
  anyId,
  anyNumber,
  anyText,
  bucketAddress,
  encodedCredentials,
  kindOf,
  lenient,
  problemsOf,
  scheduleExpression,
  serviceId,
  someText,
} from './operations.ts';
import { secretsIn } from './credentials-file.ts';
import type { ReadOptions } from './http-client.ts';
import { refusedRequest, type RequestProblem, type Result } from './service-error.ts';

/** A schedule in the service's answer. Any field may be missing; further fields are kept. */
export interface Schedule {
  readonly [field: string]: unknown;
  readonly id?: number | string | undefined;
  readonly service_id?: string | undefined;
  readonly service_name?: string | undefined;
  /** `full`, or another word of the service. */
  readonly type?: string | undefined;
  readonly status?: string | undefined;
  readonly message?: string | undefined;
  /** A cron expression of five fields (UTC), or the word `once`. */
  readonly schedule?: string | undefined;
  /** Times are RFC 3339. */
  readonly scheduled_at?: string | undefined;
  readonly suspended?: boolean | undefined;
  readonly created_at?: string | undefined;
  readonly updated_at?: string | undefined;
}

export interface ScheduleRequest {
  /** A word of the service: it decides which it takes. */
  readonly backup_type: string;
  /** A cron expression of five fields with one blank between them, or the word `once`. */
  readonly schedule: string;
  readonly service_id: string;
  /** The place for backups outside the service. */
  readonly external_storage?: {
    readonly bucket: {
      /** `s3://NAME` or `gs://NAME`. */
      readonly path: string;
      /** Base64 of one of the two formats of section 2.6: see `encodeCredentials`. */
      readonly credentials: string;
    };
  };
}

export type ScheduleQuery = OwnedQuery;

const scheduleRequest: z.ZodType = z.strictObject({
  backup_type: someText,
  schedule: scheduleExpression,
  service_id: serviceId,
  external_storage: z
    .strictObject({
      bucket: z.strictObject({ path: bucketAddress, credentials: encodedCredentials }),
    })
    .optional(),
});

const schedule: z.ZodType<Schedule> = z.looseObject({
  id: anyId,
  service_id: anyText,
  service_name: anyText,
  type: anyText,
  status: anyText,
  message: anyText,
  schedule: anyText,
  scheduled_at: anyText,
  suspended: lenient(z.boolean()),
  created_at: anyText,
  updated_at: anyText,
});

/** The problems of a request, or null. `create` checks them before it sends anything. */
export function scheduleProblems(request: ScheduleRequest): readonly RequestProblem[] | null {
  return problemsOf(scheduleRequest, request);
}

const SCHEDULES = kindOf('schedules', schedule);

export class SchedulesApi extends ApiArea {
  /** All schedules that the key can see, or those of one service. */
  async list(
    query: ScheduleQuery = {},
  ): Promise<Result<{ readonly schedules: readonly Schedule[]; readonly isComplete: boolean }>> {
    const read = await this.readOwned(SCHEDULES, query);
    return read.ok ? { ok: true, schedules: read.items, isComplete: read.isComplete } : read;
  }

  /** Creates a schedule. `schedule` is null if the answer, which the specification leaves open, does not describe it. */
  async create(
    request: ScheduleRequest,
    { signal }: ReadOptions = {},
  ): Promise<Result<{ readonly schedule: Schedule | null }>> {
    const problems = scheduleProblems(request);
    if (problems !== null) return refusedRequest('create the schedule', problems);
    const secrets = secretsIn(request.external_storage?.bucket.credentials);
    const result = await this.createOne(SCHEDULES, { body: request, signal, secrets });
    return result.ok ? { ok: true, schedule: result.created } : result;
  }
}

/** A backup in the service's answer. Any field may be missing; further fields are kept. */
export interface Backup {
  readonly [field: string]: unknown;
  /** May contain colons. */
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
  readonly disk_size_bytes?: number | undefined;
  /** The tool that made it. */
  readonly method?: string | undefined;
  readonly server_pod?: string | undefined;
  /** The id of the full backup that an incremental one continues. */
  readonly reference_full_backup?: string | number | undefined;
  /** In a bucket of the customer. */
  readonly is_external_storage?: boolean | undefined;
}

export interface BackupQuery extends OwnedQuery {
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
  disk_size_bytes: anyNumber,
  method: anyText,
  server_pod: anyText,
  reference_full_backup: anyId,
  is_external_storage: lenient(z.boolean()),
});

const BACKUPS = kindOf('backups', backup);

export class BackupsApi extends ApiArea {
  async list({
    status,
    ...query
  }: BackupQuery = {}): Promise<
    Result<{ readonly backups: readonly Backup[]; readonly isComplete: boolean }>
  > {
    const read = await this.readOwned(BACKUPS, query, { status });
    if (!read.ok) return read;
    // The service may not know the parameter.
    const backups = read.items.filter(
      one => status === undefined || (one.status ?? status) === status,
    );
    return { ok: true, backups, isComplete: read.isComplete };
  }
}
