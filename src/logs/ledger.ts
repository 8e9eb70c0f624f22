// The state of a puller: how far each service has been pulled (a track), and either the open archives, by partition, or
// the ids of records that will be listed again, by track. It is read from the queue's state once and kept in memory.
// Every change is stored in the commit that it belongs to, so that the memory is ahead of the store only during a
// commit. After a failed commit the ledger is dropped and read again. Ids are stored in segments, one per commit, so
// that a commit writes only new ones.
//
//   kind `logs`, key `service/<id>`                        archives: the cursor and the partitions
//                key `archives/<partition>`                the archives of one partition
//                key `records/<service>/<type>`            records: the cursor and the segments
//                key `uids/<service>/<type>/<segment>`     16 bytes of id and 8 of time (ms, big-endian double) each

import type { LogsConfig, ServiceConfig } from '../config/config.ts';
import { bug } from '../errors.ts';
import { membersOf, parseJson } from '../lib/json.ts';
import type { StateChange } from '../pipeline/queue/commit.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { type ArchiveState, isBehind, newArchive } from './archive-state.ts';
import { type Cursor, startCursor } from './cursor.ts';
import { type Descriptor, type Partition, partitionKey } from './item.ts';

const STATE_KIND = 'logs';
/** Increased when an older version cannot read the stored state. */
const STATE_VERSION = 1;
/** More partitions than this cannot be real sources: they are ignored and counted. */
const PARTITIONS_MAX = 10_000;
const UID_BYTES = 16;
const ENTRY_BYTES = UID_BYTES + 8;

/** The changes that delete the stored state of a service's logs. */
export async function forgetLogs(
  queue: Queue,
  config: LogsConfig,
  service: ServiceConfig,
): Promise<StateChange[]> {
  const start = startCursor(0, config.window);
  const ledger = await Ledger.load(queue, { config, services: [service], start });
  return ledger?.removal() ?? [];
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
  /** Archives, by type ('' for all types): since when the type could not be listed although others could. */
  unlistedMs: Readonly<Record<string, number>>;
  /**
   * Archives: the longest time seen from the end of the day (UTC) on which an archive begins to the end of the archive;
   * null before the first.
   */
  lateMs: number | null;
  /** Records: where the ids in `sent` are stored. */
  segments: readonly Segment[];
}

/** How far the logs of one service, or of one type of them, have been pulled. */
export interface Track extends TrackProgress {
  readonly service: ServiceConfig;
  /** '' when all types are listed together. */
  readonly type: string;
  /** True if it had never been pulled when the ledger was read. */
  isFresh: boolean;
  /** Records: the ids of those that were sent and will be listed again, with their times. */
  readonly sent: Map<string, number>;
  readonly key: string;
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

export interface SentRecord {
  /** In hex. */
  readonly uid: string;
  readonly timeMs: number;
}

export interface LedgerOptions {
  readonly config: Pick<LogsConfig, 'shape' | 'types'>;
  readonly services: readonly ServiceConfig[];
  /** The cursor of a service that has never been pulled. */
  readonly start: Cursor;
}

interface Segment {
  readonly number: number;
  /** The latest time in it. The segment is needed until the overlap begins after that time. */
  readonly lastMs: number;
}

interface KnownPartition {
  readonly partition: Partition;
  /** By id. */
  readonly archives: Map<string, KnownArchive>;
}

interface StoredTrack extends Partial<Cursor> {
  /** Archives: the low watermark. */
  readonly openDayMs?: number;
  readonly unlistedMs?: Track['unlistedMs'];
  readonly lateMs?: Track['lateMs'];
  readonly segments?: readonly Segment[];
  readonly partitions?: readonly Pick<Partition, 'source' | 'server' | 'type'>[];
}

export class Ledger {
  readonly #queue: Queue;
  readonly #options: LedgerOptions;
  readonly #tracks = new Map<string, Track>();
  readonly #partitions = new Map<string, KnownPartition>();
  /** The same by service: a look at all of them for each service would cost the square of their number. */
  readonly #ofService = new Map<string, Map<string, KnownPartition>>();
  /** The changes since the last commit, by storage key. */
  readonly #changed = new Map<string, () => Buffer | null>();
  #isReadable = true;

  private constructor(queue: Queue, options: LedgerOptions) {
    this.#queue = queue;
    this.#options = options;
  }

  /** Null while the queue cannot be read: a pull must not begin as if there had never been one. */
  static async load(queue: Queue, options: LedgerOptions): Promise<Ledger | null> {
    const ledger = new Ledger(queue, options);
    const { shape, types } = options.config;
    // Archives of all types share a track.
    for (const type of shape === 'archives' || types.length === 0 ? [''] : types)
      for (const service of options.services) await ledger.#load(service, type);
    return ledger.#isReadable ? ledger : null;
  }

