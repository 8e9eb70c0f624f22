// The directory of the durable queue: its files, how the queue is opened, and how a damaged one is replaced.
//
//   queue.sqlite (-wal, -shm)  the queue               lock.sqlite  held while a process uses the directory
//   salvage.sqlite             while a damaged queue   reserve      space for acknowledgements on a full disk
//                              is salvaged             *.corrupt    damaged files: kept, never deleted by us
//
// Whenever a process is killed, the next one finds either the old queue or the new one, complete.

import { randomFillSync } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  fsyncSync,
  lstatSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
  readFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { causeText, OperatorError, systemRemedy } from '../../errors.ts';
import { failpoint } from '../../lib/failpoint.ts';
import type { Logger } from '../../lib/log.ts';
import {
  checkPrivateFile,
  makePrivateDirectory,
  syncDirectory,
  UnsafeFileError,
  withFile,
} from '../../lib/private-files.ts';
import { QueueFile } from './queue-file.ts';
import { isHeaderDamaged, salvage, type SalvageReport } from './salvage.ts';
import { isDiskFull, StorageError, storageProblem } from './schema.ts';

export class QueueDirectory {
  readonly path: string;
  readonly #checkpointBytes: number;
  readonly #logger: Logger;

  constructor(path: string, checkpointBytes: number, logger: Logger) {
    this.path = path;
    this.#checkpointBytes = checkpointBytes;
    this.#logger = logger;
  }

  /**
   * Creates the directory if it is missing, and ensures that only this user can use it and its files. Returns a note
   * for the operator, or null. Throws an UnsafeFileError or a system error.
   */
  secure(): string | null {
    const note = makePrivateDirectory(this.path);
    for (const name of ['lock.sqlite', 'queue.sqlite', 'salvage.sqlite'])
      for (const suffix of ['', '-wal', '-shm', '-journal'])
        checkPrivateFile(this.file(`${name}${suffix}`));
    checkPrivateFile(this.file('reserve'));
    return note;
  }

  file(name: string): string {
    return join(this.path, name);
  }

