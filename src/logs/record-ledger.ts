// What is known of one service and type whose lists hold the records themselves: how far it has been read, and the
// ids of the records in the stretch that will be asked for again. Ids are stored in segments, one per commit, so
// that a commit writes what is new and not all there is.
//
//   kind `logs`, key `records/<service>/<type>`            cursor, and which segments there are
//                key `uids/<service>/<type>/<segment>`     16 bytes of id and 8 of time (ms, big-endian double) each

import type { Queue } from '../pipeline/queue/queue.ts';
import { change, readState, STATE_KIND } from './ledger.ts';
import type { StateChange } from './log-store.ts';
import type { WindowCursor } from './windows.ts';

interface StoredCursor extends WindowCursor {
  readonly version: number;
  readonly segments: readonly StoredSegment[];
}

interface StoredSegment {
  readonly number: number;
  /** The latest time in it: below the stretch, it is not needed any more. */
  readonly lastMs: number;
}

/** A record that goes out. */
export interface SentRecord {
  /** In hex. */
  readonly uid: string;
  readonly timeMs: number;
}

const UID_BYTES = 16;
const ENTRY_BYTES = UID_BYTES + 8;

export class RecordLedger {
  cursor: WindowCursor;
  /** True where it has never been pulled. */
  readonly isFresh: boolean;
  readonly #key: string;
  #segments: readonly StoredSegment[];
  readonly #seen = new Map<string, number>();
  /** Of the commit that is being made. */
  #pending: {
    readonly records: readonly SentRecord[];
    readonly segments: readonly StoredSegment[];
  } = { records: [], segments: [] };

  private constructor(
    key: string,
    cursor: WindowCursor,
    segments: readonly StoredSegment[] | null,
  ) {
    this.#key = key;
    this.cursor = cursor;
    this.isFresh = segments === null;
    this.#segments = segments ?? [];
  }

  /** `start` is where it begins that has never been pulled. */
  static async load(
    queue: Queue,
    [serviceId, type]: readonly [string, string],
    start: WindowCursor,
  ): Promise<RecordLedger> {
    const key = JSON.stringify([serviceId, type]);
    const stored = await readState<StoredCursor>(queue, `records/${key}`);
    if (stored === null) return new RecordLedger(key, start, null);
    const { lowMs, floorMs, sizeMs, failureCount, segments } = stored;
    const ledger = new RecordLedger(key, { lowMs, floorMs, sizeMs, failureCount }, segments);
    for (const { number } of segments) await ledger.#loadSegment(queue, number);
    return ledger;
  }

  isKnown(uid: string): boolean {
    return this.#seen.has(uid);
  }

  get knownCount(): number {
    return this.#seen.size;
  }

  /** What has to be stored together with these records. Followed by `stored`, or the ledger is thrown away. */
  changes(records: readonly SentRecord[]): StateChange[] {
    const changes: StateChange[] = [];
    let segments = this.#segments;
    if (records.length > 0) {
      const number = (segments.at(-1)?.number ?? 0) + 1;
      const lastMs = Math.max(...records.map(({ timeMs }) => timeMs));
      segments = [...segments, { number, lastMs }];
      changes.push({ kind: STATE_KIND, key: this.#segmentKey(number), blob: pack(records) });
    }
    this.#pending = { records, segments };
    changes.push(change(`records/${this.#key}`, { ...this.cursor, segments }));
    return changes;
  }

  /** As `changes` without records, but forgets what lies before `keptFromMs`. */
  changesWithout(keptFromMs: number): StateChange[] {
    const old = this.#segments.filter(({ lastMs }) => lastMs < keptFromMs);
    const segments = this.#segments.filter(({ lastMs }) => lastMs >= keptFromMs);
    this.#pending = { records: [], segments };
    for (const [uid, timeMs] of this.#seen) if (timeMs < keptFromMs) this.#seen.delete(uid);
    return [
      change(`records/${this.#key}`, { ...this.cursor, segments }),
      ...old.map(({ number }) => ({
        kind: STATE_KIND,
        key: this.#segmentKey(number),
        blob: null,
      })),
    ];
  }

  /** The last changes have been stored. */
  stored(): void {
    const { records, segments } = this.#pending;
    this.#segments = segments;
    for (const { uid, timeMs } of records) this.#seen.set(uid, timeMs);
    this.#pending = { records: [], segments };
  }

  async #loadSegment(queue: Queue, number: number): Promise<void> {
    const blob = await queue.readState(STATE_KIND, this.#segmentKey(number));
    if (blob === null) return;
    for (let at = 0; at + ENTRY_BYTES <= blob.length; at += ENTRY_BYTES)
      this.#seen.set(blob.toString('hex', at, at + UID_BYTES), blob.readDoubleBE(at + UID_BYTES));
  }

  #segmentKey(number: number): string {
    return `uids/${this.#key}/${number}`;
  }
}

function pack(records: readonly SentRecord[]): Buffer {
  const blob = Buffer.alloc(records.length * ENTRY_BYTES);
  for (const [i, { uid, timeMs }] of records.entries()) {
    blob.write(uid, i * ENTRY_BYTES, 'hex');
    blob.writeDoubleBE(timeMs, i * ENTRY_BYTES + UID_BYTES);
  }
  return blob;
}
