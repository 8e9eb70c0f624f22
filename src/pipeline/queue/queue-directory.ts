// The directory of the durable queue: what lies in it, how its file is opened, and how a damaged one is replaced.
//
//   queue.sqlite (-wal, -shm)  the queue               lock.sqlite  held while a process uses the directory
//   salvage.sqlite             while a damaged queue   reserve      space for acknowledgements on a full disk
//                              is taken over           *.corrupt    damaged files: kept, never deleted by us
//   rescue.sqlite              while a deleted queue
//                              is written anew
//
// Whatever the moment at which the process ends, the next one finds either the old queue or the new one.

import { randomFillSync } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { causeText, OperatorError } from '../../errors.ts';
import { failpoint } from '../../lib/failpoint.ts';
import {
  checkPrivateFile,
  FilePlace,
  makePrivateDirectory,
  syncDirectory,
  UnsafeFileError,
} from '../../lib/private-files.ts';
import { QueueFile } from './queue-file.ts';
import { isHeaderDamaged, mendHeader, salvage, type SalvageReport } from './recovery.ts';
import { isDiskFull, storageProblem } from './schema.ts';

/** A replaced file: where the damaged one is now, and what was taken over. */
export interface Replacement {
  readonly corruptFile: string;
  readonly damage: string;
  readonly report: SalvageReport;
}

/** Those that SQLite has open. */
const FILES = ['queue.sqlite', 'queue.sqlite-wal', 'queue.sqlite-shm'] as const;

export class QueueDirectory {
  readonly path: string;
  readonly #checkpointBytes: number;

  constructor(path: string, checkpointBytes: number) {
    this.path = path;
    this.#checkpointBytes = checkpointBytes;
  }

  /**
   * Makes the directory if need be, and sees to it that it and the files in it are this user's alone. Gives what
   * somebody should know of it, or null. Throws an UnsafeFileError, or what the system says.
   */
  secure(): string | null {
    const note = makePrivateDirectory(this.path);
    for (const name of ['lock.sqlite', 'queue.sqlite', 'salvage.sqlite', 'rescue.sqlite'])
      for (const suffix of ['', '-wal', '-shm', '-journal'])
        checkPrivateFile(this.file(`${name}${suffix}`));
    checkPrivateFile(this.file('reserve'));
    return note;
  }

  /** A file beside the queue. */
  file(name: string): string {
    return join(this.path, name);
  }

  freeBytes(): number {
    return freeBytes(this.path);
  }

  /** Names of damaged files that were put aside, oldest first; [] where the directory cannot be read. */
  corruptFiles(): readonly string[] {
    try {
      const names = readdirSync(this.path);
      return names.filter(name => name.endsWith('.corrupt')).sort();
    } catch {
      return [];
    }
  }

