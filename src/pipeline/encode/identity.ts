// The identity of points in OTLP: Resource, scope, attributes (docs/how-it-works/mapping.md I). This file knows the
// field numbers of resource.proto and common.proto; wire.ts knows the bytes.

import { ROLE, type ScopeIdentity, type SeriesTable } from '../../model/series-table.ts';
import { isText, KeyLabels, parseSeriesKey } from '../decode/series-key.ts';
import { doubtfulLabel, isPointLabel, sentLabels } from '../derive/point-labels.ts';
import { WIRE, type WireWriter } from './wire.ts';

/** One database service as a Resource. */
export interface ResourceIdentity {
  readonly name: string;
  /** The database service id. Host and port are not unique: all services share a host. */
  readonly id: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** The scraped server; null for files. */
  readonly server: {
    readonly address: string;
    readonly port: number;
    readonly scheme: string;
  } | null;
}

/** The Resource of everything sent for a service, with the labels of target_info on its last page. */
export interface ServiceResource {
  readonly identity: ResourceIdentity;
  readonly info: ReadonlyMap<string, string>;
}

// Resource             1 attributes (KeyValue, repeated)
// InstrumentationScope 1 name (string), 2 version (string), 3 attributes (KeyValue, repeated)
// KeyValue             1 key (string), 2 value (AnyValue)
// AnyValue             1 string_value, 2 bool_value, 3 int_value (int64, varint), 4 double_value

/** Opens an envelope with one Resource and one scope; returns a function that closes it. */
export function openEnvelope(
  writer: WireWriter,
  resource: ServiceResource,
  scope: string,
): () => void {
  const outer = writer.begin(1);
  writeResource(writer, resource);
  const inner = writer.begin(2);
  writeScope(writer, { name: scope, version: '', schemaUrl: '', attributes: [] });
  return () => {
    writer.end(inner);
    writer.end(outer);
  };
}

/**
 * Writes a Resource as field 1. Attributes of the configuration override target_info, which overrides the scraped
 * address.
 */
export function writeResource(writer: WireWriter, { identity, info }: ServiceResource): void {
  const mark = writer.begin(1);
  const written = new Set<string>();
  const write = (key: string, value: string | number): void => {
    if (written.has(key)) return;
    written.add(key);
    writeAttribute(writer, 1, key, value);
  };
  write('service.name', identity.attributes['service.name'] ?? identity.name);
  write('service.instance.id', identity.id);
  for (const [key, value] of Object.entries(identity.attributes)) write(key, value);
  for (const [key, value] of info) write(key, value);
  if (identity.server !== null) {
    write('server.address', identity.server.address);
    write('server.port', identity.server.port);
    write('url.scheme', identity.server.scheme);
  }
  writer.end(mark);
}

/** Writes an InstrumentationScope as field 1. */
export function writeScope(writer: WireWriter, scope: ScopeIdentity): void {
  const mark = writer.begin(1);
  writer.string(1, scope.name);
  if (scope.version !== '') writer.string(2, scope.version);
  for (const [key, value] of scope.attributes) writeAttribute(writer, 3, key, value);
  writer.end(mark);
}

/** Writes the attributes of a row's point as field `field`, directly from its key. */
export function writePointAttributes(
  writer: WireWriter,
  field: number,
  table: SeriesTable,
  row: number,
  dropLabels: ReadonlySet<string>,
): void {
  const role = table.role[row];
  if (role === ROLE.synthetic) return;
  const { keys } = table;
  const start = table.keyOffset[row]!;
  const end = start + table.keyLength[row]!;
  const { labelRules: rules = null } = table.metrics[table.metric[row]!] ?? {};
  if (rules !== null || !places.read(keys, start, end)) {
    const { labels } = parseSeriesKey(keys, start, end);
    for (const [label, value] of sentLabels(labels, role, { dropLabels, rules }))
      writeAttribute(writer, field, label, value);
    return;
  }
  const { count, labelStart, labelEnd, valueStart, valueEnd } = places;
  for (let index = 0; index < count; index++) {
    const from = labelStart[index]!;
    const to = labelEnd[index]!;
    if (valueStart[index] === valueEnd[index] || isText(keys, from, to, NAMESPACE)) continue;
    const doubtful = doubtfulLabel(keys, from, to, dropLabels);
    if (doubtful === null || isPointLabel(doubtful, role, dropLabels))
      copyAttribute(writer, field, keys, index);
  }
}

/** The labels of the current key. */
const places = new KeyLabels();
const NAMESPACE = Buffer.from('namespace');
/** Up to this size, all lengths in a KeyValue with a string take one byte. No limit of attributes is that low. */
const SHORT_ATTRIBUTE_BYTES = 0x7f - 6;

/** Like writeAttribute(), for a label of `places`, without making strings. */
function copyAttribute(writer: WireWriter, field: number, keys: Buffer, index: number): void {
  const labelStart = places.labelStart[index]!;
  const labelEnd = places.labelEnd[index]!;
  const valueStart = places.valueStart[index]!;
  const valueEnd = places.valueEnd[index]!;
  const size = labelEnd - labelStart + valueEnd - valueStart;
  if (size > SHORT_ATTRIBUTE_BYTES) {
    const value = keys.toString('utf8', valueStart, valueEnd);
    writeAttribute(writer, field, keys.toString('latin1', labelStart, labelEnd), value);
    return;
  }
  writer.tag(field, WIRE.bytes);
  writer.reserve(size + 7);
  const { bytes } = writer;
  let to = writer.length;
  bytes[to++] = size + 6;
  bytes[to++] = KEY_TAG;
  bytes[to++] = labelEnd - labelStart;
  for (let at = labelStart; at < labelEnd; at++) bytes[to++] = keys[at]!;
  bytes[to++] = VALUE_TAG;
  bytes[to++] = valueEnd - valueStart + 2;
  bytes[to++] = STRING_TAG;
  bytes[to++] = valueEnd - valueStart;
  for (let at = valueStart; at < valueEnd; at++) bytes[to++] = keys[at]!;
  writer.length = to;
}

const KEY_TAG = 8 + WIRE.bytes;
const VALUE_TAG = 16 + WIRE.bytes;
const STRING_TAG = 8 + WIRE.bytes;

/** Writes a KeyValue as field `field`. Numbers must be safe integers, unless they are marked as double. */
export function writeAttribute(
  writer: WireWriter,
  field: number,
  key: string,
  value: string | number | boolean,
  type?: 'double',
): void {
  const mark = writer.begin(field);
  writer.string(1, key);
  const inner = writer.begin(2);
  if (typeof value === 'string') writer.string(1, writer.attributeLimit?.cut(value) ?? value);
  else if (typeof value === 'boolean') writer.varintField(2, value ? 1 : 0);
  else if (type === 'double') writer.doubleField(4, value);
  else writer.int64Field(3, value);
  writer.end(inner);
  writer.end(mark);
}
