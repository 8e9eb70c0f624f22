// Recovers the data of a damaged queue file. Two parts may be damaged:
//
//   the header,  One wrong byte makes the whole file unreadable for SQLite. Most of these bytes are the same in every
//   the schema   file of ours, so they are corrected in place. A file of another program is not changed.
//   the pages    Every readable row with a valid checksum is copied into a new file, so that a lost page costs only the
//                rows on it. The damaged file is not changed.

import { readSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { withFile } from '../../lib/private-files.ts';
import {
  asideOf,
  bufferOf,
  checksumOf,
  type Columns,
  MEMORY,
  QueueFile,
  rowOf,
} from './queue-file.ts';
import {
  APPLICATION_ID,
  FORMAT_VERSION,
  isSoundNumber,
  openDatabase,
  PAGE_BYTES,
} from './schema.ts';

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

/** True when a file is ours and its header is damaged. Throws when it cannot be read. */
export function isHeaderDamaged(path: string): boolean {
  return damagedFields(firstPageOf(path)).length > 0;
}

/** Corrects the damaged header and the damaged text of the schema of a file of ours, in place. */
export function mendFirstPage(path: string): void {
  const page = firstPageOf(path);
  if (!MARKS.every(field => isSound(page, field))) return;
  const damaged = [...damagedFields(page), ...damagedTexts(page)];
  if (damaged.length === 0) return;
  withFile(path, 'r+', file => {
    for (const { offset, bytes } of damaged) writeSync(file, bytes, 0, bytes.length, offset);
  });
}

function firstPageOf(path: string): Buffer {
  const page = Buffer.alloc(PAGE_BYTES);
  withFile(path, 'r', file => readSync(file, page));
  return page;
}

function isSound(page: Buffer, { offset, bytes, orBytes }: Field): boolean {
  const found = page.subarray(offset, offset + bytes.length);
  return found.equals(bytes) || orBytes?.equals(found) === true;
}

function damagedFields(page: Buffer): readonly Field[] {
  const isOurs = MARKS.every(field => isSound(page, field));
  return isOurs ? FIXED.filter(field => !isSound(page, field)) : [];
}

/** The texts of the schema that the page contains with a few wrong bytes. All texts are on the first page. */
function damagedTexts(page: Buffer): readonly Field[] {
  using sound = openDatabase(MEMORY);
  const rows = sound.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL').all();
  return rows
    .map(row => Buffer.from(String(row['sql'])))
    .filter(bytes => !page.includes(bytes))
    .map(bytes => ({ offset: placeOf(bytes, page), bytes }))
    .filter(({ offset }) => offset >= 0);
}

const WRONG_BYTES_MAX = 8;

/** The offset at which a page contains a text with a few wrong bytes; -1 if it does not. */
function placeOf(text: Buffer, page: Buffer): number {
  for (let offset = 0; offset + text.length <= page.length; offset++) {
    let wrong = 0;
    for (let i = 0; i < text.length && wrong <= WRONG_BYTES_MAX; i++)
      if (page[offset + i] !== text[i]) wrong++;
    if (wrong <= WRONG_BYTES_MAX) return offset;
  }
  return -1;
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
    using damaged = openDamaged(damagedPath);
    if (damaged === null) return { rows: 0, lostRows: 0, states: 0, lostStates: 0 };
    const batches = takeBatches(damaged, fresh);
    return fresh.transact(() => {
      const states = takeStates(damaged, fresh);
      takeAccount(damaged, fresh);
      takeSetAside(damaged, fresh);
      return { ...batches, ...states };
    });
  } finally {
    fresh.close();
  }
}

function openDamaged(path: string): DatabaseSync | null {
  try {
    const damaged = new DatabaseSync(path, {
      readOnly: true,
      defensive: false,
      // Otherwise a number that is too large would end the reading.
      readBigInts: true,
    });
    // Without this SQLite cannot read a file whose tail is missing.
    damaged.exec('PRAGMA writable_schema = ON');
    return damaged;
  } catch {
    return null;
  }
}

function takeBatches(
  damaged: DatabaseSync,
  fresh: QueueFile,
): Pick<SalvageReport, 'rows' | 'lostRows'> {
  const known = new Set<number>();
  const note = ({ id }: Columns): void => void (isSoundNumber(id) && known.add(id));
  // The table and its index may be damaged in different places.
  readFromBothEnds(damaged, 'SELECT id FROM batch NOT INDEXED', ['id'], note);
  const byIndex = 'SELECT id FROM batch INDEXED BY batch_by_signal';
  readFromBothEnds(damaged, byIndex, ['signal', 'id'], note);
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
      if (checksumOf(row, String(columns['parts'])) !== columns['checksum']) return;
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
  const sql = 'SELECT * FROM state NOT INDEXED';
  readFromBothEnds(damaged, sql, ['rowid'], ({ kind, key, checksum, ...rest }) => {
    const name = `${String(kind)} ${String(key)}`;
    const blob = bufferOf(rest['blob']);
    if (taken.has(name)) return;
    if (crc32(blob) !== checksum) {
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
  const sql = 'SELECT * FROM account';
  readFromBothEnds(damaged, sql, ['service', 'key'], ({ service, key, count }) => {
    const name = `${String(service)}\u0000${String(key)}`;
    if (taken.has(name) || !isSoundNumber(count)) return;
    taken.add(name);
    fresh.addCounts([{ service: String(service), key: String(key), count }]);
  });
}

/** Copies the entries before the first unreadable one, and skips damaged numbers: entries are only for inspection. */
function takeSetAside(damaged: DatabaseSync, fresh: QueueFile): void {
  readUntilDamage(damaged, 'SELECT * FROM set_aside ORDER BY id', columns => {
    if (isSoundNumber(columns['at_ms']) && isSoundNumber(columns['points']))
      fresh.addSetAside([asideOf(columns)]);
  });
}

/** Reads in both directions, to reach the rows before and after the damage. May call `take` twice with a row. */
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
  let rows: Iterator<Columns> | undefined;
  for (;;) {
    let columns: Columns;
    try {
      rows ??= damaged.prepare(sql).iterate();
      const { done, value } = rows.next();
      if (done === true) return;
      const entries = Object.entries(value).map(([name, one]) => [
        name,
        typeof one === 'bigint' ? Number(one) : one,
      ]);
      columns = Object.fromEntries(entries) as Columns;
    } catch {
      return;
    }
    take(columns);
  }
}
