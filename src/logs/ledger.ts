// The state of a puller: how far each service has been pulled (a track), and the archives that are not closed, by
// partition. It is read from the queue's state once and kept in memory. Every change is stored in the commit that it
// belongs to, so that the memory is ahead of the store only during a commit. After a failed commit the ledger is dropped
// and read again.
//
//   kind `logs`, key `service/<id>`               the cursor and the partitions
//                key `archives/<partition>`       the archives of one partition

import type { ServiceConfig } from '../config/config.ts';
import { bug } from '../errors.ts';
import type { StateChange, StateKind } from '../pipeline/queue/commit.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { type ArchiveState, isBehind, newArchive } from './archive-state.ts';
import { DIGESTS } from './digests/digests.ts';
import { type Cursor, startCursor } from './cursor.ts';
import { type Descriptor, type Partition, partitionKey } from './item.ts';
import { ARCHIVES_STATE, SERVICE_STATE, STATE_KIND, stateBlob } from './stored-state.ts';

/** More partitions than this cannot be real sources: they are ignored and counted. */
const PARTITIONS_MAX = 10_000;

/** The changes that delete the stored state of a service's logs. */
export async function forgetLogs(queue: Queue, service: ServiceConfig): Promise<StateChange[]> {
  const ledger = await Ledger.load(queue, { services: [service], start: startCursor(0) });
  const sums = (ledger?.partitions ?? []).map(partition => ({
    kind: DIGESTS.kind,
    key: partitionKey(partition),
    blob: null,
  }));
  return [...(ledger?.removal() ?? []), ...sums];
}

