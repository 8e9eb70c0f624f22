// Keeps a second process out of the queue's directory: a writing transaction on a small database beside it, of which
// there can be one at a time. The operating system frees it when the process ends, however it ends; a PID file would
// stay, and would lie between containers.

import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { causeText, OperatorError } from '../../errors.ts';
import { FilePlace } from '../../lib/private-files.ts';
import { storageProblem } from './schema.ts';

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
      create(path);
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

/** Makes the file for its owner alone, or SQLite would let others read it, and lock it. One that is there stays closed. */
function create(path: string): void {
  const { O_CREAT, O_EXCL, O_RDWR } = constants;
  if (!existsSync(path)) closeSync(openSync(path, O_CREAT | O_EXCL | O_RDWR, 0o600));
}
