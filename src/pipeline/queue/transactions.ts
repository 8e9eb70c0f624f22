// The transactions of the queue, as functions over its file. Each returns the change of the queue's numbers. A function
// may run a second time after the file was replaced or space was freed. The oldest rows are evicted first, but never a
// row that is being sent.

import { failpoint, isRowLost } from '../../lib/failpoint.ts';
import type { Signal } from '../../model/batch.ts';
import { Change, type EvictionReason } from './account.ts';
import type { QueueFile, RowHead } from './queue-file.ts';
import type { Commit, QueueRow, RowRest, SetAside, Settlement } from './commit.ts';
import { rowBytes, sumBytes, sumPoints } from './rows.ts';
import { StorageError } from './schema.ts';

export interface Situation {
  /** Rows that are being sent: they are not evicted. */
  readonly pinned: ReadonlySet<number>;
  /** Older metrics are evicted. */
  readonly madeBeforeMs: number;
  readonly space: Readonly<Record<Signal, { readonly bytes: number; readonly maxBytes: number }>>;
  /** False while the disk is full. */
  readonly hasRoom: boolean;
  /** The reason to count for rows that are evicted to make room. */
  readonly evictedFor: EvictionReason;
}

/** A settlement of a whole row, or of a part. */
export interface Outcome {
  readonly settlements: readonly Settlement[];
  readonly aside: readonly SetAside[];
  /** Null when the whole row is settled. */
  readonly rest: RowRest | null;
}

/** The most bytes to keep of a damaged row or of a refused piece. */
export const SAMPLE_BYTES_MAX: number = 64 * 1024;

export function joinOutcomes(first: Outcome | undefined, second: Outcome): Outcome {
  if (first === undefined) return second;
  const settlements = [...first.settlements, ...second.settlements];
  return { settlements, aside: [...first.aside, ...second.aside], rest: second.rest };
}

export function settledPoints({ settlements }: Outcome): number {
  return settlements.reduce(
    (sum, { accepted, rejected, setAside }) => sum + accepted + rejected + setAside,
    0,
  );
}

/**
 * Stores a commit: its rows, counts and state. Throws when the disk is full and old rows cannot make room.
 */
export function storeCommit(
  file: QueueFile,
  commit: Pick<Commit, 'reads' | 'state'>,
  rows: readonly QueueRow[],
  situation: Situation,
): Change {
  failpoint('commit-begun');
  const change = expire(file, situation);
  if (!situation.hasRoom) makeRoom(file, change, rows, situation);
  for (const row of rows) putRow(file, change, row, situation);
  failpoint('commit-stored');
  for (const read of commit.reads) change.read(read);
  for (const { kind, key, blob } of commit.state) file.putState(kind, key, blob);
  failpoint('commit-state');
  return change;
}

/** Moves a held row of metrics into the file. The account already counts it. */
export function storeHeld(file: QueueFile, row: QueueRow, situation: Situation): Change {
  const change = new Change();
  if (!situation.hasRoom) makeRoom(file, change, [row], situation);
  const { bytes, maxBytes } = situation.space.metrics;
  evictOldest(file, change, bytes - maxBytes, situation);
  file.insert(row);
  return change;
}

export function expire(
  file: QueueFile,
  { pinned, madeBeforeMs }: Pick<Situation, 'pinned' | 'madeBeforeMs'>,
): Change {
  const change = new Change();
  const situation = { pinned, evictedFor: 'age' } as const;
  evictWhile(file, change, situation, head => head.madeAtMs < madeBeforeMs);
  return change;
}

/** Removes a row, or replaces it by its rest, and stores the set-aside entries. */
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
  for (const settlement of outcome.settlements) change.settled(settlement);
  file.addSetAside(outcome.aside);
  return change;
}

/** Evicts a row with a wrong checksum, and keeps its bytes for inspection. */
export function removeDamaged(file: QueueFile, id: number, atMs: number): Change {
  const change = new Change();
  const head = file.head(id);
  const body = file.read(id)?.row.body;
  if (head === null || body === undefined) return change;
  evict(file, change, head, 'damaged');
  file.addSetAside([
    {
      signal: head.signal,
      service: head.parts.map(part => part.service).join(' '),
      points: sumPoints(head.parts),
      reason: 'damaged on disk: the body as it was read, compressed; its points count as evicted',
      sample: body.subarray(0, SAMPLE_BYTES_MAX),
      atMs,
    },
  ]);
  return change;
}

/** On a full disk, evicts as many bytes of old metrics as the rows need. Throws if it cannot, and for logs. */
function makeRoom(
  file: QueueFile,
  change: Change,
  rows: readonly QueueRow[],
  { pinned }: Situation,
): void {
  const bytes = sumBytes(rows);
  const isExchanged =
    rows.every(row => row.signal === 'metrics') &&
    evictOldest(file, change, bytes, { pinned, evictedFor: 'disk' }) >= bytes;
  if (!isExchanged) throw new StorageError('the disk is full; free space on it');
}

/** Adds a row; a row of metrics evicts the oldest ones to make room. A row that still has no room is itself evicted. */
function putRow(file: QueueFile, change: Change, row: QueueRow, situation: Situation): void {
  const { signal } = row;
  change.made(row);
  const space = situation.space[signal];
  const freeBytes = (): number => space.maxBytes - space.bytes - change.sums[signal].bytes;
  const bytes = rowBytes(row);
  if (signal === 'metrics' && bytes <= space.maxBytes)
    evictOldest(file, change, bytes - freeBytes(), situation);
  if (bytes > freeBytes()) {
    change.evicted(row, situation.evictedFor);
    return;
  }
  // A test arms this to check that the account and the oracle notice a lost row.
  if (isRowLost()) return;
  file.insert(row);
  change.added(row);
}

/** Evicts the oldest metrics until `bytes` are freed. Returns the number of bytes freed. */
function evictOldest(
  file: QueueFile,
  change: Change,
  bytes: number,
  situation: Pick<Situation, 'pinned' | 'evictedFor'>,
): number {
  let freedBytes = 0;
  evictWhile(file, change, situation, head => {
    const isNeeded = freedBytes < bytes;
    if (isNeeded) freedBytes += rowBytes(head);
    return isNeeded;
  });
  return freedBytes;
}

function evict(file: QueueFile, change: Change, head: RowHead, reason: EvictionReason): void {
  file.remove(head.id);
  failpoint('evict-removed');
  change.removed(head);
  change.evicted(head, reason);
}

/** Evicts metrics, oldest first, until `isWanted` returns false. Skips pinned rows. */
function evictWhile(
  file: QueueFile,
  change: Change,
  { pinned, evictedFor }: Pick<Situation, 'pinned' | 'evictedFor'>,
  isWanted: (head: RowHead) => boolean,
): void {
  // Collects all heads first, because a row must not be deleted while the ids are read.
  const heads: RowHead[] = [];
  for (const id of file.ids('metrics')) {
    const head = pinned.has(id) ? null : file.head(id);
    if (head === null) continue;
    if (!isWanted(head)) break;
    heads.push(head);
  }
  for (const head of heads) evict(file, change, head, evictedFor);
}
