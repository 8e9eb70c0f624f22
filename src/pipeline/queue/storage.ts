// Stores the rows of the queue in a database in memory, or in a file in a directory. The file is locked against other
// processes, has space in reserve for acknowledgements on a full disk, and is replaced by a salvaged copy when it is
// damaged.

import { causeText } from '../../errors.ts';
import type { CountersOf } from '../../lib/counters.ts';
import type { QueueOptions } from './commit.ts';
import {
  corruptFilesIn,
  DirectoryLock,
  freeBytes,
  openError,
  QueueDirectory,
  Reserve,
} from './queue-directory.ts';
import { MEMORY, QueueFile } from './queue-file.ts';
import { isStorageFailure, StorageError, storageProblem } from './schema.ts';

export const FILE_COUNTERS = {
  corruptFiles: {
    name: 'prom2otlp_queue_corrupt_files',
    help: 'Damaged files kept aside in the directory of the queue.',
  },
  writes: {
    name: 'prom2otlp_queue_writes_total',
    help: 'Transactions on the file of the queue.',
  },
  writeSeconds: {
    name: 'prom2otlp_queue_write_seconds_total',
    help: 'Time spent in transactions on the file of the queue, mostly waiting for the disk.',
  },
  storageErrors: {
    name: 'prom2otlp_queue_storage_errors_total',
    help: 'Failed operations on the files of the queue.',
    labels: ['operation'],
  },
} as const;

/** This many unused pages stay in the database for new rows. */
const UNUSED_PAGES_MAX = 2048;

/** The parts of a storage in its directory, besides the database. */
interface Disk {
  readonly directory: QueueDirectory;
  readonly reserve: Reserve;
  readonly lock: DirectoryLock;
}

/** After a failed opening, at least as long, and this many times as long as it took: it may have read all of the file. */
const REOPEN_MS_MIN = 500;
const REOPEN_FACTOR = 10;
const RESERVE_BYTES_MIN = 256 * 1024;
const RESERVE_BYTES_MAX = 4 * 1024 * 1024;

export class Storage {
  /** Called with each file that is opened after the first one. */
  onOpen: (file: QueueFile) => void = () => undefined;
  readonly notes: string[] = [];
  readonly #options: QueueOptions;
  readonly #counters: CountersOf<typeof FILE_COUNTERS>;
  readonly #disk: Disk | null;
  #file: QueueFile | null = null;
  /** Why the file could not be opened, and when that is tried again: it may mean to read all of it. */
  #failure: { readonly error: unknown; readonly untilMs: number } | null = null;

  private constructor(options: QueueOptions, disk: Disk | null) {
    this.#options = options;
    this.#counters = options.counters.of(FILE_COUNTERS);
    this.#disk = disk;
  }

  /**
   * Opens the storage in a directory, or in memory if `path` is null. Throws an OperatorError if another process holds
   * the directory, or if it is not writable or contains a foreign file.
   */
  static open(options: QueueOptions, path: string | null): Storage {
    if (path === null) return new Storage(options, null);
    const { metrics, logs } = options.config;
    const maxBytes = metrics.maxBytes + logs.maxBytes;
    const reserveBytes = Math.round(
      Math.min(Math.max(maxBytes / 64, RESERVE_BYTES_MIN), RESERVE_BYTES_MAX),
    );
    // The reserve must hold several logs, or deleting it would not make room for a checkpoint.
    const directory = new QueueDirectory(path, reserveBytes / 4, options.logger);
    let note: string | null;
    try {
      note = directory.secure();
    } catch (error) {
      throw openError(`cannot use ${path}`, error, path);
    }
    const lock = DirectoryLock.acquire(path);
    const reserve = new Reserve(directory.file('reserve'), reserveBytes);
    const storage = new Storage(options, { directory, reserve, lock });
    try {
      storage.#openFile();
      reserve.hold();
      if (note !== null) storage.#note(note);
      return storage;
    } catch (error) {
      lock.release();
      throw openError(`cannot open the queue in ${path}`, error, path);
    }
  }

  corruptFiles(): readonly string[] {
    return this.#disk === null ? [] : corruptFilesIn(this.#disk.directory.path);
  }

