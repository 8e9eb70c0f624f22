// Splits an OTLP request in protobuf into smaller requests without decoding it: into pieces within a limit, or into
// two by the order or the time of the points. The other fields of a parent (Resource, scope, name, unit, temporality,
// unknown fields) are copied into each piece, so that each is a complete request. Together the pieces hold every point
// once. Envelopes without points are dropped.
//
//   ExportMetricsServiceRequest 1 ─▶ ResourceMetrics 2 ─▶ ScopeMetrics 2 ─▶ Metric 5|7|9|10|11 ─▶ data 1 ─▶ point
//   ExportLogsServiceRequest    1 ─▶ ResourceLogs    2 ─▶ ScopeLogs    2 ─▶ LogRecord

import type { Signal } from '../../model/batch.ts';
import { orElse, WireReader } from '../encode/wire-reader.ts';
import { WIRE, WireWriter } from '../encode/wire.ts';
import type { RequestLimit } from './commit.ts';

/** The field numbers of the children at each level, from the request down. The last level holds points. */
const CHILD_FIELDS: Readonly<Record<Signal, readonly (readonly number[])[]>> = {
  metrics: [[1], [2], [2], [5, 7, 9, 10, 11], [1]],
  logs: [[1], [2], [2]],
};

type Levels = readonly (readonly number[])[];

/** One child within its parent's bytes: `start` is its tag, `bodyStart` its first byte. */
interface Child {
  readonly field: number;
  readonly start: number;
  readonly bodyStart: number;
  readonly end: number;
  readonly points: number;
}

/** A request cut out of another one. */
export interface Cut {
  readonly bytes: Buffer;
  readonly points: number;
}

/** Data points or log records of a request; 0 for damaged bytes. */
export function countPoints(signal: Signal, request: Buffer): number {
  return orElse(0, () => countWithin(new WireReader(request, 'request'), CHILD_FIELDS[signal], 0));
}

/**
 * Requests within the limit, in order; a single point with more bytes stays whole. Each request is copied once. Damaged
 * bytes stay whole, with 0 points.
 */
export function splitRequest(signal: Signal, request: Buffer, limit: RequestLimit): readonly Cut[] {
  const pieces = orElse(null, () => splitMessage(request, CHILD_FIELDS[signal], 0, limit));
  if (pieces === null) return [{ bytes: request, points: 0 }];
  return pieces.map(({ parts, points }) => ({ bytes: Buffer.concat(parts), points }));
}

/** The byte ranges that make up a message; they are copied only once, at the end. */
type Parts = readonly Buffer[];

/** Fills messages with children, one after the other. A child that is too large for a message is split. */
function splitMessage(
  message: Buffer,
  levels: Levels,
  level: number,
  limit: RequestLimit,
): readonly Piece[] {
  const { children, rest } = takeApart(message, levels, level);
  const isLeaf = levels[level + 1] === undefined;
  const roomBytes = limit.bytes - sumBytes(rest);
  const messages: Piece[] = [];
  let run: Child[] = [];
  let [runBytes, runPoints] = [0, 0];
  const flush = (): void => {
    if (run.length > 0)
      messages.push({ parts: [...rest, ...runsOf(message, run)], points: runPoints });
    run = [];
    [runBytes, runPoints] = [0, 0];
  };
  for (const child of children) {
    const { start, bodyStart, end, field, points } = child;
    const bytes = end - start;
    if (runBytes + bytes > roomBytes || runPoints + points > limit.points) flush();
    if (isLeaf || (bytes <= roomBytes && points <= limit.points)) {
      run.push(child);
      runBytes += bytes;
      runPoints += points;
      continue;
    }
    const body = message.subarray(bodyStart, end);
    const room = { bytes: roomBytes - ENVELOPE_BYTES_MAX, points: limit.points };
    for (const piece of splitMessage(body, levels, level + 1, room))
      messages.push({ parts: [...rest, ...wrapped(field, piece.parts)], points: piece.points });
  }
  flush();
  return messages;
}

interface Piece {
  readonly parts: Parts;
  readonly points: number;
}

const ENVELOPE_BYTES_MAX = 8;

/** The bytes of children; contiguous ones are one range. */
function runsOf(message: Buffer, children: readonly Child[]): Parts {
  const runs: Buffer[] = [];
  let from = children[0]?.start ?? 0;
  let to = from;
  for (const { start, end } of children) {
    if (start !== to) {
      runs.push(message.subarray(from, to));
      from = start;
    }
    to = end;
  }
  runs.push(message.subarray(from, to));
  return runs;
}

function sumBytes(parts: Parts): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** Counts the points up to the end of the reader's current message. */
function countWithin(reader: WireReader, levels: Levels, level: number): number {
  const childFields = levels[level];
  if (childFields === undefined) return 1;
  let points = 0;
  // Does not use each(): a generator costs a sixth more, and every page above the limit of a request is counted.
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    if (!isChild(tag, childFields)) {
      reader.skip(tag & 7);
      continue;
    }
    const outerEnd = reader.enter();
    points += countWithin(reader, levels, level + 1);
    reader.leave(outerEnd);
  }
  return points;
}

