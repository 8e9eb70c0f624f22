// The queue between encode and send: a row stays in it until the back end has accepted it or refused it for good. It is
// one SQLite database: a file in a directory, whose rows survive a crash, a kill and a power cut; or memory, with the
// same limits. There is one writer, and its transactions run on the main thread. Every call that moves points updates
// the account in the same step. On a full disk new metrics replace old ones, and a reserve keeps space for
// acknowledgements (storage.ts). While the file cannot be written at all, metrics are kept in memory and sent from
// there (unwritten.ts).

import { causeText } from '../../errors.ts';
import { formatCount } from '../../lib/format.ts';
import { failpoint } from '../../lib/failpoint.ts';
import type { CounterSeries, CountersOf } from '../../lib/counters.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import { ThrottledLog } from '../../lib/log.ts';
import { type Signal, SIGNALS } from '../../model/batch.ts';
import { Account, Change, type Eviction, type EvictionReason, QUEUE_COUNTERS } from './account.ts';
import { openError } from './queue-directory.ts';
import type { QueueFile, RowHead } from './queue-file.ts';
import type {
  Commit,
  CommitOutcome,
  QueueOptions,
  QueueSettings,
  QueueRow,
  QueueSize,
  QueueStats,
  RowTimes,
  SetAside,
  Settlement,
  StateKind,
} from './commit.ts';
import { logsWithoutRoom, makeRows, type NewRow, rowBytes, sumBytes, sumPoints } from './rows.ts';
import { isStorageFailure, PAGE_BYTES, StorageError } from './schema.ts';
import { FILE_COUNTERS, Storage } from './storage.ts';
import {
  evictExpired,
  type Limits,
  removeDamaged,
  settledPoints,
  storeCommit,
  type Situation,
} from './transactions.ts';
import { Unwritten } from './unwritten.ts';

const DISK_FULL = 'the disk is full; free space on it';

const UNSETTLED = "cannot store the back end's answers: the file cannot be written";

const REMEDIES: Readonly<Record<EvictionReason, string>> = {
  size: 'raise queue.metrics.max_bytes, or see why the back end does not accept',
  age: 'raise queue.metrics.max_age, or see why the back end does not accept',
  disk: 'free space on the disk of queue.directory',
  damaged: 'check the disk of queue.directory',
};

const REPORTS = {
  diskFull: 'the disk of the queue is full: until there is space, new metrics wait in memory',
  full: 'cannot store logs: their share of the queue is full; pulling waits until the back end accepts',
  held: 'cannot write the file of the queue; metrics are kept in memory and sent from there',
  failed: 'cannot store a batch',
} as const;

/** Operations that are retried after the file failed. */
type StorageOperation = 'read' | 'store' | 'settle' | 'expire';

const NO_TIMES: RowTimes = { oldestAtMs: null, newestAtMs: null };

const MINUTE_MS = 60_000;

export class Queue {
  readonly account: Account = new Account();
  #options: QueueOptions;
  readonly #log: ThrottledLog;
  readonly #counters: CountersOf<typeof QUEUE_COUNTERS & typeof FILE_COUNTERS>;
  readonly #storage: Storage;
  readonly #unwritten: Unwritten = new Unwritten();
  readonly #commits = new Semaphore(1);
  readonly #listeners = new Set<() => void>();
  /** Rows that are being sent, as the account counts them. */
  readonly #pinned = new Map<number, RowHead>();
  /** All rows of the file up to this id are settled: a reader need not look at them again. */
  readonly #passedIds: Record<Signal, number> = { metrics: 0, logs: 0 };
  /** When the oldest and the newest row were made, as last read. */
  #times: Record<Signal, RowTimes> = { metrics: NO_TIMES, logs: NO_TIMES };
  /** The highest row id in this process or in the file. */
  #lastId = 0;
  #trouble: string | null = null;
  /** When the trouble of the last look began. */
  #troubleSinceMs: number | null = null;
  /** True while the outcome of sent rows could not be written. */
  #isUnsettled = false;
  /** Points that were evicted because the disk fails or is full, in the last minute. */
  #dropped: { readonly atMs: number; readonly points: number }[] = [];
  /** Messages about state that did not fit, by its kind. */
  readonly #lostStates = new Map<string, string>();
  #isClosed = false;

