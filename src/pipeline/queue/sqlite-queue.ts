// The queue: what a commit stored is sent even after a crash, a kill or a power cut, where it is a file in a directory;
// without a directory it is memory, with the same bounds. One SQLite database, one writer, transactions on the main
// thread; only compression happens elsewhere. When the disk is full, new metrics are stored only in exchange for old ones,
// while acknowledgements go on in space that is kept for them (storage.ts). While the file cannot be written at all,
// metrics are held in memory (held.ts).

import { causeText } from '../../errors.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { Serial } from '../../lib/serial.ts';
import { type Signal, SIGNALS } from '../../model/batch.ts';
import { Account, Change } from './account.ts';
import { openAgeClock, writeClockOffset, type AgeClock } from './age-clock.ts';
import { Held } from './held.ts';
import { openError } from './queue-directory.ts';
import type { QueueFile } from './queue-file.ts';
import { QueueMeter, type StorageOperation } from './queue-meter.ts';
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
import { logsWithoutRoom, makeRows, rowBytes, sumBytes } from './rows.ts';
import { isStorageFailure, PAGE_BYTES } from './schema.ts';
import { FileStorage, MemoryStorage, type Storage } from './storage.ts';
import {
  expire,
  joinOutcomes,
  removeDamaged,
  settleRow,
  storeCommit,
  storeHeld,
  type Outcome,
  type Situation,
} from './transactions.ts';

/** How often it is looked whether the files are still where they were. */
const CHECK_MS = 15_000;

const NOTES_MAX = 5;

/** Reading the numbers of a file may show that it is damaged: then they are read once more. */
const REFRESHES_MAX = 3;

/** What `trouble()` says while new rows find no room of their own. */
const DISK_FULL = 'its disk is full: what is new is stored for what is old';

type Times = Pick<QueueStats, 'oldestAtMs' | 'newestAtMs'>;
const NO_TIMES: Times = { oldestAtMs: null, newestAtMs: null };

export class SqliteQueue implements Queue {
  readonly account: Account = new Account();
  readonly #options: QueueOptions;
  readonly #meter: QueueMeter;
  readonly #storage: Storage;
  readonly #ages: AgeClock;
  /** What the file does not have yet, because it could not be written. */
  readonly #held: Held;
  readonly #commits = new Serial();
  readonly #listeners = new Set<() => void>();
  readonly #pinned = new Set<number>();
  /**
   * Settled rows for which that could not be written yet, pinned meanwhile: for everybody else they are gone, or are
   * what is left of them.
   */
  readonly #unsettled = new Map<number, Outcome>();
  /** True while the account may differ from the file, because that was replaced or could not be read. */
  #isAccountStale = true;
  /** When the oldest and the newest rows were made, by the wall clock. */
  #times: Record<Signal, Times> = { metrics: NO_TIMES, logs: NO_TIMES };
  /** Of the clock of ages, as the file has it; null when that is not known. */
  #savedOffsetMs: number | null = null;
  /** Of a row; ids follow those that the file and this process have given out. */
  #lastId: number;
  /** See `trouble()`. */
  #trouble: string | null = null;
  #compression: Readonly<Record<Signal, Encoding>>;
  /** Files that were deleted or replaced and cannot be written anew, in words; null when there are none. */
  #gone: string | null = null;
  /** See `notes()`. */
  readonly #notes: string[] = [];
  readonly #closing = new AbortController();
  #isClosed = false;

  private constructor(options: QueueOptions, parts: { meter: QueueMeter; storage: Storage }) {
    const { meter, storage } = parts;
    this.#options = options;
    this.#compression = options.compression;
    this.#meter = meter;
    this.#storage = storage;
    this.#held = new Held(options.config.metrics.maxBytes);
    this.#ages = storage.read(file => openAgeClock(file, options.clock));
    this.#lastId = storage.read(file => file.lastId());
  }

