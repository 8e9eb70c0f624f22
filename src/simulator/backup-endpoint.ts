// Backups: schedules, backups and restores (service-spec 2.4 to 2.6 and 4, and the behaviour observed beyond it). Every
// service has a daily schedule and a week of backups; a restore runs for a minute of the service's clock.

import { z } from 'zod';
import { nextCronRun } from '../lib/pull-schedule.ts';
import { membersOf, parseJson } from '../lib/json.ts';
import {
  type Answer,
  emptyAnswer,
  type Endpoint,
  type EndpointRequest,
  errorAnswer,
  jsonAnswer,
  segmentsOf,
  textOf,
  withBody,
} from './answer.ts';
import type { SimulatedService } from './world.ts';
import { DAY_MS } from '../lib/clock.ts';

interface Restore {
  readonly id: number;
  readonly service_id: string;
  readonly type: string;
  readonly createdMs: number;
}

interface State {
  readonly services: readonly SimulatedService[];
  readonly schedules: Map<number, Schedule>;
  readonly restores: Map<number, Restore>;
  nextId: number;
}

const RESTORE_MS = 60_000;
const LOG_SHIPPED_MS = 60_000;
const BACKUPS_KEPT = 7;
const PAGE_SIZE = 20;
const PAGE_SIZE_MAX = 200;

/** Paths are below /backup/v1. */
export function createBackupEndpoint(services: readonly SimulatedService[]): Endpoint {
  const state: State = { services, schedules: new Map(), restores: new Map(), nextId: 1 };
  let isFilled = false;
  return request => {
    // At the first request, because only a request has the time.
    if (!isFilled)
      for (const { id } of services) addSchedule(state, [id, 'full', '0 2 * * *'], request.nowMs);
    isFilled = true;
    const [first, second, third] = segmentsOf(request.path);
    if (!isJsonTaken(request)) return errorAnswer(406, 'Accept must be application/json', request);
    if (first === 'backups' && second === 'schedules')
      return third === undefined ? schedules(state, request) : oneSchedule(state, request, third);
    if (first === 'backups' && second === undefined) return backups(state, request);
    if (first !== 'restores') return null;
    if (second === 'pointintime') return third === 'lookup' ? window(state, request) : null;
    return second === undefined ? restores(state, request) : oneRestore(state, request, second);
  };
}

function schedules(state: State, request: EndpointRequest): Answer | null {
  const { method, nowMs, query } = request;
  if (method === 'GET') {
    const all = [...state.schedules.values()].map(one => scheduleAt(one, nowMs));
    return listed('schedules', all, query);
  }
  if (method !== 'POST') return null;
  return withBody(SCHEDULE_BODY, request, refusal(request), body => {
    const { service_id, backup_type, schedule } = body;
    const added = addSchedule(state, [service_id, backup_type, schedule], nowMs);
    if (added === null) return errorAnswer(404, 'No such service', request);
    return jsonAnswer(201, scheduleAt(added, nowMs));
  });
}

function oneSchedule(state: State, request: EndpointRequest, id: string): Answer | null {
  const { method, json, nowMs } = request;
  const schedule = state.schedules.get(Number(id));
  if (schedule === undefined) return errorAnswer(404, 'No such schedule', request);
  if (method === 'GET') return jsonAnswer(200, scheduleAt(schedule, nowMs));
  if (method === 'PATCH') {
    const { schedule: cron = schedule.schedule, suspended = schedule.suspended } = membersOf(json);
    const updated_at = new Date(nowMs).toISOString();
    const isSuspended = suspended === true;
    const changed = { ...schedule, schedule: textOf(cron), suspended: isSuspended, updated_at };
    state.schedules.set(schedule.id, changed);
    return jsonAnswer(200, scheduleAt(changed, nowMs));
  }
  if (method !== 'DELETE') return null;
  state.schedules.delete(schedule.id);
  return emptyAnswer(204);
}

function addSchedule(
  state: State,
  [serviceId, type, schedule]: readonly [serviceId: string, type: string, schedule: string],
  nowMs: number,
): Schedule | null {
  const service = state.services.find(({ id }) => id === serviceId);
  if (service === undefined) return null;
  const added = newSchedule(state.nextId++, service, [type, schedule], nowMs);
  state.schedules.set(added.id, added);
  return added;
}