  /** Opens the queue; null when the file is damaged and must be replaced. Throws for anything else. */
  open(): QueueFile | null {
    // Begun, and not finished.
    this.#remove('rescue.sqlite');
    this.#finishReplacement();
    // A log without its database would be deleted by SQLite.
    if ((statSync(this.#queuePath, { throwIfNoEntry: false })?.size ?? 0) === 0)
      this.#putLogAside();
    // SQLite gives its other files the mode of this one: log lines may be in them.
    createFile(this.#queuePath);
    if (isHeaderDamaged(this.#queuePath)) return null;
    let file: QueueFile | undefined;
    try {
      file = QueueFile.open(this.#queuePath, { checkpointBytes: this.#checkpointBytes });
      if (file.findDamage() === null) return file;
    } catch (error) {
      if (storageProblem(error) !== 'damaged') throw error;
    }
    file?.close();
    return null;
  }

  /**
   * Takes over what can be read of the damaged queue, and puts it aside, with its header mended. The queue must be closed. Throws when
   * its bytes cannot be had: then it is the disk that fails, and the file may be whole.
   */
  replace(damage: string, atMs: number): Replacement {
    for (const suffix of ['', '-wal']) readThrough(`${this.#queuePath}${suffix}`);
    this.#remove('salvage.sqlite');
    mendHeader(this.#queuePath);
    const report = salvage(this.#queuePath, this.file('salvage.sqlite'));
    failpoint('salvage-done');
    const corruptFile = this.#putAside(atMs);
    failpoint('salvage-aside');
    this.#finishReplacement();
    return { corruptFile, damage, report };
  }

  /**
   * Writes a queue anew of whose files some were deleted or replaced while they were open, and closes it. What has taken
   * the place of one is put aside. Throws when it cannot; the queue is still open then, or can be opened.
   */
  renew(file: QueueFile, atMs: number): void {
    const gone = file.misplaced();
    this.#remove('rescue.sqlite');
    createFile(this.file('rescue.sqlite'));
    file.copyTo(this.file('rescue.sqlite'));
    if (gone.includes('queue.sqlite') && existsSync(this.#queuePath)) this.#putAside(atMs);
    // From here on it is known to be whole.
    renameSync(this.file('rescue.sqlite'), this.file('salvage.sqlite'));
    syncDirectory(this.path);
    file.close();
    // What is still ours is in the copy.
    for (const name of FILES) if (!gone.includes(name)) rmSync(this.file(name), { force: true });
    this.#finishReplacement();
  }

  get #queuePath(): string {
    return this.file('queue.sqlite');
  }

  /** The salvaged file is complete once the damaged one is out of the way; before that it is begun anew. */
  #finishReplacement(): void {
    if (!existsSync(this.file('salvage.sqlite'))) return;
    if (existsSync(this.#queuePath)) return this.#remove('salvage.sqlite');
    this.#putLogAside();
    renameSync(this.file('salvage.sqlite'), this.#queuePath);
    syncDirectory(this.path);
  }

  /** Gives the name of the damaged file from now on. */
  #putAside(atMs: number): string {
    const name = this.#freeName(new Date(atMs).toISOString().replaceAll(/[-:]|\.\d+/g, ''));
    renameSync(this.#queuePath, this.file(name));
    this.#putLogAside(name);
    return name;
  }

  /** Moves the log of a queue that is gone out of the way: it must not be applied to another one. */
  #putLogAside(name: string = this.#freeName('log')): void {
    rmSync(this.file('queue.sqlite-shm'), { force: true });
    if (existsSync(this.file('queue.sqlite-wal')))
      renameSync(this.file('queue.sqlite-wal'), this.file(`${name}-wal`));
  }

  #freeName(stamp: string): string {
    for (let i = 0; ; i++) {
      const name = `queue-${stamp}${i === 0 ? '' : `-${String(i)}`}.corrupt`;
      if (!existsSync(this.file(name)) && !existsSync(this.file(`${name}-wal`))) return name;
    }
  }

  #remove(name: string): void {
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(this.file(`${name}${suffix}`), { force: true });
  }
}

/** For its owner alone, unless it is there. */
function createFile(path: string): void {
  const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
  closeSync(openSync(path, O_CREAT | O_NOFOLLOW | O_RDWR, 0o600));
}

/** Throws what the operating system says when a file cannot be read to its end. */
function readThrough(path: string): void {
  if (!existsSync(path)) return;
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.allocUnsafe(2 ** 20);
    let at = 0;
    for (let read = -1; read !== 0; at += read) read = readSync(file, bytes, 0, bytes.length, at);
  } finally {
    closeSync(file);
  }
}

const ELSEWHERE =
  'it must be a local disk with free space on which this user may write; null keeps the queue in memory';

/** The mistake that a queue which cannot be opened is: the operator's, unless only space is missing. */
export function openError(what: string, cause: unknown): OperatorError {
  const isTransient = isDiskFull(cause);
  const remedy = cause instanceof UnsafeFileError ? cause.remedy : ELSEWHERE;
  return new OperatorError(
    [
      {
        code: 'E_QUEUE_OPEN',
        key: 'queue.directory',
        message: `${what}: ${causeText(cause)}`,
        hint: isTransient ? 'free space on its disk' : remedy,
        isTransient,
      },
    ],
    { cause },
  );
}

/**
 * Keeps a second process out of the directory: a writing transaction on a small database, of which there can be one at a
 * time. The operating system frees it when the process ends, however it ends; a PID file would stay, and would lie
 * between containers.
 */
export class DirectoryLock {
  readonly #db: DatabaseSync;
  readonly #place: FilePlace;

  private constructor(db: DatabaseSync, place: FilePlace) {
    this.#db = db;
    this.#place = place;
  }

  /** Throws an OperatorError: E_QUEUE_HELD when another process has the lock, else E_QUEUE_OPEN. */
  static acquire(directory: string): DirectoryLock {
    let db: DatabaseSync | undefined;
    const path = join(directory, 'lock.sqlite');
    try {
      // SQLite would let others read it, and lock it. A file that is there stays closed.
      if (!existsSync(path)) createFile(path);
      db = new DatabaseSync(path, { timeout: 0 });
      // A journal on disk would need space, and nothing is ever written. Not EXCLUSIVE: somebody who only reads the
      // file, as a backup does, must not keep the queue from being opened.
      db.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE');
      return new DirectoryLock(db, new FilePlace(path));
    } catch (error) {
      db?.close();
      const isHeld = storageProblem(error) === 'busy';
      throw new OperatorError(
        [
          {
            code: isHeld ? 'E_QUEUE_HELD' : 'E_QUEUE_OPEN',
            key: 'queue.directory',
            message: `cannot lock ${directory}: ${isHeld ? 'another process is using it' : causeText(error)}`,
            hint: isHeld
              ? 'stop that process, or give this one a directory of its own'
              : 'check that it is a local disk on which this user may write',
            isTransient: isHeld,
          },
        ],
        { cause: error },
      );
    }
  }

  /** False when the file was deleted or replaced: another process can lock what is there now, and may have done so. */
  isInPlace(): boolean {
    return this.#place.isInPlace();
  }

  release(): void {
    this.#db.close();
  }
}

/**
 * Disk space kept for a bad day: a file that is given up when the disk is full, so that what the back end has accepted
 * can still be marked as such. While it is gone nothing new is stored; it is taken back as soon as there is room for it
 * and some more.
 */
export class Reserve {
  readonly #path: string;
  readonly #bytes: number;
  #isHeld = false;

  constructor(path: string, bytes: number) {
    this.#path = path;
    this.#bytes = bytes;
    this.look();
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** True when the space is set aside; tries to set it aside when it is not. */
  hold(): boolean {
    if (this.#isHeld) return true;
    // Taking the last free bytes would bring the next commit to the same end.
    if (freeBytes(dirname(this.#path)) < 2 * this.#bytes) return false;
    this.#isHeld = this.#write();
    return this.#isHeld;
  }

  /** Looks whether the file is still there: somebody may have deleted it. */
  look(): void {
    this.#isHeld = this.#isWhole();
  }

  /** Frees the space; false when there was none. */
  giveUp(): boolean {
    const wasHeld = this.#isHeld;
    this.#isHeld = false;
    this.#remove();
    return wasHeld;
  }

  #isWhole(): boolean {
    try {
      const found = lstatSync(this.#path);
      return found.isFile() && found.size === this.#bytes;
    } catch {
      return false;
    }
  }

  #remove(): void {
    try {
      rmSync(this.#path, { force: true });
    } catch {
      // On a disk where nothing can be removed there is nothing to be had either.
    }
  }

  #write(): boolean {
    try {
      // What is there is not written into: it is of another size, or leads elsewhere.
      this.#remove();
      const { O_CREAT, O_EXCL, O_WRONLY } = constants;
      const file = openSync(this.#path, O_CREAT | O_EXCL | O_WRONLY, 0o600);
      try {
        // Random, since some file systems store a run of equal bytes in no space at all.
        writeSync(file, randomFillSync(Buffer.allocUnsafeSlow(this.#bytes)));
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      return this.#isWhole();
    } catch {
      this.#remove();
      return false;
    }
  }
}

/** What a process without privileges may still write to the disk of a directory; unlimited when unknown. */
export function freeBytes(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return Infinity;
  }
}
