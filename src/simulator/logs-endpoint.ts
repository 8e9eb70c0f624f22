// The log API: lists archives by day, service, server and type, and serves them as ZIP. Today's archive grows under the
// same id; archives go back as far as the retention. The paths are the observed ones.

import { gzipSync } from 'node:zlib';
import { membersOf } from '../lib/json.ts';
import {
  type Answer,
  type Endpoint,
  type EndpointRequest,
  errorAnswer,
  jsonAnswer,
  textOf,
} from './answer.ts';
import { gzipBomb } from './delivery.ts';
import { type ArchiveFault, type Faults, NO_FAULTS } from './faults.ts';
import {
  dayName,
  GeneratedLogs,
  LOG_TYPES,
  type LogArchive,
  type LogLine,
  type LogSource,
} from './log-source.ts';
import type { SimulatedServer, SimulatedService } from './world.ts';
import { zip, type ZipEntry } from './zip.ts';
import { DAY_MS } from '../lib/clock.ts';

interface State {
  readonly source: LogSource;
  readonly faults: () => Faults;
  /** A cache of the sizes of archives whose day is over. */
  readonly closedSizes: Map<string, number>;
  listCount: number;
  retention: typeof RETENTION;
}

const LIMIT = 100;
const LIMIT_MAX = 1_000;
const CLOSED_SIZES_MAX = 10_000;

const RETENTION = {
  bucket_name: 'logs',
  provider: 'simulated',
  region: 'local',
  retention_policy_days: 7,
};

/** Paths are below /observability/v2/logs. */
export function createLogsEndpoint(
  source: LogSource,
  faults: () => Faults = () => NO_FAULTS,
): Endpoint {
  const state: State = {
    source,
    faults,
    closedSizes: new Map(),
    listCount: 0,
    retention: RETENTION,
  };
  return request => {
    const { method, path, json } = request;
    const listed = (query: URLSearchParams): Answer => {
      const failure = faults().listStatuses[query.get('logType') ?? ''];
      if (failure !== undefined) return errorAnswer(failure, 'Simulated failure', request);
      const wanted = wantedOf(query, faults());
      const { poisonStatus } = faults();
      if (wanted !== null && poisonStatus !== null && isPoisoned(wanted, faults()))
        return errorAnswer(poisonStatus, 'Simulated failure', request);
      if (wanted !== null) return list(state, request.nowMs, wanted);
      return errorAnswer(400, 'Not a date that logs are kept for', request);
    };
    const { ignoredParameters } = faults();
    const heeded = [...request.query].filter(([name]) => !ignoredParameters.includes(name));
    const query = new URLSearchParams(heeded);
    if (method === 'GET' && path === '') return listed(query);
    if (method === 'POST' && path === '/query') return listed(queryOf(json));
    if (method === 'GET' && path === '/archive') return archive(state, request);
    if (method === 'GET' && path === '/types') return types();
    if (method === 'GET' && path === '/servers') return servers(state);
    if (path === '/retention') return retain(state, request);
    return null;
  };
}

// The members of the POST form, under the names of the GET form.
function queryOf(json: unknown): URLSearchParams {
  const body = membersOf(json);
  const query = new URLSearchParams();
  for (const name of ['fromDate', 'toDate', 'limit', 'offset', 'logType', 'serverContext']) {
    for (const value of [body[name] ?? []].flat()) query.append(name, textOf(value));
  }
  if (body['orderByDirection'] === 'desc') query.set('orderBy', '-startTime');
  return query;
}

interface Wanted {
  readonly query: URLSearchParams;
  readonly from: number;
  readonly to: number;
  readonly has: (archive: LogArchive) => boolean;
}

function wantedOf(query: URLSearchParams, { oldestMs }: Faults): Wanted | null {
  const from = Date.parse(query.get('fromDate') ?? '1970-01-01');
  const to = Date.parse(query.get('toDate') ?? '9999-01-01');
  if (Number.isNaN(from) || Number.isNaN(to) || from < (oldestMs ?? -Infinity)) return null;
  const types = query.getAll('logType').flatMap(value => value.split(','));
  const contexts = query.getAll('serverContext').flatMap(value => value.split(','));
  const has = ({ service, server, type }: LogArchive): boolean =>
    (types.length === 0 || types.includes(type)) &&
    (contexts.length === 0 || contexts.includes(sourceOf(service, server)));
  return { query, from, to, has };
}