/** Deletes what versions with `logs.shape: records` have stored. Returns the number of blobs. */
export async function dropRecordsState(queue: Queue): Promise<number> {
  const keys = queue.stateKeys(STATE_KIND).filter(key => /^(?:records|uids)\//.test(key));
  const state = keys.map(key => ({ kind: STATE_KIND, key, blob: null }));
  if (keys.length > 0) await queue.commit({ batches: [], state, reads: [] });
  return keys.length;
}

/** The oldest archive that is behind, of each partition of these types ([]: all): all earlier ones were read. */
export function oldestBehind(
  archives: readonly KnownArchive[],
  types: readonly string[],
): readonly KnownArchive[] {
  const newestFirst = archives
    .filter(({ state, partition: { type } }) => {
      const isWanted = types.length === 0 || types.includes(type);
      return isWanted && isBehind(state);
    })
    .sort((a, b) => b.state.dayMs - a.state.dayMs);
  return [...new Map(newestFirst.map(one => [partitionKey(one.partition), one])).values()];
}

/** The fields of a track that change. Only the ledger changes them. */
interface TrackProgress {
  cursor: Cursor;
  /** By type ('' for all types): the time up to which it was listed. */
  listedMs: Readonly<Record<string, number>>;
  /** By type: since when it could not be listed although others could. */
  unlistedMs: Readonly<Record<string, number>>;
  /**
   * The longest time seen from the end of the day (UTC) on which an archive begins to the end of the archive; null before
   * the first.
   */
  lateMs: number | null;
}

/** How far the logs of one service have been pulled. */
export interface Track extends TrackProgress {
  readonly service: ServiceConfig;
  /** Why it began anew when the ledger was read: it had never been pulled, or its state was lost; else null. */
  readonly isNew: 'never_pulled' | 'state_lost' | null;
}

/** An archive that is not closed. All steps of a pull share one object for each archive. */
export interface KnownArchive {
  partition: Partition;
  readonly id: string;
  /** For display; the id until it is listed. */
  name: string;
  state: ArchiveState;
  /** When it was read last (monotonic); not stored. */
  readAtMs: number;
  /** True if its last download failed; not stored. */
  hasFailed: boolean;
}

export interface LedgerOptions {
  readonly services: readonly ServiceConfig[];
  /** The cursor of a service that has never been pulled. */
  readonly start: Cursor;
}

interface KnownPartition {
  readonly partition: Partition;
  /** By id. */
  readonly archives: Map<string, KnownArchive>;
}

export class Ledger {
  readonly #queue: Queue;
  readonly #start: Cursor;
  /** The keys of everything that is stored, even if it is damaged. */
  readonly #storedKeys: ReadonlySet<string>;
  /** By service. */
  readonly #tracks = new Map<string, Track>();
  readonly #partitions = new Map<string, KnownPartition>();
  /** The same by service: a look at all of them for each service would cost the square of their number. */
  readonly #ofService = new Map<string, Map<string, KnownPartition>>();
  /** The changes since the last commit, by storage key. */
  readonly #changed = new Map<string, () => Buffer | null>();
  #isReadable = true;

  private constructor(queue: Queue, start: Cursor) {
    this.#queue = queue;
    this.#start = start;
    this.#storedKeys = new Set(queue.stateKeys(STATE_KIND));
  }

  /** Null while the queue cannot be read: a pull must not begin as if there had never been one. */
  static async load(queue: Queue, { services, start }: LedgerOptions): Promise<Ledger | null> {
    const ledger = new Ledger(queue, start);
    for (const service of services) await ledger.#load(service);
    return ledger.#isReadable ? ledger : null;
  }

  get tracks(): readonly Track[] {
    return [...this.#tracks.values()];
  }

  track(serviceId: string): Track {
    return this.#tracks.get(serviceId) ?? bug(`no track ${serviceId} in the ledger`);
  }

  /** When the lines of an archive begin that are wanted. */
  firstMs({ partition, state }: KnownArchive): number {
    return Math.max(state.dayMs, this.track(partition.service.id).cursor.floorMs);
  }

  move(track: Track, progress: Partial<TrackProgress>): void {
    Object.assign(track, progress);
    this.#noteTrack(track);
  }

  get partitions(): readonly Partition[] {
    return [...this.#partitions.values()].map(({ partition }) => partition);
  }

  /** False when there are too many partitions. */
  addPartition(partition: Partition): boolean {
    const key = partitionKey(partition);
    if (this.#partitions.has(key)) return true;
    if (this.#partitions.size >= PARTITIONS_MAX) return false;
    this.#setPartition({ partition, archives: new Map() });
    this.#noteArchives(key);
    this.#noteTrack(this.track(partition.service.id));
    return true;
  }

  /** Every archive that is not closed, of one service or of all. */
  archives(service?: ServiceConfig): readonly KnownArchive[] {
    const partitions = service === undefined ? this.#partitions : this.#ofService.get(service.id);
    return [...(partitions?.values() ?? [])].flatMap(({ archives }) => [...archives.values()]);
  }

  /** The archive that was listed, a new one if it is not known yet. Its partition must be known. */
  archive(descriptor: Omit<Descriptor, 'size'>): KnownArchive {
    const { partition, id, name } = descriptor;
    const key = partitionKey(partition);
    const archives = this.#archivesOf(key);
    const known = archives.get(id);
    const archive = known ?? openArchive(partition, id, newArchive(descriptor));
    archives.set(id, archive);
    if (known === undefined) this.#noteArchives(key);
    return Object.assign(archive, { partition, name });
  }

  setArchive(archive: KnownArchive, state: ArchiveState): void {
    archive.state = state;
    this.#noteArchives(partitionKey(archive.partition));
  }

  forgetArchive({ partition, id }: KnownArchive): void {
    const key = partitionKey(partition);
    this.#archivesOf(key).delete(id);
    this.#noteArchives(key);
  }

  /** The changes to store; [] when there are none. Then call `stored`, or drop the ledger. */
  changes(): StateChange[] {
    return [...this.#changed].map(([key, blob]) => ({ kind: STATE_KIND, key, blob: blob() }));
  }

  /** The changes that delete everything in it. */
  removal(): StateChange[] {
    const keys = [
      ...this.tracks.map(({ service }) => serviceKey(service)),
      ...[...this.#partitions.keys()].map(archivesKey),
    ];
    return keys.map(key => ({ kind: STATE_KIND, key, blob: null }));
  }

  /** Notes that the changes were stored. Requires that there were no others since `changes`. */
  stored(): void {
    this.#changed.clear();
  }

  #archivesOf(key: string): Map<string, KnownArchive> {
    return this.#partitions.get(key)?.archives ?? bug(`no partition ${key} in the ledger`);
  }

  #noteArchives(key: string): void {
    this.#changed.set(archivesKey(key), () => {
      const states = [...this.#archivesOf(key)].map(([id, { state }]) => [id, state] as const);
      return stateBlob({ archives: Object.fromEntries(states) });
    });
  }

  #noteTrack(track: Track): void {
    this.#changed.set(serviceKey(track.service), () => {
      const { service, cursor, listedMs, unlistedMs, lateMs } = track;
      const own = this.#ofService.get(service.id)?.values() ?? [];
      const partitions = Array.from(own, ({ partition: { source, server, type } }) => ({
        source,
        server,
        type,
      }));
      const { floorMs, lowMs: openDayMs } = cursor;
      const listed = listedMs;
      return stateBlob({ floorMs, openDayMs, listed, unlistedMs, lateMs, partitions });
    });
  }

  async #load(service: ServiceConfig): Promise<void> {
    const key = serviceKey(service);
    const stored = await this.#restore(SERVICE_STATE, key);
    if (stored === null) {
      const isNew = this.#storedKeys.has(key) ? 'state_lost' : 'never_pulled';
      const cursor = this.#start;
      const track = { service, isNew, cursor, listedMs: {}, unlistedMs: {}, lateMs: null } as const;
      this.#tracks.set(service.id, track);
      return this.#noteTrack(track);
    }
    const { floorMs, openDayMs: lowMs, listed: listedMs, unlistedMs, lateMs, partitions } = stored;
    const cursor = { lowMs, floorMs };
    const track = { service, isNew: null, cursor, listedMs, unlistedMs, lateMs };
    this.#tracks.set(service.id, track);
    for (const names of partitions) await this.#loadArchives({ service, ...names });
  }

  async #loadArchives(partition: Partition): Promise<void> {
    const key = partitionKey(partition);
    const known = await this.#restore(ARCHIVES_STATE, archivesKey(key));
    const archives = Object.entries(known?.archives ?? {}).map(
      ([id, state]) => [id, openArchive(partition, id, state)] as const,
    );
    this.#setPartition({ partition, archives: new Map(archives) });
  }

  #setPartition(known: KnownPartition): void {
    const key = partitionKey(known.partition);
    const { id } = known.partition.service;
    const own = this.#ofService.get(id) ?? new Map<string, KnownPartition>();
    this.#ofService.set(id, own.set(key, known));
    this.#partitions.set(key, known);
  }

  /** Null when there is none, or when it is lost. */
  async #restore<State>(kind: StateKind<State>, key: string): Promise<State | null> {
    const state = await this.#queue.restoreState(kind, key);
    if (state === undefined) this.#isReadable = false;
    return state ?? null;
  }
}

function openArchive(partition: Partition, id: string, state: ArchiveState): KnownArchive {
  const hasFailed = state.tryCount > 0;
  return { partition, id, name: id, state, readAtMs: -Infinity, hasFailed };
}

function serviceKey({ id }: ServiceConfig): string {
  return `service/${id}`;
}

function archivesKey(partition: string): string {
  return `archives/${partition}`;
}
