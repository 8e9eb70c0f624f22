// What was committed while the file of the queue could not be written: in a database like the file, but in memory and of
// a bounded size. Rows are sent from it as from the file, and the oldest are given up, counted, where it is full. All of
// it goes into the file as soon as that works again.
//
//   numbers of the queue (account.ts) = numbers in the file + numbers held here

import { Change } from './account.ts';
import { MEMORY, QueueFile, SET_ASIDE_ROWS_MAX } from './queue-file.ts';
import type { Commit, QueueRow } from './queue.ts';
import { storeCommit, type Situation } from './transactions.ts';

/** The most that is held; hours of metrics, as they are compressed. */
const HELD_BYTES_MAX = 16 * 2 ** 20;

type StateEntry = Commit['state'][number];

export class Held {
  readonly #maxBytes: number;
  #file: QueueFile | null = null;
  /** What is to be stored, or to be deleted: a table knows no blob that is null. */
  readonly #state = new Map<string, StateEntry>();

  /** `maxBytes`: the share of metrics in the queue, of which this is a part. */
  constructor(maxBytes: number) {
    this.#maxBytes = Math.min(maxBytes, HELD_BYTES_MAX);
  }

  /** The rows, counts and set-aside points; null while the file of the queue lacks nothing. */
  get file(): QueueFile | null {
    return this.#file;
  }

  /** The blob that is to be stored; undefined when there is none of that kind and key. */
  readState(kind: string, key: string): Buffer | null | undefined {
    return this.#state.get(stateName(kind, key))?.blob;
  }

  /** The rows, oldest first; read one by one. */
  *rows(): IterableIterator<QueueRow> {
    // All ids at once: rows may be removed meanwhile.
    const ids = [...(this.#file?.ids('metrics') ?? [])];
    for (const id of ids) {
      const found = this.#file?.read(id);
      if (found) yield found.row;
    }
  }

  /** Takes over a commit of metrics. */
  hold(
    { reads, state }: Commit,
    rows: readonly QueueRow[],
    { pinned, madeBeforeMs }: Pick<Situation, 'pinned' | 'madeBeforeMs'>,
  ): Change {
    this.#file ??= QueueFile.open(MEMORY);
    for (const { kind, key, blob } of state)
      this.#state.set(stateName(kind, key), { kind, key, blob: blob && Buffer.from(blob) });
    const { bytes } = this.#file.sums('metrics');
    const situation: Situation = {
      pinned,
      madeBeforeMs,
      space: { metrics: { bytes, maxBytes: this.#maxBytes }, logs: { bytes: 0, maxBytes: 0 } },
      hasRoom: true,
      evictedFor: 'disk',
    };
    return this.write(file => storeCommit(file, { reads, state: [] }, rows, situation));
  }

  /** One transaction, with its counts. */
  write(work: (file: QueueFile) => Change): Change {
    const file = this.#file;
    if (file === null) return new Change();
    return file.transact(() => {
      const change = work(file);
      change.write(file);
      return change;
    });
  }

  /** Writes all but the rows into the queue's file, as a part of its transaction; until `copied` it is held on. */
  copyTo(file: QueueFile): void {
    for (const { service, key, count } of this.#file?.counts() ?? [])
      file.addCount(service, key, count);
    for (const { kind, key, blob } of this.#state.values()) file.putState(kind, key, blob);
    file.addSetAside(this.#file?.setAside(SET_ASIDE_ROWS_MAX).toReversed() ?? []);
  }

  /** The queue's file has all but the rows. */
  copied(): void {
    this.#state.clear();
    this.#file?.clearCounts();
    this.#close();
  }

  /** The queue's file has a row. */
  moved(id: number): void {
    this.#file?.remove(id);
    this.#close();
  }

  /** Gives the memory back once nothing is held. */
  #close(): void {
    if (this.#file === null || this.#file.sums('metrics').rows > 0) return;
    this.#file.close();
    this.#file = null;
  }
}

function stateName(kind: string, key: string): string {
  return `${kind}\u0000${key}`;
}
