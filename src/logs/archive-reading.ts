// Downloads one archive and reads what is new in it, entry by entry, into chunks that are committed with the
// progress behind them. Whatever ends it, what was committed stays: the next try goes on from there.

import { causeText } from '../errors.ts';
import { failpoint } from '../lib/failpoint.ts';
import { SpoolFile } from '../lib/spool-file.ts';
import type { ServiceFailure } from '../service/failure.ts';
import { type ArchiveEntry, archiveEntries } from './archive.ts';
import { ArchiveError } from './archive-error.ts';
import { afterRead, isLastTry, type SetAsideReason } from './archive-state.ts';
import { ArchiveWriter } from './archive-writer.ts';
import { ask } from './ask.ts';
import type { Descriptor } from './descriptor.ts';
import { type EntryProgress, EntryReader } from './entry-reader.ts';
import type { Keeping } from './kept-archives.ts';
import type { Ledger } from './ledger.ts';
import type { PullContext, PullRun } from './pull-context.ts';
import { Slicer } from './slicer.ts';

/** How reading an archive ended. After `stopped` and `failed` the ledger does not match the store any more. */
export type ArchiveEnd =
  | { readonly kind: 'read' }
  | BrokenEnd
  | { readonly kind: 'unreachable'; readonly failure: ServiceFailure }
  | { readonly kind: 'stopped' | 'failed' };

export interface BrokenEnd {
  readonly kind: 'broken';
  readonly reason: SetAsideReason;
  readonly cause: string;
  /** What became of its file, once it is given up. */
  readonly kept: Keeping | null;
}

type EntryEnd = 'read' | 'rewritten' | 'stopped' | 'failed';

/** Looking at the clock costs as much as a tenth of a line. */
const LINES_PER_LOOK = 32;

const READ: ArchiveEnd = { kind: 'read' };

export class ArchiveReading {
  readonly #context: PullContext;
  readonly #descriptor: Descriptor;
  readonly #run: PullRun;
  readonly #isFinal: boolean;
  readonly #slicer: Slicer;
  readonly #writer: ArchiveWriter;
  #bytes = 0;

  /** `isFinal`: nothing is held back at the end of an entry. */
  constructor(
    context: PullContext,
    ledger: Ledger,
    ...[descriptor, isFinal, run]: [Descriptor, boolean, PullRun]
  ) {
    this.#context = context;
    this.#descriptor = descriptor;
    this.#run = run;
    this.#isFinal = isFinal;
    this.#slicer = new Slicer(context.options.clock);
    this.#writer = new ArchiveWriter(context, ledger, descriptor);
  }

  async run(): Promise<ArchiveEnd> {
    const spool = await this.#download();
    if (!(spool instanceof SpoolFile)) return spool;
    try {
      const end = await this.#readEntries(spool);
      return end.kind === 'broken' ? await this.#keep(spool, end) : end;
    } catch (error) {
      if (error instanceof ArchiveError) return await this.#keep(spool, brokenBy(error));
      return this.#endOfDisk(error);
    } finally {
      await spool.close();
    }
  }

  /** Each try has a file of its own: one that was cut off leaves its bytes behind. */
  async #download(): Promise<SpoolFile | ArchiveEnd> {
    const { api, config, budget, meter, spoolDirectory: directory } = this.#context.options;
    const { signal } = this.#run;
    const maxBytes = config.limits.archiveBytes;
    let spool: SpoolFile | null = null;
    try {
      const answer = await ask(async () => {
        await spool?.close();
        spool = null;
        const sink = await SpoolFile.create(directory);
        failpoint('spool-begun');
        spool = sink;
        const result = await api.archive(this.#descriptor.id, sink, { signal, maxBytes });
        budget.take(sink.bytes);
        meter.bytes('downloaded', sink.bytes);
        return result;
      }, this.#context.ask(this.#run));
      const whole = spool as SpoolFile | null;
      failpoint('spool-done');
      if (answer.ok && whole !== null) return whole;
      await whole?.close();
      return answer.ok ? READ : endOfFailure(answer.failure);
    } catch (error) {
      return this.#endOfDisk(error);
    }
  }

  async #keep(spool: SpoolFile, end: BrokenEnd): Promise<BrokenEnd> {
    const { kept } = this.#context.options;
    const { partition, id } = this.#descriptor;
    if (kept === null || !isLastTry(this.#writer.state, end.reason)) return end;
    return { ...end, kept: await kept.keep(spool, partition, id) };
  }

  /** A file that cannot be created or read: a matter of this machine. Anything else is not ours to hide. */
  #endOfDisk(error: unknown): ArchiveEnd {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    const { spoolDirectory } = this.#context.options;
    const message = `cannot use a file in ${spoolDirectory}: ${causeText(error)}`;
    const hint = 'check the disk of queue.directory, or of the temporary directory without one';
    return { kind: 'unreachable', failure: { reason: 'not_stored', message, hint } };
  }

  async #readEntries(spool: SpoolFile): Promise<ArchiveEnd> {
    let worst: ArchiveEnd = READ;
    for await (const entry of archiveEntries(spool, this.#context.options.config.limits)) {
      let end: EntryEnd;
      try {
        end = await this.#readEntry(entry);
      } catch (error) {
        if (!(error instanceof ArchiveError)) throw error;
        worst = brokenBy(error);
        if (error.endsArchive) break;
        continue;
      }
      if (end === 'stopped' || end === 'failed') return { kind: end };
    }
    if (worst.kind !== 'read') return worst;
    this.#writer.state = afterRead(this.#writer.state, this.#bytes, this.#isFinal);
    const result = await this.#writer.commit(this.#run.signal);
    return result === 'stored' ? READ : { kind: result };
  }

  async #readEntry(entry: ArchiveEntry): Promise<EntryEnd> {
    const { entries } = this.#writer.state;
    const done = Object.hasOwn(entries, entry.name) ? (entries[entry.name] ?? null) : null;
    const end = await this.#readEntryFrom(entry, done);
    if (end !== 'rewritten') return end;
    this.#context.options.meter.rewritten(this.#descriptor.partition, this.#descriptor.id);
    // What was held back may not stand in the new one.
    if (done !== null) this.#flushHeld(done, entry.name);
    return this.#readEntryFrom(entry, null);
  }

