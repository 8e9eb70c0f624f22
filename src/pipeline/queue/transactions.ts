// The transactions of the queue, as functions over its file. Each returns the change of the queue's numbers. A function
// may run a second time after the file was replaced or space was freed. The oldest rows are evicted first, but never a
// row that is being sent.

import { failpoint, isRowLost } from '../../lib/failpoint.ts';
import type { Signal } from '../../model/batch.ts';
import { Change, type EvictionReason } from './account.ts';
import type { QueueFile, RowHead } from './queue-file.ts';
import type { Commit, QueueRow, SetAside, Settlement } from './commit.ts';
import { rowBytes, sumPoints } from './rows.ts';

export interface Limits {
  /** Rows that are being sent: they are not evicted. */
  readonly pinned: Pick<ReadonlySet<number>, 'has'>;
  /** Older metrics are evicted. */
  readonly madeBeforeMs: number;
}

export interface Situation extends Limits {
  readonly space: Readonly<Record<Signal, { readonly bytes: number; readonly maxBytes: number }>>;
  /** The reason to count for rows that are evicted to make room. */
  readonly evictedFor: EvictionReason;
}

/** The outcome of a row. */
export interface Outcome {
  readonly settlements: readonly Settlement[];
  readonly aside: readonly SetAside[];
}

export function settledPoints(settlements: readonly Settlement[]): number {
  return settlements.reduce(
    (sum, { accepted, rejected, setAside }) => sum + accepted + rejected + setAside,
    0,
  );
}

/** The most bytes to keep of a damaged row or of a refused piece. */
export const SAMPLE_BYTES_MAX: number = 64 * 1024;

/** Stores a commit: its rows, counts and state. */
export function storeCommit(
  file: QueueFile,
  commit: Pick<Commit, 'reads' | 'state'>,
  rows: readonly QueueRow[],
  situation: Situation,
): Change {
  failpoint('commit-begun');
  const change = evictExpired(file, situation);
  for (const row of rows) putRow(file, change, row, situation);
  failpoint('commit-stored');
  for (const read of commit.reads) change.read(read);
  for (const { kind, key, blob } of commit.state) file.putState(kind, key, blob);
  failpoint('commit-state');
  return change;
}

/** Puts a row of metrics from memory into the file. The account already counts it. */
export function moveRow(
  file: QueueFile,
  change: Change,
  row: QueueRow,
  situation: Situation,
): void {
  const { bytes, maxBytes } = situation.space.metrics;
  evictOldest(file, change, bytes + change.sums.metrics.bytes - maxBytes, situation);
  file.insert(row);
}

export function evictExpired(file: QueueFile, { pinned, madeBeforeMs }: Limits): Change {
  const change = new Change();
  const situation = { pinned, evictedFor: 'age' } as const;
  evictWhile(file, change, situation, head => head.madeAtMs < madeBeforeMs);
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

/** Evicts the oldest metrics until `bytes` are freed. */
function evictOldest(
  file: QueueFile,
  change: Change,
  bytes: number,
  situation: Pick<Situation, 'pinned' | 'evictedFor'>,
): void {
  let freedBytes = 0;
  evictWhile(file, change, situation, head => {
    const isNeeded = freedBytes < bytes;
    if (isNeeded) freedBytes += rowBytes(head);
    return isNeeded;
  });
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