  get tracks(): readonly Track[] {
    return [...this.#tracks.values()];
  }

  track(serviceId: string, type = ''): Track {
    const key = JSON.stringify([serviceId, type]);
    return this.#tracks.get(key) ?? bug(`no track ${key} in the ledger`);
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

  /** Notes records that are sent with the next commit. */
  addSent(track: Track, records: readonly SentRecord[]): void {
    const number = (track.segments.at(-1)?.number ?? 0) + 1;
    let lastMs = -Infinity;
    for (const { uid, timeMs } of records) {
      track.sent.set(uid, timeMs);
      lastMs = Math.max(lastMs, timeMs);
    }
    this.#changed.set(segmentKey(track, number), () => pack(records));
    this.move(track, { segments: [...track.segments, { number, lastMs }] });
  }

  /** Forgets the ids of records from before `keptFromMs`. */
  forgetSent(track: Track, keptFromMs: number): void {
    for (const { number, lastMs } of track.segments)
      if (lastMs < keptFromMs) this.#changed.set(segmentKey(track, number), () => null);
    for (const [uid, timeMs] of track.sent) if (timeMs < keptFromMs) track.sent.delete(uid);
    this.move(track, { segments: track.segments.filter(({ lastMs }) => lastMs >= keptFromMs) });
  }

  /** The changes to store; [] when there are none. Then call `stored`, or drop the ledger. */
  changes(): StateChange[] {
    return [...this.#changed].map(([key, blob]) => ({ kind: STATE_KIND, key, blob: blob() }));
  }

  /** The changes that delete everything in it. */
  removal(): StateChange[] {
    const keys = [
      ...this.tracks.flatMap(track => [
        this.#keyOf(track),
        ...track.segments.map(({ number }) => segmentKey(track, number)),
      ]),
      ...[...this.#partitions.keys()].map(key => `archives/${key}`),
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
    this.#changed.set(`archives/${key}`, () => {
      const states = [...this.#archivesOf(key)].map(([id, { state }]) => [id, state] as const);
      return jsonOf({ archives: Object.fromEntries(states) });
    });
  }

  #keyOf({ key, service }: Track): string {
    return this.#options.config.shape === 'records' ? `records/${key}` : `service/${service.id}`;
  }

  #noteTrack(track: Track): void {
    this.#changed.set(this.#keyOf(track), () => {
      const { service, segments, unlistedMs, lateMs } = track;
      const { lowMs, floorMs, sizeMs, failureCount, listedMs } = track.cursor;
      if (this.#options.config.shape === 'records')
        return jsonOf({ lowMs, floorMs, sizeMs, failureCount, segments });
      const own = this.#ofService.get(service.id)?.values() ?? [];
      const partitions = Array.from(own, ({ partition: { source, server, type } }) => ({
        source,
        server,
        type,
      }));
      const unlisted = Object.keys(unlistedMs).length === 0 ? {} : { unlistedMs };
      const late = lateMs === null ? {} : { lateMs };
      return jsonOf({ floorMs, openDayMs: lowMs, listedMs, ...late, ...unlisted, partitions });
    });
  }

  async #load(service: ServiceConfig, type: string): Promise<void> {
    const { start } = this.#options;
    const key = JSON.stringify([service.id, type]);
    const track: Track = {
      service,
      type,
      key,
      isFresh: true,
      cursor: start,
      segments: [],
      sent: new Map(),
      unlistedMs: {},
      lateMs: null,
    };
    this.#tracks.set(key, track);
    const stored = await this.#read<StoredTrack>(this.#keyOf(track));
    if (stored === null) return this.#noteTrack(track);
    const { segments = [], partitions = [], listedMs = null } = stored;
    const { unlistedMs = {}, lateMs = null } = stored;
    const { sizeMs = start.sizeMs, failureCount = 0, floorMs = start.floorMs } = stored;
    const lowMs = stored.openDayMs ?? stored.lowMs ?? start.lowMs;
    Object.assign(track, {
      isFresh: false,
      cursor: { lowMs, floorMs, sizeMs, failureCount, listedMs },
      segments,
      unlistedMs,
      lateMs,
    });
    for (const { number } of segments) {
      const blob = await this.#blob(segmentKey(track, number));
      if (blob !== null) unpack(blob, track.sent);
    }
    for (const names of partitions) await this.#loadArchives({ service, ...names });
  }

  async #loadArchives(partition: Partition): Promise<void> {
    const key = partitionKey(partition);
    const known = await this.#read<{ archives: Record<string, ArchiveState> }>(`archives/${key}`);
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

  /** Null when there is none, or none of this version. */
  async #read<State>(key: string): Promise<State | null> {
    const blob = await this.#blob(key);
    const state = membersOf(parseJson(blob?.toString() ?? ''));
    return state['version'] === STATE_VERSION ? (state as State) : null;
  }

  async #blob(key: string): Promise<Buffer | null> {
    const blob = await this.#queue.readState(STATE_KIND, key);
    if (blob === undefined) this.#isReadable = false;
    return blob ?? null;
  }
}

function openArchive(partition: Partition, id: string, state: ArchiveState): KnownArchive {
  const hasFailed = state.tryCount > 0;
  return { partition, id, name: id, state, readAtMs: -Infinity, hasFailed };
}

function jsonOf(state: object): Buffer {
  return Buffer.from(JSON.stringify({ version: STATE_VERSION, ...state }));
}

function segmentKey({ key }: Track, number: number): string {
  return `uids/${key}/${number}`;
}

function pack(records: readonly SentRecord[]): Buffer {
  const blob = Buffer.alloc(records.length * ENTRY_BYTES);
  for (const [i, { uid, timeMs }] of records.entries()) {
    blob.write(uid, i * ENTRY_BYTES, 'hex');
    blob.writeDoubleBE(timeMs, i * ENTRY_BYTES + UID_BYTES);
  }
  return blob;
}

function unpack(blob: Buffer, sent: Map<string, number>): void {
  for (let at = 0; at + ENTRY_BYTES <= blob.length; at += ENTRY_BYTES)
    sent.set(blob.toString('hex', at, at + UID_BYTES), blob.readDoubleBE(at + UID_BYTES));
}
