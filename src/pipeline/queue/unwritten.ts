// What the file of the queue does not have yet: rows of metrics, in the same kind of store as with `directory: null`; the
// ids of rows that are settled; counts, state and set-aside entries. In ordinary life it is empty between two calls. While
// the file cannot be written, it fills, and its rows are sent from here. It is bounded: the oldest rows are evicted.
//
//   numbers of the queue (account.ts) = numbers in the file + numbers here
//
// It goes into the file in steps of limited size, so that a disk that fails only at the end of a transaction does not cost
// the whole each time. Each step returns what to call once it is committed: until then, nothing is forgotten.

import { failpoint } from '../../lib/failpoint.ts';
import type { Signal } from '../../model/batch.ts';
import { type Account, Change } from './account.ts';
import type { Commit, QueueRow, RowTimes, SetAside, StateChange } from './commit.ts';
import { type Count, MEMORY, QueueFile, type RowHead, SET_ASIDE_ROWS_MAX } from './queue-file.ts';
import { rowBytes } from './rows.ts';
import {
  evictExpired,
  type Limits,
  moveRow,
  type Outcome,
  type Situation,
  storeCommit,
} from './transactions.ts';

/** For compressed rows, enough for hours of metrics; for set-aside entries, as much again. */
const BYTES_MAX = 16 * 2 ** 20;
const IDS_PER_STEP = 64;
const ROWS_PER_STEP = 16;

type Done = () => void;

export class Unwritten {
  #maxBytes = BYTES_MAX;
  /** Null while there are no rows. */
  #rows: QueueFile | null = null;
  /** What the rows count towards the limit. A sum over the rows at every commit would cost the square of their number. */
  #bytes = 0;
  /** Rows that are still in the file. */
  readonly #settled = new Map<number, Signal>();
  readonly #settledCounts: Record<Signal, number> = { metrics: 0, logs: 0 };
  readonly #counts = new Change();
  #aside: SetAside[] = [];
  /** By kind and key; a null blob deletes the stored one. */
  readonly #state = new Map<string, StateChange>();

  /** `maxBytes`: the limit of metrics in the queue. */
  limit(maxBytes: number): void {
    this.#maxBytes = Math.min(maxBytes, BYTES_MAX);
  }

