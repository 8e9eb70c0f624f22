// Turns a tick's batch into queue rows: requests within the limit of bytes (before compression) and of points. Cuts
// between services, or within a service that exceeds the limit by itself. Points keep their order, and each row knows the
// bytes of each service.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Config } from '../../config/config.ts';
import { bug } from '../../errors.ts';
import type { Batch, BatchPart, Signal } from '../../model/batch.ts';
import { compress } from './compression.ts';
import type {
  CommitOutcome,
  Encoding,
  QueueRow,
  QueueSize,
  RequestLimit,
  RowContent,
} from './commit.ts';
import { splitRequest } from './split.ts';

export type NewRow = Omit<QueueRow, 'id'>;

export interface Slice {
  readonly service: string;
  readonly points: number;
  readonly bytes: Buffer;
}

/** Estimates of the space that a row and each of its parts need in the file besides the body. */
const ROW_BYTES = 96;
const PART_BYTES = 48;

/** The rows of a batch, in order; [] for a batch without points. The payload must not change until they are made. */
export async function makeRows(
  batch: Batch,
  encoding: Encoding,
  limit: RequestLimit,
): Promise<readonly NewRow[]> {
  const { signal, payload, madeAtMs } = batch;
  const packed: Promise<RowContent>[] = [];
  for (const slices of fitSlices(signal, slicesOf(batch), limit)) {
    // The main thread compresses with zstd, and small rows with gzip: the event loop gets a turn between two of them.
    if (encoding !== 'none' && packed.length > 0) await nextTurn();
    packed.push(packSlices(encoding, slices, runWithin(payload, slices)));
  }
  return (await Promise.all(packed)).map(content => ({ signal, madeAtMs, ...content }));
}

/** OTLP/JSON is up to this many times as large as protobuf; rows are measured in protobuf. */
const JSON_FACTOR = 8;

/** What a request of the signal holds at most, by `otlp.max_request` and `otlp.max_points`. */
export function requestLimit(otlp: Config['otlp'], signal: Signal): RequestLimit {
  const factor = otlp[signal].protocol === 'http/json' ? JSON_FACTOR : 1;
  return { bytes: Math.ceil(otlp.maxRequestBytes / factor), points: otlp.maxPoints ?? Infinity };
}

/** The bytes of a row that count towards the queue's limit. */
export function rowBytes(row: {
  readonly parts: readonly BatchPart[];
  readonly body: { readonly length: number };
}): number {
  const parts = row.parts.reduce((sum, part) => sum + PART_BYTES + part.service.length, 0);
  return ROW_BYTES + parts + row.body.length;
}

export function sumPoints(parts: readonly Pick<BatchPart, 'points'>[]): number {
  return parts.reduce((sum, part) => sum + part.points, 0);
}

export function sumBytes(rows: readonly NewRow[]): number {
  return rows.reduce((sum, row) => sum + rowBytes(row), 0);
}

/** The outcome of a commit if its logs have no room; else null. */
export function logsWithoutRoom(
  rows: readonly NewRow[],
  { bytes, maxBytes }: Pick<QueueSize, 'bytes' | 'maxBytes'>,
): CommitOutcome | null {
  const logBytes = sumBytes(rows.filter(row => row.signal === 'logs'));
  if (logBytes > maxBytes) {
    const message = `cannot store logs: ${String(logBytes)} bytes are more than queue.logs.max_bytes; raise it`;
    return { kind: 'failed', message };
  }
  return logBytes > 0 && bytes + logBytes > maxBytes ? { kind: 'full' } : null;
}

/** One slice per service. */
function slicesOf(batch: Batch): readonly Slice[] {
  let end = 0;
  const slices: Slice[] = [];
  for (const part of batch.parts) {
    if (part.offset !== end) bug(`parts of a batch are not contiguous at byte ${end}`);
    end += part.length;
    const bytes = batch.payload.subarray(part.offset, end);
    if (part.points > 0) slices.push({ service: part.service, points: part.points, bytes });
  }
  if (end !== batch.payload.length)
    bug(`parts of a batch end at byte ${end}, not with its payload`);
  return slices;
}

/** Requests within the limit, in order; a single point that exceeds it gets a request of its own. */
export function fitSlices(
  signal: Signal,
  slices: readonly Slice[],
  limit: RequestLimit,
): readonly (readonly Slice[])[] {
  const requests: Slice[][] = [];
  let [bytes, points] = [Infinity, Infinity];
  for (const slice of slices.flatMap(whole => cutSlice(signal, whole, limit))) {
    bytes += slice.bytes.length;
    points += slice.points;
    if (bytes > limit.bytes || points > limit.points) {
      requests.push([]);
      bytes = slice.bytes.length;
      ({ points } = slice);
    }
    requests.at(-1)?.push(slice);
  }
  return requests;
}

/** The slice, or its pieces where it exceeds the limit by itself. */
function cutSlice(signal: Signal, slice: Slice, limit: RequestLimit): readonly Slice[] {
  const { service, points, bytes } = slice;
  if (bytes.length <= limit.bytes && points <= limit.points) return [slice];
  return splitRequest(signal, bytes, limit)
    .filter(cut => cut.points > 0)
    .map(cut => ({ service, ...cut }));
}

/** The content of a row; `raw` are the bytes of the slices. */
export async function packSlices(
  encoding: Encoding,
  slices: readonly Slice[],
  raw: Buffer = Buffer.concat(slices.map(({ bytes }) => bytes)),
): Promise<RowContent> {
  let offset = 0;
  const parts = slices.map(({ service, points, bytes: { length } }) => {
    const part = { service, points, offset, length };
    offset += length;
    return part;
  });
  return { encoding, body: await compress(encoding, raw), rawBytes: offset, parts };
}

/** The bytes of all slices without a copy, if they are contiguous in the payload, as usual; else undefined. */
function runWithin(payload: Buffer, slices: readonly Slice[]): Buffer | undefined {
  const start = (slices[0]?.bytes.byteOffset ?? 0) - payload.byteOffset;
  let end = start;
  for (const { bytes } of slices) {
    const isNext = bytes.buffer === payload.buffer && bytes.byteOffset - payload.byteOffset === end;
    if (!isNext) return undefined;
    end += bytes.length;
  }
  // Small buffers from elsewhere may share the payload's ArrayBuffer.
  return start >= 0 && end <= payload.length ? payload.subarray(start, end) : undefined;
}
