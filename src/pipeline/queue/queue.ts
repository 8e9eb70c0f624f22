// The queue between encode and send: a row stays in it until the back end has accepted it or refused it for good. It is
// one SQLite database: a file in a directory, whose rows survive a crash, a kill and a power cut; or memory, with the
// same limits. There is one writer, and its transactions run on the main thread. Every call that moves points updates
// the account in the same step. On a full disk new metrics replace old ones, and a reserve keeps space for
// acknowledgements (storage.ts). While the file cannot be written at all, metrics are held in memory and sent from
// there (held.ts).

import type { Config, OtlpSignalConfig } from '../../config/config.ts';
import { causeText } from '../../errors.ts';
import { failpoint } from '../../lib/failpoint.ts';
import type { CounterSeries, CountersOf } from '../../lib/counters.ts';
import { Permits } from '../../lib/bell.ts';
import { ThrottledLog } from '../../lib/log.ts';
import { type Signal, SIGNALS } from '../../model/batch.ts';
import { Account, Change, type Eviction, type EvictionReason, QUEUE_COUNTERS } from './account.ts';
import { AgeClock } from './age-clock.ts';
import { Held } from './held.ts';
import { openError } from './queue-directory.ts';
import type { QueueFile } from './queue-file.ts';
import type {
  Commit,
  CommitOutcome,
  Encoding,
  QueueOptions,
  QueueRow,
  QueueSize,
  QueueStats,
  RowRest,
  RowTimes,
  SetAside,
  Settlement,
} from './commit.ts';
import { logsWithoutRoom, makeRows, type NewRow, rowBytes, sumBytes, sumPoints } from './rows.ts';
import { isStorageFailure, PAGE_BYTES } from './schema.ts';
import { FILE_COUNTERS, Storage } from './storage.ts';
import {
  expire,
  joinOutcomes,
  removeDamaged,
  settledPoints,
  settleRow,
  storeCommit,
  storeHeld,
  type Outcome,
  type Situation,
} from './transactions.ts';

/** Reading the numbers may reveal damage, after which they are read again; at most this many times. */
const REFRESHES_MAX = 3;

const DISK_FULL = 'its disk is full: new metrics replace the oldest';

const UNSETTLED = "cannot store the back end's answers: the file cannot be written";

const REMEDIES: Readonly<Record<EvictionReason, string>> = {
  size: 'raise queue.metrics.max_bytes, or see why the back end does not accept',
  age: 'raise queue.metrics.max_age, or see why the back end does not accept',
  disk: 'free space on the disk of queue.directory',
  damaged: 'check the disk of queue.directory',
};

const REPORTS = {
  diskFull:
    'the disk of the queue is full: until there is space, new metrics replace the oldest or wait in memory',
  full: 'cannot store logs: their share of the queue is full; pulling waits until the back end accepts',
  held: 'cannot write the file of the queue; metrics are kept in memory and sent from there',
  failed: 'cannot store a batch',
} as const;

/** Operations that are retried after the file failed. */
type StorageOperation = 'read' | 'store' | 'settle' | 'expire';

const NO_TIMES: RowTimes = { oldestAtMs: null, newestAtMs: null };

export class Queue {
  readonly account: Account = new Account();
  readonly #options: QueueOptions;
  readonly #log: ThrottledLog;
  readonly #counters: CountersOf<typeof QUEUE_COUNTERS & typeof FILE_COUNTERS>;
  readonly #storage: Storage;
  readonly #ages: AgeClock;
  /** Commits that the file does not have yet, because it could not be written. */
  readonly #held: Held;
  readonly #commits = new Permits(1);
  readonly #listeners = new Set<() => void>();
  readonly #pinned = new Set<number>();
  /** Settlements that could not be written yet. Their rows stay pinned; readers see only the unsettled rest. */
  readonly #unsettled = new Map<number, Outcome>();
  /** The storage's version when the account was read from it. */
  #accountVersion = -1;
  /** When the oldest and the newest row were made, by the wall clock, as last read. */
  #times: Record<Signal, RowTimes> = { metrics: NO_TIMES, logs: NO_TIMES };
  /** The highest row id in this process or in the file. */
  #lastId: number;
  #trouble: string | null = null;
  #compression: Readonly<Record<Signal, Encoding>>;
  #isClosed = false;