  /** Bytes until the oldest rows here are evicted. */
  get freeBytes(): number {
    return Math.max(0, this.#maxBytes - this.#bytes);
  }

  get hasRows(): boolean {
    return this.#rows !== null;
  }

  /** True while there is something that must be stored even on a full disk. */
  get hasSettled(): boolean {
    return this.#settled.size + this.#aside.length > 0 || !this.#counts.isEmpty;
  }

  get hasState(): boolean {
    return this.#state.size > 0;
  }

  /** When the oldest and the newest row were made. */
  get times(): RowTimes {
    return this.#rows?.ages('metrics') ?? { oldestAtMs: null, newestAtMs: null };
  }

  /** Rows with their bodies, oldest first; read lazily. */
  *rows(): IterableIterator<QueueRow> {
    const file = this.#rows;
    for (const id of file?.ids('metrics') ?? []) {
      const found = file?.read(id);
      if (found) yield found.row;
    }
  }

  *heads(): IterableIterator<RowHead> {
    if (this.#rows !== null) yield* this.#rows.heads();
  }

  head(id: number): RowHead | null {
    return this.#rows?.head(id) ?? null;
  }

  settledCount(signal: Signal): number {
    return this.#settledCounts[signal];
  }

  isSettled(id: number): boolean {
    return this.#settled.has(id);
  }

  counts(): readonly Count[] {
    return this.#counts.counts();
  }

  count(counts: readonly Count[]): void {
    for (const { service, key, count } of counts) this.#counts.count(service, key, count);
  }

  /** Replaces the counts. */
  recount(counts: readonly Count[]): void {
    for (const { service, key, count } of this.counts()) this.#counts.count(service, key, -count);
    this.count(counts);
  }

  /** The blob that waits; null when the stored one is to be deleted, undefined when none waits. */
  readState(kind: string, key: string): Buffer | null | undefined {
    return this.#state.get(stateName(kind, key))?.blob;
  }

  stateChanges(kind: string): readonly StateChange[] {
    return [...this.#state.values()].filter(change => change.kind === kind);
  }

  /** Keeps a commit of metrics. Evicts the oldest rows to make room; pinned rows stay. */
  keep({ reads, state }: Commit, rows: readonly QueueRow[], limits: Limits): Change {
    // A file would copy the blobs, too: the caller may reuse their memory.
    for (const { kind, key, blob } of state)
      this.#state.set(stateName(kind, key), { kind, key, blob: blob && Buffer.from(blob) });
    const situation: Situation = {
      ...limits,
      space: {
        metrics: { bytes: this.#bytes, maxBytes: this.#maxBytes },
        logs: { bytes: 0, maxBytes: 0 },
      },
      evictedFor: 'disk',
    };
    return this.#change(file => storeCommit(file, { reads, state: [] }, rows, situation));
  }

  expire(limits: Limits): Change {
    return this.#rows === null ? new Change() : this.#change(file => evictExpired(file, limits));
  }

  /** Notes the outcome of a row, here or in the file. `head`: as the account counts it. */
  settle(head: RowHead, { settlements, aside }: Outcome): Change {
    const change = new Change();
    change.removed(head);
    for (const settlement of settlements) change.settled(settlement);
    this.#addAside(aside);
    this.count(change.counts());
    if (this.head(head.id) === null) {
      this.#settled.set(head.id, head.signal);
      this.#settledCounts[head.signal]++;
    } else this.#remove(head);
    return change;
  }

  /** Removes some settled rows from the file, and writes all counts and entries. */
  writeSettled(file: QueueFile, account: Account): Done {
    const ids: number[] = [];
    for (const id of this.#settled.keys()) if (ids.push(id) >= IDS_PER_STEP) break;
    const counts = this.counts();
    const aside = [...this.#aside];
    if (ids.length > 0) failpoint('settle-begun');
    for (const id of ids) file.remove(id);
    if (ids.length > 0) failpoint('settle-removed');
    file.addCounts(account.named(counts));
    file.addSetAside(aside);
    return () => {
      if (ids.length > 0) failpoint('settle-done');
      for (const id of ids) {
        const signal = this.#settled.get(id);
        if (signal !== undefined) this.#settledCounts[signal]--;
        this.#settled.delete(id);
      }
      for (const { service, key, count } of counts) this.#counts.count(service, key, -count);
      this.#aside.splice(0, aside.length);
    };
  }

  writeState(file: QueueFile): Done {
    for (const { kind, key, blob } of this.#state.values()) file.putState(kind, key, blob);
    return () => this.#state.clear();
  }

  /**
   * Moves the oldest rows into the file. `freeId` gives a row another id if the file has its id, or null to wait. `done`
   * returns false when there was nothing to move.
   */
  moveRows(
    file: QueueFile,
    freeId: (file: QueueFile, id: number) => number | null,
    situation: Situation,
  ): { readonly change: Change; readonly done: () => boolean } {
    const moved: QueueRow[] = [];
    const change = new Change();
    for (const row of this.rows()) {
      if (moved.length >= ROWS_PER_STEP) break;
      const id = freeId(file, row.id);
      if (id === null) continue;
      moveRow(file, change, { ...row, id }, situation);
      moved.push(row);
    }
    const done = (): boolean => {
      for (const row of moved) this.#remove(row);
      return moved.length > 0;
    };
    return { change, done };
  }

  #addAside(aside: readonly SetAside[]): void {
    this.#aside.push(...aside);
    // The file would not keep more.
    this.#aside.splice(0, this.#aside.length - SET_ASIDE_ROWS_MAX);
    let bytes = this.#aside.reduce((sum, { sample }) => sum + sample.length, 0);
    while (this.#aside.length > 1 && bytes > BYTES_MAX)
      bytes -= this.#aside.shift()?.sample.length ?? 0;
  }

  #change(work: (file: QueueFile) => Change): Change {
    const file = (this.#rows ??= QueueFile.open(MEMORY));
    const change = file.transact(() => work(file));
    this.#bytes += change.sums.metrics.bytes;
    this.count(change.counts());
    this.#closeIfEmpty();
    return change;
  }

  #remove(row: RowHead): void {
    this.#rows?.remove(row.id);
    this.#bytes -= rowBytes(row);
    this.#closeIfEmpty();
  }

  /** Frees the memory. */
  #closeIfEmpty(): void {
    if (this.#rows === null || this.#rows.ages('metrics').oldestAtMs !== null) return;
    this.#rows.close();
    this.#rows = null;
    this.#bytes = 0;
  }
}

function stateName(kind: string, key: string): string {
  return `${kind}\u0000${key}`;
}
