// What was committed while the file of the queue could not be written: rows, states and counts, in memory of a bounded
// size. The rows are sent from here as from the file; everything goes into the file as soon as that works again. What
// finds no room gives up the oldest, counted. Each change here is one in the numbers of the queue, and gives it back.
//
//   numbers in memory (tallies.ts) = numbers in the file + what is held here

import type { Signal } from '../../model/batch.ts';
import { Change } from './change.ts';
import type { QueueFile } from './queue-file.ts';
import type { EvictionReason } from './queue-meter.ts';
import type { Commit, QueueRow, SetAside } from './queue.ts';
import { rowBytes, rowPoints } from './rows.ts';
import type { Reading } from './tallies.ts';
import type { Outcome } from './transactions.ts';

/** The most that is held; hours of metrics, as they are compressed. */
const HELD_BYTES_MAX: number = 16 * 2 ** 20;
/** So many samples of what was refused are kept for the file. */
const ASIDE_MAX = 16;

type StateEntry = Commit['state'][number];

export class HeldCommits {
  readonly #maxBytes: number;
  readonly #rows = new Map<number, QueueRow>();
  readonly #state = new Map<string, StateEntry>();
  #aside: readonly SetAside[] = [];
  /** Counts that the file does not have yet. */
  #owed = new Change();
  #bytes = 0;

  /** `maxBytes`: the share of metrics, of which this is a part. */
  constructor(maxBytes: number) {
    this.#maxBytes = Math.min(maxBytes, HELD_BYTES_MAX);
  }

  /** True when the file lacks nothing. */
  get isEmpty(): boolean {
    const isCounted = this.#owed.counts().length === 0 && this.#aside.length === 0;
    return this.#rows.size === 0 && this.#state.size === 0 && isCounted;
  }

  /** Oldest first. */
  rows(): readonly QueueRow[] {
    return [...this.#rows.values()];
  }

  has(id: number): boolean {
    return this.#rows.has(id);
  }

  /** The blob that is to be stored; undefined when there is none of that kind and key. */
  readState(kind: string, key: string): Buffer | null | undefined {
    return this.#state.get(stateName(kind, key))?.blob;
  }

  /** Takes over a commit of metrics. */
  hold(commit: Commit, rows: readonly QueueRow[], pinned: ReadonlySet<number>): Change {
    const change = new Change();
    for (const row of rows) {
      this.#rows.set(row.id, row);
      this.#bytes += rowBytes(row);
      change.made(row);
      change.added(row);
    }
    for (const read of commit.reads) change.read(read);
    for (const entry of commit.state) this.#state.set(stateName(entry.kind, entry.key), entry);
    for (const row of this.rows()) {
      if (this.#bytes <= this.#maxBytes) break;
      if (!pinned.has(row.id)) this.#evict(row, 'disk', change);
    }
    return this.#owe(change);
  }

  /** A row that was sent from here is settled, or a part of it. */
  settle(id: number, { settlements, aside, rest }: Outcome): Change {
    const change = new Change();
    const row = this.#rows.get(id);
    if (row === undefined) return change;
    if (rest === null) this.#remove(row, change);
    else this.#replace(row, { ...row, ...rest }, change);
    for (const settlement of settlements) change.settle(settlement);
    this.#aside = [...this.#aside, ...aside].slice(-ASIDE_MAX);
    return this.#owe(change);
  }

  /** Gives up what is too old. */
  expire(madeBeforeMs: number, pinned: ReadonlySet<number>): Change {
    const change = new Change();
    for (const row of this.rows())
      if (row.madeAtMs < madeBeforeMs && !pinned.has(row.id)) this.#evict(row, 'age', change);
    return this.#owe(change);
  }

  /** Writes all but the rows, within a transaction; it is owed until `written`. */
  write(file: QueueFile): void {
    this.#owed.write(file);
    for (const { kind, key, blob } of this.#state.values()) file.putState(kind, key, blob);
    file.addSetAside(this.#aside);
  }

  /** All but the rows is in the file. */
  written(): void {
    this.#owed = new Change();
    this.#state.clear();
    this.#aside = [];
  }

  /** A row is in the file. */
  stored(row: QueueRow): void {
    this.#remove(row, new Change());
  }

  /** What the file says, with what is here. */
  addTo({ counts, sums, queued }: Reading): Reading {
    const held = new Change();
    const all = new Map(queued);
    for (const row of this.#rows.values()) {
      held.added(row);
      for (const { service, points } of row.parts)
        all.set(service, (all.get(service) ?? 0) + points);
    }
    const add = (signal: Signal): Reading['sums'][Signal] => ({
      rows: sums[signal].rows + held.sums[signal].rows,
      bytes: sums[signal].bytes + held.sums[signal].bytes,
      points: sums[signal].points + held.sums[signal].points,
    });
    return {
      counts: [...counts, ...this.#owed.counts()],
      sums: { metrics: add('metrics'), logs: add('logs') },
      queued: all,
    };
  }

  #evict(row: QueueRow, reason: EvictionReason, change: Change): void {
    this.#remove(row, change);
    change.evicted(row, reason);
  }

  #remove(row: QueueRow, change: Change): void {
    this.#rows.delete(row.id);
    this.#bytes -= rowBytes(row);
    change.removed({ signal: row.signal, countedBytes: rowBytes(row), points: rowPoints(row) });
  }

  /** The new row stands where the old one stood. */
  #replace(row: QueueRow, rest: QueueRow, change: Change): void {
    this.#rows.set(row.id, rest);
    this.#bytes += rowBytes(rest) - rowBytes(row);
    change.removed({ signal: row.signal, countedBytes: rowBytes(row), points: rowPoints(row) });
    change.added(rest);
  }

  #owe(change: Change): Change {
    this.#owed.addCounts(change);
    return change;
  }
}

function stateName(kind: string, key: string): string {
  return `${kind}\u0000${key}`;
}
