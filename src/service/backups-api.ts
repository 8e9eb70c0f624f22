// Backups: the schedules of a service (service-spec 2.4), and the backups that there are. The specification does not show
// the list of backups: it is as seen on deployments, and one that lacks it answers 404.

import * as z from 'zod';
import {
  anyId,
  anyNumber,
  anyText,
  bucketAddress,
  createOne,
  encodedCredentials,
  lenient,
  problemsOf,
  type ReadOptions,
  readOwned,
  scheduleExpression,
  serviceId,
  someText,
} from './operations.ts';
import type { ServiceHttp } from './http-client.ts';
import { refusedRequest, type RequestProblem, type Result } from './service-error.ts';

/** A schedule as the service tells it. Any field may be missing; fields beyond these are kept. */
export interface Schedule {
  readonly [field: string]: unknown;
  readonly id?: number | string | undefined;
  readonly service_id?: string | undefined;
  readonly service_name?: string | undefined;
  /** `full`, or a word that the service has beyond the specification. */
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
  /** `full` is the only one that the specification names. */
  readonly backup_type: string;
  /** A cron expression of five fields with one blank between them, or the word `once`. */
  readonly schedule: string;
  readonly service_id: string;
  /** Where the backups go that are kept outside the service. */
  readonly external_storage?: {
    readonly bucket: {
      /** `s3://NAME` or `gs://NAME`. */
      readonly path: string;
      /** Base64 of one of the two formats of section 2.6: see `encodeCredentials`. */
      readonly credentials: string;
    };
  };
}

export interface ScheduleQuery extends ReadOptions {
  /** Schedules of this service alone. Some deployments demand it. */
  readonly service_id?: string | undefined;
}

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

/** What is wrong with a request, or null. `create` asks this, too, before it sends anything. */
export function scheduleProblems(request: ScheduleRequest): readonly RequestProblem[] | null {
  return problemsOf(scheduleRequest, request);
}

/** What is legal and yet worth a word: a type of backup that the specification does not name. */
export function scheduleWarnings({ backup_type: type }: ScheduleRequest): readonly string[] {
  if (type === 'full') return [];
  return [`${JSON.stringify(type)} is no backup type that is known, only "full" is; it is sent`];
}

export class SchedulesApi {
  readonly #http: ServiceHttp;
  readonly #path: string;

  constructor(http: ServiceHttp, path: string) {
    this.#http = http;
    this.#path = path;
  }

  /** All schedules that the key can see, or those of one service. */
  async list({
    service_id: id,
    signal,
  }: ScheduleQuery = {}): Promise<
    Result<{ readonly schedules: readonly Schedule[]; readonly isComplete: boolean }>
  > {
    const request = { path: this.#path, name: 'schedules', item: schedule, signal };
    const read = await readOwned(this.#http, request, id);
    return read.ok ? { ok: true, schedules: read.items, isComplete: read.isComplete } : read;
  }

  /** Creates one. The specification shows no answer: `schedule` is null where the service tells nothing of it. */
  async create(
    request: ScheduleRequest,
    { signal }: ReadOptions = {},
  ): Promise<Result<{ readonly schedule: Schedule | null }>> {
    const problems = scheduleProblems(request);
    if (problems !== null) return refusedRequest('create the schedule', problems);
    const result = await createOne(this.#http, {
      path: this.#path,
      name: 'schedule',
      body: request,
      item: schedule,
      signal,
    });
    return result.ok ? { ok: true, schedule: result.created } : result;
  }
}

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
