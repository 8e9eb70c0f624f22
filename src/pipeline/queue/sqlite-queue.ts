// The queue in one SQLite database: a file in a directory, whose rows survive a crash, a kill and a power cut; or
// memory, with the same limits. One writer, transactions on the main thread. On a full disk new metrics take the place
// of old ones, and a reserve keeps space for acknowledgements (storage.ts). While the file cannot be written at all,
// metrics are held in memory and sent from there (held.ts).

import { causeText } from '../../errors.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { Serial } from '../../lib/permits.ts';
import { type Signal, SIGNALS } from '../../model/batch.ts';
import { Account, Change } from './account.ts';
import { openAgeClock, writeClockOffset, type AgeClock } from './age-clock.ts';
import { Held } from './held.ts';
import { openError } from './queue-directory.ts';
import type { QueueFile, Sums } from './queue-file.ts';
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

/** How often the files are checked for deletion or replacement. */
const CHECK_MS = 15_000;

const NOTES_MAX = 5;

/** Reading the numbers of a file may show that it is damaged: then they are read once more. */
const REFRESHES_MAX = 3;

/** The text of `trouble()` on a full disk. */
const DISK_FULL = 'its disk is full: new metrics replace the oldest';

type Times = Pick<QueueStats, 'oldestAtMs' | 'newestAtMs'>;
const NO_TIMES: Times = { oldestAtMs: null, newestAtMs: null };

export class SqliteQueue implements Queue {
  readonly account: Account = new Account();
  readonly #options: QueueOptions;
  readonly #meter: QueueMeter;
  readonly #storage: Storage;
  readonly #ages: AgeClock;
  /** Commits that the file does not have yet, because it could not be written. */
  readonly #held: Held;
  readonly #commits = new Serial();
  readonly #listeners = new Set<() => void>();
  readonly #pinned = new Set<number>();
  /**
   * Settlements that could not be written yet. Their rows stay pinned; readers see what is left of them, or no row.
   */
  readonly #unsettled = new Map<number, Outcome>();
  /** True while the account may differ from the file, because that was replaced or could not be read. */
  #isAccountStale = true;
  /** When the oldest and the newest row were made, by the wall clock; as they were last read. */
  #times: Record<Signal, Times> = { metrics: NO_TIMES, logs: NO_TIMES };
  /** The offset of the age clock that the file has; null when unknown. */
  #savedOffsetMs: number | null = null;
  /** The last id that this process or the file gave to a row. */
  #lastId: number;
  /** See `trouble()`. */
  #trouble: string | null = null;
  #compression: Readonly<Record<Signal, Encoding>>;
  /** Says which files were deleted or replaced and cannot be written anew; null when there are none. */
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
      // A start needs a file that can be written, if only with the reserve.
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
    if (!this.#isClosed) this.#readTimes(signal);
    return { ...this.#space(signal), ...this.#times[signal] };
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
      const refused = logsWithoutRoom(rows, this.#space('logs'));
      return refused ?? { kind: 'stored', evictedPoints: this.#store(commit, rows) };
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      const message = `cannot store a batch: ${causeText(error)}`;
      if (rows.some(row => row.signal === 'logs')) return { kind: 'failed', message };
      const limits = { pinned: this.#pinned, madeBeforeMs: this.#madeBeforeMs };
      const change = this.#held.hold(commit, rows, limits);
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

  /** Stores the commit in one transaction, after everything that still waits for one. Returns the evicted points. */
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
   * Moves on to the last id in the file, and returns it. It is higher than ours when somebody deleted our lock and
   * another process wrote into the file.
   */
  #skipTakenIds(): number {
    const takenId = this.#storage.read(file => file.lastId());
    this.#lastId = Math.max(this.#lastId, takenId);
    return takenId;
  }

  /** Writes the held commits. Throws what SQLite throws; the rest stays held. */
  #storeHeld(): void {
    if (this.#held.file === null) return;
    this.#skipTakenIds();
    this.#storage.write(file => this.#held.copyTo(file));
    this.#held.copied();
    for (const row of this.#held.rows()) {
      const situation = this.#situation(this.#storage.hasRoom(rowBytes(row)));
      const isTaken = this.#storage.read(file => file.has(row.id));
      // A row keeps its id while it is being sent.
      if (isTaken && this.#pinned.has(row.id)) continue;
      const free = isTaken ? { ...row, id: ++this.#lastId } : row;
      this.#write(file => storeHeld(file, free, situation));
      this.#held.moved(row.id);
    }
  }

  #situation(hasRoom: boolean): Situation {
    return {
      pinned: this.#pinned,
      madeBeforeMs: this.#madeBeforeMs,
      space: { metrics: this.#space('metrics'), logs: this.#space('logs') },
      hasRoom,
      evictedFor: 'size',
    };
  }

  #space(signal: Signal): Sums & Pick<QueueStats, 'maxBytes'> {
    return { ...this.account.sums(signal), maxBytes: this.#options.config[signal].maxBytes };
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
      // The services in the row's index may be damaged, too.
      this.#distrustAccount();
    }
    return rows;
  }

  /** Held rows: they are newer than all rows in the file. */
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

  /** True when a row is settled but the file does not know it yet. */
  #isGone(id: number): boolean {
    return this.#unsettled.get(id)?.rest === null;
  }

  /** Writes the waiting settlements. Those that cannot be written now keep waiting. */
  #settleAll(): void {
    for (const [id, outcome] of this.#unsettled) {
      const settle = (): Change => this.#write(file => settleRow(file, id, outcome), 'at any cost');
      if (this.#guard('settle', settle) === null) {
        // There may be no space for the rest of a row; to remove a row takes next to none.
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

  /** Files that were deleted or replaced are written anew from the open ones, which have all commits. */
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
   * One transaction on the file, with its counts. Throws what SQLite throws; then nothing has changed.
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

  /** A change was committed, in the file or in what is held. */
  #apply(change: Change): void {
    this.account.apply(change);
    for (const eviction of change.evictions) this.#meter.evicted(eviction);
    for (const signal of SIGNALS) this.#meter.space(signal, this.#space(signal));
  }

  /** Leaves the account as it is: a caller may compare the two. Where the file cannot be read the last times stay. */
  #readTimes(signal: Signal): void {
    try {
      this.#times[signal] = this.#storage.read(file => this.#timesOf(file, signal));
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      this.#meter.storageError('read', causeText(error));
    }
  }

  /** Held rows are the newest. */
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

  /** The file was opened again: its numbers may be different. */
  #distrustAccount(): void {
    this.#isAccountStale = true;
    this.#savedOffsetMs = null;
  }

  /**
   * Reads the account again if it may differ from the file, and corrects it where damage has unbalanced it. Throws what
   * SQLite throws; the next call reads it again.
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

  /** Null when the file fails, which is counted and logged, or the queue is closed. */
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