/** `schedule`: a cron expression or the word `once`. */
function newSchedule(
  id: number,
  service: SimulatedService,
  [type, schedule]: readonly [type: string, schedule: string],
  nowMs: number,
) {
  const now = new Date(nowMs).toISOString();
  return {
    id,
    service_id: service.id,
    service_name: service.name,
    type,
    status: 'Scheduled',
    message: '',
    schedule,
    suspended: false,
    created_at: now,
    updated_at: now,
  };
}

type Schedule = ReturnType<typeof newSchedule>;

/** Adds the time of the next run; a schedule that runs once runs when it is created. */
function scheduleAt(one: Schedule, nowMs: number): Schedule & { readonly scheduled_at: string } {
  const nextMs = one.schedule === 'once' ? null : nextRun(one.schedule, nowMs);
  const scheduled_at = nextMs === null ? one.created_at : new Date(nextMs).toISOString();
  return { ...one, scheduled_at };
}

function nextRun(cron: string, nowMs: number): number | null {
  try {
    return nextCronRun(cron, nowMs);
  } catch {
    return null;
  }
}

function backups(state: State, request: EndpointRequest): Answer | null {
  const { method, query, nowMs } = request;
  if (method !== 'GET') return null;
  const today = Math.floor(nowMs / DAY_MS);
  const all = state.services.flatMap(service =>
    Array.from({ length: BACKUPS_KEPT }, (_, day) => backupOf(service, (today - day) * DAY_MS)),
  );
  const status = query.get('status');
  const matching = all.filter(
    one => Date.parse(one.end_time) <= nowMs && (status ?? one.status) === one.status,
  );
  return listed('backups', matching, query);
}

function backupOf(service: SimulatedService, dayMs: number) {
  const start_time = new Date(dayMs + 2 * 3_600_000).toISOString();
  return {
    id: `${service.id}:full:${start_time}`,
    service_id: service.id,
    service_name: service.name,
    type: 'full',
    status: 'Succeeded',
    start_time,
    end_time: new Date(dayMs + 2.2 * 3_600_000).toISOString(),
    storage_bytes: 1_500_000_000 + (dayMs / DAY_MS) * 10_000,
    disk_size_bytes: 4_500_000_000,
    method: 'enginebackup',
    server_pod: `${service.name}-0`,
    is_external_storage: false,
  };
}

/** From the end of the oldest backup until a minute ago. */
function window(state: State, request: EndpointRequest): Answer | null {
  const { method, query, nowMs } = request;
  if (method !== 'GET') return null;
  const service_id = query.get('service_id');
  const service = state.services.find(({ id }) => id === service_id);
  if (service === undefined) return errorAnswer(404, 'No such service', request);
  const oldestDay = Math.floor(nowMs / DAY_MS) - (BACKUPS_KEPT - 1);
  const start_time = backupOf(service, oldestDay * DAY_MS).end_time;
  const end_time = new Date(nowMs - LOG_SHIPPED_MS).toISOString();
  return jsonAnswer(200, { service_id, start_time, end_time });
}

function restores(state: State, request: EndpointRequest): Answer | null {
  const { method, nowMs, query } = request;
  if (method === 'GET') {
    const all = [...state.restores.values()].map(one => restoreAt(one, nowMs));
    return listed('restores', all, query);
  }
  if (method !== 'POST') return null;
  return withBody(RESTORE_BODY, request, refusal(request), ({ service_id }) => {
    if (!state.services.some(({ id }) => id === service_id))
      return errorAnswer(404, 'No such service', request);
    const restore: Restore = { id: state.nextId++, service_id, createdMs: nowMs, type: 'full' };
    state.restores.set(restore.id, restore);
    return jsonAnswer(201, restoreAt(restore, nowMs));
  });
}

function oneRestore(state: State, request: EndpointRequest, id: string): Answer | null {
  const restore = state.restores.get(Number(id));
  if (restore === undefined) return errorAnswer(404, 'No such restore', request);
  if (request.method !== 'GET') return null;
  return jsonAnswer(200, restoreAt(restore, request.nowMs));
}

