// The deterministic id of a record, by which a back end can tell a record that came twice: the same line of the
// same place gives the same id, whenever and however often it is read.

import { hash } from 'node:crypto';
import type { ParsedRecord } from './record.ts';

/** Raised when the same line would get another id. */
const UID_VERSION = 1;
const UID_LENGTH = 32;
const SEPARATOR = '\u0000';

/** Where records come from: what all records of one entry (or of one partition) share. */
export function uidPlace(parts: readonly string[]): string {
  return JSON.stringify([UID_VERSION, ...parts]);
}

/** The id of a record of our own, which is no line of the service. */
export function textUid(parts: readonly string[]): string {
  return hash('sha256', uidPlace(parts), 'hex').slice(0, UID_LENGTH);
}

/**
 * The first 128 bits of SHA-256, in hex. `position` tells equal lines apart: the offset in an entry, or the
 * number among equals.
 */
export function recordUid(place: string, position: number | string, record: ParsedRecord): string {
  const { timeMs, timeExtraNs, raw } = record;
  const time = Number.isNaN(timeMs) ? '' : `${timeMs}.${timeExtraNs}`;
  const identity = [place, position, time, raw].join(SEPARATOR);
  return hash('sha256', identity, 'hex').slice(0, UID_LENGTH);
}
