// Recovers the data of a damaged queue file. Two parts may be damaged:
//
//   the header   One wrong byte makes the whole file unreadable for SQLite. Most of its bytes are the same in every
//                file of ours, so they are corrected in place. A file of another program is not changed.
//   the pages    Every readable row with a valid checksum is copied into a new file, so that a lost page costs only the
//                rows on it. The damaged file is not changed.

import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { Signal } from '../../model/batch.ts';
import { bufferOf, checksumOf, QueueFile, rowOf, type Columns } from './queue-file.ts';
import { APPLICATION_ID, FORMAT_VERSION, isSoundNumber, PAGE_BYTES } from './schema.ts';

interface Field {
  readonly offset: number;
  readonly bytes: Buffer;
  readonly orBytes?: Buffer;
}

/** These bytes show that a file is ours and of this format. */
const MARKS: readonly Field[] = [
  { offset: 60, bytes: int32(FORMAT_VERSION) },
  { offset: 68, bytes: int32(APPLICATION_ID) },
];

/** See https://www.sqlite.org/fileformat.html, 1.3. */
const FIXED: readonly Field[] = [
  { offset: 0, bytes: Buffer.from('SQLite format 3\0') },
  { offset: 16, bytes: Buffer.of(PAGE_BYTES >> 8, PAGE_BYTES & 0xff) },
  // With a write-ahead log, or without one on a disk that does not support it.
  { offset: 18, bytes: Buffer.of(2, 2), orBytes: Buffer.of(1, 1) },
  // No reserved bytes at the end of a page, and the only payload fractions that SQLite allows.
  { offset: 20, bytes: Buffer.of(0, 64, 32, 32) },
  // The schema format, and UTF-8.
  { offset: 44, bytes: int32(4) },
  { offset: 56, bytes: int32(1) },
];

const HEADER_BYTES = 100;

/** True when a file is ours and its header is damaged. Throws when it cannot be read. */
export function isHeaderDamaged(path: string): boolean {
  return damagedFields(path).length > 0;
}

/** Corrects the damaged header of a file of ours, in place. */
export function mendHeader(path: string): void {
  const fields = damagedFields(path);
  if (fields.length === 0) return;
  const file = openSync(path, 'r+');
  try {
    for (const { offset, bytes } of fields) writeSync(file, bytes, 0, bytes.length, offset);
  } finally {
    closeSync(file);
  }
}