  /** Opens the queue; null when the file is damaged and must be replaced. Throws every other error. */
  open(): QueueFile | null {
    this.#finishReplacement();
    // SQLite would delete a log without its database.
    const isLost = (statSync(this.#queuePath, { throwIfNoEntry: false })?.size ?? 0) === 0;
    const corruptFile = isLost ? this.#putLogAside() : null;
    if (corruptFile !== null)
      this.#logger.error(
        { corruptFile },
        'cannot read the log of the queue: its database is gone; the data in both is lost, the log is kept',
      );
    // SQLite gives its other files the mode of this one; they may contain log lines.
    createFile(this.#queuePath);
    if (isHeaderDamaged(this.#queuePath)) return null;
    let file: QueueFile | undefined;
    try {
      file = QueueFile.open(this.#queuePath, { checkpointBytes: this.#checkpointBytes });
      if (!file.isDamaged()) return file;
    } catch (error) {
      if (storageProblem(error) !== 'damaged') throw error;
    }
    file?.close();
    return null;
  }

  /**
   * Salvages the readable part of the damaged queue, and puts the damaged file aside. Returns the new name of that file,
   * and a report. The queue must be closed. Throws when the bytes cannot be read:
   * then the disk fails, and the file may be intact.
   */
  replace(atMs: number): { readonly corruptFile: string; readonly report: SalvageReport } {
    for (const suffix of ['', '-wal']) readThrough(`${this.#queuePath}${suffix}`);
    this.#remove('salvage.sqlite');
    const report = salvage(this.#queuePath, this.file('salvage.sqlite'));
    failpoint('salvage-done');
    const corruptFile = this.#putAside(atMs);
    failpoint('salvage-aside');
    this.#finishReplacement();
    return { corruptFile, report };
  }

  get #queuePath(): string {
    return this.file('queue.sqlite');
  }

  /** Makes a salvaged file the queue. Discards it if the old queue is still there: then it may be incomplete. */
  #finishReplacement(): void {
    if (!existsSync(this.file('salvage.sqlite'))) return;
    if (existsSync(this.#queuePath)) return this.#remove('salvage.sqlite');
    this.#putLogAside();
    renameSync(this.file('salvage.sqlite'), this.#queuePath);
    syncDirectory(this.path);
  }

  #putAside(atMs: number): string {
    const name = this.#freeName(new Date(atMs).toISOString().replaceAll(/[-:]|\.\d+/g, ''));
    renameSync(this.#queuePath, this.file(name));
    this.#putLogAside(`${name}-wal`);
    return name;
  }

  /**
   * Moves the log of a lost queue away: SQLite must not apply it to another file. Returns its new name; null when there
   * is none.
   */
  #putLogAside(name: string = this.#freeName('log')): string | null {
    rmSync(this.file('queue.sqlite-shm'), { force: true });
    if (!existsSync(this.file('queue.sqlite-wal'))) return null;
    renameSync(this.file('queue.sqlite-wal'), this.file(name));
    return name;
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

/** Creates a file that only its owner can read. An existing file keeps its mode. */
function createFile(path: string): void {
  const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
  withFile(path, O_CREAT | O_NOFOLLOW | O_RDWR, () => undefined);
}

/** Throws the system's error when a file cannot be read to its end. */
function readThrough(path: string): void {
  if (!existsSync(path)) return;
  withFile(path, 'r', file => {
    const bytes = Buffer.allocUnsafe(2 ** 20);
    while (readSync(file, bytes) > 0);
  });
}

const ELSEWHERE =
  'it must be a local disk with free space on which this user may write; null keeps the queue in memory';

/** The error for a queue that cannot be opened; transient when space is missing, or another program locks the file. */
export function openError(what: string, cause: unknown, directory: string | null): OperatorError {
  const isLocked = storageProblem(cause) === 'busy';
  const isTransient = isLocked || isDiskFull(cause);
  const passing = isLocked
    ? endHolder('queue.sqlite', directory)
    : (systemRemedy(cause) ?? 'free space on its disk');
  const hint = isTransient ? passing : (remedyOf(cause, directory) ?? ELSEWHERE);
  const message = `${what}: ${causeText(cause)}`;
  const key = 'queue.directory';
  return new OperatorError([{ key, message, hint, isTransient }], { cause });
}

function endHolder(name: string, directory: string | null): string {
  const pid = directory === null ? null : lockHolder(join(directory, name));
  return `end the program that has the file open${pid === null ? '' : `, process ${pid}`}`;
}

/** The files that SQLite opens for one database at most. */
const SQLITE_FILES = 4;

/** Opens a file several times at once. Throws the system's error. */
function openTimes(path: string, times: number): void {
  if (times > 0) withFile(path, 'r', () => openTimes(path, times - 1));
}

/** What to do about a queue that cannot be used; null if nothing says why. Never opens the file: see DirectoryLock. */
export function remedyOf(cause: unknown, directory: string | null): string | null {
  if (cause instanceof UnsafeFileError || cause instanceof StorageError) return cause.remedy;
  const known = systemRemedy(cause);
  if (known !== null || directory === null || storageProblem(cause) === null) return known;
  // SQLite does not tell the system's error: the same right is asked for again.
  try {
    accessSync(directory, constants.R_OK | constants.W_OK);
    accessSync(join(directory, 'queue.sqlite'), constants.R_OK | constants.W_OK);
    openTimes(directory, SQLITE_FILES);
    return null;
  } catch (error) {
    return systemRemedy(error);
  }
}

/**
 * Keeps a second process out of the directory: a write transaction on a small database, which only one process can
 * hold. The operating system releases it however the process ends. A PID file would remain, and PIDs mean nothing
 * across containers.
 */
export class DirectoryLock {
  readonly #db: DatabaseSync;

  private constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Throws an OperatorError; it is transient when another process has the lock. */
  static acquire(directory: string): DirectoryLock {
    let db: DatabaseSync | undefined;
    const path = join(directory, 'lock.sqlite');
    try {
      // With the mode that SQLite gives a new file, other users could read and lock it. An existing file is left alone:
      // opening and closing it would drop this process's locks on it.
      if (!existsSync(path)) createFile(path);
      db = new DatabaseSync(path, { timeout: 0 });
      // A journal on disk would need space, and nothing is ever written. Not EXCLUSIVE: a reader, such as a backup,
      // must not prevent the start.
      db.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE');
      return new DirectoryLock(db);
    } catch (error) {
      db?.close();
      const isTransient = storageProblem(error) === 'busy';
      const pid = isTransient ? lockHolder(path) : null;
      const other = pid === null ? 'another process' : `process ${pid}`;
      const cause = isTransient ? `${other} is using it` : causeText(error);
      const hint = isTransient
        ? 'stop that process, or give this one a directory of its own'
        : (remedyOf(error, directory) ??
          'check that it is a local disk on which this user may write');
      const message = `cannot lock ${directory}: ${cause}`;
      const key = 'queue.directory';
      throw new OperatorError([{ key, message, hint, isTransient }], { cause: error });
    }
  }

  release(): void {
    this.#db.close();
  }
}

/**
 * A file that is deleted when the disk is full, so that the back end's acknowledgements can still be stored. It is
 * created again once twice its size is free. Until then new metrics only replace old ones, and logs are not stored.
 */
export class Reserve {
  readonly #path: string;
  readonly #bytes: number;
  #isHeld = false;

  constructor(path: string, bytes: number) {
    this.#path = path;
    this.#bytes = bytes;
    this.#isHeld = this.#isWhole();
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Creates the reserve if it is missing; true when it exists. */
  hold(): boolean {
    if (this.#isHeld) return true;
    // If it took the last free bytes, the next commit would fail.
    if (freeBytes(dirname(this.#path)) < 2 * this.#bytes) return false;
    this.#isHeld = this.#write();
    return this.#isHeld;
  }

  /** Deletes the reserve; false when there was none. */
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
      rmSync(this.#path);
    } catch {
      // Then no space can be gained.
    }
  }

  #write(): boolean {
    try {
      // An existing file has another size, or is a link.
      this.#remove();
      const { O_CREAT, O_EXCL, O_WRONLY } = constants;
      withFile(this.#path, O_CREAT | O_EXCL | O_WRONLY, file => {
        // Random, because some file systems need no space for a run of equal bytes.
        writeSync(file, randomFillSync(Buffer.allocUnsafeSlow(this.#bytes)));
        fsyncSync(file);
      });
      return this.#isWhole();
    } catch {
      this.#remove();
      return false;
    }
  }
}

/** Bytes that a process without privileges can still write to the disk of a directory; Infinity when unknown. */
export function freeBytes(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return Infinity;
  }
}

/** Names of the damaged files that were put aside in a directory; [] where it cannot be read. */
export function corruptFilesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter(name => name.endsWith('.corrupt'))
      .sort();
  } catch {
    return [];
  }
}

// Which process holds a lock on a file: the kernel's own list, so nothing remains of a process that has ended. Only Linux
// has the list, and it shows no process of another container or machine.

/** A line of /proc/locks: `1: POSIX  ADVISORY  WRITE 4711 08:01:12345 128 128`. */
const LOCK = /^\d+: \w+ +\w+ +WRITE +(\d+) \w+:\w+:(\d+) /;

/** The process that has a lock for writing on the file; null if it is not known, or if it is this one. */
function lockHolder(path: string): number | null {
  try {
    const inode = String(statSync(path).ino);
    const holders = readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .map(line => LOCK.exec(line));
    const pids = new Set(
      holders.flatMap(found => (found?.[2] === inode ? [Number(found[1])] : [])),
    );
    // Files of two disks may have the same number.
    const [pid = 0] = pids.size === 1 ? pids : [];
    return pid > 0 && pid !== process.pid ? pid : null;
  } catch {
    return null;
  }
}