function restoreAt({ createdMs, ...restore }: Restore, nowMs: number) {
  const status = nowMs - createdMs >= RESTORE_MS ? 'Succeeded' : 'Running';
  return { ...restore, status, message: '', created_at: new Date(createdMs).toISOString() };
}

/** A list, only of the requested service if there is one, in pages from 1 on. */
function listed(
  name: string,
  all: readonly { readonly service_id: string }[],
  query: URLSearchParams,
): Answer {
  const wanted = query.get('service_id');
  const items = all.filter(({ service_id }) => (wanted ?? service_id) === service_id);
  const size = Math.min(Math.max(Number(query.get('page_size')) || PAGE_SIZE, 1), PAGE_SIZE_MAX);
  const page = Math.max(Number(query.get('page')) || 1, 1);
  return jsonAnswer(200, {
    [name]: items.slice((page - 1) * size, page * size),
    [`${name}_count`]: items.length,
    pages_count: Math.ceil(items.length / size),
  });
}

// The rules for bodies in sections 2.4 to 2.6 of the specification. They are not shared with the client, so that each
// checks the other.

const TEXT = z.string('is required').min(1, 'is required');
const BUCKET = TEXT.regex(
  /^(?:s3|gs):\/\/[^/\s]+\/?$/u,
  'must be s3://<bucket_name> or gs://<bucket_name>',
);
const SCHEDULE = TEXT.regex(
  /^(?:once|[^\s]+(?: [^\s]+){4})$/u,
  'must be a cron expression of five space-separated fields',
);

const ACCOUNT_MEMBERS =
  'type project_id private_key_id private_key client_email client_id auth_uri token_uri ' +
  'auth_provider_x509_cert_url client_x509_cert_url universe_domain';
const ACCOUNT = z.object(
  Object.fromEntries(ACCOUNT_MEMBERS.split(' ').map(name => [name, z.string()])),
);

/** The schema of an object with a bucket and its credentials, which must be for that kind of bucket. */
function withCredentials<T extends object>(
  schema: z.ZodType<T>,
  bucketOf: (value: T) => readonly [bucket: string, credentials: string],
): z.ZodType<T> {
  return schema.refine(value => areCredentials(...bucketOf(value)), {
    message: 'must be the base64 of credentials for this kind of bucket',
    path: ['credentials'],
  });
}

const SCHEDULE_BODY = z.object({
  backup_type: TEXT,
  schedule: SCHEDULE,
  service_id: TEXT,
  external_storage: z
    .object({
      bucket: withCredentials(z.object({ path: BUCKET, credentials: TEXT }), one => [
        one.path,
        one.credentials,
      ]),
    })
    .optional(),
});

const SOURCE = z.object(
  {
    bucket: BUCKET,
    method: z.enum(['enginebackup', 'enginedump'], 'must be enginebackup or enginedump'),
    credentials: TEXT,
    encryption_key: z.string().min(1, 'must not be empty').optional(),
  },
  'is required',
);

const RESTORE_BODY = z.object({
  service_id: TEXT,
  key: TEXT,
  external_source: withCredentials(SOURCE, one => [one.bucket, one.credentials]),
});

function refusal(request: EndpointRequest) {
  return ([, ...place]: readonly string[], message: string): Answer =>
    errorAnswer(400, `${place.join('.')} ${message}`.trim(), request);
}

/** False if the client does not accept JSON. */
function isJsonTaken({ headers }: EndpointRequest): boolean {
  const accept = headers['accept'];
  if (typeof accept !== 'string') return true;
  return /(?:^|,)\s*(?:application\/json|application\/\*|\*\/\*)\s*(?:;|,|$)/iu.test(accept);
}

/** A service account's key for gs, an access key for s3 (section 2.6). */
function areCredentials(bucket: string, encoded: string): boolean {
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) return false;
  const text = bytes.toString('utf8');
  if (bucket.startsWith('gs:')) return ACCOUNT.safeParse(parseJson(text)).success;
  const keys = ['aws_access_key_id', 'aws_secret_access_key', 'region'];
  const hasKey = (key: string): boolean => new RegExp(`^${key}[ ]*=[ ]*\\S`, 'mu').test(text);
  return /^\s*\[default\]\s*$/mu.test(text) && keys.every(hasKey);
}
