// Files and directories that no other user may read, change, or put something else in the place of. In: paths. Out:
// what is missing is made, rights of others are taken away, and what is not ours is refused in words, before it is
// opened: a symbolic link leads elsewhere, and to open a FIFO is to wait for whoever opens its other end.

import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  statSync,
  type Stats,
} from 'node:fs';
import { dirname, resolve } from 'node:path';

/** What is at a path is not ours to use; nothing was changed. */
export class UnsafeFileError extends Error {
  /** What to do about it. */
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
const ALL_WRITE = 0o002;

/**
 * Makes a directory of this user's, and those above it, so that they outlive a power cut; one that is there already is
 * looked at. Gives what somebody should know of it, or null. Throws an UnsafeFileError where it belongs to another user,
 * or what the system says.
 */
export function makePrivateDirectory(path: string): string | null {
  makeDirectory(resolve(path));
  // A link to a directory will do: it is made by who may write above it.
  const { uid, mode } = statSync(path);
  checkOwner(path, uid);
  if ((mode & OTHERS_WRITE) === 0) return null;
  if (uid === userId()) {
    const rights = (mode & 0o7777).toString(8);
    chmodSync(path, mode & 0o7777 & ~OTHERS_WRITE);
    return `other users could write into ${path} (mode ${rights}): that right was taken from them`;
  }
  // Root gave it to a group on purpose: volumes of Kubernetes come like this.
  if ((mode & ALL_WRITE) === 0) return null;
  return `every user can write into ${path}, which belongs to root: make it this user's alone, or use a directory below it`;
}

/** Throws an UnsafeFileError unless it is a regular file, or nothing at all; links are not followed. */
export function checkRegularFile(path: string): void {
  regularFile(path);
}

/** The same for a file that only this user may use: one of another user is refused, rights of others are taken away. */
export function checkPrivateFile(path: string): void {
  const found = regularFile(path);
  if (found === undefined) return;
  checkOwner(path, found.uid);
  // Not by way of opening it: to close it would free the locks that SQLite has on it in this process.
  if (found.uid === userId() && (found.mode & OTHERS) !== 0) chmodSync(path, 0o600);
}

/**
 * The entries of a directory outlive a power cut from now on. Where it may not be read, or its file system has no such
 * thing, that is left to the system, as SQLite does it.
 */
export function syncDirectory(path: string): void {
  try {
    const directory = openSync(path, 'r');
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
  } catch {
    // Whatever is wrong with the disk will be met by the next commit.
  }
}

/** Which file is at a path now: to see later whether it is still that one. */
export class FilePlace {
  readonly path: string;
  readonly #identity: string | null;

  constructor(path: string) {
    this.path = path;
    this.#identity = identityOf(path);
  }

  /** False when the file was deleted, or another one has taken its place; true where there was none, or nobody can tell. */
  isInPlace(): boolean {
    if (this.#identity === null) return true;
    const now = identityOf(this.path);
    return now === 'unknown' || now === this.#identity;
  }
}

/** Null where there is no file. */
function identityOf(path: string): string | null {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
    return found === undefined ? null : `${String(found.dev)} ${String(found.ino)}`;
  } catch (error) {
    // There is a file where a directory was.
    return (error as NodeJS.ErrnoException).code === 'ENOTDIR' ? null : 'unknown';
  }
}

function regularFile(path: string): Stats | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isFile()) return found;
  throw new UnsafeFileError(
    `${path} is ${kindOf(found)} and no regular file`,
    'see who put it there, and remove it',
  );
}

/** What root owns, root could have changed anyway. */
function checkOwner(path: string, uid: number): void {
  const user = userId();
  if (user === null || uid === user || uid === 0) return;
  throw new UnsafeFileError(
    `${path} belongs to the user ${String(uid)}, and this process runs as ${String(user)}`,
    'run it as that user, or give it a directory of its own',
  );
}

/** Null where there are no such users. */
function userId(): number | null {
  return process.geteuid?.() ?? null;
}

function kindOf(found: Stats): string {
  if (found.isSymbolicLink()) return 'a symbolic link';
  if (found.isDirectory()) return 'a directory';
  if (found.isFIFO()) return 'a FIFO';
  return found.isSocket() ? 'a socket' : 'a device';
}

/**
 * One by one: where the system lets nothing be made (below /proc), the recursive form of mkdir never returns. What
 * stands above is synced each time, or a power cut could take the directory with all that was synced in it.
 */
function makeDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = dirname(path);
  if (!existsSync(parent)) makeDirectory(parent);
  mkdirSync(path, { mode: 0o700 });
  syncDirectory(parent);
}
