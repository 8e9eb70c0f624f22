// The file format of the queue: one SQLite database, its tables, and how it is opened. A commit survives a crash of the
// process (WAL) and a power cut (synchronous FULL, if the disk honours fsync).
//
//   batch      queued requests: compressed body, index by service, checksum of both
//   state      blobs by kind and key, committed together with their batches
//   account    the outcome of every sample and point, by service
//   set_aside  content that the back end refused for good, bounded

import { DatabaseSync } from 'node:sqlite';
import { UnsafeFileError } from '../../lib/private-files.ts';

/** Marks the file as ours: `p2ot`. */
const APPLICATION_ID = 0x70326f74;
/** Increased with every change that an older version cannot read. */
export const FORMAT_VERSION = 1;

// AUTOINCREMENT: without it SQLite would reuse the id of the newest row after that row was deleted.
// The body is the last column, so that reading the others does not touch its pages. SQLite stores this text, and a file
// with a different text counts as damaged. So any change to it, even of a blank, needs a new FORMAT_VERSION.
const TABLES = `
  CREATE TABLE batch (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    signal TEXT NOT NULL,
    encoding TEXT NOT NULL,
    made_at_ms INTEGER NOT NULL,
    raw_bytes INTEGER NOT NULL,
    points INTEGER NOT NULL,
    counted_bytes INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    parts TEXT NOT NULL,
    body BLOB NOT NULL
  ) STRICT;
  CREATE INDEX batch_by_signal ON batch (signal, id);
  CREATE TABLE state (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    blob BLOB NOT NULL,
    PRIMARY KEY (kind, key)
  ) STRICT;
  CREATE TABLE account (
    service TEXT NOT NULL,
    key TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (service, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE set_aside (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    signal TEXT NOT NULL,
    service TEXT NOT NULL,
    points INTEGER NOT NULL,
    reason TEXT NOT NULL,
    sample BLOB NOT NULL
  ) STRICT;
`;

/** Larger numbers are damage: a Date cannot hold them, and a JavaScript number soon loses digits. */
const NUMBER_MAX = 8_000_000_000_000_000;

const NUMBERS: Readonly<Record<string, readonly string[]>> = {
  batch: ['id', 'made_at_ms', 'raw_bytes', 'points', 'counted_bytes', 'checksum'],
  state: ['checksum'],
  account: ['count'],
  set_aside: ['id', 'at_ms', 'points'],
  sqlite_sequence: ['seq'],
};

/** Each statement finds a damaged number of a table. */
export const FIND_BAD_NUMBERS: readonly string[] = Object.entries(NUMBERS).map(
  ([table, columns]) => {
    const range = `${String(-NUMBER_MAX)} AND ${String(NUMBER_MAX)}`;
    const isBad = columns.map(name => `${name} NOT BETWEEN ${range}`).join(' OR ');
    return `SELECT 1 FROM ${table} WHERE ${isBad} LIMIT 1`;
  },
);

const SCHEMA = `
  SELECT type, name, tbl_name, sql FROM sqlite_schema
  WHERE name NOT GLOB 'sqlite_stat[0-9]' ORDER BY name
`;

/**
 * The text of the schema, for a comparison: damage may change columns and leave the file readable.
 * Omits the statistics that another program may have asked SQLite for (ANALYZE).
 */
export function schemaOf(db: DatabaseSync): string {
  return JSON.stringify(db.prepare(SCHEMA).all());
}

/** True for an integer in the range that a column of the file may have. */
export function isSoundNumber(value: unknown): value is number {
  return Number.isInteger(value) && Math.abs(Number(value)) <= NUMBER_MAX;
}

/** A storage failure found by us instead of SQLite or the operating system; with a remedy, the file is left as it is. */
export class StorageError extends Error {
  readonly remedy: string | null;

  constructor(message: string, remedy: string | null = null) {
    super(message);
    this.remedy = remedy;
  }
}

