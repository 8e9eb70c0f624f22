// Downloads one archive and reads its new part, entry by entry, into chunks that are committed together with the
// progress. The next try continues from the last commit. An archive that is broken in five tries is given up for its size:
// counted, and reported as a gap.

import { causeText, systemRemedy } from '../errors.ts';
import { failpoint } from '../lib/failpoint.ts';
import { SpoolFile } from '../lib/spool-file.ts';
import { ownError, type Result, type ServiceError } from '../service/service-error.ts';
import { type ArchiveEntry, archiveEntries, ArchiveError } from './archive.ts';
import {
  type ArchiveState,
  afterFault,
  afterFlush,
  afterRead,
  endOf,
  isGivenUp,
  isLastTry,
} from './archive-state.ts';
import type { Chunk } from './chunk.ts';
import { isStatement } from './digests/digests.ts';
import { type EntryProgress, EntryReader } from './entry-reader.ts';
import type { KnownArchive } from './ledger.ts';
import { commit, goOnUnlessStopped, type Pull, PullEnded, Slicer } from './pull.ts';
import { type ParsedRecord, recordUid, uidPlace } from './record.ts';
import { savedReader } from './stored-state.ts';

/** False for a broken archive. */
type ReadResult = Result<{ readonly isWhole: boolean }>;

const GONE = 410;
const NOT_STORED = 'its lines wait: the file of the queue cannot be written';

/** The number of lines per look at the clock, which costs as much as a tenth of a line. */
const LINES_PER_LOOK = 32;

/**
 * Reads an archive to its end. `isFinal`: also sends unfinished lines and records. Returns the failure if the archive
 * could not be downloaded; else null, even for a broken archive.
 */
export async function readArchive(
  pull: Pull,
  archive: KnownArchive,
  isFinal: boolean,
): Promise<ServiceError | null> {
  const { meter } = pull;
  const status = meter.status(archive.partition);
  status.state = 'pulling';
  const result = await new ArchiveReading(pull, archive, isFinal)
    .run()
    .catch((error: unknown) => {
      if (error instanceof PullEnded && error.end.kind === 'failed') status.lastError = NOT_STORED;
      throw error;
    })
    .finally(() => {
      status.state = pull.api.signal.aborted ? 'waiting' : 'failed';
    });
  if (!result.ok) {
    meter.counters.archives.add(1, 'failed');
    status.lastError = result.error.message;
    return result.error;
  }
  if (result.isWhole) {
    meter.counters.archives.add(1, 'read');
    status.state = 'waiting';
    status.lastError = null;
  }
  return null;
}

/** Sends the open records, without a download. */
export async function flushArchive(pull: Pull, archive: KnownArchive): Promise<void> {
  const { state } = archive;
  const writer = new ArchiveWriter(pull, archive);
  const entries = { ...state.entries };
  for (const [name, progress] of Object.entries(state.entries)) {
    entries[name] = { ...progress, ...writer.addOpen(progress, name) };
  }
  await writer.commit(afterFlush(state, entries));
}

class ArchiveReading {
  readonly #pull: Pull;
  readonly #archive: KnownArchive;
  readonly #isFinal: boolean;
  readonly #slicer: Slicer;
  readonly #writer: ArchiveWriter;
  /** Entries that it had before, but no longer. */
  #missing: readonly string[] = [];
  #bytes = 0;
  /** When the download began. */
  #fromMs = 0;

  constructor(pull: Pull, archive: KnownArchive, isFinal: boolean) {
    this.#pull = pull;
    this.#archive = archive;
    this.#isFinal = isFinal;
    this.#slicer = new Slicer(pull.api.clock);
    this.#writer = new ArchiveWriter(pull, archive);
  }

