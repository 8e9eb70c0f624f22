// The queue without a directory: bounded memory, gone with the process. Commits come in, rows go out in the
// order they came. Metrics that find no room push out the oldest, counted; logs that find none are refused.

import { Serial } from '../../lib/serial.ts';
import type { Signal } from '../../model/batch.ts';
import { Account } from './account.ts';
import { AgeClock } from './age-clock.ts';
import { QueueMeter, type EvictionReason } from './queue-meter.ts';
import type {
  Commit,
  CommitOutcome,
  Encoding,
  Queue,
  QueueOptions,
  QueueRow,
  QueueStats,
  RowRest,
  SetAside,
  Settlement,
} from './queue.ts';
import { logsWithoutRoom, makeRows, rowBytes, rowPoints, type NewRow } from './rows.ts';
import { SetAsideList } from './set-aside-list.ts';

/** The rows of one signal, oldest first, with their sums. */
interface Shelf {
  readonly rows: Map<number, QueueRow>;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  bytes: number;
  points: number;
  newestAtMs: number | null;
}

export class MemoryQueue implements Queue {
  readonly account: Account = new Account();
  readonly #options: QueueOptions;
  readonly #meter: QueueMeter;
  readonly #ages: AgeClock;
  readonly #shelves: Readonly<Record<Signal, Shelf>>;
  readonly #state = new Map<string, Buffer>();
  readonly #setAside = new SetAsideList();
  readonly #pinned = new Set<number>();
  readonly #listeners = new Set<() => void>();
  readonly #commits = new Serial();
  #lastId = 0;
  #compression: Readonly<Record<Signal, Encoding>>;
  #isClosed = false;