  /** Runs `work`. If the file is damaged, replaces it and runs `work` again. Throws SQLite's errors. */
  read<T>(work: (file: QueueFile) => T): T {
    try {
      return work(this.#current());
    } catch (error) {
      if (this.#disk === null || storageProblem(error) !== 'damaged') throw error;
      this.#closeFile();
      // SQLite may report an unreadable page as damage: reopening the file decides.
      return work(this.#openFile(causeText(error)));
    }
  }

  /**
   * Runs `work` as one transaction; it may run twice. Throws SQLite's errors. `at any cost`: it must succeed on a full
   * disk, and may use the reserve.
   */
  write<T>(work: (file: QueueFile) => T, cost?: 'at any cost'): T {
    try {
      return this.#transact(work);
    } catch (error) {
      const mayPay = cost !== undefined && mayLackSpace(error);
      if (!mayPay || this.#disk?.reserve.giveUp() !== true) throw error;
      // A checkpoint makes room in the log.
      this.#current().checkpoint();
      return this.#transact(work);
    }
  }

  #transact<T>(work: (file: QueueFile) => T): T {
    const transact = (file: QueueFile): T => file.transact(() => work(file));
    if (this.#disk === null) return this.read(transact);
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      return this.read(transact);
    } finally {
      this.#counters.writes.add(1);
      this.#counters.writeSeconds.add((clock.monotonicMs() - startedMs) / 1000);
    }
  }

  /** Whether the disk has room for this many bytes, in the log and in the file, without the reserve. */
  hasRoom(bytes: number): boolean {
    const disk = this.#disk;
    if (disk === null) return true;
    const isRoomy = (): boolean =>
      disk.reserve.hold() && freeBytes(disk.directory.path) >= 2 * bytes;
    if (isRoomy()) return true;
    this.#giveBack(0);
    return isRoomy();
  }

  /** Bytes that the disk has left, besides the reserve; Infinity in memory. */
  freeBytes(): number {
    return this.#disk === null ? Infinity : freeBytes(this.#disk.directory.path);
  }

  #note(note: string): void {
    this.notes.push(note);
    this.#options.logger.warn({ key: 'queue.directory' }, note);
  }

  /** To be called after rows were removed: gives space back to the disk, and renews the reserve if there is room. */
  tidy(): void {
    this.#giveBack(this.#disk?.reserve.isHeld === false ? 0 : UNUSED_PAGES_MAX);
    this.#disk?.reserve.hold();
  }

  /** Gives space of removed rows back, except for `keptPages`. */
  #giveBack(keptPages: number): void {
    try {
      const file = this.#current();
      if (file.shrink(keptPages)) file.checkpoint();
    } catch (error) {
      // The next read or write reports it.
      if (!isStorageFailure(error)) throw error;
    }
  }

  close(): void {
    this.#closeFile();
    this.#disk?.lock.release();
  }

  #closeFile(): void {
    this.#file?.close();
    this.#file = null;
  }

  #current(): QueueFile {
    if (this.#file !== null) return this.#file;
    const { error, untilMs } = this.#failure ?? { untilMs: -Infinity };
    if (this.#options.clock.monotonicMs() < untilMs) throw error;
    return this.#openFile();
  }

  #openFile(damage = 'its structure is broken'): QueueFile {
    const disk = this.#disk;
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      const file =
        disk === null ? QueueFile.open(MEMORY) : (openSound(disk) ?? this.#replace(disk, damage));
      this.#file = file;
      this.#counters.corruptFiles.set(this.corruptFiles().length);
      this.onOpen(file);
      this.#failure = null;
      return file;
    } catch (error) {
      this.#closeFile();
      const nowMs = clock.monotonicMs();
      const pauseMs = Math.max(REOPEN_MS_MIN, REOPEN_FACTOR * (nowMs - startedMs));
      this.#failure = { error, untilMs: nowMs + pauseMs };
      throw error;
    }
  }

  #replace({ directory }: Disk, damage: string): QueueFile {
    const { corruptFile, report } = directory.replace(this.#options.clock.nowMs());
    this.#options.logger.error(
      { corruptFile, damage, ...report },
      'the file of the queue was damaged: the readable rows were recovered, the damaged file is kept next to it',
    );
    const file = directory.open();
    if (file === null) throw new StorageError('the salvaged file is damaged, too');
    return file;
  }
}

/** Null when the file is damaged. */
function openSound({ directory, reserve }: Disk): QueueFile | null {
  try {
    return directory.open();
  } catch (error) {
    // Even opening needs some space.
    if (!mayLackSpace(error) || !reserve.giveUp()) throw error;
    return directory.open();
  }
}

/** True when SQLite may need more space. A lock of another program ends by itself. */
function mayLackSpace(error: unknown): boolean {
  const problem = storageProblem(error);
  return problem !== null && problem !== 'busy';
}
