// Backups: schedules, backups and restores (service-spec 2.4 and 2.5, and what has been seen beyond it). Every
// service has a daily schedule and a week of backups; a restore runs for a minute of the service's clock.

import {
  type Answer,
  type Endpoint,
  type EndpointRequest,
  errorAnswer,
  jsonAnswer,
  missingMember,
  objectOf,
  segmentsOf,
  textOf,
} from './answer.ts';
import type { SimulatedService } from './topology.ts';

interface Schedule {
  readonly id: number;
  readonly service_id: string;
  readonly service_name: string;
  readonly type: string;
  readonly status: string;
  readonly message: string;
  /** A cron expression or the word `once`. */
  readonly schedule: string;
  readonly scheduled_at: string;
  readonly suspended: boolean;
  readonly created_at: string;
  readonly updated_at: string;
}

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

/** Of schedules and of restores; a POST beyond it is answered 409. */
const ITEMS_MAX = 1_000;
const RESTORE_MS = 60_000;
const DAY_MS = 86_400_000;
const BACKUPS_KEPT = 7;
const PAGE_SIZE = 20;
const PAGE_SIZE_MAX = 200;

/** Paths are below /backup/v1. */
export function createBackupEndpoint(services: readonly SimulatedService[]): Endpoint {
  const state: State = { services, schedules: new Map(), restores: new Map(), nextId: 1 };
  let isFilled = false;
  return request => {
    // At the first request, since only a request knows the time.
    if (!isFilled)
      for (const { id } of services) addSchedule(state, id, '0 2 * * *', request.nowMs);
    isFilled = true;
    const [first, second, third] = segmentsOf(request.path);
    if (first === 'backups' && second === 'schedules') return schedules(state, request, third);
    if (first === 'backups' && second === undefined) return backups(state, request);
    if (first === 'restores') return restores(state, request, second);
    return null;
  };
}

function schedules(state: State, request: EndpointRequest, id: string | undefined): Answer | null {
  const { method, json, nowMs, query } = request;
  if (id === undefined && method === 'GET') {
    const wanted = query.get('service_id');
    const all = [...state.schedules.values()];
    return paged(
      'schedules',
      all.filter(one => (wanted ?? one.service_id) === one.service_id),
      query,
    );
  }
  if (id === undefined && method === 'POST') {
    const missing = missingMember(json, ['backup_type', 'schedule', 'service_id']);
    if (missing !== undefined) return errorAnswer(400, `${missing} is required`, request);
    if (state.schedules.size >= ITEMS_MAX) return errorAnswer(409, 'Too many schedules', request);
    const { service_id, schedule } = objectOf(json);
    const added = addSchedule(state, textOf(service_id), textOf(schedule), nowMs);
    return added === null ? errorAnswer(404, 'No such service', request) : jsonAnswer(201, added);
  }
  const schedule = state.schedules.get(Number(id));
  if (schedule === undefined) return errorAnswer(404, 'No such schedule', request);
  if (method === 'GET') return jsonAnswer(200, schedule);
  if (method === 'PATCH') {
    const { schedule: cron = schedule.schedule, suspended = schedule.suspended } = objectOf(json);
    const updated_at = new Date(nowMs).toISOString();
    const changed = {
      ...schedule,
      schedule: textOf(cron),
      suspended: suspended === true,
      updated_at,
    };
    state.schedules.set(schedule.id, changed);
    return jsonAnswer(200, changed);
  }
  if (method !== 'DELETE') return null;
  state.schedules.delete(schedule.id);
  return { status: 204, headers: {}, body: Buffer.alloc(0) };
}

function addSchedule(
  state: State,
  serviceId: string,
  cron: string,
  nowMs: number,
): Schedule | null {
  const service = state.services.find(({ id }) => id === serviceId);
  if (service === undefined) return null;
  const now = new Date(nowMs).toISOString();
  const schedule: Schedule = {
    id: state.nextId++,
    service_id: service.id,
    service_name: service.name,
    type: 'full',
    status: 'Scheduled',
    message: '',
    schedule: cron,
    scheduled_at: now,
    suspended: false,
    created_at: now,
    updated_at: now,
  };
  state.schedules.set(schedule.id, schedule);
  return schedule;
}

function backups(state: State, request: EndpointRequest): Answer | null {
  const { method, query, nowMs } = request;
  if (method !== 'GET') return null;
  const today = Math.floor(nowMs / DAY_MS);
  const all = state.services.flatMap(service =>
    Array.from({ length: BACKUPS_KEPT }, (_, day) => backupOf(service, (today - day) * DAY_MS)),
  );
  const wanted = query.get('service_id');
  const status = query.get('status');
  const matching = all.filter(
    one =>
      Date.parse(one.end_time) <= nowMs &&
      (wanted ?? one.service_id) === one.service_id &&
      (status ?? one.status) === one.status,
  );
  return paged('backups', matching, query);
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
  };
}

function restores(state: State, request: EndpointRequest, id: string | undefined): Answer | null {
  const { method, json, nowMs, query } = request;
  if (id === undefined && method === 'GET') {
    const all = [...state.restores.values()].map(restore => restoreAt(restore, nowMs));
    return paged('restores', all, query);
  }
  if (id === undefined && method === 'POST') {
    const { key, id: backupId, service_id } = objectOf(json);
    const missing = missingMember({ service_id, key: key ?? backupId }, ['service_id', 'key']);
    if (missing !== undefined) return errorAnswer(400, `${missing} is required`, request);
    if (state.restores.size >= ITEMS_MAX) return errorAnswer(409, 'Too many restores', request);
    const restore = {
      id: state.nextId++,
      service_id: textOf(service_id),
      createdMs: nowMs,
      type: 'full',
    };
    state.restores.set(restore.id, restore);
    return jsonAnswer(201, restoreAt(restore, nowMs));
  }
  const restore = state.restores.get(Number(id));
  if (restore === undefined) return errorAnswer(404, 'No such restore', request);
  return method === 'GET' ? jsonAnswer(200, restoreAt(restore, nowMs)) : null;
}

function restoreAt({ createdMs, ...restore }: Restore, nowMs: number) {
  const isDone = nowMs - createdMs >= RESTORE_MS;
  const status = isDone ? 'Succeeded' : 'Running';
  return { ...restore, status, message: '', created_at: new Date(createdMs).toISOString() };
}

// Pages count from 1.
function paged(name: string, items: readonly unknown[], query: URLSearchParams): Answer {
  const size = Math.min(Math.max(Number(query.get('page_size')) || PAGE_SIZE, 1), PAGE_SIZE_MAX);
  const page = Math.max(Number(query.get('page')) || 1, 1);
  return jsonAnswer(200, {
    [name]: items.slice((page - 1) * size, page * size),
    [`${name}_count`]: items.length,
    pages_count: Math.ceil(items.length / size),
  });
}