  /** Holds a permit during a try, but not between tries, so that an API that fails for a long time delays no other. */
  async run(): Promise<ReadResult> {
    const { api, downloads } = this.#pull;
    try {
      const result = await api.ask(() => downloads.permits.run(() => this.#try()), true);
      const fault = result.ok ? null : faultOf(result.error);
      if (fault === null) return result;
      await this.#noteBroken(fault);
      return { ok: true, isWhole: false };
    } catch (error) {
      return this.#endOfDisk(error);
    }
  }

  /** Downloads the archive into a file of its own, and reads it. */
  async #try(): Promise<ReadResult> {
    const { api, config, downloads, meter } = this.#pull;
    const spool = await SpoolFile.create(downloads.directory);
    this.#fromMs = api.overMs();
    try {
      failpoint('spool-begun');
      const options = { signal: api.signal, maxBytes: config.limits.archiveBytes };
      const result = await api.api.download([this.#archive.id], spool, options);
      downloads.budget.take(spool.bytes);
      meter.counters.bytes.add(spool.bytes, 'downloaded');
      if (!result.ok) return result;
      failpoint('spool-done');
      const fault = await this.#readEntries(spool);
      if (fault !== null) await this.#noteBroken(fault);
      return { ok: true, isWhole: fault === null };
    } finally {
      await spool.close();
    }
  }

  /** A file that cannot be created or read is a failure of this machine. Rethrows other errors. */
  #endOfDisk(error: unknown): ReadResult {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    const { directory } = this.#pull.downloads;
    const message = `cannot use a file in ${directory}: ${causeText(error)}`;
    const usual = 'check the disk of queue.directory, or of the temporary directory without one';
    const hint = systemRemedy(error) ?? usual;
    return { ok: false, error: ownError('not_stored', message, hint) };
  }

  /** Reads all entries. If the archive is whole, notes that it was read to its end, and returns null. */
  async #readEntries(spool: SpoolFile): Promise<ArchiveError | null> {
    let fault: ArchiveError | null = null;
    const names = new Set<string>();
    try {
      for await (const entry of archiveEntries(spool, this.#pull.config.limits)) {
        if (!entry.isChecked && this.#hasNamedEntry)
          throw new ArchiveError('not_archive', 'it is a file, and had entries before');
        names.add(entry.name);
        try {
          await this.#readEntry(entry);
        } catch (error) {
          if (!(error instanceof ArchiveError) || error.endsArchive) throw error;
          fault = error;
        }
      }
      fault ??= this.#faultOfContent(names);
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      fault = error;
    }
    if (fault !== null) return fault;
    // An earlier file without entries was another form of this archive, or a wrong answer.
    if (names.size > 0 && !names.has('')) this.#forget(['']);
    const read = { fromMs: this.#fromMs, bytes: this.#bytes, isFinal: this.#isFinal };
    await this.#writer.commit(afterRead(this.#archive.state, read));
    return null;
  }

  /**
   * `names`: the entries that were read. A valid archive may be empty although the list has a size for it, or lack
   * entries of an earlier read. If it counted as whole, it would not be read again.
   */
  #faultOfContent(names: ReadonlySet<string>): ArchiveError | null {
    const { entries, listedSize } = this.#archive.state;
    if (names.size === 0 && listedSize !== null && listedSize > 0)
      return new ArchiveError('cut', 'it is empty, but the list has a size for it');
    const isMissing = ([name, { bytes, hasTail }]: readonly [string, EntryProgress]): boolean =>
      !names.has(name) && (bytes > 0 || hasTail) && (name !== '' || names.size === 0);
    this.#missing = Object.entries(entries)
      .filter(isMissing)
      .map(([name]) => name);
    if (this.#missing.length === 0) return null;
    return new ArchiveError('cut', 'an entry is missing that it had before');
  }

  get #hasNamedEntry(): boolean {
    return Object.keys(this.#archive.state.entries).some(name => name !== '');
  }

  #forget(names: readonly string[]): void {
    const { state } = this.#archive;
    const entries = Object.entries(state.entries).filter(([name]) => !names.includes(name));
    if (entries.length < Object.keys(state.entries).length)
      this.#pull.ledger.setArchive(this.#archive, {
        ...state,
        entries: Object.fromEntries(entries),
      });
  }

  /** Schedules another try; after the last one gives the archive up. */
  async #noteBroken({ fault: reason, message: cause }: ArchiveError): Promise<void> {
    const { api, ledger, meter } = this.#pull;
    const archive = this.#archive;
    const { partition, id, state } = archive;
    // Its open records may never be completed.
    if (isLastTry(state)) await flushArchive(this.#pull, archive);
    ledger.setArchive(archive, afterFault(archive.state, api.overMs()));
    if (isGivenUp(state) || !isGivenUp(archive.state)) {
      meter.counters.archives.add(1, 'broken');
      meter.broken(partition, id, cause);
      return;
    }
    // The missing entries may have come with a wrong answer: another size does not require them.
    this.#forget(this.#missing);
    meter.gaveUp(partition, { archive: id, reason, cause });
    const span = { fromMs: state.dayMs, toMs: endOf(state) };
    await commit(this.#pull, { gaps: [{ partition, span, reason, archive: id }] });
  }

  async #readEntry(entry: ArchiveEntry): Promise<void> {
    const { partition, id, state } = this.#archive;
    const { entries } = state;
    const done = Object.hasOwn(entries, entry.name) ? (entries[entry.name] ?? null) : null;
    this.#writer.countFrom = done?.countedBytes ?? 0;
    if (await this.#readEntryFrom(entry, done)) return;
    this.#pull.meter.rewritten(partition, id);
    // The open record may be missing from the new content.
    if (done !== null) this.#writer.addOpen(done, entry.name);
    await this.#readEntryFrom(entry, null, true);
  }

  /** False when the beginning of the entry has changed since the last read. */
  async #readEntryFrom(
    entry: ArchiveEntry,
    done: EntryProgress | null,
    isRewritten = false,
  ): Promise<boolean> {
    const { config, api, meter, readerOf } = this.#pull;
    const { endpoints, pointers } = api.api;
    const reader = new EntryReader({
      progress: done,
      reader: readerOf(this.#archive.partition.type),
      unwrap: { format: endpoints.format, pointers, lineBytesMax: config.limits.lineBytes },
    });
    try {
      for await (const piece of entry.pieces()) {
        if (!reader.feed(piece)) return false;
        await this.#takeLines(reader, entry.name);
        if (this.#slicer.isOver) await this.#pause();
      }
    } catch (error) {
      // Other bytes at the beginning may be damage: then these records were sent before.
      const isGivenUp = error instanceof ArchiveError && isLastTry(this.#archive.state);
      if (isGivenUp && (error.endsArchive || !isRewritten))
        await this.#keepRest(reader, entry.name, error);
      // The entry is read again from the last commit.
      this.#writer.drop();
      throw error;
    } finally {
      meter.counters.bytes.add(reader.seenBytes, 'unpacked');
      meter.counters.bytes.add(reader.cutBytes, 'cut');
    }
    if (!reader.end(this.#isFinal)) return false;
    this.#addRecords(reader, entry.name);
    this.#bytes += reader.seenBytes;
    await this.#writer.commitEntry(entry.name, reader.progress());
    return true;
  }

  /** Commits what was read since the last commit, because the archive is given up. */
  async #keepRest(reader: EntryReader, entryName: string, error: ArchiveError): Promise<void> {
    if (reader.isBehind || reader.seenBytes === 0) return;
    // The part below a limit is valid to its last byte. The last line of a broken entry may come whole with a later try.
    if (error.endsArchive) {
      reader.cut();
      this.#addRecords(reader, entryName);
    }
    await this.#writer.commitEntry(entryName, reader.progress());
  }

  /** Gives other work a turn. Skipped lines make no commit, so a stop must be seen here. */
  async #pause(): Promise<void> {
    goOnUnlessStopped(this.#pull.api);
    await this.#slicer.pause();
  }

  #addRecords(reader: EntryReader, entryName: string): void {
    if (reader.isUntimed) this.#writer.noteUntimed();
    this.#writer.add(reader.records, entryName);
  }

  async #takeLines(reader: EntryReader, entryName: string): Promise<void> {
    for (let lines = 1; reader.next(); lines++) {
      if (reader.records.length > 0) this.#addRecords(reader, entryName);
      if (lines % LINES_PER_LOOK === 0 && this.#slicer.isOver) await this.#pause();
      if (this.#writer.isFull) await this.#writer.commitEntry(entryName, reader.progress());
    }
  }
}

/** Gathers one archive's records in chunks, and commits each chunk with the archive's state at that point. */
class ArchiveWriter {
  readonly #pull: Pull;
  readonly #archive: KnownArchive;
  #floorMs: number;
  #chunk: Chunk;
  /** The records of the chunk that the digests count. */
  #counted: ParsedRecord[] = [];
  /** Records that begin before this byte of their entry were counted when it was read with other content. */
  countFrom = 0;

  constructor(pull: Pull, archive: KnownArchive) {
    const { partition, state } = archive;
    this.#pull = pull;
    this.#archive = archive;
    const { floorMs } = pull.ledger.track(partition.service.id).cursor;
    // In an archive of a later day, a time before the floor can only be wrong, and SQL may have set it. A floor after
    // the archive's end was raised later: records that had been read by then are not part of the gap.
    const isOfDay = state.dayMs < floorMs && floorMs < endOf(state);
    this.#floorMs = isOfDay && state.isUntimed !== true ? floorMs : -Infinity;
    this.#chunk = pull.sink.chunk(partition);
  }

  get isFull(): boolean {
    return this.#chunk.isFull;
  }

  /**
   * Stops skipping old records, because a line had no time from the service. The time in a line may be of another zone,
   * and SQL may have set it.
   */
  noteUntimed(): void {
    if (this.#floorMs === -Infinity) return;
    this.#floorMs = -Infinity;
    const { state } = this.#archive;
    this.#pull.ledger.setArchive(this.#archive, { ...state, isUntimed: true });
  }

  add(records: readonly ParsedRecord[], entryName: string): void {
    const { partition, id, name } = this.#archive;
    const { service, source, type } = partition;
    const { meter, digests } = this.#pull;
    const place = uidPlace([service.id, source, type, id, entryName]);
    for (const record of records) {
      if (record.timeMs < this.#floorMs) {
        meter.records(partition, 'before_start', 1);
        continue;
      }
      if (record.marks !== 0) meter.marks(partition, record.marks);
      const uid = recordUid(place, record.firstOffset, record);
      this.#chunk.add(record, uid, entryName === '' ? name : entryName);
      if (digests !== null && record.firstOffset >= this.countFrom && isStatement(record))
        this.#counted.push(record);
    }
  }

  /**
   * Adds the open record of an entry: what was counted until then counts no more. Returns the state of its reader
   * after that.
   */
  addOpen(progress: EntryProgress, entryName: string): ReturnType<typeof savedReader> {
    const reader = this.#pull.readerOf(this.#archive.partition.type);
    reader.restore(progress.reader);
    this.countFrom = progress.countedBytes ?? 0;
    const open = reader.flush();
    this.add(open, entryName);
    // A header alone is no statement: the digests count that when it is read whole.
    const header = open.find(record => !isStatement(record));
    this.countFrom = Math.max(this.countFrom, header?.firstOffset ?? progress.bytes);
    return savedReader(reader.save());
  }

  /** Commits the added records, and the progress within the entry. */
  async commitEntry(entryName: string, read: EntryProgress): Promise<void> {
    const { state } = this.#archive;
    const progress = this.countFrom > 0 ? { ...read, countedBytes: this.countFrom } : read;
    await this.commit({ ...state, entries: { ...state.entries, [entryName]: progress } });
  }

  /**
   * Commits the added records and the state, which must not be ahead of them, in one step. Without records the state
   * only goes to the ledger, which stores it with the next commit.
   */
  async commit(state: ArchiveState): Promise<void> {
    const { api, digests, ledger, meter, sink } = this.#pull;
    const { partition } = this.#archive;
    ledger.setArchive(this.#archive, state);
    const { count } = this.#chunk;
    if (count === 0) return;
    const counted = await digests?.count(partition, this.#counted, api.overMs());
    if (counted === null) throw new PullEnded({ kind: 'failed' });
    const { batches = [], state: sums = [] } = counted ?? {};
    await commit(this.#pull, { batches: [this.#chunk.end(), ...batches], state: sums });
    meter.records(partition, 'queued', count);
    this.#chunk = sink.chunk(partition);
    this.#counted = [];
  }

  /** Forgets the records added since the last commit. */
  drop(): void {
    this.#chunk = this.#pull.sink.chunk(this.#archive.partition);
    this.#counted = [];
  }
}

/** What a failed download says about the archive; null if it is about the service. */
function faultOf({ reason, status, message }: ServiceError): ArchiveError | null {
  if (reason === 'too_large') return new ArchiveError('archive_limit', message);
  if (reason === 'encoding' || reason === 'bomb') return new ArchiveError('damaged', message);
  if (reason === 'not_found' || status === GONE) return new ArchiveError('refused', message);
  return null;
}
