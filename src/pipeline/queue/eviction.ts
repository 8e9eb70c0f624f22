// Which rows of the durable queue are given up, and how: the oldest first, never one that is being sent. Each
// function is part of the transaction that is open.

import { failpoint } from '../../lib/failpoint.ts';
import type { Signal } from '../../model/batch.ts';
import { Change } from './change.ts';
import type { QueueFile } from './queue-file.ts';
import type { EvictionReason } from './queue-meter.ts';
import type { RowHead } from './row-columns.ts';

/** What is kept of a row that was damaged on disk. */
const SAMPLE_BYTES_MAX = 64 * 1024;

/** Metrics made before a time. */
export function evictExpired(
  file: QueueFile,
  change: Change,
  options: { readonly pinned: ReadonlySet<number>; readonly madeBeforeMs: number },
): void {
  const { pinned, madeBeforeMs } = options;
  const isExpired = (head: RowHead): boolean => head.madeAtMs < madeBeforeMs;
  for (const head of oldestWhile(file, 'metrics', pinned, isExpired))
    evict(file, change, head, 'age');
}

/** The oldest metrics, until so many bytes are free; gives how many could be freed. */
export function evictOldest(
  file: QueueFile,
  change: Change,
  options: {
    readonly pinned: ReadonlySet<number>;
    readonly bytes: number;
    readonly reason: EvictionReason;
  },
): number {
  const { pinned, bytes, reason } = options;
  let freedBytes = 0;
  const isNeeded = (head: RowHead): boolean => {
    const isNeeded = freedBytes < bytes;
    if (isNeeded) freedBytes += head.countedBytes;
    return isNeeded;
  };
  for (const head of oldestWhile(file, 'metrics', pinned, isNeeded))
    evict(file, change, head, reason);
  return freedBytes;
}

/** A row that is not what was written: its points are lost, its bytes are kept for a look. */
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
      points: head.points,
      reason: 'damaged on disk: the body as it was read, compressed; its points count as evicted',
      sample: body.subarray(0, SAMPLE_BYTES_MAX),
      atMs,
    },
  ]);
  return change;
}

function evict(file: QueueFile, change: Change, head: RowHead, reason: EvictionReason): void {
  file.remove(head.id);
  failpoint('evict-removed');
  change.removed(head);
  change.evicted(head, reason);
}

/** The oldest rows up to the first that is not wanted; collected, since they will be deleted. */
function oldestWhile(
  file: QueueFile,
  signal: Signal,
  pinned: ReadonlySet<number>,
  isWanted: (head: RowHead) => boolean,
): readonly RowHead[] {
  const heads: RowHead[] = [];
  for (const id of file.ids(signal)) {
    const head = pinned.has(id) ? null : file.head(id);
    if (head === null) continue;
    if (!isWanted(head)) break;
    heads.push(head);
  }
  return heads;
}