/** The children of a message that hold points, and the bytes of all other fields. */
function takeApart(
  message: Buffer,
  levels: Levels,
  level: number,
): { readonly children: readonly Child[]; readonly rest: readonly Buffer[] } {
  const childFields = levels[level] ?? [];
  const reader = new WireReader(message, 'request');
  const children: Child[] = [];
  const rest: Buffer[] = [];
  while (!reader.isAtEnd) {
    const start = reader.offset;
    const tag = reader.tag();
    if (isChild(tag, childFields)) {
      const outerEnd = reader.enter();
      const { offset: bodyStart, end } = reader;
      const points = countWithin(reader, levels, level + 1);
      reader.leave(outerEnd);
      if (points > 0) children.push({ field: tag >>> 3, start, bodyStart, end, points });
    } else {
      reader.skip(tag & 7);
      rest.push(message.subarray(start, reader.offset));
    }
  }
  return { children, rest };
}

function isChild(tag: number, childFields: readonly number[]): boolean {
  return (tag & 7) === WIRE.bytes && childFields.includes(tag >>> 3);
}

function wrapped(field: number, body: Parts): Parts {
  const head = new WireWriter(ENVELOPE_BYTES_MAX);
  head.tag(field, WIRE.bytes);
  head.varint(sumBytes(body));
  return [head.written(), ...body];
}

/** The index (1 … length-1) at which the sums of the weights before and after it differ least. */
export function middle(weights: readonly number[]): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let cut = 1;
  let before = weights[0] ?? 0;
  for (; cut < weights.length - 1; cut++) {
    const next = before + (weights[cut] ?? 0);
    if (Math.abs(total - 2 * next) >= Math.abs(total - 2 * before)) break;
    before = next;
  }
  return cut;
}

// Splitting in two, by the order or the time of the points.

/** Two requests with half of the points each, in order; null for a single point and for damaged bytes. */
export function halveRequest(signal: Signal, request: Buffer): readonly [Buffer, Buffer] | null {
  const half = Math.floor(countPoints(signal, request) / 2);
  return half === 0 ? null : partition(signal, request, (_, index) => index < half);
}

/** Two requests in order, the first with so many points; one of them may be empty. Damaged bytes are not cut. */
export function cutAfter(
  signal: Signal,
  request: Buffer,
  points: number,
): readonly [Buffer, Buffer] {
  return partition(signal, request, (_, index) => index < points);
}

/** The request with its first point only: a sample for inspection. */
export function firstPoint(signal: Signal, request: Buffer): Buffer {
  return partition(signal, request, (_, index) => index === 0)[0];
}

// Some back ends refuse samples older than the last: pieces of metrics are cut by time, and the older one is sent first.

/** The field with the time, the same for points of every kind. */
const TIME_TAG = (3 << 3) | WIRE.fixed64;

/** The time of each point in order, in nanoseconds as a double. [] for damaged bytes. */
export function timesOf(request: Buffer): readonly number[] {
  return orElse([], () => {
    const times: number[] = [];
    keepPoints(request, CHILD_FIELDS.metrics, 0, point => times.push(timeOf(point)) > 0);
    return times;
  });
}

/** The time that has about half of the points before it; null when all points have the same time. */
export function timeToCutAt(times: readonly number[]): number | null {
  const counts = new Map<number, number>();
  for (const time of times) counts.set(time, (counts.get(time) ?? 0) + 1);
  const sorted = [...counts].sort(([a], [b]) => a - b);
  return sorted.length < 2 ? null : (sorted[middle(sorted.map(([, count]) => count))]?.[0] ?? null);
}

/** The points before a time, and the others; a piece without points is empty. Damaged bytes count as older. */
export function cutAt(request: Buffer, time: number): readonly [older: Buffer, newer: Buffer] {
  return partition('metrics', request, point => timeOf(point) < time);
}

/** The points that `isFirst` accepts, and the others; a piece without points is empty. Damaged bytes are not cut. */
function partition(
  signal: Signal,
  request: Buffer,
  isFirst: (point: Buffer, index: number) => boolean,
): readonly [Buffer, Buffer] {
  const pick = (isIn: boolean): Buffer => {
    let index = 0;
    const isKept = (point: Buffer): boolean => isFirst(point, index++) === isIn;
    return keepPoints(request, CHILD_FIELDS[signal], 0, isKept) ?? Buffer.alloc(0);
  };
  return orElse([request, Buffer.alloc(0)], () => [pick(true), pick(false)]);
}

/** A message with only the points that `isKept` accepts; null when none is left. */
function keepPoints(
  message: Buffer,
  levels: Levels,
  level: number,
  isKept: (point: Buffer) => boolean,
): Buffer | null {
  const childFields = levels[level];
  if (childFields === undefined) return isKept(message) ? message : null;
  const reader = new WireReader(message, 'request');
  const parts: Buffer[] = [];
  let hasPoints = false;
  let isWhole = true;
  while (!reader.isAtEnd) {
    const start = reader.offset;
    const tag = reader.tag();
    const child = isChild(tag, childFields) ? reader.view() : null;
    if (child === null) reader.skip(tag & 7);
    const kept = child === null ? null : keepPoints(child, levels, level + 1, isKept);
    isWhole &&= kept === child;
    hasPoints ||= kept !== null;
    if (kept === child) parts.push(message.subarray(start, reader.offset));
    else if (kept !== null) parts.push(...wrapped(tag >>> 3, [kept]));
  }
  if (!hasPoints) return null;
  return isWhole ? message : Buffer.concat(parts);
}

function timeOf(point: Buffer): number {
  const reader = new WireReader(point, 'point');
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    if (tag === TIME_TAG) return Number(reader.fixed64());
    reader.skip(tag & 7);
  }
  return 0;
}