  private constructor(options: QueueOptions, storage: Storage) {
    this.#options = options;
    this.#log = new ThrottledLog(options.logger, options.clock);
    this.#counters = options.counters.of({ ...QUEUE_COUNTERS, ...FILE_COUNTERS });
    this.#storage = storage;
    this.use(options);
    storage.onOpen = file => this.#load(file);
    this.#showGauges();
  }

  /** Opens or creates the queue in a directory, or in memory if that is null. Throws an OperatorError. */
  static open(options: QueueOptions, directory: string | null): Queue {
    const storage = Storage.open(options, directory);
    try {
      const queue = new Queue(options, storage);
      storage.read(file => queue.#load(file));
      queue.#writeSettled();
      // The file must be writable at the start, if only with the reserve.
      const at = Buffer.from(new Date(options.clock.nowMs()).toISOString());
      storage.write(file => file.putState('queue', 'opened', at), 'at any cost');
      if (!storage.hasRoom(PAGE_BYTES)) {
        queue.#trouble = DISK_FULL;
        queue.#log.plain.warn({ remedy: REMEDIES.disk }, REPORTS.diskFull);
      }
      return queue;
    } catch (error) {
      storage.close();
      throw openError(`cannot use the queue in ${String(directory)}`, error, directory);
    }
  }

  /** Takes the limits of another configuration from now on, and how it writes rows. */
  use(settings: QueueSettings): void {
    this.#options = { ...this.#options, ...settings };
    this.#unwritten.limit(settings.config.metrics.maxBytes);
  }

  #showGauges(): void {
    const { rows, bytes, points, maxBytes, oldestAge, trouble } = this.#counters;
    const bySignal = (of: (signal: Signal) => number) => (): readonly CounterSeries[] =>
      SIGNALS.map(signal => ({ labelValues: [signal], value: of(signal) }));
    rows.follow(bySignal(signal => this.size(signal).rows));
    bytes.follow(bySignal(signal => this.size(signal).bytes));
    points.follow(bySignal(signal => this.size(signal).points));
    maxBytes.follow(bySignal(signal => this.size(signal).maxBytes));
    const ageMs = ({ oldestAtMs }: QueueStats): number =>
      oldestAtMs === null ? 0 : this.#options.clock.nowMs() - oldestAtMs;
    oldestAge.follow(bySignal(signal => ageMs(this.stats(signal)) / 1000));
    trouble.follow(() => (this.trouble() === null ? 0 : 1));
  }

  /** Stores all of a commit or nothing. */
  async commit(commit: Commit): Promise<CommitOutcome> {
    const outcome = await this.#commits.run(() => this.#commit(commit));
    this.#report(outcome, commit);
    // Dates the trouble.
    this.trouble();
    if (outcome.kind === 'stored') failpoint('commit-done');
    if (outcome.kind === 'stored' || outcome.kind === 'held') this.#tellListeners();
    return outcome;
  }

  #tellListeners(): void {
    for (const listener of this.#listeners) listener();
  }