  private constructor(options: QueueOptions, storage: Storage) {
    this.#options = options;
    this.#log = new ThrottledLog(options.logger, options.clock);
    this.#counters = options.counters.of({ ...QUEUE_COUNTERS, ...FILE_COUNTERS });
    this.#compression = options.compression;
    this.#storage = storage;
    this.#held = new Held(options.config.metrics.maxBytes);
    this.#ages = storage.read(file => AgeClock.of(file, options.clock));
    this.#lastId = storage.read(file => file.lastId());
    this.#showGauges();
  }

  /** Opens or creates the queue in a directory, or in memory if that is null. Throws an OperatorError. */
  static open(options: QueueOptions, directory: string | null): Queue {
    const storage = Storage.open(options, directory);
    try {
      const queue = new Queue(options, storage);
      queue.#refresh();
      // The file must be writable at the start, if only with the reserve.
      queue.#write(file => {
        queue.#ages.save(file);
        return new Change();
      }, 'at any cost');
      if (!storage.hasRoom(PAGE_BYTES)) {
        queue.#trouble = DISK_FULL;
        queue.#log.plain.warn({ remedy: REMEDIES.disk }, REPORTS.diskFull);
      }
      return queue;
    } catch (error) {
      storage.close();
      throw openError(`cannot use the queue in ${String(directory)}`, error);
    }
  }

  #showGauges(): void {
    const { rows, bytes, points, maxBytes, oldestAge, trouble } = this.#counters;
    const bySignal = (of: (stats: QueueStats) => number) => (): readonly CounterSeries[] =>
      SIGNALS.map(signal => ({ labelValues: [signal], value: of(this.stats(signal)) }));
    rows.follow(bySignal(stats => stats.rows));
    bytes.follow(bySignal(stats => stats.bytes));
    points.follow(bySignal(stats => stats.points));
    maxBytes.follow(bySignal(stats => stats.maxBytes));
    const ageMs = ({ oldestAtMs }: QueueStats): number =>
      oldestAtMs === null ? 0 : this.#options.clock.nowMs() - oldestAtMs;
    oldestAge.follow(bySignal(stats => ageMs(stats) / 1000));
    trouble.follow(() => (this.trouble() === null ? 0 : 1));
  }

  /** Stores all of a commit or nothing. */
  async commit(commit: Commit): Promise<CommitOutcome> {
    const outcome = await this.#commits.run(() => this.#commit(commit));
    this.#report(outcome, commit);
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
    if (this.#isClosed || this.#isEmpty(signal)) return Promise.resolve([]);
    const before = this.account.sums(signal).rows;
    const madeBeforeMs = signal === 'metrics' ? this.#madeBeforeMs : -Infinity;
    let rows = this.#findAll(signal, count, skip);
    if (rows.some(row => row.madeAtMs < madeBeforeMs)) {
      this.#expire();
      rows = this.#findAll(signal, count, skip);
    }
    // Writes the last settlements here, because no other call may follow.
    if (rows.length === 0) this.#settleAll();
    if (this.account.sums(signal).rows < before) this.#tellListeners();
    const inWallTime = rows.map(row => ({ ...row, madeAtMs: this.#ages.wallMs(row.madeAtMs) }));
    return Promise.resolve(inWallTime);
  }

  /**
   * Protects a row from eviction while it is sent; false when it has left the queue. Ends with `unpin`, or when the
   * whole row is settled. Only a pinned row can be settled: otherwise its points could be counted twice.
   */
  pin(id: number): boolean {
    if (this.#isGone(id) || this.#isClosed) return false;
    const has = this.#isHeld(id) || this.#read(file => file.has(id)) === true;
    if (has) this.#pinned.add(id);
    return has;
  }

  unpin(id: number): void {
    if (!this.#unsettled.has(id)) this.#pinned.delete(id);
  }

  /**
   * Removes a pinned row, counts the outcome of its points, and stores set-aside entries; a full disk does not prevent
   * it. A `rest` replaces the row and stays pinned; then only the difference is settled.
   */
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
      this.#countSetAside(aside);
    } else {
      this.#unsettled.set(id, joinOutcomes(this.#unsettled.get(id), outcome));
      this.#settleAll();
    }
    return Promise.resolve();
  }

  readSetAside(count: number): Promise<readonly SetAside[]> {
    return Promise.resolve(this.#read(file => file.setAside(count)) ?? []);
  }

  /** Null for none, and for a damaged blob; undefined while the file cannot be read. */
  readState(kind: string, key: string): Promise<Buffer | null | undefined> {
    const held = this.#held.readState(kind, key);
    if (held !== undefined) return Promise.resolve(held);
    const found = this.#read(file => ({ blob: file.readState(kind, key) }));
    const blob = found?.blob;
    if (blob === 'damaged') this.#storageError('read', `state ${kind} of ${key} is damaged`);
    return Promise.resolve(blob === 'damaged' ? null : blob);
  }

  /** The keys of all stored blobs of a kind; none if the file cannot be read. */
  stateKeys(kind: string): readonly string[] {
    const keys = new Set(this.#read(file => file.stateKeys(kind)));
    for (const { key, blob } of this.#held.stateChanges(kind))
      if (blob === null) keys.delete(key);
      else keys.add(key);
    return [...keys];
  }

  /** Uses the account, which needs no read of the file. */
  size(signal: Signal): QueueSize {
    return { ...this.account.sums(signal), maxBytes: this.#options.config[signal].maxBytes };
  }

  /** Bytes that the disk of the queue has left; Infinity in memory. */
  freeBytes(): number {
    return this.#storage.freeBytes();
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
    const isUnsettled = this.#unsettled.size > 0;
    return this.#storage.gone ?? this.#trouble ?? (isUnsettled ? UNSETTLED : null);
  }

  /** Notes for the operator, as sentences, about the files: for example that other programs deleted some. */
  notes(): readonly string[] {
    return this.#storage.notes;
  }

  /** Names of damaged files kept in the directory. The queue never deletes them. */
  corruptFiles(): readonly string[] {
    return this.#storage.corruptFiles();
  }

  compressAs(signal: Signal, encoding: Encoding): void {
    this.#compression = { ...this.#compression, [signal]: encoding };
  }

  /** Calls `listener` after each commit, and when `oldest` has removed rows. Returns a function that removes it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.#commits.run(() => undefined);
    this.#storage.checkFiles();
    this.#settleAll();
    // If all held rows were sent, their state must be kept: the next process would send their growth again.
    const isSent = this.#held.rows().next().done === true;
    this.#guard('store', () => this.#storeHeld(isSent ? 'at any cost' : undefined));
    this.#storage.tidy();
    this.#isClosed = true;
    let points = 0;
    for (const row of this.#held.rows()) points += sumPoints(row.parts);
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
    try {
      this.#refresh();
      const refused = logsWithoutRoom(rows, this.size('logs'));
      if (refused !== null) return refused;
      this.#store(commit, rows);
      return { kind: 'stored' };
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      const message = `cannot store a batch: ${causeText(error)}`;
      if (rows.some(row => row.signal === 'logs')) return { kind: 'failed', message };
      const limits = { pinned: this.#pinned, madeBeforeMs: this.#madeBeforeMs };
      this.#apply(this.#held.hold(commit, this.#withIds(rows), limits));
      return { kind: 'held', message };
    }
  }

  async #makeRows({ batches }: Commit): Promise<readonly NewRow[]> {
    const { maxRequestBytes } = this.#options;
    const rows: NewRow[] = [];
    for (const batch of batches) {
      const dated = { ...batch, madeAtMs: this.#ages.timeOf(batch.madeAtMs) };
      rows.push(...(await makeRows(dated, this.#compression, maxRequestBytes)));
    }
    return rows;
  }

  #withIds(rows: readonly NewRow[]): readonly QueueRow[] {
    return rows.map(row => ({ ...row, id: ++this.#lastId }));
  }

  /** Stores the commit in one transaction, after everything else that waits to be written. */
  #store(commit: Commit, made: readonly NewRow[]): void {
    this.#settleAll();
    this.#storeHeld();
    this.#skipTakenIds();
    const rows = this.#withIds(made);
    const bytes = sumBytes(rows);
    const hasRoom = bytes === 0 || this.#storage.hasRoom(bytes);
    const situation = this.#situation(hasRoom);
    this.#write(file => storeCommit(file, commit, rows, situation));
    // A commit without rows says nothing about the room on the disk.
    if (bytes > 0 || this.#trouble !== DISK_FULL) this.#trouble = hasRoom ? null : DISK_FULL;
  }

  /** The file has a higher id than ours if somebody deleted our lock and another process then wrote into the file. */
  #skipTakenIds(): void {
    const takenId = this.#storage.read(file => file.lastId());
    this.#lastId = Math.max(this.#lastId, takenId);
  }

  /** Writes the held commits, their state and counts at this cost. Throws SQLite's errors; the rest stays held. */
  #storeHeld(cost?: 'at any cost'): void {
    if (this.#held.file === null) return;
    this.#skipTakenIds();
    this.#storage.write(file => this.#held.copyTo(file, this.account), cost);
    this.#held.copied();
    for (const row of this.#held.rows()) {
      const situation = this.#situation(this.#storage.hasRoom(rowBytes(row)));
      const isTaken = this.#storage.read(file => file.has(row.id));
      // A row keeps its id while it is being sent.
      if (isTaken && this.#pinned.has(row.id)) continue;
      const free = isTaken ? { ...row, id: ++this.#lastId } : row;
      this.#write(file => storeHeld(file, free, situation));
      this.#held.moved(row);
    }
  }

  #situation(hasRoom: boolean): Situation {
    return {
      pinned: this.#pinned,
      madeBeforeMs: this.#madeBeforeMs,
      space: { metrics: this.size('metrics'), logs: this.size('logs') },
      hasRoom,
      evictedFor: 'size',
    };
  }

  get #madeBeforeMs(): number {
    return this.#ages.nowMs() - this.#options.config.metrics.maxAgeMs;
  }

  /** Uses the account, which needs no read of the file. */
  #isEmpty(signal: Signal): boolean {
    return !this.#isAccountStale && this.account.sums(signal).rows === 0;
  }

  #findAll(signal: Signal, count: number, skip: ReadonlySet<number>): readonly QueueRow[] {
    const stored = this.#guard('read', () => this.#find(signal, count, skip)) ?? [];
    return [...stored, ...this.#findHeld(signal, count - stored.length, skip)];
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
      // The services in the row's index may be wrong, too.
      this.#accountVersion = -1;
    }
    return rows;
  }

  /** Held rows: they are newer than all rows in the file. */
  #findHeld(signal: Signal, count: number, skip: ReadonlySet<number>): readonly QueueRow[] {
    if (signal !== 'metrics') return [];
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

  #expire(): void {
    const situation = { pinned: this.#pinned, madeBeforeMs: this.#madeBeforeMs };
    const work = (file: QueueFile): Change => expire(file, situation);
    this.#guard('expire', () => this.#write(work, 'at any cost'));
    this.#apply(this.#held.write(work));
  }

  /** True when a row is settled but still in the file. */
  #isGone(id: number): boolean {
    return this.#unsettled.get(id)?.rest === null;
  }

  /** Writes the pending settlements. Those that cannot be written stay pending. */
  #settleAll(): void {
    for (const [id, outcome] of this.#unsettled) {
      const settle = (): Change => this.#write(file => settleRow(file, id, outcome), 'at any cost');
      const change = this.#guard('settle', settle);
      if (change === null) {
        // Only the rest of a row may lack space; removing a row needs almost none.
        if (outcome.rest !== null) continue;
        return;
      }
      // The row's index was damaged after it was read: the account must be balanced.
      if (settledPoints(outcome) + change.points !== 0) this.#accountVersion = -1;
      failpoint('settle-done');
      this.#unsettled.delete(id);
      if (outcome.rest === null) this.#pinned.delete(id);
      this.#countSetAside(outcome.aside);
      this.#storage.tidy();
    }
  }

  /** Runs `work` as one transaction on the file, and writes its counts. Throws SQLite's errors, having changed nothing. */
  #write(work: (file: QueueFile) => Change, cost?: 'at any cost'): Change {
    const writeAll = (file: QueueFile): Change => {
      const change = work(file);
      file.addCounts(this.account.named(change.counts()));
      if (!this.#ages.isSaved(file)) this.#ages.save(file);
      return change;
    };
    const change = this.#storage.write(writeAll, cost);
    this.#apply(change);
    return change;
  }

  #apply(change: Change): void {
    this.account.apply(change);
    for (const eviction of change.evictions) this.#reportEviction(eviction);
  }

  #reportEviction({ signal, reason, parts }: Eviction): void {
    for (const { service, points } of parts)
      this.#counters.evicted.add(points, signal, service, reason);
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

  /** Does not refresh the account: callers compare its numbers. If the file cannot be read, the last times remain. */
  #readTimes(signal: Signal): void {
    // Held rows are the newest.
    const held = this.#held.file?.ages(signal) ?? NO_TIMES;
    const wallMs = (timeMs: number | null): number | null =>
      timeMs === null ? null : this.#ages.wallMs(timeMs);
    try {
      const stored = this.#storage.read(file => file.ages(signal));
      this.#times[signal] = {
        oldestAtMs: wallMs(stored.oldestAtMs ?? held.oldestAtMs),
        newestAtMs: wallMs(held.newestAtMs ?? stored.newestAtMs),
      };
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      this.#storageError('read', causeText(error));
    }
  }

  /** The account may differ from the file, because the file was opened again or could not be read. */
  get #isAccountStale(): boolean {
    return this.#accountVersion !== this.#storage.version;
  }

  /**
   * Reads the account again if it may differ from the file, and balances it after damage. Throws SQLite's errors; the
   * next call retries.
   */
  #refresh(): void {
    for (let i = 0; this.#isAccountStale && i < REFRESHES_MAX; i++) {
      const held = this.#held.file;
      const correction = this.#storage.read(file =>
        this.account.load(held === null ? [file] : [file, held]),
      );
      this.#accountVersion = this.#storage.version;
      try {
        this.#write(() => correction, 'at any cost');
      } catch (error) {
        this.#accountVersion = -1;
        if (!correction.isEmpty) throw error;
        return;
      }
    }
  }

  #read<T>(work: (file: QueueFile) => T): T | null {
    return this.#guard('read', () => this.#storage.read(work));
  }

  /** Runs `work`. Returns null when the queue is closed or the file fails; a failure is counted and logged. */
  #guard<T>(operation: StorageOperation, work: () => T): T | null {
    if (this.#isClosed) return null;
    try {
      this.#refresh();
      return work();
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      this.#storageError(operation, causeText(error));
      return null;
    }
  }
}

/** OTLP/JSON is up to this many times as large as protobuf; rows are measured in protobuf. */
const JSON_FACTOR = 8;

/** The queue of a configuration: in `queue.directory`, or in bounded memory if that is null. Throws an OperatorError. */
export function openQueue(
  { queue, otlp }: Config,
  parts: Pick<QueueOptions, 'clock' | 'counters' | 'logger'>,
): Queue {
  const { metrics, logs } = otlp;
  const maxBytesOf = ({ protocol }: OtlpSignalConfig): number =>
    Math.ceil(otlp.maxRequestBytes / (protocol === 'http/json' ? JSON_FACTOR : 1));
  // With `auto` the sender changes it once it knows what the back end supports.
  const encodingOf = ({ compression }: OtlpSignalConfig): Encoding =>
    compression === 'auto' ? 'gzip' : compression;
  const options: QueueOptions = {
    ...parts,
    config: queue,
    maxRequestBytes: { metrics: maxBytesOf(metrics), logs: maxBytesOf(logs) },
    compression: { metrics: encodingOf(metrics), logs: encodingOf(logs) },
  };
  return Queue.open(options, queue.directory);
}