  /** Opens or creates the queue in a directory, or in memory where that is null. Throws an OperatorError. */
  static open(options: QueueOptions, directory: string | null): SqliteQueue {
    const meter = new QueueMeter(options);
    if (directory === null) {
      const queue = new SqliteQueue(options, { meter, storage: new MemoryStorage() });
      queue.#refresh();
      return queue;
    }
    let queue: SqliteQueue | null = null;
    let note: string | null = null;
    const storage = FileStorage.open({
      directory,
      maxBytes: options.config.metrics.maxBytes + options.config.logs.maxBytes,
      clock: options.clock,
      onReplaced: replacement => meter.replaced(replacement),
      onReopened: () => {
        if (queue !== null) queue.#distrustAccount();
      },
      onNoted: words => (note = words),
      onWritten: durationMs => meter.written(durationMs),
    });
    try {
      queue = new SqliteQueue(options, { meter, storage });
      queue.#refresh();
      // A start needs a file that can be written, though it be with the space in reserve.
      queue.#write(() => new Change(), 'at any cost');
      if (!storage.hasRoom(PAGE_BYTES)) {
        queue.#trouble = DISK_FULL;
        meter.diskFull();
      }
      if (note !== null) queue.#note(note);
      void queue.#watchFiles();
      return queue;
    } catch (error) {
      storage.close();
      throw openError(`cannot use the queue in ${directory}`, error);
    }
  }