  constructor(options: QueueOptions) {
    const { metrics, logs } = options.config;
    this.#options = options;
    this.#compression = options.compression;
    this.#meter = new QueueMeter(options);
    this.#ages = new AgeClock(options.clock);
    this.#shelves = {
      metrics: emptyShelf(metrics.maxBytes, metrics.maxAgeMs),
      logs: emptyShelf(logs.maxBytes, Infinity),
    };
    this.#report('metrics');
    this.#report('logs');
  }

  async commit(commit: Commit): Promise<CommitOutcome> {
    const outcome = await this.#commits.run(() => this.#commit(commit));
    this.#meter.commit(outcome, commit);
    if (outcome.kind === 'stored') for (const listener of this.#listeners) listener();
    return outcome;
  }

  oldest(signal: Signal, count: number, skip: ReadonlySet<number>): Promise<readonly QueueRow[]> {
    if (this.#isClosed) return Promise.resolve([]);
    this.#expire(signal);
    const found: QueueRow[] = [];
    for (const row of this.#shelves[signal].rows.values()) {
      if (found.length >= count) break;
      if (!skip.has(row.id)) found.push({ ...row, madeAtMs: this.#ages.wallMs(row.madeAtMs) });
    }
    return Promise.resolve(found);
  }

  pin(id: number): boolean {
    const isQueued = !this.#isClosed && this.#find(id) !== undefined;
    if (isQueued) this.#pinned.add(id);
    return isQueued;
  }

  unpin(id: number): void {
    this.#pinned.delete(id);
  }

  settle(
    id: number,
    settlements: readonly Settlement[],
    aside: readonly SetAside[],
    rest: RowRest | null = null,
  ): Promise<void> {
    const row = this.#find(id);
    if (row === undefined || !this.#pinned.has(id)) return Promise.resolve();
    if (rest === null) {
      this.#pinned.delete(id);
      this.#remove(row);
    } else this.#replace(row, { ...row, ...rest });
    for (const settlement of settlements) this.account.settle(settlement);
    for (const entry of aside) this.#setAside.add(entry);
    this.#meter.setAside(aside);
    this.#report(row.signal);
    return Promise.resolve();
  }

  readSetAside(count: number): Promise<readonly SetAside[]> {
    return Promise.resolve(this.#setAside.newest(count));
  }

  readState(kind: string, key: string): Promise<Buffer | null> {
    return Promise.resolve(this.#state.get(stateKey(kind, key)) ?? null);
  }

  stats(signal: Signal): QueueStats {
    const { rows, bytes, points, maxBytes, newestAtMs } = this.#shelves[signal];
    const [oldest] = rows.values();
    const wallMs = (timeMs: number | null): number | null =>
      timeMs === null || oldest === undefined ? null : this.#ages.wallMs(timeMs);
    return {
      rows: rows.size,
      bytes,
      points,
      maxBytes,
      oldestAtMs: wallMs(oldest?.madeAtMs ?? null),
      newestAtMs: wallMs(newestAtMs),
    };
  }

  trouble(): null {
    return null;
  }

  notes(): readonly string[] {
    return [];
  }

  corruptFiles(): readonly string[] {
    return [];
  }

  compressAs(signal: Signal, encoding: Encoding): void {
    this.#compression = { ...this.#compression, [signal]: encoding };
  }

  onCommit(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#commits.run(() => undefined);
  }

  async #commit(commit: Commit): Promise<CommitOutcome> {
    if (this.#isClosed)
      return { kind: 'failed', message: 'cannot store a batch: the queue is closed' };
    const { maxRequestBytes } = this.#options;
    const rows: NewRow[] = [];
    for (const batch of commit.batches) {
      const madeAtMs = this.#ages.timeOf(batch.madeAtMs);
      for (const row of await makeRows(batch, this.#compression, maxRequestBytes))
        rows.push({ ...row, madeAtMs });
    }
    return logsWithoutRoom(rows, this.#shelves.logs) ?? this.#store(commit, rows);
  }

  /** Everything of the commit, in one step of the event loop. */
  #store(commit: Commit, rows: readonly NewRow[]): CommitOutcome {
    let evictedPoints = this.#expire('metrics');
    for (const row of rows) {
      for (const { service, points } of row.parts) this.account.add(service, 'point/made', points);
      evictedPoints += this.#put(row);
    }
    for (const { service, fate, count } of commit.reads)
      this.account.add(service, `sample/${fate}`, count);
    for (const { kind, key, blob } of commit.state) {
      if (blob === null) this.#state.delete(stateKey(kind, key));
      else this.#state.set(stateKey(kind, key), Buffer.from(blob));
    }
    this.#report('metrics');
    this.#report('logs');
    return { kind: 'stored', evictedPoints };
  }

  /** Adds a row, at the cost of the oldest ones; gives the points that were evicted for it. */
  #put(row: NewRow): number {
    const shelf = this.#shelves[row.signal];
    const bytes = rowBytes(row);
    let evictedPoints = 0;
    for (const old of shelf.rows.values()) {
      if (shelf.bytes + bytes <= shelf.maxBytes || bytes > shelf.maxBytes) break;
      if (!this.#pinned.has(old.id)) evictedPoints += this.#evict(old, 'size');
    }
    if (shelf.bytes + bytes > shelf.maxBytes) return evictedPoints + this.#giveUp(row, 'size');
    const id = ++this.#lastId;
    shelf.rows.set(id, { ...row, id });
    shelf.bytes += bytes;
    shelf.points += rowPoints(row);
    shelf.newestAtMs = row.madeAtMs;
    return evictedPoints;
  }

  #expire(signal: Signal): number {
    const shelf = this.#shelves[signal];
    const bornBeforeMs = this.#ages.nowMs() - shelf.maxAgeMs;
    let points = 0;
    for (const row of shelf.rows.values()) {
      if (row.madeAtMs >= bornBeforeMs) break;
      if (!this.#pinned.has(row.id)) points += this.#evict(row, 'age');
    }
    if (points > 0) this.#report(signal);
    return points;
  }

  #evict(row: QueueRow, reason: EvictionReason): number {
    this.#remove(row);
    return this.#giveUp(row, reason);
  }

  #giveUp({ signal, parts }: NewRow, reason: EvictionReason): number {
    for (const { service, points } of parts) this.account.add(service, 'point/evicted', points);
    this.#meter.evicted({ signal, reason, parts });
    return rowPoints({ parts });
  }

  #find(id: number): QueueRow | undefined {
    return this.#shelves.metrics.rows.get(id) ?? this.#shelves.logs.rows.get(id);
  }

  #remove(row: QueueRow): void {
    const shelf = this.#shelves[row.signal];
    shelf.rows.delete(row.id);
    shelf.bytes -= rowBytes(row);
    shelf.points -= rowPoints(row);
  }

  /** The new row stands where the old one stood. */
  #replace(row: QueueRow, rest: QueueRow): void {
    const shelf = this.#shelves[row.signal];
    shelf.rows.set(row.id, rest);
    shelf.bytes += rowBytes(rest) - rowBytes(row);
    shelf.points += rowPoints(rest) - rowPoints(row);
  }

  #report(signal: Signal): void {
    this.#meter.stats(signal, this.stats(signal));
  }
}

function emptyShelf(maxBytes: number, maxAgeMs: number): Shelf {
  return { rows: new Map(), maxBytes, maxAgeMs, bytes: 0, points: 0, newestAtMs: null };
}

function stateKey(kind: string, key: string): string {
  return `${kind}\u0000${key}`;
}
