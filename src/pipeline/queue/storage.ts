// Stores the rows of the queue in a database in memory, or in a file in a directory. The file stays usable whatever
// happens to its disk: it is locked against other processes, has space in reserve for acknowledgements, and is replaced
// by a salvaged copy when it is damaged.

import { causeText, OperatorError } from '../../errors.ts';
import type { Clock } from '../../lib/clock.ts';
import {
  DirectoryLock,
  openError,
  QueueDirectory,
  Reserve,
  type Replacement,
} from './queue-directory.ts';
import { MEMORY, QueueFile } from './queue-file.ts';
import { isStorageFailure, StorageError, storageProblem } from './schema.ts';

/** `renewed` and `gone` name the files that were deleted or replaced while open. */
export type FileCheck =
  | { readonly kind: 'in place' }
  | { readonly kind: 'renewed'; readonly names: readonly string[] }
  | { readonly kind: 'gone'; readonly names: readonly string[]; readonly cause: string };

/** This many unused pages stay in the database for new rows. */
const UNUSED_PAGES_MAX = 2048;

export interface Storage {
  /** Reads; a damaged file is replaced and read again. Throws SQLite's errors. */
  read<T>(work: (file: QueueFile) => T): T;
  /** Runs `work` as one transaction; it may run twice. Throws SQLite's errors. */
  write<T>(work: (file: QueueFile) => T): T;
  /** The same for a write that must succeed on a full disk: it may use the reserve. */
  writeAtAnyCost<T>(work: (file: QueueFile) => T): T;
  /** Whether the disk has room for this many bytes, in the log and in the file, without the reserve. */
  hasRoom(bytes: number): boolean;
  /** To be called periodically: writes files again that were deleted or replaced while open. */
  checkFiles(): FileCheck;
  /** To be called after rows were removed: gives space back to the disk, and renews the reserve if there is room. */
  tidy(): void;
  /** Names of the damaged files kept in the directory. */
  corruptFiles(): readonly string[];
  close(): void;
}

/** Lost when the process ends. The limits of the queue bound its size. */
export class MemoryStorage implements Storage {
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

  checkFiles(): FileCheck {
    return { kind: 'in place' };
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

export interface FileStorageOptions {
  readonly directory: string;
  /** The limit of the queue, which sets the size of the reserve. */
  readonly maxBytes: number;
  readonly clock: Clock;
  /** Called when a damaged file was replaced: all earlier reads may be outdated. */
  readonly onReplaced: (replacement: Replacement) => void;
  /** Called when a file that seemed damaged was opened again. */
  readonly onReopened: () => void;
  /** Called with a note about the directory for the operator. */
  readonly onNoted: (note: string) => void;
  /** Called after each transaction, even a failed one, with the time for which it blocked the event loop. */
  readonly onWritten: (durationMs: number) => void;
}

const RESERVE_BYTES_MIN = 256 * 1024;
const RESERVE_BYTES_MAX = 4 * 1024 * 1024;

export class FileStorage implements Storage {
  readonly #options: FileStorageOptions;
  readonly #directory: QueueDirectory;
  #lock: DirectoryLock;
  readonly #reserve: Reserve;
  #file: QueueFile | null = null;
  /** True while another process has the directory, and the file in it. */
  #isTaken = false;

  private constructor(options: FileStorageOptions, directory: QueueDirectory, lock: DirectoryLock) {
    this.#options = options;
    this.#directory = directory;
    this.#lock = lock;
    this.#reserve = new Reserve(directory.file('reserve'), reserveBytesFor(options.maxBytes));
  }

  /** Throws an OperatorError if the directory is held or not writable, or contains a foreign file. */
  static open(options: FileStorageOptions): FileStorage {
    const { directory: path, maxBytes } = options;
    // The reserve must hold several logs, or deleting it would not make room for a checkpoint.
    const directory = new QueueDirectory(path, reserveBytesFor(maxBytes) / 4);
    try {
      const note = directory.secure();
      if (note !== null) options.onNoted(note);
    } catch (error) {
      throw openError(`cannot use ${path}`, error);
    }
    const lock = DirectoryLock.acquire(path);
    const storage = new FileStorage(options, directory, lock);
    try {
      storage.#openFile();
      storage.#reserve.hold();
      return storage;
    } catch (error) {
      lock.release();
      if (error instanceof OperatorError) throw error;
      throw openError(`cannot open the queue in ${path}`, error);
    }
  }

  corruptFiles(): readonly string[] {
    return this.#directory.corruptFiles();
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
    const { clock, onWritten } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      return this.read(file => file.transact(() => work(file)));
    } finally {
      onWritten(clock.monotonicMs() - startedMs);
    }
  }

  writeAtAnyCost<T>(work: (file: QueueFile) => T): T {
    try {
      return this.write(work);
    } catch (error) {
      if (storageProblem(error) === null || !this.#reserve.giveUp()) throw error;
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

  checkFiles(): FileCheck {
    const names = [
      ...(this.#file?.misplaced() ?? []),
      ...(this.#lock.isInPlace() ? [] : ['lock.sqlite']),
    ];
    if (names.length === 0) {
      this.#reserve.look();
      this.#reserve.hold();
      return { kind: 'in place' };
    }
    try {
      this.#renew();
      return { kind: 'renewed', names };
    } catch (error) {
      if (!isStorageFailure(error) && !(error instanceof OperatorError)) throw error;
      return { kind: 'gone', names, cause: causeText(error) };
    }
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
    if (!this.#isTaken) return;
    this.#isTaken = false;
    this.#options.onReopened();
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
    this.#file?.close();
    this.#file = null;
    this.#lock.release();
  }

  #current(): QueueFile {
    if (this.#isTaken) throw new StorageError('another process has taken its directory');
    return this.#file ?? this.#openFile();
  }

  #openFile(): QueueFile {
    const file = this.#openSound() ?? this.#replace('its structure is broken');
    this.#file = file;
    return file;
  }

  /** Null when the file is damaged. */
  #openSound(): QueueFile | null {
    try {
      return this.#directory.open();
    } catch (error) {
      // Even opening needs some space.
      if (storageProblem(error) === null || !this.#reserve.giveUp()) throw error;
      return this.#directory.open();
    }
  }

  #replaceDamaged(error: unknown): void {
    if (storageProblem(error) !== 'damaged') throw error;
    this.#file?.close();
    this.#file = null;
    // SQLite may report an unreadable page as damage: reopening the file decides.
    this.#file = this.#openSound() ?? this.#replace(causeText(error));
    this.#options.onReopened();
  }

  #replace(damage: string): QueueFile {
    const replacement = this.#directory.replace(damage, this.#options.clock.nowMs());
    this.#options.onReplaced(replacement);
    const file = this.#directory.open();
    if (file === null) throw new StorageError('the salvaged file is damaged, too');
    return file;
  }
}

function reserveBytesFor(maxBytes: number): number {
  return Math.round(Math.min(Math.max(maxBytes / 64, RESERVE_BYTES_MIN), RESERVE_BYTES_MAX));
}
