// Reads one item of a list: its partition, and the archive that it describes. Type, service and time are checked again,
// because the service ignores query parameters that it does not know. In: parsed JSON of any shape.

import type { ServiceConfig } from '../config/config.ts';
import { DAY_MS } from '../lib/clock.ts';
import { follow, type JsonPointer } from '../lib/json.ts';
import type { LogPointers } from '../service/logs-api.ts';
import { dayOf, type Span } from './cursor.ts';
import { readInstant } from './formats/time.ts';

/** One type of log of one source (a server) of one database service. */
export interface Partition {
  /** The configured service. */
  readonly service: ServiceConfig;
  /** The service's id of the server that writes the log, or else its display name; '' if it has neither. */
  readonly source: string;
  /** The display name of the server. */
  readonly server: string;
  readonly type: string;
}

/** The key of a partition in the stored state. */
export function partitionKey({ service, source, type }: Partition): string {
  return JSON.stringify([service.id, source, type]);
}

export interface Descriptor {
  readonly id: string;
  /** For display. */
  readonly name: string;
  readonly partition: Partition;
  /** In the service's unit: only a change matters. Null when the list has no sizes. */
  readonly size: number | null;
  /** The day (UTC) on which it begins. */
  readonly dayMs: number;
  /** It may grow until then. */
  readonly endMs: number;
}

export type Refusal = 'no_id' | 'no_time' | 'type' | 'service' | 'out_of_window';

export interface ItemContext {
  readonly pointers: LogPointers;
  /** The configured services of this API. */
  readonly services: readonly ServiceConfig[];
  /** The number of its other services, which belong to other shards. */
  readonly otherServiceCount: number;
  /** [] for any. */
  readonly types: readonly string[];
}

/** Longer ids, names and types are cut. */
const TEXT_LENGTH_MAX = 512;
const DAY_IN_NAME = /(?<!\d)(\d{4}-\d\d-\d\d)(?!\d)/;

/** An archive, or the reason to ignore it. `days` are the requested ones. */
export function readDescriptor(
  item: unknown,
  context: ItemContext,
  days: Span,
): Descriptor | Refusal {
  const { pointers } = context;
  const id = textAt(pointers.id, item);
  if (id === '') return 'no_id';
  const partition = readPartition(item, context);
  if (typeof partition === 'string') return partition;
  const { fromMs, toMs: endMs } = archiveSpan(item, pointers);
  const dayMs = dayOf(fromMs);
  if (Number.isNaN(dayMs)) return 'no_time';
  if (dayMs < dayOf(days.fromMs) || dayMs > days.toMs) return 'out_of_window';
  const name = textAt(pointers.name, item);
  return { id, name, partition, size: sizeAt(pointers.size, item), dayMs, endMs };
}

/** The partition of an item, or the reason to ignore it. */
function readPartition(item: unknown, context: ItemContext): Partition | 'type' | 'service' {
  const { pointers, types } = context;
  const type = textAt(pointers.type, item);
  // An item without a type has the requested one.
  const knownType = type === '' && types.length === 1 ? (types[0] ?? '') : type;
  if (knownType === '' || (types.length > 0 && !types.includes(knownType))) return 'type';
  const server = textAt(pointers.server, item);
  const source = textAt(pointers.source, item);
  const service = findService(context, source, textAt(pointers.service, item));
  if (service === null) return 'service';
  return { service, source: source === '' ? server : source, server, type: knownType };
}

/** A text, or a number as text; '' for anything else. */
export function textAt(pointer: JsonPointer, item: unknown): string {
  const value = follow(pointer, item);
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value.slice(0, TEXT_LENGTH_MAX) : '';
}

/** The source is `<service id>/<…>`; otherwise the item names the service by its id or its configured name. */
function findService(
  { services, otherServiceCount }: ItemContext,
  source: string,
  serviceText: string,
): ServiceConfig | null {
  const sourceId = source.split('/', 1)[0] ?? '';
  const bySource = services.find(({ id }) => id === sourceId);
  if (bySource !== undefined) return bySource;
  const isForeign = source.includes('/');
  if (isForeign) return null;
  const byText = services.find(({ id, name }) => serviceText === id || serviceText === name);
  if (byText !== undefined) return byText;
  // As with the metrics: an item that names no service belongs to the only configured one.
  const isUnnamed = source === '' && serviceText === '';
  const isOnly = services.length === 1 && otherServiceCount === 0;
  return isUnnamed && isOnly ? (services[0] ?? null) : null;
}

function sizeAt(pointer: JsonPointer, item: unknown): number | null {
  const value = follow(pointer, item);
  const size = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof size === 'number' && Number.isFinite(size) && size >= 0 ? size : null;
}

/** A date without a zone may end this much later than the day in UTC. */
const BEHIND_UTC_MS = DAY_MS / 2;

/**
 * The day of an archive, which need not begin at midnight UTC: from its start time on, else by a date in its name; NaN if
 * it has neither.
 */
export function archiveSpan(item: unknown, pointers: LogPointers): Span {
  const start = textAt(pointers.start, item);
  const number = Number(start);
  const startMs =
    readInstant(start)?.timeMs ?? (number > 0 && number < 1e11 ? number * 1000 : number);
  if (startMs > 0) return { fromMs: startMs, toMs: startMs + DAY_MS };
  const names = `${textAt(pointers.name, item)} ${textAt(pointers.id, item)}`;
  const [, date = start] = DAY_IN_NAME.exec(start === '' ? names : start) ?? [];
  const fromMs = Date.parse(`${date}T00:00:00Z`);
  return { fromMs, toMs: fromMs + DAY_MS + BEHIND_UTC_MS };
}
