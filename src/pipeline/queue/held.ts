// Holds commits of metrics while the queue's file cannot be written. They are in a second database, in memory and of
// bounded size. Its rows are sent like the rows in the file; when it is full, the oldest are evicted and counted. All
// data moves into the file once the file can be written again.
//
//   numbers of the queue (account.ts) = numbers in the file + numbers held here

import { type Account, Change } from './account.ts';
import { MEMORY, QueueFile, SET_ASIDE_ROWS_MAX } from './queue-file.ts';
import type { Commit, QueueRow, StateChange } from './commit.ts';
import { rowBytes } from './rows.ts';
import { storeCommit, type Situation } from './transactions.ts';

/** Counts compressed bytes: enough for hours of metrics. */
const HELD_BYTES_MAX = 16 * 2 ** 20;

export class Held {
  readonly #maxBytes: number;
  #file: QueueFile | null = null;
  /** What the rows count towards the limit. A sum over the rows at every commit would cost the square of their number. */
  #bytes = 0;
  /** The blobs to store; a null blob deletes the stored one. */
  readonly #state = new Map<string, StateChange>();

  /** `maxBytes`: the limit of metrics in the queue. */
  constructor(maxBytes: number) {
    this.#maxBytes = Math.min(maxBytes, HELD_BYTES_MAX);
  }

  /** Rows, counts and set-aside entries; null while nothing is held. */
  get file(): QueueFile | null {
    return this.#file;
  }

  /** The held blob; null when the stored blob is to be deleted, undefined when none is held for that kind and key. */
  readState(kind: string, key: string): Buffer | null | undefined {
    return this.#state.get(stateName(kind, key))?.blob;
  }

  stateChanges(kind: string): readonly StateChange[] {
    return [...this.#state.values()].filter(change => change.kind === kind);
  }

  /** The rows, oldest first; read one by one. */
  *rows(): IterableIterator<QueueRow> {
    // All ids at once, because the caller may remove rows.
    const ids = [...(this.#file?.ids('metrics') ?? [])];
    for (const id of ids) {
      const found = this.#file?.read(id);
      if (found) yield found.row;
    }
  }

  /** Holds a commit of metrics. Returns its change of the numbers. */
  hold(
    { reads, state }: Commit,
    rows: readonly QueueRow[],
    { pinned, madeBeforeMs }: Pick<Situation, 'pinned' | 'madeBeforeMs'>,
  ): Change {
    this.#file ??= QueueFile.open(MEMORY);
    for (const { kind, key, blob } of state)
      this.#state.set(stateName(kind, key), { kind, key, blob: blob && Buffer.from(blob) });
    const situation: Situation = {
      pinned,
      madeBeforeMs,
      space: {
        metrics: { bytes: this.#bytes, maxBytes: this.#maxBytes },
        logs: { bytes: 0, maxBytes: 0 },
      },
      hasRoom: true,
      evictedFor: 'disk',
    };
    return this.write(file => storeCommit(file, { reads, state: [] }, rows, situation));
  }

  /** Runs `work` as one transaction, and writes its counts. */
  write(work: (file: QueueFile) => Change): Change {
    const file = this.#file;
    if (file === null) return new Change();
    const change = file.transact(() => {
      const made = work(file);
      file.addCounts(made.counts());
      return made;
    });
    this.#bytes += change.sums.metrics.bytes;
    return change;
  }

  /** Writes everything except the rows into the queue's file, within its transaction. Call `copied` after the commit. */
  copyTo(file: QueueFile, account: Account): void {
    file.addCounts(account.named(this.#file?.counts() ?? []));
    for (const { kind, key, blob } of this.#state.values()) file.putState(kind, key, blob);
    file.addSetAside(this.#file?.setAside(SET_ASIDE_ROWS_MAX).toReversed() ?? []);
  }

  /** The transaction of `copyTo` was committed: only the rows are held from now on. */
  copied(): void {
    this.#state.clear();
    this.#file?.clearCounts();
    this.#close();
  }

  /** A row is in the queue's file now. */
  moved(row: QueueRow): void {
    this.#file?.remove(row.id);
    this.#bytes -= rowBytes(row);
    this.#close();
  }

  /** Frees the memory once nothing is held. */
  #close(): void {
    if (this.#file === null || this.#file.ages('metrics').oldestAtMs !== null) return;
    this.#file.close();
    this.#file = null;
    this.#bytes = 0;
  }
}

function stateName(kind: string, key: string): string {
  return `${kind}\u0000${key}`;
}
