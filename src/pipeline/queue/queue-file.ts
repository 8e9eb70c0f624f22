// The database of the queue: one function per statement, which also writes and verifies checksums. It is a file, or in
// memory under the path MEMORY. It knows neither limits nor the meaning of counts. Each function is part of the open
// transaction, if there is one.

import { constants, existsSync, fstatSync, fsyncSync, ftruncateSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { withFile } from '../../lib/private-files.ts';
import type { BatchPart, Signal } from '../../model/batch.ts';
import type { Encoding, QueueRow, RowTimes, SetAside } from './commit.ts';
import { rowBytes, sumPoints, type NewRow } from './rows.ts';
import {
  FIND_BAD_NUMBERS,
  isSoundNumber,
  openDatabase,
  PAGE_BYTES,
  schemaOf,
  type OpenOptions,
} from './schema.ts';

export const MEMORY = ':memory:';

export type Columns = { readonly [column: string]: unknown };

/** A row without the bytes of its body; `parts` is [] when they are damaged. */
export interface RowHead extends Pick<QueueRow, 'id' | 'signal' | 'madeAtMs' | 'parts'> {
  readonly body: { readonly length: number };
}

export interface Count {
  readonly service: string;
  readonly key: string;
  readonly count: number;
}

/** The bounds of the set-aside entries. Removed entries remain counted. */
export const SET_ASIDE_ROWS_MAX = 1000;
const SET_ASIDE_BYTES_MAX = 16 * 1024 * 1024;

/** See https://www.sqlite.org/fileformat.html, 4.1. */
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** After an eviction of many rows, giving back all pages at once would block the event loop for seconds. */
export const SHRINK_PAGES_MAX = 4096;

/** Omits stored numbers that can be computed: damage could make the two differ. `length` does not read the body. */
const HEAD_COLUMNS = 'id, signal, made_at_ms, parts, length(body) AS body_bytes';

export class QueueFile {
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  private constructor(path: string, db: DatabaseSync) {
    this.#path = path;
    this.#db = db;
  }

  /** Opens or creates the file, or opens MEMORY. Throws the errors of openDatabase. */
  static open(path: string, options?: OpenOptions): QueueFile {
    return new QueueFile(path, openDatabase(path, options));
  }

  transact<T>(work: () => T): T {
    this.#run('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#run('COMMIT');
      return result;
    } catch (error) {
      // In some cases, such as a full disk, SQLite has rolled back by itself.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      if (this.#path !== MEMORY) this.#cutLog();
      throw error;
    }
  }

  /**
   * Removes the frames of a failed commit from the log. When only its fsync failed, all of them are there: the next
   * process would read them as a commit that this one reported as failed.
   */
  #cutLog(): void {
    try {
      // Frames of successful commits; -1 where the disk cannot have a log.
      const frames = Number(this.#get('PRAGMA wal_checkpoint(NOOP)')?.['log']);
      const path = `${this.#path}-wal`;
      if (frames < 0 || !existsSync(path)) return;
      const bytes =
        frames === 0 ? 0 : LOG_HEADER_BYTES + frames * (FRAME_HEADER_BYTES + PAGE_BYTES);
      withFile(path, constants.O_WRONLY | constants.O_NOFOLLOW, file => {
        if (fstatSync(file).size > bytes) ftruncateSync(file, bytes);
        fsyncSync(file);
      });
    } catch {
      // The next commit overwrites it. If the process ends before that, the failed commit may return and be sent twice.
    }
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  /** True when the structure, the schema, an index or a number of the file is damaged. Reads most of the file. */
  isDamaged(): boolean {
    const [result] = Object.values(this.#get('PRAGMA integrity_check(1)') ?? {});
    if (result !== 'ok') return true;
    using sound = openDatabase(MEMORY);
    if (schemaOf(this.#db) !== schemaOf(sound)) return true;
    return FIND_BAD_NUMBERS.some(sql => this.#get(sql) !== undefined);
  }

  /** Moves as much of the log into the database as the disk has room for. */
  checkpoint(): void {
    try {
      this.#db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch {
      // The log keeps the rest.
    }
  }

  /** Gives some of the unused pages beyond `keptPages` back to the disk; false when there are none. */
  shrink(keptPages: number): boolean {
    const pages = Number(this.#get('PRAGMA freelist_count')?.['freelist_count']) - keptPages;
    if (pages <= 0) return false;
    this.#db.exec(`PRAGMA incremental_vacuum(${String(Math.min(pages, SHRINK_PAGES_MAX))})`);
    return true;
  }

  /** The highest id that a row has ever had; 0 before the first. SQLite's own record of it may be damaged. */
  lastId(): number {
    const row = this.#get(`SELECT max(
      ifnull((SELECT max(id) FROM batch), 0),
      ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'batch'), 0)
    ) AS id`);
    return Number(row?.['id'] ?? 0);
  }

  insert(row: QueueRow): void {
    const parts = encodeParts(row.parts);
    this.#run(
      `INSERT INTO batch
         (id, signal, encoding, made_at_ms, raw_bytes, points, counted_bytes, checksum, parts, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      row.id,
      row.signal,
      row.encoding,
      Math.round(row.madeAtMs),
      row.rawBytes,
      sumPoints(row.parts),
      rowBytes(row),
      checksumOf(row, parts),
      parts,
      row.body,
    );
  }

  /** From now on every new row gets a higher id. */
  skipIds(lastId: number): void {
    this.#run('DELETE FROM sqlite_sequence WHERE name = ?', 'batch');
    this.#run('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)', 'batch', lastId);
  }

  remove(id: number): void {
    this.#run('DELETE FROM batch WHERE id = ?', id);
  }

  /** Ids of a signal above `afterId`, oldest first; read lazily. */
  *ids(signal: Signal, afterId = 0): IterableIterator<number> {
    const sql = 'SELECT id FROM batch WHERE signal = ? AND id > ? ORDER BY id';
    const rows = this.#prepare(sql).iterate(signal, afterId);
    for (const row of rows) yield Number(row['id']);
  }

  /** The same, newest first. */
  *newestIds(signal: Signal): IterableIterator<number> {
    const sql = 'SELECT id FROM batch WHERE signal = ? ORDER BY id DESC';
    for (const row of this.#prepare(sql).iterate(signal)) yield Number(row['id']);
  }

  has(id: number): boolean {
    return this.#get('SELECT 1 FROM batch WHERE id = ?', id) !== undefined;
  }

  head(id: number): RowHead | null {
    const row = this.#get(`SELECT ${HEAD_COLUMNS} FROM batch WHERE id = ?`, id);
    return row === undefined ? null : headOf(row);
  }

  /** All rows without their bodies, in no order. */
  *heads(): IterableIterator<RowHead> {
    for (const row of this.#prepare(`SELECT ${HEAD_COLUMNS} FROM batch`).iterate())
      yield headOf(row);
  }

  /** The row, and whether its checksum is right; null when there is none. */
  read(id: number): { readonly row: QueueRow; readonly isSound: boolean } | null {
    const found = this.#get('SELECT * FROM batch WHERE id = ?', id);
    if (found === undefined) return null;
    const row = rowOf(found);
    return { row, isSound: checksumOf(row, String(found['parts'])) === found['checksum'] };
  }

  ages(signal: Signal): RowTimes {
    const made = (order: string): number | null => {
      const sql = `SELECT made_at_ms FROM batch WHERE signal = ? ORDER BY id ${order} LIMIT 1`;
      const row = this.#get(sql, signal);
      return row === undefined ? null : Number(row['made_at_ms']);
    };
    return { oldestAtMs: made('ASC'), newestAtMs: made('DESC') };
  }

  putState(kind: string, key: string, blob: Buffer | null): void {
    if (blob === null) this.#run('DELETE FROM state WHERE kind = ? AND key = ?', kind, key);
    else
      this.#run(
        'INSERT OR REPLACE INTO state (kind, key, checksum, blob) VALUES (?, ?, ?, ?)',
        kind,
        key,
        crc32(blob),
        blob,
      );
  }

  readState(kind: string, key: string): Buffer | 'damaged' | null {
    const row = this.#get('SELECT checksum, blob FROM state WHERE kind = ? AND key = ?', kind, key);
    if (row === undefined) return null;
    const blob = bufferOf(row['blob']);
    return crc32(blob) === row['checksum'] ? blob : 'damaged';
  }

  stateKeys(kind: string): readonly string[] {
    return this.#all('SELECT key FROM state WHERE kind = ?', kind).map(row => String(row['key']));
  }

  addCounts(counts: readonly Count[]): void {
    for (const { service, key, count } of counts)
      this.#run(
        `INSERT INTO account (service, key, count) VALUES (?, ?, ?)
         ON CONFLICT (service, key) DO UPDATE SET count = count + excluded.count`,
        service,
        key,
        count,
      );
  }

  counts(): readonly Count[] {
    return this.#all('SELECT service, key, count FROM account').map(row => ({
      service: String(row['service']),
      key: String(row['key']),
      count: Number(row['count']),
    }));
  }

  /** Adds entries, and removes the oldest beyond the bounds. */
  addSetAside(entries: readonly SetAside[]): void {
    for (const { atMs, signal, service, points, reason, sample } of entries)
      this.#run(
        `INSERT INTO set_aside (at_ms, signal, service, points, reason, sample)
         VALUES (?, ?, ?, ?, ?, ?)`,
        Math.round(atMs),
        signal,
        service,
        points,
        reason,
        sample,
      );
    if (entries.length === 0) return;
    this.#run(
      `DELETE FROM set_aside WHERE id <= (
         SELECT coalesce(max(id), 0) FROM (
           SELECT id, row_number() OVER newest AS place, sum(length(sample)) OVER newest AS bytes
           FROM set_aside WINDOW newest AS (ORDER BY id DESC)
         ) WHERE place > ? OR bytes > ?
       )`,
      SET_ASIDE_ROWS_MAX,
      SET_ASIDE_BYTES_MAX,
    );
  }

  setAside(count: number): readonly SetAside[] {
    return this.#all('SELECT * FROM set_aside ORDER BY id DESC LIMIT ?', count).map(asideOf);
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) this.#statements.set(sql, (statement = this.#db.prepare(sql)));
    return statement;
  }

  #run(sql: string, ...values: SQLInputValue[]): void {
    this.#prepare(sql).run(...values);
  }

  #get(sql: string, ...values: SQLInputValue[]): Columns | undefined {
    return this.#prepare(sql).get(...values);
  }

  #all(sql: string, ...values: SQLInputValue[]): readonly Columns[] {
    return this.#prepare(sql).all(...values);
  }
}

