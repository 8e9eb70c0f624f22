// The log API: lists archives by day, service, server and type, and serves them as ZIP. Today's archive grows under the
// same id; archives go back as far as the retention. The paths are the observed ones.

import { membersOf } from '../lib/json.ts';
import {
  type Answer,
  type Endpoint,
  type EndpointRequest,
  errorAnswer,
  jsonAnswer,
  textOf,
} from './answer.ts';
import {
  dayName,
  GeneratedLogs,
  LOG_TYPES,
  type LogArchive,
  type LogLine,
  type LogSource,
} from './log-source.ts';
import type { SimulatedServer, SimulatedService } from './world.ts';
import { DAY_MS } from '../lib/clock.ts';
import { crc32, deflateRawSync } from 'node:zlib';

interface State {
  readonly source: LogSource;
  /** A cache of the sizes of archives whose day is over. */
  readonly closedSizes: Map<string, number>;
  retention: typeof RETENTION;
}

export const NO_DATE = 'Not a date that logs are kept for';
const RAW_FORMAT = ['raw', 'log'] as const;
const JSON_FORMAT = ['json', 'json'] as const;
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
export function createLogsEndpoint(source: LogSource): Endpoint {
  const state: State = { source, closedSizes: new Map(), retention: RETENTION };
  return request => {
    const { method, path, query, json } = request;
    if (method === 'GET' && path === '') return list(state, request, query);
    if (method === 'POST' && path === '/query') return list(state, request, queryOf(json));
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

function list(state: State, request: EndpointRequest, query: URLSearchParams): Answer {
  const { nowMs } = request;
  const from = Date.parse(query.get('fromDate') ?? '1970-01-01');
  const to = Date.parse(query.get('toDate') ?? '9999-01-01');
  if (Number.isNaN(from) || Number.isNaN(to)) return errorAnswer(400, NO_DATE, request);
  const types = query.getAll('logType').flatMap(value => value.split(','));
  const contexts = query.getAll('serverContext').flatMap(value => value.split(','));
  const found = archives(state, nowMs).filter(
    ({ dayMs, service, server, type }) =>
      dayMs + DAY_MS > from &&
      dayMs < to &&
      (types.length === 0 || types.includes(type)) &&
      (contexts.length === 0 || contexts.includes(sourceOf(service, server))),
  );
  if (query.get('orderBy')?.startsWith('-') === true) found.reverse();
  const offset = Math.max(Number(query.get('offset')) || 0, 0);
  const limit = Math.min(Math.max(Number(query.get('limit')) || LIMIT, 1), LIMIT_MAX);
  const logs = found.slice(offset, offset + limit).map(one => descriptor(one, state, nowMs));
  return jsonAnswer(200, { count: found.length, logs });
}

function archives(state: State, nowMs: number): LogArchive[] {
  state.source.onList?.();
  const days = state.retention.retention_policy_days;
  const first = Math.floor(nowMs / DAY_MS) * DAY_MS - (days - 1) * DAY_MS;
  return state.source.archives(nowMs, days).filter(({ dayMs }) => dayMs >= first);
}

function descriptor(archive: LogArchive, state: State, nowMs: number) {
  const { id, service, server, type, dayMs } = archive;
  return {
    id,
    name: `${server.name}_${type}_${dayName(dayMs)}`,
    logType: type,
    server: server.name,
    service: service.name,
    serverDataSourceId: sourceOf(service, server),
    size: sizeOf(archive, state, nowMs),
    startTime: new Date(dayMs).toISOString(),
  };
}

function sizeOf(archive: LogArchive, { source, closedSizes }: State, nowMs: number): number {
  const isGenerated = source instanceof GeneratedLogs && archive.dayMs + DAY_MS <= nowMs;
  const known = isGenerated ? closedSizes.get(archive.id) : undefined;
  if (known !== undefined) return known;
  const { length } = entryText(source.lines(archive, nowMs), 'raw');
  if (closedSizes.size >= CLOSED_SIZES_MAX) closedSizes.clear();
  if (isGenerated) closedSizes.set(archive.id, length);
  return length;
}

function archive({ source, retention }: State, request: EndpointRequest): Answer {
  const { query, nowMs } = request;
  const all = source.archives(nowMs, retention.retention_policy_days);
  const entries = entriesOf(source, all, query, nowMs);
  if (entries === null) return errorAnswer(404, 'No such log', request);
  return { status: 200, headers: { 'content-type': 'application/zip' }, body: zip(entries) };
}

/** The entries of a requested archive: one for each of its logs. Null if one of them is not among `all`. */
export function entriesOf(
  source: LogSource,
  all: readonly LogArchive[],
  query: URLSearchParams,
  nowMs: number,
): readonly ZipEntry[] | null {
  const [format, ending] = query.get('logFormat') === 'json' ? JSON_FORMAT : RAW_FORMAT;
  const ids = (query.get('logIds') ?? '').split(',');
  const known = new Map(all.map(one => [one.id, one]));
  const wanted = ids.map(id => known.get(id)).filter(one => one !== undefined);
  if (wanted.length < ids.length) return null;
  return wanted.map(one => ({
    name: `${one.server.name}/${one.type}/${dayName(one.dayMs)}.${ending}`,
    bytes: entryText(source.lines(one, nowMs), format),
  }));
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

/** The text of an entry; in json each line is an object. */
function entryText(lines: Iterable<LogLine>, format: 'raw' | 'json'): Buffer {
  const parts: string[] = [];
  let offset = 0;
  for (const { text: log, atMs } of lines) {
    const time = new Date(atMs).toISOString();
    parts.push(format === 'raw' ? log : JSON.stringify({ log, offset, time, stream: 'stderr' }));
    parts.push('\n');
    offset += Buffer.byteLength(log) + 1;
  }
  return Buffer.from(parts.join(''));
}

// Writes a ZIP archive in memory: a central directory, UTF-8 names, no ZIP64 (entries and archive stay below 4 GiB).
// PKWARE APPNOTE 4.3.
//
//   { local header · name · data } … { central header · name } … end record

export interface ZipEntry {
  readonly name: string;
  readonly bytes: Buffer;
  /** Deflated by default. */
  readonly isStored?: boolean;
  /** Wrong values on purpose: general purpose bits (1 is `encrypted`), the method, the checksum, the size. */
  readonly flags?: number;
  readonly method?: number;
  readonly checksum?: number;
  readonly declaredBytes?: number;
}

const FLAG_UTF8 = 0x0800;

export function zip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name: text, bytes, isStored = false, ...declared } of entries) {
    const name = Buffer.from(text);
    const data = isStored ? bytes : deflateRawSync(bytes);
    // From "version needed" to "extra field length": the same in the local and the central header.
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(declared.flags ?? FLAG_UTF8, 2);
    fields.writeUInt16LE(declared.method ?? (isStored ? 0 : 8), 4);
    fields.writeUInt32LE(declared.checksum ?? crc32(bytes), 10);
    fields.writeUInt32LE(data.length, 14);
    fields.writeUInt32LE(declared.declaredBytes ?? bytes.length, 18);
    fields.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, name, data]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    central.push(Buffer.from('PK\x01\x02\x14\x00'), fields, tail, name);
    parts.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, directory, end]);
}
