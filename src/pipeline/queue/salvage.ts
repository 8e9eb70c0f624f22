// Salvages a damaged queue file: every readable row with a valid checksum is copied into a new file, so that a lost page
// costs only the rows on it. The damaged file is not changed. If its header is damaged, SQLite reads nothing of it.

import { readSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { withFile } from '../../lib/private-files.ts';
import { asideOf, bufferOf, checksumOf, type Columns, QueueFile, rowOf } from './queue-file.ts';
import { isSoundNumber } from './schema.ts';

/** The versions of the format for writing and reading: https://www.sqlite.org/fileformat.html, 1.3. */
const VERSIONS_AT = 18;

/** True when SQLite would only read a file because a byte of its header is damaged. Throws when it cannot be read. */
export function isHeaderDamaged(path: string): boolean {
  const versions = Buffer.alloc(2);
  const length = withFile(path, 'r', file => readSync(file, versions, 0, 2, VERSIONS_AT));
  return length > 0 && versions.some(version => version !== 1 && version !== 2);
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
  readFromBothEnds(damaged, 'SELECT id FROM batch NOT INDEXED', ['id'], ({ id }) => {
    if (isSoundNumber(id)) known.add(id);
  });
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
