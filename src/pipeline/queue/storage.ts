// Stores the rows of the queue in a database in memory, or in a file in a directory. The file stays usable whatever
// happens to its disk: it is locked against other processes, has space in reserve for acknowledgements, and is replaced
// by a salvaged copy when it is damaged. Files that were deleted or replaced while open are written again.

import { causeText, OperatorError } from '../../errors.ts';
import type { CountersOf } from '../../lib/counters.ts';
import { ThrottledLog } from '../../lib/log.ts';
import type { QueueOptions } from './queue.ts';
import {
  corruptFilesIn,
  DirectoryLock,
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
    help: 'Failed operations on the files of the queue; `files`: checks that found files deleted or replaced.',
    labels: ['operation'],
  },
} as const;

/** This many unused pages stay in the database for new rows. */
const UNUSED_PAGES_MAX = 2048;

export interface Storage {
  /** Rises when the file was opened again: all earlier reads may be outdated. */
  readonly version: number;
  /** A message that names files which were deleted or replaced and cannot be written again; null when there are none. */
  readonly gone: string | null;
  /** Notes for the operator, as sentences. */
  readonly notes: readonly string[];
  /** Reads; a damaged file is replaced and read again. Throws SQLite's errors. */
  read<T>(work: (file: QueueFile) => T): T;
  /** Runs `work` as one transaction; it may run twice. Throws SQLite's errors. */
  write<T>(work: (file: QueueFile) => T): T;
  /** The same for a write that must succeed on a full disk: it may use the reserve. */
  writeAtAnyCost<T>(work: (file: QueueFile) => T): T;
  /** Whether the disk has room for this many bytes, in the log and in the file, without the reserve. */
  hasRoom(bytes: number): boolean;
  /** Writes files again that were deleted or replaced while open, as it does by itself from time to time. */
  checkFiles(): void;
  /** To be called after rows were removed: gives space back to the disk, and renews the reserve if there is room. */
  tidy(): void;
  /** Names of the damaged files kept in the directory. */
  corruptFiles(): readonly string[];
  close(): void;
}

/** Lost when the process ends. The limits of the queue bound its size. */
export class MemoryStorage implements Storage {
  readonly version = 0;
  readonly gone = null;
  readonly notes: readonly string[] = [];
  readonly #file = QueueFile.open(MEMORY);

  read<T>(work: (file: QueueFile) => T): T {
    return work(this.#file);
  }

  write<T>(work: (file: QueueFile) => T): T {
    return this.#file.transact(() => work(this.#file));
  }

  writeAtAnyCost<T>(work: (file: QueueFile) => T): T {
    return this.write(work);
  }

  hasRoom(): boolean {
    return true;
  }

  checkFiles(): void {
    // There are none.
  }

  tidy(): void {
    this.#file.shrink(UNUSED_PAGES_MAX);
  }

  corruptFiles(): readonly string[] {
    return [];
  }

  close(): void {
    this.#file.close();
  }
}

export interface FileStorageOptions extends Pick<QueueOptions, 'clock' | 'counters' | 'logger'> {
  readonly directory: string;
  /** The limit of the queue, which sets the size of the reserve. */
  readonly maxBytes: number;
}

/** How often the files are checked for deletion or replacement. */
const CHECK_MS = 15_000;
const NOTES_MAX = 5;
const RESERVE_BYTES_MIN = 256 * 1024;
const RESERVE_BYTES_MAX = 4 * 1024 * 1024;

export class FileStorage implements Storage {
  version = 0;
  gone: string | null = null;
  readonly notes: string[] = [];
  readonly #options: FileStorageOptions;
  readonly #counters: CountersOf<typeof FILE_COUNTERS>;
  readonly #log: ThrottledLog;
  readonly #closing = new AbortController();
  readonly #directory: QueueDirectory;
  #lock: DirectoryLock;
  readonly #reserve: Reserve;
  #file: QueueFile | null = null;
  /** True while another process has the directory, and the file in it. */
  #isTaken = false;

  private constructor(options: FileStorageOptions, directory: QueueDirectory, lock: DirectoryLock) {
    this.#options = options;
    this.#counters = options.counters.of(FILE_COUNTERS);
    this.#log = new ThrottledLog(options.logger, options.clock);
    this.#directory = directory;
    this.#lock = lock;
    this.#reserve = new Reserve(directory.file('reserve'), reserveBytesFor(options.maxBytes));
  }

  /** Throws an OperatorError if the directory is held or not writable, or contains a foreign file. */
  static open(options: FileStorageOptions): FileStorage {
    const { directory: path, maxBytes } = options;
    // The reserve must hold several logs, or deleting it would not make room for a checkpoint.
    const directory = new QueueDirectory(path, reserveBytesFor(maxBytes) / 4, options.logger);
    let note: string | null;
    try {
      note = directory.secure();
    } catch (error) {
      throw openError(`cannot use ${path}`, error);
    }
    const lock = DirectoryLock.acquire(path);
    const storage = new FileStorage(options, directory, lock);
    try {
      storage.#openFile();
      storage.#reserve.hold();
      if (note !== null) storage.#note(note);
      void storage.#watchFiles();
      return storage;
    } catch (error) {
      lock.release();
      if (error instanceof OperatorError) throw error;
      throw openError(`cannot open the queue in ${path}`, error);
    }
  }