export interface OpenOptions {
  readonly isReadOnly?: boolean;
  /** The size of the log that triggers a checkpoint. */
  readonly checkpointBytes?: number;
}

export const PAGE_BYTES = 4096;
/** How long the event loop may block while another program, such as a backup, has the file locked. */
const BUSY_MS = 200;

/** Opens or creates the database. Throws SQLite's errors, and a StorageError for a file that is not ours. */
export function openDatabase(path: string, options: OpenOptions = {}): DatabaseSync {
  const { isReadOnly = false, checkpointBytes = 1024 * 1024 } = options;
  const db = new DatabaseSync(path, { readOnly: isReadOnly, timeout: BUSY_MS });
  try {
    checkFormat(db);
    if (!isReadOnly) prepare(db, Math.ceil(checkpointBytes / PAGE_BYTES));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function prepare(db: DatabaseSync, checkpointPages: number): void {
  // page_size and auto_vacuum only work before the first table is created; the other settings are per connection.
  db.exec(`
    PRAGMA page_size = ${String(PAGE_BYTES)};
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = ${String(checkpointPages)};
    PRAGMA journal_size_limit = ${String(16 * 1024 * 1024)};
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
  `);
  if (pragma(db, 'user_version') === FORMAT_VERSION) return;
  db.exec(`
    BEGIN IMMEDIATE;
    ${TABLES}
    PRAGMA application_id = ${String(APPLICATION_ID)};
    PRAGMA user_version = ${String(FORMAT_VERSION)};
    COMMIT;
  `);
}

const OTHER_VERSION =
  'deliver it with the version that made it (`prom2otlp queue drain`), then start this one';

function checkFormat(db: DatabaseSync): void {
  const version = pragma(db, 'user_version');
  const isEmpty = version === 0 && pragma(db, 'schema_version') === 0;
  if (isEmpty) return;
  if (pragma(db, 'application_id') !== APPLICATION_ID)
    throw new StorageError('it belongs to another program', 'name a directory of its own');
  if (version !== FORMAT_VERSION) {
    const cause = `it has format ${version}, made by another version; this one reads format ${FORMAT_VERSION}`;
    throw new StorageError(cause, OTHER_VERSION);
  }
}

function pragma(db: DatabaseSync, name: string): number {
  const row = db.prepare(`PRAGMA ${name}`).get();
  return Number(Object.values(row ?? {})[0]);
}

/** Why SQLite failed. `busy`: another process has a lock. */
export type StorageProblem = 'full' | 'damaged' | 'busy' | 'other';

const PROBLEM_OF_CODE: Readonly<Record<number, StorageProblem>> = {
  // No such table or column: the statements are ours, so the text of the schema is damaged.
  1: 'damaged',
  5: 'busy',
  6: 'busy',
  11: 'damaged',
  13: 'full',
  26: 'damaged',
};

export function storageProblem(error: unknown): StorageProblem | null {
  if (!(error instanceof Error)) return null;
  // SQLite's bindings throw this for a number beyond 2^53.
  if ('code' in error && error.code === 'ERR_OUT_OF_RANGE') return 'damaged';
  if (!('errcode' in error)) return null;
  // The lower eight bits are the primary code.
  return PROBLEM_OF_CODE[Number(error.errcode) & 0xff] ?? 'other';
}

/** SQLite's code when its shared memory cannot grow: only space is missing. */
const IOERR_SHMSIZE = 4874;
const NO_SPACE: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

/** True when only space is missing, whether SQLite or the operating system reports it. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (storageProblem(error) === 'full') return true;
  const { code, errcode } = error as { readonly code?: unknown; readonly errcode?: unknown };
  return errcode === IOERR_SHMSIZE || NO_SPACE.has(code);
}

/** True for failures of disks and files; any other error is a bug. */
export function isStorageFailure(error: unknown): boolean {
  if (error instanceof StorageError || error instanceof UnsafeFileError) return true;
  if (storageProblem(error) !== null) return true;
  return error instanceof Error && 'syscall' in error;
}
