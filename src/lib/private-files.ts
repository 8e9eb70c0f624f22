// Files and directories that no other user may read, change or replace. Missing ones are created, permissions of others
// are removed, and foreign ones are refused with a message before they are opened: a symbolic link leads elsewhere, and
// opening a FIFO blocks until its other end is opened.

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

/** The file at a path is not safe to use; nothing was changed. */
export class UnsafeFileError extends Error {
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
 * Creates a directory of this user, and its parents, so that they survive a power cut; checks an existing one. Returns a
 * note for the operator, or null. Throws an UnsafeFileError if it belongs to another user, or a system error.
 */
export function makePrivateDirectory(path: string): string | null {
  makeDirectory(resolve(path));
  // A link to a directory is allowed: only users who may write to its parent can create it.
  const { uid, mode } = statSync(path);
  checkOwner(path, uid);
  if ((mode & OTHERS_WRITE) === 0) return null;
  if (uid === userId()) {
    const rights = (mode & 0o7777).toString(8);
    chmodSync(path, mode & 0o7777 & ~OTHERS_WRITE);
    return `other users could write into ${path} (mode ${rights}): that permission was removed`;
  }
  // Root gave it to a group on purpose, as for Kubernetes volumes.
  if ((mode & ALL_WRITE) === 0) return null;
  return `every user can write into ${path}, which belongs to root: give it to this user, or use a directory below it`;
}

/** Throws an UnsafeFileError unless it is a regular file or does not exist; links are not followed. */
export function checkRegularFile(path: string): Stats | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isFile()) return found;
  throw new UnsafeFileError(
    `${path} is ${kindOf(found)} and no regular file`,
    'find out who put it there, and remove it',
  );
}

/** Checks that a file is regular, and private: refuses another user's file, and removes the permissions of others. */
export function checkPrivateFile(path: string): void {
  const found = checkRegularFile(path);
  if (found === undefined) return;
  checkOwner(path, found.uid);
  // Does not open the file: closing it would release SQLite's locks on it in this process.
  if (found.uid === userId() && (found.mode & OTHERS) !== 0) chmodSync(path, 0o600);
}

/** Opens a file for `work`, and closes it. Only its owner can use a file that is created. */
export function withFile<T>(path: string, flags: string | number, work: (file: number) => T): T {
  const file = openSync(path, flags, 0o600);
  try {
    return work(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Makes the entries of a directory survive a power cut. Like SQLite, does nothing if the directory cannot be read or its
 * file system does not support this.
 */
export function syncDirectory(path: string): void {
  try {
    withFile(path, 'r', fsyncSync);
  } catch {
    // The next commit reports a failing disk.
  }
}

/** Root's files are accepted, because root could change any file. */
function checkOwner(path: string, uid: number): void {
  const user = userId();
  if (user === null || uid === user || uid === 0) return;
  throw new UnsafeFileError(
    `${path} belongs to the user ${String(uid)}, and this process runs as ${String(user)}`,
    'run it as that user, or give it a directory of its own',
  );
}

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
 * Creates missing parents one by one, because a recursive mkdir never returns where nothing can be created (below
 * /proc). Syncs the parent each time, or a power cut could remove the directory with all synced files in it.
 */
function makeDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = dirname(path);
  if (!existsSync(parent)) makeDirectory(parent);
  mkdirSync(path, { mode: 0o700 });
  syncDirectory(parent);
}