  corruptFiles(): readonly string[] {
    return corruptFilesIn(this.#directory.path);
  }

  read<T>(work: (file: QueueFile) => T): T {
    try {
      return work(this.#current());
    } catch (error) {
      this.#replaceDamaged(error);
      return work(this.#current());
    }
  }

  write<T>(work: (file: QueueFile) => T): T {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      return this.read(file => file.transact(() => work(file)));
    } finally {
      this.#counters.writes.add(1);
      this.#counters.writeSeconds.add((clock.monotonicMs() - startedMs) / 1000);
    }
  }

  writeAtAnyCost<T>(work: (file: QueueFile) => T): T {
    try {
      return this.write(work);
    } catch (error) {
      if (!mayLackSpace(error) || !this.#reserve.giveUp()) throw error;
      // A checkpoint makes room in the log.
      this.#current().checkpoint();
      return this.write(work);
    }
  }

  hasRoom(bytes: number): boolean {
    const isRoomy = (): boolean => this.#reserve.hold() && this.#directory.freeBytes() >= 2 * bytes;
    if (isRoomy()) return true;
    this.#giveBack(0);
    return isRoomy();
  }

  async #watchFiles(): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      await this.#options.clock.sleep(CHECK_MS, signal);
      if (signal.aborted) return;
      this.checkFiles();
    }
  }

  /** The open files have all commits, so they can be written again. */
  checkFiles(): void {
    const misplaced = [
      ...(this.#file?.misplaced() ?? []),
      ...(this.#lock.isInPlace() ? [] : ['lock.sqlite']),
    ];
    this.gone = null;
    if (misplaced.length === 0) {
      this.#reserve.look();
      this.#reserve.hold();
      return;
    }
    this.#counters.storageErrors.add(1, 'files');
    const names = misplaced.join(', ');
    try {
      this.#renew();
    } catch (error) {
      if (!isStorageFailure(error) && !(error instanceof OperatorError)) throw error;
      const cause = causeText(error);
      this.gone = `its files were deleted or replaced (${names}) and cannot be written again: ${cause}`;
      this.#log.error(
        'files gone',
        { names, cause },
        'files of the queue were deleted or replaced, and cannot be written again: queued data is lost when this process ends',
      );
      return;
    }
    const at = new Date(this.#options.clock.nowMs()).toISOString();
    this.notes.push(`${names} of the queue were deleted or replaced, and written again at ${at}`);
    this.notes.splice(0, this.notes.length - NOTES_MAX);
    this.#log.plain.error(
      { names },
      'files of the queue were deleted or replaced while in use: all queued data was written again; find out who did that',
    );
  }

  #note(note: string): void {
    this.notes.push(note);
    this.#log.plain.warn({ key: 'queue.directory' }, note);
  }

  #renew(): void {
    this.#directory.secure();
    if (!this.#lock.isInPlace()) this.#lockAgain();
    const file = this.#file;
    if (file !== null && file.misplaced().length > 0) {
      this.#directory.renew(file, this.#options.clock.nowMs());
      this.#file = null;
      this.#openFile();
    }
    this.#reserve.look();
    this.#reserve.hold();
  }

  /** Throws when another process holds the directory. The file then belongs to it, unless ours was deleted as well. */
  #lockAgain(): void {
    try {
      const lock = DirectoryLock.acquire(this.#directory.path);
      this.#lock.release();
      this.#lock = lock;
    } catch (error) {
      if (this.#file?.misplaced().length === 0) {
        this.#file.close();
        this.#file = null;
      }
      this.#isTaken = this.#file === null;
      throw error;
    }
    if (this.#isTaken) this.version++;
    this.#isTaken = false;
  }

  tidy(): void {
    this.#giveBack(this.#reserve.isHeld ? UNUSED_PAGES_MAX : 0);
    this.#reserve.hold();
  }

  /** Gives the space of removed rows back to the disk, except for `keptPages`. */
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
    this.#closing.abort();
    this.#file?.close();
    this.#file = null;
    this.#lock.release();
  }

  #current(): QueueFile {
    if (this.#isTaken) throw new StorageError('another process has taken its directory');
    return this.#file ?? this.#openFile();
  }

  #openFile(damage = 'its structure is broken'): QueueFile {
    const file = this.#openSound() ?? this.#replace(damage);
    this.#file = file;
    this.version++;
    this.#counters.corruptFiles.set(this.corruptFiles().length);
    return file;
  }

  /** Null when the file is damaged. */
  #openSound(): QueueFile | null {
    try {
      return this.#directory.open();
    } catch (error) {
      // Even opening needs some space.
      if (!mayLackSpace(error) || !this.#reserve.giveUp()) throw error;
      return this.#directory.open();
    }
  }

  #replaceDamaged(error: unknown): void {
    if (storageProblem(error) !== 'damaged') throw error;
    this.#file?.close();
    this.#file = null;
    // SQLite may report an unreadable page as damage: reopening the file decides.
    this.#openFile(causeText(error));
  }

  #replace(damage: string): QueueFile {
    const { corruptFile, report } = this.#directory.replace(this.#options.clock.nowMs());
    this.#log.plain.error(
      { corruptFile, damage, ...report },
      'the file of the queue was damaged: the readable rows were recovered, the damaged file is kept next to it',
    );
    const file = this.#directory.open();
    if (file === null) throw new StorageError('the salvaged file is damaged, too');
    return file;
  }
}

function reserveBytesFor(maxBytes: number): number {
  return Math.round(Math.min(Math.max(maxBytes / 64, RESERVE_BYTES_MIN), RESERVE_BYTES_MAX));
}

/** True when SQLite may need more space. A lock of another program ends by itself. */
function mayLackSpace(error: unknown): boolean {
  const problem = storageProblem(error);
  return problem !== null && problem !== 'busy';
}