  #report(outcome: CommitOutcome, { batches }: Commit): void {
    const { kind } = outcome;
    this.#counters.commits.add(1, kind);
    if (kind === 'full' || kind === 'failed')
      for (const { parts, signal } of batches)
        this.#counters.refused.add(sumPoints(parts), signal, kind);
    if (kind === 'full') this.#log.warn(kind, {}, REPORTS.full);
    if (kind === 'held' || kind === 'failed') {
      this.#trouble = outcome.message;
      this.#log.error(kind, { cause: outcome.message }, REPORTS[kind]);
    }
  }

  /** The oldest rows of a signal, except `skip`, in order; [] when there are none. The caller owns the bodies. */
  oldest(signal: Signal, count: number, skip: ReadonlySet<number>): Promise<readonly QueueRow[]> {
    const before = this.size(signal).rows;
    if (this.#isClosed || before === 0) return Promise.resolve([]);
    const madeBeforeMs = signal === 'metrics' ? this.#limits.madeBeforeMs : -Infinity;
    let rows = this.#findAll(signal, count, skip);
    if (rows.some(row => row.madeAtMs < madeBeforeMs)) {
      this.#expire();
      rows = this.#findAll(signal, count, skip);
    }
    // Writes the last settlements here, because no other call may follow.
    if (rows.length === 0) this.#trySettling();
    if (this.size(signal).rows < before) this.#tellListeners();
    return Promise.resolve(rows);
  }

  /** The newest rows of a signal, except `skip`, the newest first. The caller owns the bodies. */
  newest(signal: Signal, count: number, skip: ReadonlySet<number>): Promise<readonly QueueRow[]> {
    if (this.#isClosed || this.size(signal).rows === 0) return Promise.resolve([]);
    const isWanted = (id: number): boolean => !skip.has(id) && !this.#unwritten.isSettled(id);
    // Rows in memory are newer than all rows in the file.
    const waiting = signal === 'logs' ? [] : [...this.#unwritten.rows()];
    const rows = waiting.filter(({ id }) => isWanted(id)).toReversed();
    this.#read(file => {
      for (const id of file.newestIds(signal)) {
        if (rows.length >= count) break;
        const found = isWanted(id) ? file.read(id) : null;
        if (found?.isSound === true) rows.push(found.row);
      }
    });
    return Promise.resolve(rows.slice(0, count));
  }

  /**
   * Protects a row from eviction while it is sent; false when it has left the queue. Ends with `unpin` or `settle`. Only
   * a pinned row can be settled: otherwise its points could be counted twice.
   */
  pin(id: number): boolean {
    if (this.#isClosed || this.#unwritten.isSettled(id)) return false;
    if (this.#pinned.has(id)) return true;
    const head = this.#unwritten.head(id) ?? this.#read(file => file.head(id));
    if (head !== null) this.#pinned.set(id, head);
    return head !== null;
  }

  unpin(id: number): void {
    this.#pinned.delete(id);
  }

  /** Removes a pinned row, counts the outcome of its points, and stores set-aside entries, even on a full disk. */
  settle(
    id: number,
    settlements: readonly Settlement[],
    aside: readonly SetAside[],
  ): Promise<void> {
    const head = this.#pinned.get(id);
    if (head === undefined) return Promise.resolve();
    this.#pinned.delete(id);
    const change = this.#unwritten.settle(head, { settlements, aside });
    this.#apply(change);
    this.#countSetAside(aside);
    this.#trySettling();
    // The index of the row was damaged after it was read: the account must be balanced.
    if (settledPoints(settlements) + change.sums[head.signal].points !== 0)
      this.#guard('read', () => this.#storage.read(file => this.#load(file)));
    return Promise.resolve();
  }

  readSetAside(count: number): Promise<readonly SetAside[]> {
    return Promise.resolve(this.#read(file => file.setAside(count)) ?? []);
  }

  /** Null for none, and for a damaged blob; undefined while the file cannot be read. */
  readState(kind: string, key: string): Promise<Buffer | null | undefined> {
    const blob = this.#stateOf(kind, key);
    if (blob === 'damaged') this.#storageError('read', `state ${kind} of ${key} is damaged`);
    return Promise.resolve(blob === 'damaged' ? null : blob);
  }

  /** The state, checked; null for none, and for a blob that is damaged or does not fit: then its loss is told. */
  restoreState<T>({ kind, lost, read }: StateKind<T>, key: string): Promise<T | null | undefined> {
    const blob = this.#stateOf(kind, key);
    if (blob === null || blob === undefined) return Promise.resolve(blob);
    const state = blob === 'damaged' ? null : read(blob);
    if (state === null) {
      this.#counters.lostStates.add(1, kind);
      this.#lostStates.set(kind, lost);
      const cause = blob === 'damaged' ? 'its checksum is wrong' : 'it does not fit this version';
      this.#log.plain.error({ kind, key, cause }, lost);
    }
    return Promise.resolve(state);
  }

  /** The keys of all stored blobs of a kind; none if the file cannot be read. */
  stateKeys(kind: string): readonly string[] {
    const keys = new Set(this.#read(file => file.stateKeys(kind)));
    for (const { key, blob } of this.#unwritten.stateChanges(kind))
      if (blob === null) keys.delete(key);
      else keys.add(key);
    return [...keys];
  }

  #stateOf(kind: string, key: string): Buffer | 'damaged' | null | undefined {
    const waiting = this.#unwritten.readState(kind, key);
    if (waiting !== undefined) return waiting;
    return this.#read(file => ({ blob: file.readState(kind, key) }))?.blob;
  }

  /** Uses the account, which needs no read of the file. A settled row counts until it has left the file. */
  size(signal: Signal): QueueSize {
    const { rows, ...sums } = this.account.sums(signal);
    const { maxBytes } = this.#options.config[signal];
    return { ...sums, rows: rows + this.#unwritten.settledCount(signal), maxBytes };
  }

  /** Bytes that the disk of the queue has left, and the memory for metrics after it; Infinity in memory. */
  freeBytes(signal: Signal): number {
    return this.#storage.freeBytes() + (signal === 'metrics' ? this.#unwritten.freeBytes : 0);
  }

  /** The points of both signals that wait. */
  get points(): number {
    return this.size('metrics').points + this.size('logs').points;
  }

  /** Reads the file. */
  stats(signal: Signal): QueueStats {
    if (!this.#isClosed) this.#readTimes(signal);
    return { ...this.size(signal), ...this.#times[signal] };
  }

  /** Why the last commit or settlement was not stored normally, such as a full disk; null when it was. */
  trouble(): string | null {
    const trouble = this.#trouble ?? (this.#isUnsettled ? UNSETTLED : null);
    if (trouble === null) this.#troubleSinceMs = null;
    else this.#troubleSinceMs ??= this.#options.clock.nowMs();
    const points = this.lostLately();
    if (trouble === null || points === 0) return trouble;
    return `${formatCount(points)} points a minute are lost: ${trouble}`;
  }

  /** When the trouble began, by our clock; null while there is none. */
  troubleSinceMs(): number | null {
    return this.trouble() === null ? null : this.#troubleSinceMs;
  }

  /** Notes for the operator, as sentences: for example that state is lost. */
  notes(): readonly string[] {
    return [...this.#storage.notes, ...this.#lostStates.values()];
  }

  /** Names of damaged files kept in the directory. The queue never deletes them. */
  corruptFiles(): readonly string[] {
    return this.#storage.corruptFiles();
  }

  /** Calls `listener` after each commit, and when `oldest` has removed rows. Returns a function that removes it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.#commits.run(() => undefined);
    this.#guard('store', () => this.#flush());
    // If all rows were sent from memory, their state must be kept: the next process would send their growth again.
    const isSent = !this.#unwritten.hasRows;
    if (isSent) this.#guard('store', () => this.#writeState('at any cost'));
    this.#storage.tidy();
    this.#isClosed = true;
    let points = 0;
    for (const head of this.#unwritten.heads()) points += sumPoints(head.parts);
    if (points > 0)
      this.#log.plain.error(
        { points },
        'points that were kept in memory are lost: the file of the queue could not be written to the end',
      );
    this.#storage.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #commit(commit: Commit): Promise<CommitOutcome> {
    const rows = await this.#makeRows(commit);
    if (this.#isClosed)
      return { kind: 'failed', message: 'cannot store a batch: the queue is closed' };
    const refused = logsWithoutRoom(rows, this.size('logs'));
    if (refused !== null) return refused;
    try {
      this.#store(commit, rows);
      return { kind: 'stored' };
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      const message = `cannot store a batch: ${causeText(error)}`;
      if (rows.some(row => row.signal === 'logs')) return { kind: 'failed', message };
      this.#apply(this.#unwritten.keep(commit, this.#withIds(rows), this.#limits));
      return { kind: 'held', message };
    }
  }

  async #makeRows({ batches }: Commit): Promise<readonly NewRow[]> {
    const { limits, compression } = this.#options;
    const rows: NewRow[] = [];
    for (const batch of batches) {
      const { signal } = batch;
      rows.push(...(await makeRows(batch, compression[signal], limits[signal])));
    }
    return rows;
  }

  #withIds(rows: readonly NewRow[]): readonly QueueRow[] {
    return rows.map(row => ({ ...row, id: ++this.#lastId }));
  }

  /** Stores the commit in one transaction, after everything else that waits to be written. */
  #store(commit: Commit, made: readonly NewRow[]): void {
    this.#flush();
    const rows = this.#withIds(made);
    const bytes = sumBytes(rows);
    this.#expectRoom(bytes);
    const situation = this.#situation();
    this.#write(file => storeCommit(file, commit, rows, situation));
    // A commit without rows says nothing about the room on the disk.
    if (bytes > 0 || this.#trouble?.endsWith(DISK_FULL) !== true) this.#trouble = null;
  }

  /** Writes all that waits in memory. Throws SQLite's errors; what is not yet written stays. */
  #flush(): void {
    this.#writeSettled();
    this.#writeState();
    const { pinned } = this.#limits;
    const freeId = (file: QueueFile, id: number): number | null => {
      if (!file.has(id)) return id;
      // A row keeps its id while it is being sent.
      return pinned.has(id) ? null : ++this.#lastId;
    };
    let hasMoved = true;
    while (hasMoved && this.#unwritten.hasRows) {
      const [first] = this.#unwritten.heads();
      if (first !== undefined) this.#expectRoom(rowBytes(first));
      const situation = this.#situation();
      let done = (): boolean => false;
      this.#write(file => {
        const step = this.#unwritten.moveRows(file, freeId, situation);
        ({ done } = step);
        return step.change;
      });
      hasMoved = done();
    }
  }

  /** Throws while the disk is full: then rows of metrics wait in memory, and logs wait at the service. */
  #expectRoom(bytes: number): void {
    if (bytes > 0 && !this.#storage.hasRoom(bytes)) throw new StorageError(DISK_FULL);
  }

  #trySettling(): void {
    this.#guard('settle', () => this.#writeSettled());
  }

  #writeSettled(): void {
    this.#isUnsettled = this.#unwritten.hasSettled;
    while (this.#unwritten.hasSettled) {
      const write = (file: QueueFile): (() => void) =>
        this.#unwritten.writeSettled(file, this.account);
      this.#storage.write(write, 'at any cost')();
      this.#storage.tidy();
    }
    this.#isUnsettled = false;
  }

  #writeState(cost?: 'at any cost'): void {
    if (this.#unwritten.hasState)
      this.#storage.write(file => this.#unwritten.writeState(file), cost)();
  }

  #situation(): Situation {
    return {
      ...this.#limits,
      space: { metrics: this.size('metrics'), logs: this.size('logs') },
      evictedFor: 'size',
    };
  }

  get #limits(): Limits {
    const madeBeforeMs = this.#options.clock.nowMs() - this.#options.config.metrics.maxAgeMs;
    return { pinned: this.#pinned, madeBeforeMs };
  }

  #findAll(signal: Signal, count: number, skip: ReadonlySet<number>): readonly QueueRow[] {
    const rows = [...(this.#guard('read', () => this.#find(signal, count, skip)) ?? [])];
    if (signal === 'logs') return rows;
    // Rows in memory are newer than all rows in the file.
    for (const row of this.#unwritten.rows()) {
      if (rows.length >= count) break;
      if (!skip.has(row.id)) rows.push(row);
    }
    return rows;
  }

  #find(signal: Signal, count: number, skip: ReadonlySet<number>): readonly QueueRow[] {
    const { rows, damagedIds } = this.#storage.read(file => {
      const rows: QueueRow[] = [];
      const damagedIds: number[] = [];
      let isFirst = true;
      for (const id of file.ids(signal, this.#passedIds[signal])) {
        if (rows.length >= count) break;
        if (this.#unwritten.isSettled(id)) {
          if (isFirst) this.#passedIds[signal] = id;
          continue;
        }
        isFirst = false;
        if (skip.has(id)) continue;
        const found = file.read(id);
        if (found?.isSound === true) rows.push(found.row);
        else damagedIds.push(id);
      }
      return { rows, damagedIds };
    });
    if (damagedIds.length > 0) this.#guard('read', () => this.#removeDamaged(damagedIds));
    return rows;
  }

  #removeDamaged(ids: readonly number[]): void {
    const atMs = this.#options.clock.nowMs();
    for (const id of ids) this.#write(file => removeDamaged(file, id, atMs), 'at any cost');
    // The services in the index of such a row may be wrong, too.
    this.#storage.read(file => this.#load(file));
    this.#writeSettled();
  }

  #expire(): void {
    const limits = this.#limits;
    this.#guard('expire', () => {
      this.#writeSettled();
      this.#write(file => evictExpired(file, limits), 'at any cost');
    });
    this.#apply(this.#unwritten.expire(limits));
  }

  /** Reads the account from a file that was opened, and balances it: the file may be new, or have lost rows. */
  #load(file: QueueFile): void {
    const stored = file.counts();
    // A new file gets the numbers of this process.
    if (stored.length === 0 && file.lastId() === 0) this.#unwritten.recount(this.account.counts());
    const counts = [...stored, ...this.#unwritten.counts()];
    const correction = this.account.load(counts, this.#heads(file));
    this.#unwritten.count(correction.counts());
    this.#apply(correction);
    this.#lastId = Math.max(this.#lastId, file.lastId());
    for (const id of this.#pinned.keys())
      if (!file.has(id) && this.#unwritten.head(id) === null) this.#pinned.delete(id);
  }

  /** The rows that wait; read lazily, because there may be a hundred thousand. */
  *#heads(file: QueueFile): IterableIterator<RowHead> {
    for (const head of file.heads()) if (!this.#unwritten.isSettled(head.id)) yield head;
    yield* this.#unwritten.heads();
  }

  /** Runs `work` as one transaction on the file, and writes its counts. Throws SQLite's errors, having changed nothing. */
  #write(work: (file: QueueFile) => Change, cost?: 'at any cost'): void {
    const writeAll = (file: QueueFile): Change => {
      const change = work(file);
      file.addCounts(this.account.named(change.counts()));
      return change;
    };
    this.#apply(this.#storage.write(writeAll, cost));
  }

  #apply(change: Change): void {
    this.account.apply(change);
    for (const eviction of change.evictions) this.#reportEviction(eviction);
  }

  /** Points that were evicted in the last minute because the disk is full or fails. */
  lostLately(): number {
    const sinceMs = this.#options.clock.monotonicMs() - MINUTE_MS;
    this.#dropped = this.#dropped.filter(({ atMs }) => atMs > sinceMs);
    return this.#dropped.reduce((sum, { points }) => sum + points, 0);
  }

  #reportEviction({ signal, reason, parts }: Eviction): void {
    for (const { service, points } of parts)
      this.#counters.evicted.add(points, signal, service, reason);
    if (reason === 'disk') {
      this.lostLately();
      this.#dropped.push({ atMs: this.#options.clock.monotonicMs(), points: sumPoints(parts) });
    }
    const services = [...new Set(parts.map(part => part.service))];
    const fields = {
      signal,
      reason,
      points: sumPoints(parts),
      services: services.slice(0, 10),
      serviceCount: services.length,
      remedy: REMEDIES[reason],
    };
    this.#log.warn(`evicted ${signal} ${reason}`, fields, 'points were dropped from the queue');
  }

  #countSetAside(entries: readonly SetAside[]): void {
    for (const { signal, service, points } of entries)
      this.#counters.setAside.add(points, signal, service);
  }

  /** Reading or writing failed; the operation is retried later. */
  #storageError(operation: StorageOperation, cause: string): void {
    this.#counters.storageErrors.add(1, operation);
    const fields = { operation, cause };
    this.#log.error(`storage ${operation}`, fields, 'the file of the queue does not work');
  }

  /** If the file cannot be read, the last times remain. */
  #readTimes(signal: Signal): void {
    // Rows in memory are the newest.
    const waiting = signal === 'metrics' ? this.#unwritten.times : NO_TIMES;
    try {
      const stored = this.#storage.read(file => file.ages(signal));
      this.#times[signal] = {
        oldestAtMs: stored.oldestAtMs ?? waiting.oldestAtMs,
        newestAtMs: waiting.newestAtMs ?? stored.newestAtMs,
      };
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      this.#storageError('read', causeText(error));
    }
  }

  #read<T>(work: (file: QueueFile) => T): T | null {
    return this.#guard('read', () => this.#storage.read(work));
  }

  /** Runs `work`. Returns null when the queue is closed or the file fails; a failure is counted and logged. */
  #guard<T>(operation: StorageOperation, work: () => T): T | null {
    if (this.#isClosed) return null;
    try {
      return work();
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      this.#storageError(operation, causeText(error));
      return null;
    }
  }
}
