// Reads the durable queue of a directory, even while a daemon uses it. Each call returns the currently committed state.
// No transaction stays open between two rows, because that would keep the daemon from checkpointing.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { causeText, OperatorError } from '../../errors.ts';
import { checkRegularFile } from '../../lib/private-files.ts';
import type { Signal } from '../../model/batch.ts';
import { Account } from './account.ts';
import { corruptFilesIn, remedyOf } from './queue-directory.ts';
import { QueueFile, type RowHead } from './queue-file.ts';
import type { QueueRow, SetAside } from './commit.ts';

const FILES = ['queue.sqlite', 'queue.sqlite-wal', 'reserve'];

export class QueueView {
  readonly directory: string;
  readonly #file: QueueFile;

  private constructor(directory: string, file: QueueFile) {
    this.directory = directory;
    this.#file = file;
  }

  /** Throws an OperatorError when the directory has no queue, or its queue cannot be read. */
  static open(directory: string): QueueView {
    const path = existingQueue(directory);
    try {
      checkRegularFile(path);
      return new QueueView(directory, QueueFile.open(path, { isReadOnly: true }));
    } catch (error) {
      throw unreadable(directory, error);
    }
  }

  /** All rows without their bodies, oldest first. */
  heads(signal: Signal): readonly RowHead[] {
    return this.#read(() =>
      [...this.#file.ids(signal)].map(id => this.#file.head(id)).filter(head => head !== null),
    );
  }

  /** Yields the rows one by one, oldest first; null for a row that cannot be read or is damaged. */
  *rows(signal: Signal): Generator<QueueRow | null> {
    // All ids at once: an open cursor would keep a transaction open.
    for (const id of this.#read(() => [...this.#file.ids(signal)]))
      try {
        const found = this.#file.read(id);
        // Null means that the row left the queue meanwhile.
        if (found !== null) yield found.isSound ? found.row : null;
      } catch {
        yield null;
      }
  }

  account(): Account {
    const account = new Account();
    for (const { service, key, count } of this.#read(() => this.#file.counts()))
      account.add(service, key, count);
    return account;
  }

  setAside(count: number): readonly SetAside[] {
    return this.#read(() => this.#file.setAside(count));
  }

  corruptFiles(): readonly string[] {
    return corruptFilesIn(this.directory);
  }

  /** Bytes on disk, including the reserve, without damaged files. */
  diskBytes(): number {
    const sizes = FILES.map(name =>
      statSync(join(this.directory, name), { throwIfNoEntry: false }),
    );
    return sizes.reduce((sum, stat) => sum + (stat?.size ?? 0), 0);
  }

  close(): void {
    this.#file.close();
  }

  #read<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw unreadable(this.directory, error);
    }
  }
}

/** The path of the queue in the directory. Throws an OperatorError when there is none. */
export function existingQueue(directory: string): string {
  const path = join(directory, 'queue.sqlite');
  try {
    if (statSync(path, { throwIfNoEntry: false }) !== undefined) return path;
  } catch (error) {
    throw unreadable(directory, error);
  }
  throw mistake(directory, 'there is none', 'name the directory of `run`');
}

function unreadable(directory: string, cause: unknown): OperatorError {
  const usual =
    'run it as the user of the daemon; the daemon repairs a damaged file when it starts';
  const hint = remedyOf(cause, directory) ?? usual;
  return mistake(directory, causeText(cause), hint, cause);
}

function mistake(directory: string, problem: string, hint: string, cause?: unknown): OperatorError {
  const message = `cannot read the queue in ${directory}: ${problem}`;
  return new OperatorError([{ key: 'queue.directory', message, hint }], {
    cause,
  });
}
