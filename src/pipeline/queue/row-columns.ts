// How a row of the queue stands in the columns of its table, and the checksum over them.

import { crc32 } from 'node:zlib';
import type { BatchPart, Signal } from '../../model/batch.ts';
import type { Encoding, QueueRow } from './queue.ts';
import { rowPoints, type NewRow } from './rows.ts';

/** One row as SQLite gives it. */
export type Columns = { readonly [column: string]: unknown };

/** A row without its body. */
export interface RowHead {
  readonly id: number;
  readonly signal: Signal;
  readonly madeAtMs: number;
  readonly points: number;
  readonly countedBytes: number;
  /** [] when that is damaged. */
  readonly parts: readonly BatchPart[];
}

export function headOf(columns: Columns): RowHead {
  const parts = decodeParts(String(columns['parts']));
  return {
    id: Number(columns['id']),
    signal: String(columns['signal']) as Signal,
    madeAtMs: Number(columns['made_at_ms']),
    // Not what the column says: where damage makes the two differ, the account goes by the parts.
    points: rowPoints({ parts }),
    countedBytes: Number(columns['counted_bytes']),
    parts,
  };
}

/** The row, to be held against its checksum before it is used. */
export function rowOf(columns: Columns): QueueRow {
  const { id, signal, madeAtMs, parts } = headOf(columns);
  return {
    id,
    signal,
    encoding: String(columns['encoding']) as Encoding,
    body: bufferOf(columns['body']),
    rawBytes: Number(columns['raw_bytes']),
    parts,
    madeAtMs,
  };
}

/** Over everything of a row that would send wrong bytes if it were wrong. */
export function checksumOf(row: NewRow, parts: string): number {
  const { signal, encoding, madeAtMs, rawBytes, body } = row;
  const head = [signal, encoding, Math.round(madeAtMs), rawBytes, parts].join(' ');
  return crc32(body, crc32(head));
}

export function encodeParts(parts: readonly BatchPart[]): string {
  return JSON.stringify(
    parts.map(({ service, points, offset, length }) => [service, points, offset, length]),
  );
}

export function bufferOf(value: unknown): Buffer {
  if (!(value instanceof Uint8Array)) return Buffer.alloc(0);
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

function decodeParts(text: string): readonly BatchPart[] {
  try {
    const parts = JSON.parse(text) as readonly [string, number, number, number][];
    return parts.map(([service, points, offset, length]) => ({ service, points, offset, length }));
  } catch {
    return [];
  }
}