function list(state: State, nowMs: number, wanted: Wanted): Answer {
  const found = archives(state, nowMs).filter(
    one => one.dayMs + DAY_MS > wanted.from && one.dayMs < wanted.to && wanted.has(one),
  );
  if (wanted.query.get('orderBy')?.startsWith('-') === true) found.reverse();
  return page(state, nowMs, wanted, found);
}

function isPoisoned({ from, to }: Wanted, { poisonMs }: Faults): boolean {
  return poisonMs !== null && from <= poisonMs && poisonMs < to;
}

function page(state: State, nowMs: number, wanted: Wanted, found: readonly LogArchive[]): Answer {
  const { query } = wanted;
  if (isPoisoned(wanted, state.faults()))
    return jsonAnswer(200, {
      logs: Array.from({ length: Number(query.get('limit')) }, (_, id) => ({ id })),
    });
  const offset = Math.max(Number(query.get('offset')) || 0, 0);
  const limit = Math.min(Math.max(Number(query.get('limit')) || LIMIT, 1), LIMIT_MAX);
  const unsteady = state.faults().isCountUnsteady ? state.listCount % 2 : 0;
  const logs = found.slice(offset, offset + limit).map(one => descriptor(one, state, nowMs));
  return jsonAnswer(200, { count: found.length + unsteady, logs });
}

function archives(state: State, nowMs: number): LogArchive[] {
  state.listCount++;
  state.source.onList?.();
  const days = state.retention.retention_policy_days;
  const first = Math.floor(nowMs / DAY_MS) * DAY_MS - (days - 1) * DAY_MS;
  return state.source.archives(nowMs, days).filter(({ dayMs }) => dayMs >= first);
}

function descriptor(archive: LogArchive, state: State, nowMs: number) {
  const { id, service, server, type, dayMs } = archive;
  const size = state.faults().isSizeHidden ? {} : { size: sizeOf(archive, state, nowMs) };
  return {
    id,
    name: `${server.name}_${type}_${dayName(dayMs)}`,
    logType: type,
    server: server.name,
    service: service.name,
    serverDataSourceId: sourceOf(service, server),
    ...size,
    startTime: new Date(dayMs).toISOString(),
  };
}

function sizeOf(archive: LogArchive, { source, closedSizes }: State, nowMs: number): number {
  const isGenerated = source instanceof GeneratedLogs && archive.dayMs + DAY_MS <= nowMs;
  const known = isGenerated ? closedSizes.get(archive.id) : undefined;
  if (known !== undefined) return known;
  const { length } = entryText(source.lines(archive, nowMs), 'raw', false);
  if (closedSizes.size >= CLOSED_SIZES_MAX) closedSizes.clear();
  if (isGenerated) closedSizes.set(archive.id, length);
  return length;
}

function archive(state: State, request: EndpointRequest): Answer {
  const { query, nowMs } = request;
  const faults = state.faults();
  const format = query.get('logFormat') === 'json' ? 'json' : 'raw';
  const ids = (query.get('logIds') ?? '').split(',');
  const known = new Map(
    state.source
      .archives(nowMs, state.retention.retention_policy_days)
      .map(one => [one.id, one] as const),
  );
  const wanted = ids.map(id => known.get(id)).filter(one => one !== undefined);
  const fault = faults.archives[ids[0] ?? ''] ?? faults.archives['*'];
  if (wanted.length < ids.length || fault === 'missing')
    return errorAnswer(404, 'No such log', request);
  if (typeof fault === 'number') return errorAnswer(fault, 'Simulated failure', request);
  const entries = wanted.map(one => ({
    name: `${one.server.name}/${one.type}/${dayName(one.dayMs)}.${format === 'json' ? 'json' : 'log'}`,
    bytes: entryText(state.source.lines(one, nowMs), format, faults.hasLinePrefix),
  }));
  const body = archiveBody(entries, fault, faults.archiveForm);
  return { status: 200, headers: { 'content-type': 'application/zip' }, body };
}