function headOf(columns: Columns): RowHead {
  return {
    id: Number(columns['id']),
    signal: String(columns['signal']) as Signal,
    madeAtMs: Number(columns['made_at_ms']),
    parts: decodeParts(String(columns['parts'])),
    body: { length: Number(columns['body_bytes']) },
  };
}

/** The row; the caller verifies its checksum. */
export function rowOf(columns: Columns): QueueRow {
  return {
    ...headOf(columns),
    encoding: String(columns['encoding']) as Encoding,
    body: bufferOf(columns['body']),
    rawBytes: Number(columns['raw_bytes']),
  };
}

/** A set-aside entry; it has no checksum. */
export function asideOf(columns: Columns): SetAside {
  return {
    atMs: Number(columns['at_ms']),
    signal: String(columns['signal']) as Signal,
    service: String(columns['service']),
    points: Number(columns['points']),
    reason: String(columns['reason']),
    sample: bufferOf(columns['sample']),
  };
}

/** Covers all columns that determine the bytes to send. */
export function checksumOf(row: NewRow, parts: string): number {
  const { signal, encoding, madeAtMs, rawBytes, body } = row;
  const head = [signal, encoding, Math.round(madeAtMs), rawBytes, parts].join(' ');
  return crc32(body, crc32(head));
}

function encodeParts(parts: readonly BatchPart[]): string {
  return JSON.stringify(
    parts.map(({ service, points, offset, length }) => [service, points, offset, length]),
  );
}

export function bufferOf(value: unknown): Buffer {
  if (!(value instanceof Uint8Array)) return Buffer.alloc(0);
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

/** [] when they are damaged. */
function decodeParts(text: string): readonly BatchPart[] {
  try {
    const parts = JSON.parse(text) as readonly [string, number, number, number][];
    const isSound = parts.every(([, ...numbers]) =>
      numbers.every(one => isSoundNumber(one) && one >= 0),
    );
    if (!isSound) return [];
    return parts.map(([service, points, offset, length]) => ({ service, points, offset, length }));
  } catch {
    return [];
  }
}