  async commit(commit: Commit): Promise<CommitOutcome> {
    const outcome = await this.#commits.run(() => this.#commit(commit));
    this.#meter.commit(outcome, commit);
    if (outcome.kind === 'held' || outcome.kind === 'failed') this.#trouble = outcome.message;
    if (outcome.kind === 'stored') failpoint('commit-done');
    if (outcome.kind === 'stored' || outcome.kind === 'held')
      for (const listener of this.#listeners) listener();
    return outcome;
  }

  oldest(signal: Signal, count: number, skip: ReadonlySet<number>): Promise<readonly QueueRow[]> {
    if (this.#isClosed) return Promise.resolve([]);
    if (signal === 'metrics') this.#expire();
    const stored = this.#guard('read', () => this.#find(signal, count, skip)) ?? [];
    const rows = [...stored, ...this.#findHeld(signal, count - stored.length, skip)];
    const inWallTime = rows.map(row => ({ ...row, madeAtMs: this.#ages.wallMs(row.madeAtMs) }));
    return Promise.resolve(inWallTime);
  }

  pin(id: number): boolean {
    if (this.#isGone(id) || this.#isClosed) return false;
    const isStored = (): boolean => this.#storage.read(file => file.has(id));
    const has = this.#isHeld(id) || (this.#guard('read', isStored) ?? false);
    if (has) this.#pinned.add(id);
    return has;
  }

  unpin(id: number): void {
    if (!this.#unsettled.has(id)) this.#pinned.delete(id);
  }

  settle(
    id: number,
    settlements: readonly Settlement[],
    aside: readonly SetAside[],
    rest: RowRest | null = null,
  ): Promise<void> {
    if (!this.#pinned.has(id) || this.#isGone(id)) return Promise.resolve();
    const outcome = { settlements, aside, rest };
    if (this.#isHeld(id)) {
      if (rest === null) this.#pinned.delete(id);
      this.#apply(this.#held.write(file => settleRow(file, id, outcome)));
      this.#meter.setAside(aside);
    } else {
      this.#unsettled.set(id, joinOutcomes(this.#unsettled.get(id), outcome));
      this.#settleAll();
    }
    return Promise.resolve();
  }

  readSetAside(count: number): Promise<readonly SetAside[]> {
    const read = (): readonly SetAside[] => this.#storage.read(file => file.setAside(count));
    return Promise.resolve(this.#guard('read', read) ?? []);
  }

  readState(kind: string, key: string): Promise<Buffer | null> {
    const held = this.#held.readState(kind, key);
    if (held !== undefined) return Promise.resolve(held);
    const blob = this.#guard('read', () => this.#storage.read(file => file.readState(kind, key)));
    if (blob === 'damaged') this.#meter.storageError('read', `state ${kind} of ${key} is damaged`);
    return Promise.resolve(blob === 'damaged' ? null : (blob ?? null));
  }

  stats(signal: Signal): QueueStats {
    const { maxBytes } = this.#options.config[signal];
    return { ...this.account.sums(signal), maxBytes, ...this.#times[signal] };
  }

  trouble(): string | null {
    return this.#gone ?? this.#trouble;
  }

  notes(): readonly string[] {
    return this.#notes;
  }

  corruptFiles(): readonly string[] {
    return this.#storage.corruptFiles();
  }

  compressAs(signal: Signal, encoding: Encoding): void {
    this.#compression = { ...this.#compression, [signal]: encoding };
  }

  onCommit(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#closing.abort();
    await this.#commits.run(() => undefined);
    this.#checkFiles();
    this.#settleAll();
    this.#guard('store', () => this.#storeHeld());
    this.#isClosed = true;
    this.#meter.lost(this.#held.file?.sums('metrics').points ?? 0);
    this.#storage.close();
  }

  async #commit(commit: Commit): Promise<CommitOutcome> {
    const closed = {
      kind: 'failed',
      message: 'cannot store a batch: the queue is closed',
    } as const;
    if (this.#isClosed) return closed;
    const rows = await this.#makeRows(commit);
    if (this.#isClosed) return closed;
    try {
      this.#refresh();
      const refused = logsWithoutRoom(rows, this.stats('logs'));
      return refused ?? { kind: 'stored', evictedPoints: this.#store(commit, rows) };
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      const message = `cannot store a batch: ${causeText(error)}`;
      if (rows.some(row => row.signal === 'logs')) return { kind: 'failed', message };
      const change = this.#held.hold(commit, rows, this.#situation(false));
      this.#apply(change);
      return { kind: 'held', evictedPoints: change.evictedPoints, message };
    }
  }

  /** The rows of a commit with ids that no row has had before. */
  async #makeRows({ batches }: Commit): Promise<readonly QueueRow[]> {
    const { maxRequestBytes } = this.#options;
    const rows: QueueRow[] = [];
    for (const batch of batches) {
      const madeAtMs = this.#ages.timeOf(batch.madeAtMs);
      for (const row of await makeRows(batch, this.#compression, maxRequestBytes))
        rows.push({ ...row, id: ++this.#lastId, madeAtMs });
    }
    return rows;
  }

  /** Everything of the commit in one transaction, behind all that waits for one; gives the points that were evicted. */
  #store(commit: Commit, made: readonly QueueRow[]): number {
    this.#settleAll();
    this.#storeHeld();
    const takenId = this.#skipTakenIds();
    const isFree = made.every(({ id }) => id > takenId);
    const rows = isFree ? made : made.map(row => ({ ...row, id: ++this.#lastId }));
    const bytes = sumBytes(rows);
    const hasRoom = bytes === 0 || this.#storage.hasRoom(bytes);
    const situation = this.#situation(hasRoom);
    const change = this.#write(file => storeCommit(file, commit, rows, situation));
    this.#trouble = hasRoom ? null : DISK_FULL;
    return change.evictedPoints;
  }

  /**
   * The last id that the file has seen; new ones are given out behind it. It is not one of ours where another process
   * wrote into the file, since somebody has deleted our lock.
   */
  #skipTakenIds(): number {
    const takenId = this.#storage.read(file => file.lastId());
    this.#lastId = Math.max(this.#lastId, takenId);
    return takenId;
  }

  /** Writes what could not be written before. Throws what SQLite throws; the rest is held on. */
  #storeHeld(): void {
    if (this.#held.file === null) return;
    this.#skipTakenIds();
    this.#storage.write(file => this.#held.copyTo(file));
    this.#held.copied();
    for (const row of this.#held.rows()) {
      const situation = this.#situation(this.#storage.hasRoom(rowBytes(row)));
      const isTaken = this.#storage.read(file => file.has(row.id));
      // It has to keep its id while it is being sent.
      if (isTaken && this.#pinned.has(row.id)) continue;
      const free = isTaken ? { ...row, id: ++this.#lastId } : row;
      this.#write(file => storeHeld(file, free, situation));
      this.#held.moved(row.id);
    }
    this.#report();
  }

  #situation(hasRoom: boolean): Situation {
    return {
      pinned: this.#pinned,
      madeBeforeMs: this.#madeBeforeMs,
      space: { metrics: this.stats('metrics'), logs: this.stats('logs') },
      hasRoom,
      evictedFor: 'size',
    };
  }

  /** Metrics from before this time are too old. */
  get #madeBeforeMs(): number {
    return this.#ages.nowMs() - this.#options.config.metrics.maxAgeMs;
  }

  #find(signal: Signal, count: number, skip: ReadonlySet<number>): readonly QueueRow[] {
    const { rows, damagedIds } = this.#storage.read(file => {
      const rows: QueueRow[] = [];
      const damagedIds: number[] = [];
      for (const id of file.ids(signal)) {
        if (rows.length >= count) break;
        if (skip.has(id) || this.#isGone(id)) continue;
        const found = file.read(id);
        const rest = this.#unsettled.get(id)?.rest;
        if (found?.isSound === true) rows.push({ ...found.row, ...rest });
        else damagedIds.push(id);
      }
      return { rows, damagedIds };
    });
    const atMs = this.#options.clock.nowMs();
    for (const id of damagedIds) {
      this.#write(file => removeDamaged(file, id, atMs), 'at any cost');
      // What the row said of its services may be damaged as well.
      this.#distrustAccount();
    }
    return rows;
  }

  /** Rows that are held: they are newer than all in the file. */
  #findHeld(signal: Signal, count: number, skip: ReadonlySet<number>): readonly QueueRow[] {
    if (signal !== 'metrics' || this.#held.file === null) return [];
    const rows: QueueRow[] = [];
    for (const row of this.#held.rows()) {
      if (rows.length >= count) break;
      if (!skip.has(row.id)) rows.push(row);
    }
    return rows;
  }

  #isHeld(id: number): boolean {
    return this.#held.file?.has(id) ?? false;
  }

  /** Gives up metrics that are too old, if there are any. */
  #expire(): void {
    const { oldestAtMs } = this.stats('metrics');
    const situation = { pinned: this.#pinned, madeBeforeMs: this.#madeBeforeMs };
    if (oldestAtMs === null || oldestAtMs >= this.#ages.wallMs(situation.madeBeforeMs)) return;
    const work = (file: QueueFile): Change => expire(file, situation);
    this.#guard('expire', () => this.#write(work, 'at any cost'));
    this.#apply(this.#held.write(work));
  }

  /** True when a row is settled, though the file does not have that yet. */
  #isGone(id: number): boolean {
    return this.#unsettled.get(id)?.rest === null;
  }

  /** Writes every settlement that is waiting for it. What cannot be written now stays, unseen by others. */
  #settleAll(): void {
    for (const [id, outcome] of this.#unsettled) {
      const settle = (): Change => this.#write(file => settleRow(file, id, outcome), 'at any cost');
      if (this.#guard('settle', settle) === null) {
        // What is left of a row needs more space than there may be; to remove one takes next to none.
        if (outcome.rest !== null) continue;
        return;
      }
      failpoint('settle-done');
      this.#unsettled.delete(id);
      if (outcome.rest === null) this.#pinned.delete(id);
      this.#meter.setAside(outcome.aside);
      this.#storage.tidy();
    }
  }

  #note(note: string): void {
    this.#notes.push(note);
    this.#meter.noted(note);
  }

  async #watchFiles(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#closing;
    for (;;) {
      await clock.sleep(CHECK_MS, signal);
      if (signal.aborted) return;
      this.#checkFiles();
    }
  }

  /** Files that were deleted or replaced under us are written anew; what was committed is in those that are open. */
  #checkFiles(): void {
    const found = this.#storage.checkFiles();
    this.#gone = null;
    if (found.kind === 'in place') return;
    const names = found.names.join(', ');
    if (found.kind === 'gone') {
      this.#gone = `its files were deleted or replaced (${names}) and cannot be written anew: ${found.cause}`;
      this.#meter.filesGone(names, found.cause);
      return;
    }
    const at = new Date(this.#options.clock.nowMs()).toISOString();
    this.#notes.push(`${names} of the queue were deleted or replaced, and written anew at ${at}`);
    this.#notes.splice(0, this.#notes.length - NOTES_MAX);
    this.#meter.filesRenewed(names);
  }

  /**
   * One transaction with its counts: every one on the file goes through here. Throws what SQLite throws; nothing has
   * changed then.
   */
  #write(work: (file: QueueFile) => Change, cost?: 'at any cost'): Change {
    const { offsetMs } = this.#ages;
    const writeAll = (file: QueueFile): Change => {
      const change = work(file);
      change.write(file);
      if (offsetMs !== this.#savedOffsetMs) writeClockOffset(file, offsetMs);
      return change;
    };
    const storage = this.#storage;
    const change = cost === undefined ? storage.write(writeAll) : storage.writeAtAnyCost(writeAll);
    this.#savedOffsetMs = offsetMs;
    this.#apply(change);
    return change;
  }

  #apply(change: Change): void {
    this.account.apply(change);
    for (const eviction of change.evictions) this.#meter.evicted(eviction);
    this.#report();
  }

  /** Shows the numbers. What was written is written, even if the file cannot be read any more. */
  #report(): void {
    try {
      this.#times = this.#storage.read(file => ({
        metrics: this.#timesOf(file, 'metrics'),
        logs: this.#timesOf(file, 'logs'),
      }));
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      this.#meter.storageError('read', causeText(error));
      this.#isAccountStale = true;
    }
    for (const signal of SIGNALS) this.#meter.stats(signal, this.stats(signal));
  }

  /** The rows that are held are the newest. */
  #timesOf(file: QueueFile, signal: Signal): Times {
    const stored = file.ages(signal);
    const held = this.#held.file?.ages(signal) ?? NO_TIMES;
    const wallMs = (timeMs: number | null): number | null =>
      timeMs === null ? null : this.#ages.wallMs(timeMs);
    return {
      oldestAtMs: wallMs(stored.oldestAtMs ?? held.oldestAtMs),
      newestAtMs: wallMs(held.newestAtMs ?? stored.newestAtMs),
    };
  }

  /** The file was opened anew: it may say something else. */
  #distrustAccount(): void {
    this.#isAccountStale = true;
    this.#savedOffsetMs = null;
  }

  /**
   * Reads the account anew where it may be wrong, and makes it balance where damage has torn it. Throws what SQLite
   * throws; it is read again then.
   */
  #refresh(): void {
    for (let i = 0; this.#isAccountStale && i < REFRESHES_MAX; i++) {
      const held = this.#held.file;
      const correction = this.#storage.read(file =>
        this.account.load(held === null ? [file] : [file, held]),
      );
      this.#isAccountStale = false;
      try {
        this.#write(() => correction, 'at any cost');
      } catch (error) {
        this.#isAccountStale = true;
        if (!correction.isEmpty) throw error;
        return;
      }
      this.#meter.corruptFiles(this.#storage.corruptFiles().length);
    }
  }

  /** Null, counted and logged, when the file fails; nothing of it is to be had from a closed queue. */
  #guard<T>(operation: StorageOperation, work: () => T): T | null {
    if (this.#isClosed) return null;
    try {
      this.#refresh();
      return work();
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      this.#meter.storageError(operation, causeText(error));
      return null;
    }
  }
}
