// Keeps a second process out of the queue's directory: an exclusive transaction on a small database beside it.
// The operating system frees it when the process ends, however it ends; a PID file would stay, and would lie
// between containers.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { causeText, OperatorError } from '../../errors.ts';
import { storageProblem } from './schema.ts';

export class DirectoryLock {
  readonly #db: DatabaseSync;

  private constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Throws an OperatorError: E_QUEUE_HELD when another process has the lock, else E_QUEUE_OPEN. */
  static acquire(directory: string): DirectoryLock {
    let db: DatabaseSync | undefined;
    try {
      db = new DatabaseSync(join(directory, 'lock.sqlite'), { timeout: 0 });
      // A journal on disk would need space, and nothing is ever written.
      db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
      return new DirectoryLock(db);
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

  release(): void {
    this.#db.close();
  }
}