  #flushHeld({ reader: saved }: EntryProgress, entryName: string): void {
    const reader = this.#context.reader(this.#descriptor.partition.type);
    reader.restore(saved);
    this.#writer.add(reader.flush(), entryName);
  }

  async #readEntryFrom(entry: ArchiveEntry, done: EntryProgress | null): Promise<EntryEnd> {
    const { config, api, meter } = this.#context.options;
    const { partition } = this.#descriptor;
    const reader = new EntryReader({
      progress: done,
      reader: this.#context.reader(partition.type),
      unwrap: {
        format: api.endpoints.format,
        pointers: api.pointers,
        lineBytesMax: config.limits.lineBytes,
      },
    });
    try {
      for await (const piece of entry.pieces()) {
        if (!reader.feed(piece)) return 'rewritten';
        const end = await this.#takeLines(reader, entry.name);
        if (end !== 'read') return end;
        if (this.#slicer.isOver) await this.#slicer.pause();
      }
    } catch (error) {
      const isUpToLimit = error instanceof ArchiveError && error.endsArchive;
      // What is below a limit is good; what a damaged entry gave since the last commit is read again.
      if (isUpToLimit && !reader.isBehind) {
        reader.cut();
        this.#writer.add(reader.records, entry.name);
        const end = await this.#commit(entry.name, reader.progress());
        if (end !== 'read') return end;
      }
      this.#writer.drop();
      throw error;
    } finally {
      meter.bytes('unpacked', reader.seenBytes);
      meter.bytes('cut', reader.cutBytes);
    }
    if (!reader.end(this.#isFinal)) return 'rewritten';
    this.#writer.add(reader.records, entry.name);
    this.#bytes += reader.seenBytes;
    return this.#commit(entry.name, reader.progress());
  }

  async #takeLines(reader: EntryReader, entryName: string): Promise<EntryEnd> {
    for (let lines = 1; reader.next(); lines++) {
      if (reader.records.length > 0) this.#writer.add(reader.records, entryName);
      if (lines % LINES_PER_LOOK === 0 && this.#slicer.isOver) await this.#slicer.pause();
      if (!this.#writer.isFull) continue;
      const end = await this.#commit(entryName, reader.progress());
      if (end !== 'read') return end;
    }
    return 'read';
  }

  async #commit(entryName: string, progress: EntryProgress): Promise<EntryEnd> {
    const { state } = this.#writer;
    this.#writer.state = { ...state, entries: { ...state.entries, [entryName]: progress } };
    const result = await this.#writer.commit(this.#run.signal);
    return result === 'stored' ? 'read' : result;
  }
}

function brokenBy(error: ArchiveError): BrokenEnd {
  return broken(error.fault, error.message);
}

function broken(reason: SetAsideReason, cause: string): BrokenEnd {
  return { kind: 'broken', reason, cause, kept: null };
}

/** What is wrong with this archive alone, and what is wrong with the way to the service. */
function endOfFailure(failure: ServiceFailure): ArchiveEnd {
  const { reason, message: cause } = failure;
  if (reason === 'too_large') return broken('archive_limit', cause);
  if (reason === 'encoding' || reason === 'bomb') return broken('damaged', cause);
  // The list was answered with the same key a moment ago.
  if (reason === 'not_found' || reason === 'bad_request') return broken('refused', cause);
  return { kind: 'unreachable', failure };
}
