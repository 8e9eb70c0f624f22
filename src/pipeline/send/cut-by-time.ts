// Cuts metrics requests between their older and their newer points, without decoding them: each piece is a complete
// request with the envelopes that its points need, and together they hold every point once, in order. A back end that
// takes no older samples is sent the older piece first.
//
//   ExportMetricsServiceRequest 1 ─▶ ResourceMetrics 2 ─▶ ScopeMetrics 2 ─▶ Metric 5|7|9|10|11 ─▶ data 1 ─▶ point 3: time

import { WireError, WireReader } from '../encode/wire-reader.ts';
import { WIRE, WireWriter } from '../encode/wire.ts';
import { middle } from '../queue/split.ts';

/** From the request down: the numbers of the fields that hold the children. The last level's are points. */
const CHILD_FIELDS: readonly (readonly number[])[] = [[1], [2], [2], [5, 7, 9, 10, 11], [1]];
/** The field of a point, of whatever kind, that holds its time. */
const TIME_TAG = (3 << 3) | WIRE.fixed64;

/** Of each point in order, in nanoseconds: near enough to tell them apart. [] for damaged bytes. */
export function timesOf(request: Buffer): readonly number[] {
  const times: number[] = [];
  const isSound = orNull(() => keepPoints(request, 0, time => times.push(time) > 0)) !== null;
  return isSound ? times : [];
}

/** The time from which on points are newer, so that about half of them are; null where all have the same. */
export function timeToCutAt(times: readonly number[]): number | null {
  const counts = new Map<number, number>();
  for (const time of times) counts.set(time, (counts.get(time) ?? 0) + 1);
  const sorted = [...counts].sort(([a], [b]) => a - b);
  return sorted.length < 2 ? null : (sorted[middle(sorted.map(([, count]) => count))]?.[0] ?? null);
}

/** The points before a time, and those from it on; a request without any is empty. Damaged bytes count as older. */
export function cutAt(request: Buffer, time: number): readonly [older: Buffer, newer: Buffer] {
  const none = Buffer.alloc(0);
  const halves = orNull(
    () =>
      [
        keepPoints(request, 0, at => at < time) ?? none,
        keepPoints(request, 0, at => at >= time) ?? none,
      ] as const,
  );
  return halves ?? [request, none];
}

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof WireError) return null;
    throw error;
  }
}

/** A message with those of its points alone; null when none is left. */
function keepPoints(
  message: Buffer,
  level: number,
  isKept: (time: number) => boolean,
): Buffer | null {
  const childFields = CHILD_FIELDS[level];
  if (childFields === undefined) return isKept(timeOf(message)) ? message : null;
  const reader = new WireReader(message, 'request');
  const parts: Buffer[] = [];
  let hasPoints = false;
  let isWhole = true;
  while (!reader.isAtEnd) {
    const start = reader.offset;
    const tag = reader.tag();
    const isChild = (tag & 7) === WIRE.bytes && childFields.includes(tag >>> 3);
    const child = isChild ? reader.view() : null;
    if (child === null) reader.skip(tag & 7);
    const kept = child === null ? null : keepPoints(child, level + 1, isKept);
    isWhole &&= kept === child;
    hasPoints ||= kept !== null;
    if (kept === child) parts.push(message.subarray(start, reader.offset));
    else if (kept !== null) parts.push(headOf(tag, kept.length), kept);
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

function headOf(tag: number, length: number): Buffer {
  const head = new WireWriter();
  head.tag(tag >>> 3, WIRE.bytes);
  head.varint(length);
  return head.written();
}
