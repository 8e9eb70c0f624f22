// The way of one archive's records into the queue: gathers them in chunks and commits each with the archive's state
// as it stands then. The state is the reader's to set; it must never say more than what was added.

import { type ArchiveState } from './archive-state.ts';
import type { Chunk } from './chunk.ts';
import type { Ledger } from './ledger.ts';
import type { StoreResult } from './log-store.ts';
import type { Partition } from './partition.ts';
import type { PullContext } from './pull-context.ts';
import type { ParsedRecord } from './record.ts';
import { recordUid, uidPlace } from './uid.ts';

/** Which archive it is. */
export interface ArchiveIdentity {
  readonly partition: Partition;
  readonly id: string;
  /** For people. */
  readonly name: string;
  readonly dayMs: number;
}

export class ArchiveWriter {
  state: ArchiveState;
  readonly #context: PullContext;
  readonly #ledger: Ledger;
  readonly #archive: ArchiveIdentity;
  #chunk: Chunk;

  constructor(context: PullContext, ledger: Ledger, archive: ArchiveIdentity) {
    this.#context = context;
    this.#ledger = ledger;
    this.#archive = archive;
    this.state = ledger.archive(archive.partition, archive.id, archive.dayMs);
    this.#chunk = context.chunk(archive.partition);
  }

  /** True when `commit` is due. */
  get isFull(): boolean {
    return this.#chunk.isFull;
  }

  add(records: readonly ParsedRecord[], entryName: string): void {
    const { partition, id, name } = this.#archive;
    const { service, source, type } = partition;
    const { meter } = this.#context.options;
    const { floorMs } = this.#ledger.days(service.id);
    const place = uidPlace([service.id, source, type, id, entryName]);
    for (const record of records) {
      if (record.timeMs < floorMs) {
        meter.records(partition, 'before_start', 1);
        continue;
      }
      if (record.marks !== 0) meter.marks(partition, record.marks);
      const uid = recordUid(place, record.firstOffset, record);
      this.#chunk.add(record, uid, entryName === '' ? name : entryName);
    }
  }

  /**
   * The records that were added and the state, in one step. Without records the state is kept in the ledger
   * alone, to be stored with the next commit. After anything but `stored` the ledger must be thrown away.
   */
  async commit(signal: AbortSignal): Promise<StoreResult> {
    const { store, meter } = this.#context.options;
    const { partition } = this.#archive;
    this.#ledger.setArchive(partition, this.#archive.id, this.state);
    const { count } = this.#chunk;
    if (count === 0) return 'stored';
    const changes = this.#ledger.changesOf(partition);
    const result = await store.store([this.#chunk.end()], changes, signal);
    if (result !== 'stored') return result;
    this.#ledger.stored(changes);
    meter.records(partition, 'queued', count);
    this.#chunk = this.#context.chunk(partition);
    return 'stored';
  }

  /** Forgets what was added since the last commit; the state is to be set back, too. */
  drop(): void {
    this.#chunk = this.#context.chunk(this.#archive.partition);
  }
}
