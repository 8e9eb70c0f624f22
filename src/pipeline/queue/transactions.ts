// What the durable queue does within one transaction, as functions over its file: each gives the change that it
// makes to the numbers. They may run twice, after the file was replaced or space was made.

import { failpoint, isArmed, LOSE_ROW } from '../../lib/failpoint.ts';
import type { Signal } from '../../model/batch.ts';
import { Change } from './change.ts';
import { evictExpired, evictOldest } from './eviction.ts';
import type { QueueFile } from './queue-file.ts';
import type { Commit, QueueRow, QueueStats, RowRest, SetAside, Settlement } from './queue.ts';
import { rowBytes, sumBytes } from './rows.ts';
import { StorageError } from './schema.ts';

/** What is known before a transaction, and what it must keep to. */
export interface Situation {
  /** Rows that are being sent. */
  readonly pinned: ReadonlySet<number>;
  /** Metrics from before this time are too old. */
  readonly madeBeforeMs: number;
  readonly stats: Readonly<Record<Signal, QueueStats>>;
  /** False while the disk is full. */
  readonly hasRoom: boolean;
}

/** The settlement of a row. */
export interface Outcome {
  readonly settlements: readonly Settlement[];
  readonly aside: readonly SetAside[];
  /** Null when all of it is settled. */
  readonly rest: RowRest | null;
}

/** Two settlements of one row as one. */
export function joinOutcomes(first: Outcome | undefined, second: Outcome): Outcome {
  if (first === undefined) return second;
  const settlements = [...first.settlements, ...second.settlements];
  return { settlements, aside: [...first.aside, ...second.aside], rest: second.rest };
}

/** Everything of a commit; `rows` are its batches. Throws when the disk is full and nothing can be exchanged. */
export function storeCommit(
  file: QueueFile,
  commit: Commit,
  rows: readonly QueueRow[],
  situation: Situation,
): Change {
  failpoint('commit-begun');
  const change = new Change();
  evictExpired(file, change, situation);
  if (!situation.hasRoom) makeRoom(file, change, rows, situation);
  for (const row of rows) putRow(file, change, row, situation);
  failpoint('commit-stored');
  for (const read of commit.reads) change.read(read);
  for (const { kind, key, blob } of commit.state) file.putState(kind, key, blob);
  failpoint('commit-state');
  return change;
}

/** Writes a row of metrics that was held in memory, where all its numbers stand already. */
export function storeHeld(file: QueueFile, row: QueueRow, situation: Situation): Change {
  const change = new Change();
  if (!situation.hasRoom) makeRoom(file, change, [row], situation);
  const { bytes, maxBytes } = situation.stats.metrics;
  const { pinned } = situation;
  evictOldest(file, change, { pinned, bytes: bytes - maxBytes, reason: 'size' });
  file.insert(row);
  return change;
}

/** Gives up metrics that are too old. */
export function expire(
  file: QueueFile,
  situation: Pick<Situation, 'pinned' | 'madeBeforeMs'>,
): Change {
  const change = new Change();
  evictExpired(file, change, situation);
  return change;
}

/** Removes a row, or puts what is left of it in its place, and keeps what was set aside of it. */
export function settleRow(file: QueueFile, id: number, outcome: Outcome): Change {
  const change = new Change();
  const head = file.head(id);
  if (head === null) return change;
  failpoint('settle-begun');
  file.remove(id);
  failpoint('settle-removed');
  change.removed(head);
  if (outcome.rest !== null) {
    const { signal, madeAtMs } = head;
    const row = { id, signal, madeAtMs, ...outcome.rest };
    file.insert(row);
    change.added(row);
  }
  for (const settlement of outcome.settlements) change.settle(settlement);
  file.addSetAside(outcome.aside);
  return change;
}

/** On a full disk metrics are stored in the place of older ones, or not at all. */
function makeRoom(
  file: QueueFile,
  change: Change,
  rows: readonly QueueRow[],
  { pinned }: Situation,
): void {
  const bytes = sumBytes(rows);
  const isExchanged =
    rows.every(row => row.signal === 'metrics') &&
    evictOldest(file, change, { pinned, bytes, reason: 'disk' }) >= bytes;
  if (!isExchanged) throw new StorageError('the disk is full; free space on it');
}

/** Adds a row at the cost of the oldest ones; one that has no room even so is evicted itself. */
function putRow(file: QueueFile, change: Change, row: QueueRow, situation: Situation): void {
  const { signal } = row;
  change.made(row);
  const stats = situation.stats[signal];
  const freeBytes = (): number => stats.maxBytes - stats.bytes - change.sums[signal].bytes;
  const bytes = rowBytes(row);
  if (signal === 'metrics' && bytes <= stats.maxBytes) {
    const { pinned } = situation;
    evictOldest(file, change, { pinned, bytes: bytes - freeBytes(), reason: 'size' });
  }
  if (bytes > freeBytes()) {
    change.evicted(row, 'size');
    return;
  }
  // A test loses a row here on purpose: the account and the oracle must notice.
  if (isArmed(LOSE_ROW)) return;
  file.insert(row);
  change.added(row);
}