function damagedFields(path: string): readonly Field[] {
  const header = Buffer.alloc(HEADER_BYTES);
  const file = openSync(path, 'r');
  try {
    readSync(file, header, 0, HEADER_BYTES, 0);
  } finally {
    closeSync(file);
  }
  const has = ({ offset, bytes, orBytes }: Field): boolean => {
    const found = header.subarray(offset, offset + bytes.length);
    return found.equals(bytes) || orBytes?.equals(found) === true;
  };
  return MARKS.every(has) ? FIXED.filter(field => !has(field)) : [];
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

export interface SalvageReport {
  readonly rows: number;
  /** Rows of which only the id could be read. Others may be lost without a trace. */
  readonly lostRows: number;
  readonly states: number;
  readonly lostStates: number;
}

/** This many ids are skipped: lost rows may have had them, and a sender may still use them. */
const IDS_SKIPPED = 1_000_000;
const ROWS_PER_STEP = 16;

/** Copies the damaged file into a new one, and closes both. Throws when it cannot write. */
export function salvage(damagedPath: string, freshPath: string): SalvageReport {
  const fresh = QueueFile.open(freshPath);
  try {
    const damaged = openDamaged(damagedPath);
    try {
      return takeOver(damaged, fresh);
    } finally {
      damaged?.close();
    }
  } finally {
    fresh.close();
  }
}

function openDamaged(path: string): DatabaseSync | null {
  try {
    const damaged = new DatabaseSync(path, { readOnly: true, defensive: false });
    // Without this SQLite cannot read a file whose tail is missing.
    damaged.exec('PRAGMA writable_schema = ON');
    return damaged;
  } catch {
    return null;
  }
}

function takeOver(damaged: DatabaseSync | null, fresh: QueueFile): SalvageReport {
  if (damaged === null) return { rows: 0, lostRows: 0, states: 0, lostStates: 0 };
  const batches = takeBatches(damaged, fresh);
  return fresh.transact(() => {
    const states = takeStates(damaged, fresh);
    takeAccount(damaged, fresh);
    takeSetAside(damaged, fresh);
    return { ...batches, ...states };
  });
}

function takeBatches(
  damaged: DatabaseSync,
  fresh: QueueFile,
): Pick<SalvageReport, 'rows' | 'lostRows'> {
  const known = new Set<number>();
  const note = ({ id }: Columns): void => void (isSoundNumber(id) && known.add(id));
  // The table and its index may be damaged in different places.
  readFromBothEnds(damaged, 'SELECT id FROM batch NOT INDEXED', ['id'], note);
  readFromBothEnds(
    damaged,
    'SELECT id FROM batch INDEXED BY batch_by_signal',
    ['signal', 'id'],
    note,
  );
  const ids = [...known].sort((a, b) => a - b);
  let rows = 0;
  // In steps, to keep the log of the new file small.
  for (let i = 0; i < ids.length; i += ROWS_PER_STEP)
    rows += fresh.transact(() => takeRows(damaged, fresh, ids.slice(i, i + ROWS_PER_STEP)));
  fresh.skipIds(lastId(damaged, ids) + IDS_SKIPPED);
  return { rows, lostRows: ids.length - rows };
}

function takeRows(damaged: DatabaseSync, fresh: QueueFile, ids: readonly number[]): number {
  let rows = 0;
  for (const id of ids)
    readUntilDamage(damaged, `SELECT * FROM batch WHERE id = ${String(id)}`, columns => {
      const row = rowOf(columns);
      if (row.id !== id || checksumOf(row, String(columns['parts'])) !== columns['checksum'])
        return;
      if (!isSoundNumber(row.madeAtMs) || !isSoundNumber(row.rawBytes)) return;
      fresh.insert(row);
      rows++;
    });
  return rows;
}

function lastId(damaged: DatabaseSync, ids: readonly number[]): number {
  let last = ids.at(-1) ?? 0;
  const sql = "SELECT seq FROM sqlite_sequence WHERE name = 'batch'";
  readUntilDamage(damaged, sql, ({ seq }) => {
    if (isSoundNumber(seq)) last = Math.max(last, seq);
  });
  // A damaged, huge number would leave no ids for new rows.
  return Math.min(last, Number.MAX_SAFE_INTEGER / 2);
}

function takeStates(
  damaged: DatabaseSync,
  fresh: QueueFile,
): Pick<SalvageReport, 'states' | 'lostStates'> {
  const taken = new Set<string>();
  const lost = new Set<string>();
  readFromBothEnds(damaged, 'SELECT * FROM state NOT INDEXED', ['rowid'], columns => {
    const { kind, key } = columns;
    const name = `${String(kind)} ${String(key)}`;
    const blob = bufferOf(columns['blob']);
    if (taken.has(name)) return;
    if (crc32(blob) !== columns['checksum']) {
      lost.add(name);
      return;
    }
    taken.add(name);
    fresh.putState(String(kind), String(key), blob);
  });
  return { states: taken.size, lostStates: lost.size };
}

function takeAccount(damaged: DatabaseSync, fresh: QueueFile): void {
  const taken = new Set<string>();
  const sql = 'SELECT service, key, count FROM account';
  readFromBothEnds(damaged, sql, ['service', 'key'], ({ service, key, count }) => {
    const name = `${String(service)}\u0000${String(key)}`;
    if (taken.has(name) || !isSoundNumber(count)) return;
    taken.add(name);
    fresh.addCount(String(service), String(key), count);
  });
}

/** From the oldest up to the first unreadable one, without those of damaged numbers: they are only for inspection. */
function takeSetAside(damaged: DatabaseSync, fresh: QueueFile): void {
  readUntilDamage(damaged, 'SELECT * FROM set_aside ORDER BY id', columns => {
    const { at_ms: atMs, signal, service, points, reason, sample } = columns;
    if (!isSoundNumber(atMs) || !isSoundNumber(points)) return;
    fresh.addSetAside([
      {
        atMs,
        signal: String(signal) as Signal,
        service: String(service),
        points,
        reason: String(reason),
        sample: bufferOf(sample),
      },
    ]);
  });
}

/** Calls `take` with the rows before and after the damage, in this order and in the opposite one. */
function readFromBothEnds(
  damaged: DatabaseSync,
  sql: string,
  order: readonly string[],
  take: (columns: Columns) => void,
): void {
  for (const direction of ['ASC', 'DESC']) {
    const terms = order.map(column => `${column} ${direction}`);
    readUntilDamage(damaged, `${sql} ORDER BY ${terms.join(', ')}`, take);
  }
}

/** Calls `take` with the rows of a query up to the first unreadable one. Rethrows errors of `take`. */
function readUntilDamage(
  damaged: DatabaseSync,
  sql: string,
  take: (columns: Columns) => void,
): void {
  const next = rowsOf(damaged, sql);
  for (let columns = next(); columns !== null; columns = next()) take(columns);
}

/** Returns the next row; null at the end and after an error. */
function rowsOf(damaged: DatabaseSync, sql: string): () => Columns | null {
  let rows: Iterator<Columns> | undefined;
  return () => {
    try {
      rows ??= iterate(damaged, sql);
      const { done, value } = rows.next();
      return done === true ? null : withNumbers(value);
    } catch {
      return null;
    }
  };
}

/** A number that is too large would end the reading, without `setReadBigInts`. */
function iterate(damaged: DatabaseSync, sql: string): Iterator<Columns> {
  const statement = damaged.prepare(sql);
  statement.setReadBigInts(true);
  return statement.iterate();
}

function withNumbers(columns: Columns): Columns {
  const entries = Object.entries(columns).map(([name, value]) => [
    name,
    typeof value === 'bigint' ? Number(value) : value,
  ]);
  return Object.fromEntries(entries) as Columns;
}
