// Reads one item of a list: its partition, and the archive that it describes. The service ignores unknown parameters
// of a query, so type, service and time are checked again. In: parsed JSON of any shape.

import type { ServiceConfig } from '../config/config.ts';
import { follow, type JsonPointer } from '../lib/json-pointer.ts';
import type { LogPointers } from '../service/logs-api.ts';
import { dayOf, type Span } from './cursor.ts';
import { WrapperTime } from './formats/time.ts';

/** Whose logs they are: one database service, one source of it (a server), one type of log. */
export interface Partition {
  /** The configured service. */
  readonly service: ServiceConfig;
  /** The service's own id of the writer of the log; '' where it has none. */
  readonly source: string;
  /** The name of the server for people. */
  readonly server: string;
  readonly type: string;
}

/** The name of a partition in the stored state. */
export function partitionKey({ service, source, type }: Partition): string {
  return JSON.stringify([service.id, source, type]);
}

/** One archive as it is listed. */
export interface Descriptor {
  readonly id: string;
  /** For people. */
  readonly name: string;
  readonly partition: Partition;
  /** In the service's unit: only a change of it matters. null where the list has no sizes. */
  readonly size: number | null;
  readonly dayMs: number;
}

/** Why an item is left alone. */
export type Refusal = 'no_id' | 'no_time' | 'type' | 'service' | 'out_of_window';

export interface ItemContext {
  readonly pointers: LogPointers;
  /** The configured services of this API. */
  readonly services: readonly ServiceConfig[];
  /** How many more are configured for it, which other shards take. */
  readonly otherServiceCount: number;
  /** [] for any. */
  readonly types: readonly string[];
}

/** Ids, names and types are shorter; longer ones are cut. */
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
  const name = textAt(pointers.name, item);
  const dayMs = dayAt(textAt(pointers.start, item), `${name} ${id}`);
  if (Number.isNaN(dayMs)) return 'no_time';
  if (dayMs < dayOf(days.fromMs) || dayMs > days.toMs) return 'out_of_window';
  return { id, name, partition, size: sizeAt(pointers.size, item), dayMs };
}

/** The partition of an item, or the reason to ignore it. */
export function readPartition(item: unknown, context: ItemContext): Partition | 'type' | 'service' {
  const { pointers, types } = context;
  const type = textAt(pointers.type, item);
  // Where an item names no type it can only be of the one that was asked for.
  const knownType = type === '' && types.length === 1 ? (types[0] ?? '') : type;
  if (knownType === '' || (types.length > 0 && !types.includes(knownType))) return 'type';
  const server = textAt(pointers.server, item);
  const source = textAt(pointers.source, item);
  const service = findService(context, source, textAt(pointers.service, item));
  if (service === null) return 'service';
  return { service, source: source === '' ? server : source, server, type: knownType };
}

/** A text, or a number as text; '' where there is none. */
export function textAt(pointer: JsonPointer, item: unknown): string {
  const value = follow(pointer, item);
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value.slice(0, TEXT_LENGTH_MAX) : '';
}

/** The source is `<service id>/<…>`; else the service is named by its id, or by the name it is configured with. */
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
  // As with the metrics: what names no service belongs to the only one that is configured.
  const isUnnamed = source === '' && serviceText === '';
  const isOnly = services.length === 1 && otherServiceCount === 0;
  return isUnnamed && isOnly ? (services[0] ?? null) : null;
}

function sizeAt(pointer: JsonPointer, item: unknown): number | null {
  const value = follow(pointer, item);
  const size = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof size === 'number' && Number.isFinite(size) && size >= 0 ? size : null;
}

/** The day that an archive begins in, by its start time, else by a date in its name. */
function dayAt(start: string, names: string): number {
  const time = new WrapperTime();
  time.read(start);
  if (!Number.isNaN(time.ms)) return dayOf(time.ms);
  const startMs = Number(start);
  if (start !== '' && startMs > 0) return dayOf(startMs < 1e11 ? startMs * 1000 : startMs);
  const [, date = start] = DAY_IN_NAME.exec(start === '' ? names : start) ?? [];
  return dayOf(Date.parse(`${date}T00:00:00Z`));
}