function types(): Answer {
  const logTypes = LOG_TYPES.map((name, index) => ({ id: index + 1, name, type: name }));
  return jsonAnswer(200, { logTypes });
}

function servers({ source }: State): Answer {
  const all = source.services.flatMap(service =>
    service.servers.map(server => ({
      server: server.name,
      serverDataSourceId: sourceOf(service, server),
      service: service.name,
    })),
  );
  return jsonAnswer(200, { servers: all });
}

function retain(state: State, request: EndpointRequest): Answer | null {
  const { method, json } = request;
  if (method === 'GET') return jsonAnswer(200, state.retention);
  if (method !== 'POST') return null;
  const body = membersOf(json);
  const missing = ['bucket_name', 'provider', 'retention_policy_days'].find(name => !body[name]);
  if (missing !== undefined) return errorAnswer(400, `${missing} is required`, request);
  const days = Number(body['retention_policy_days']);
  const isGood = Number.isInteger(days) && days >= 1 && days <= 90;
  if (!isGood) return errorAnswer(400, 'retention_policy_days is 1 to 90', request);
  state.retention = { ...state.retention, retention_policy_days: days };
  return jsonAnswer(200, state.retention);
}

function sourceOf(service: SimulatedService, server: SimulatedServer): string {
  return `${service.id}/${server.name}`;
}

// The bytes of an archive: lines in the requested format, packed or broken according to the faults.

/** Container runtimes cut lines at this length. */
const PART_LENGTH = 16_384;

/** The text of an entry; in json each line is an object. */
function entryText(
  lines: Iterable<LogLine>,
  format: 'raw' | 'json',
  hasLinePrefix: boolean,
): Buffer {
  const parts: string[] = [];
  let offset = 0;
  for (const { text, atMs } of lines) {
    const time = new Date(atMs).toISOString();
    for (const log of hasLinePrefix ? prefixed(text, time) : [text]) {
      const line = format === 'raw' ? log : JSON.stringify({ log, offset, time, stream: 'stderr' });
      parts.push(line, '\n');
      offset += Buffer.byteLength(log) + 1;
    }
  }
  return Buffer.from(parts.join(''));
}

function archiveBody(
  entries: readonly ZipEntry[],
  fault: ArchiveFault | undefined,
  form: Faults['archiveForm'],
): Buffer {
  if (fault === 'bomb') return Buffer.concat([...gzipBomb()]);
  if (fault === 'html') return Buffer.from('<!doctype html><title>Maintenance</title>\n');
  if (fault === 'encrypted') return zip(entries.map(one => ({ ...one, flags: 1 })));
  if (fault === 'checksum') return zip(entries.map(one => ({ ...one, checksum: 1 })));
  if (fault === 'nested') return zip([{ name: 'inner.zip', bytes: zip(entries) }]);
  if (fault === 'lacking') return zip(entries.slice(1));
  const whole = packed(entries, form);
  return fault === 'cut' ? whole.subarray(0, Math.floor(whole.length / 2)) : whole;
}

/** Several entries need a ZIP. */
function packed(entries: readonly ZipEntry[], form: Faults['archiveForm']): Buffer {
  const [first, second] = entries;
  if (form === 'zip' || first === undefined || second !== undefined) return zip(entries);
  return form === 'gzip' ? gzipSync(first.bytes) : first.bytes;
}

function prefixed(text: string, time: string): readonly string[] {
  const parts: string[] = [];
  for (let from = 0; from === 0 || from < text.length; from += PART_LENGTH) {
    const isLast = from + PART_LENGTH >= text.length;
    parts.push(`${time} stderr ${isLast ? 'F' : 'P'} ${text.slice(from, from + PART_LENGTH)}`);
  }
  return parts;
}
