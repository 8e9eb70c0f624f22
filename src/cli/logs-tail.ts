// `logs tail`: the last lines of each server, and with --follow the lines after them. Lines are unwrapped, and shown as the
// server wrote them.

import { tmpdir } from 'node:os';
import { printableJson, printableLine, printableText } from '../lib/printable.ts';
import { SpoolFile } from '../lib/spool-file.ts';
import { type ArchiveEntry, archiveEntries, ArchiveError } from '../logs/archive.ts';
import { type EntryProgress, EntryReader } from '../logs/entry-reader.ts';
import { createLineReader } from '../logs/formats/reader.ts';
import {
  LIST_OPTIONS,
  listArchives,
  type ListedArchive,
  noArchives,
  readSpan,
  refuseTemporary,
} from './log-archives.ts';
import { type OpenService, tellError, withServices } from './service-access.ts';
import { flag, format, integer, withDefault } from './options.ts';
import { type Call, usageError, type VerbContext } from './verb.ts';

const LINES_MAX = 10_000;

export const TAIL_OPTIONS = {
  ...LIST_OPTIONS,
  format: format('lines as the server wrote them, or each as JSON: {server, type, line}'),
  lines: withDefault(
    integer({ min: 0, max: LINES_MAX }, 'how many last lines of each type of each server', 'n'),
    '20',
  ),
  follow: flag('goes on with new lines; asks once a minute', 'f'),
};
type TailCall = Call<typeof TAIL_OPTIONS>;

/** Asking more often brings nothing new, and the service may mind. */
const FOLLOW_MS = 60_000;
/** An archive that cannot be shown is tried less and less often, down to once an hour. */
const LOOKS_SKIPPED_MAX = 60;

export function logsTail(call: TailCall, context: VerbContext): Promise<number> {
  if (call.values.follow && call.values.to !== undefined)
    throw usageError(call.command, '--follow has no end: leave out --to');
  return withServices(call, context, async services => {
    const tails = services.map(service => new Tail(service, context, call));
    let isFirst = true;
    for (;;) {
      let code = 0;
      for (const tail of tails) if (!(await tail.show())) code = 1;
      const isEmpty = code === 0 && !tails.some(tail => tail.hasArchives);
      if (isFirst && isEmpty && !context.stop.aborted) context.err.line(noArchives(call));
      isFirst = false;
      // With --follow, only a signal ends it; without, the lines are not complete.
      if (!call.values.follow) return context.stop.aborted ? 1 : code;
      if (context.stop.aborted) return code;
      if (!(await context.out.taken())) return 0;
      await context.clock.sleep(FOLLOW_MS, context.stop);
      if (context.stop.aborted) return code;
    }
  });
}

/** One line on a terminal, whatever it holds. */
function shownLine(line: string): string {
  return printableText(line.replaceAll('\r', '?'));
}

/** The archives of one API, and how far each of them has been shown. */
class Tail {
  readonly #service: OpenService;
  readonly #context: VerbContext;
  readonly #call: TailCall;
  /** The ids of the archives in the first list: only their last lines are wanted. */
  #old: ReadonlySet<string> | null = null;
  /** The sizes of archives that were read. */
  readonly #sizes = new Map<string, string>();
  /** The sizes of archives that were not needed: newer ones of the server had lines enough. */
  readonly #passed = new Map<string, string>();
  #looks = 0;
  /** How often in a row an archive could not be shown, and the next look at it. */
  readonly #failed = new Map<string, { readonly count: number; readonly nextLook: number }>();
  /** By the id of the archive and the name of the entry. */
  readonly #progress = new Map<string, Map<string, EntryProgress>>();

  constructor(service: OpenService, context: VerbContext, call: TailCall) {
    this.#service = service;
    this.#context = context;
    this.#call = call;
  }

  /** True if a list had archives. */
  get hasArchives(): boolean {
    return this.#old !== null && this.#old.size > 0;
  }

  /** Shows new lines, at first the last ones of each server; false when something could not be read. */
  async show(): Promise<boolean> {
    const span = readSpan(this.#call, this.#context.clock.nowMs());
    const listed = await listArchives(this.#service.logs, this.#call, span, this.#context);
    if (listed === null) return this.#context.stop.aborted;
    const isFirst = this.#old === null;
    this.#old ??= new Set(listed.map(({ id }) => id));
    this.#looks++;
    this.#forgetGone(new Set(listed.map(({ id }) => id)));
    let isGood = true;
    if (isFirst)
      for (const archives of Map.groupBy(listed, logOf).values())
        isGood = (await this.#showLast(archives)) && isGood;
    else for (const archive of listed) isGood = (await this.#showNew(archive)) && isGood;
    return isGood || this.#context.stop.aborted;
  }

  /** Shows the last lines of one log, however many of its archives have them. */
  async #showLast(archives: readonly ListedArchive[]): Promise<boolean> {
    const newestFirst = archives
      .toReversed()
      .sort((a, b) => Number(a.start < b.start) - Number(a.start > b.start));
    const found: Last[] = [];
    let want = this.#call.values.lines;
    let isGood = true;
    for (const archive of newestFirst) {
      // The newest is read in any case, so that the lines after it are known.
      if (want === 0 && found.length > 0) {
        this.#passed.set(archive.id, archive.size);
        continue;
      }
      const last: Last = { archive, want, lines: [] };
      if (!(await this.#look(archive, last))) isGood = false;
      found.push(last);
      want -= last.lines.length;
    }
    for (const { archive, lines } of found.reverse()) this.#print(archive, lines);
    return isGood;
  }

  /** Shows what is new of an archive; of an old one that was not read yet, the last lines. */
  async #showNew(archive: ListedArchive): Promise<boolean> {
    const { id, size } = archive;
    if (this.#passed.get(id) === size) return true;
    this.#passed.delete(id);
    const isOld = this.#old?.has(id) === true && !this.#sizes.has(id);
    const last = isOld ? { archive, want: this.#call.values.lines, lines: [] } : null;
    const isGood = await this.#look(archive, last);
    if (last !== null) this.#print(archive, last.lines);
    return isGood;
  }

  /** Reads an archive that has changed, unless it failed lately; false for a failure. */
  async #look(archive: ListedArchive, last: Last | null): Promise<boolean> {
    const { id, size } = archive;
    const { count, nextLook } = this.#failed.get(id) ?? { count: 0, nextLook: 0 };
    const isSame = size !== '' && this.#sizes.get(id) === size;
    if (isSame || this.#looks < nextLook || this.#context.stop.aborted) return true;
    if (await this.#readArchive(archive, last)) {
      this.#failed.delete(id);
      this.#sizes.set(id, size);
      return true;
    }
    // The next try begins anew: half of the last lines are not the last lines.
    if (last !== null) {
      last.lines.length = 0;
      this.#progress.delete(id);
    }
    const waitLooks = Math.min(count + 1, LOOKS_SKIPPED_MAX);
    this.#failed.set(id, { count: count + 1, nextLook: this.#looks + waitLooks });
    return false;
  }

  #print({ server, type }: ListedArchive, lines: readonly string[]): void {
    const head = `${printableLine(server)} ${printableLine(type)} `;
    const isJson = this.#call.values.format === 'json';
    for (const line of lines)
      this.#context.out.line(
        isJson ? printableJson({ server, type, line }, 0) : head + shownLine(line),
      );
  }

  /** Forgets what is known of archives that a complete list no longer has, so that a long run keeps no more than a day. */
  #forgetGone(ids: ReadonlySet<string>): void {
    for (const known of [this.#sizes, this.#passed, this.#failed, this.#progress])
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
  }

  /** Prints the new lines of an archive, or collects its last lines; false for a failure, which has been printed. */
  async #readArchive(archive: ListedArchive, last: Last | null): Promise<boolean> {
    const { config, logs } = this.#service;
    const { limits } = config.logs;
    const spool = await SpoolFile.create(tmpdir()).catch(refuseTemporary);
    try {
      const settings = { signal: this.#context.stop, maxBytes: limits.archiveBytes };
      const answer = await logs.download([archive.id], spool, settings);
      if (!answer.ok) {
        if (!this.#context.stop.aborted) tellError(this.#context, answer.error);
        return false;
      }
      const shown = this.#progress.get(archive.id) ?? new Map<string, EntryProgress>();
      this.#progress.set(archive.id, shown);
      for await (const entry of archiveEntries(spool, limits)) {
        const before = shown.get(entry.name) ?? null;
        const own = before === null ? last : null;
        if (await this.#readEntry(archive, entry, { shown, before, last: own })) continue;
        // The entry is now another file, and is shown from its beginning.
        await this.#readEntry(archive, entry, { shown, before: null, last: null });
      }
      return true;
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      const shown = printableLine(archive.id);
      this.#context.err.line(`cannot read the archive ${shown}: ${error.message}`);
      return false;
    } finally {
      await spool.close();
    }
  }

  /** Prints the lines after `before`, or collects the last ones. False when the bytes up to `before` have changed. */
  async #readEntry(
    archive: ListedArchive,
    entry: ArchiveEntry,
    { shown, before, last }: EntryPlace,
  ): Promise<boolean> {
    const { out } = this.#context;
    const reader = this.#readerAt(before);
    const take = (): void => {
      const lines = reader.records.map(({ body }) => body);
      if (last === null) return this.#print(archive, lines);
      last.lines.push(...lines);
      last.lines.splice(0, last.lines.length - last.want);
    };
    try {
      for await (const piece of entry.pieces()) {
        if (!reader.feed(piece)) return false;
        while (reader.next()) take();
        // Waits for a slow reader of the output, and stops when the reader is gone.
        if (!(await out.taken())) return true;
      }
    } finally {
      // Also for a damaged entry, so that its lines are not shown again.
      if (last === null && !reader.isBehind) shown.set(entry.name, reader.progress());
    }
    if (!reader.end(!this.#call.values.follow)) return false;
    take();
    shown.set(entry.name, reader.progress());
    return true;
  }

  #readerAt(progress: EntryProgress | null): EntryReader {
    const { logs } = this.#service.config;
    // Without a type, each line is a record.
    const reader = createLineReader({
      type: '',
      timezone: logs.sourceTimezone,
      isRedacting: logs.redactLiterals,
      comments: { isTracing: false, keys: [] },
      recordBytesMax: logs.limits.recordBytes,
    });
    const { pointers } = this.#service.logs;
    const { lineBytes: lineBytesMax } = logs.limits;
    const unwrap = { format: logs.endpoints.format, pointers, lineBytesMax };
    return new EntryReader({ progress, reader, unwrap });
  }
}

/** The last lines of an archive, `want` at most, in their order. */
interface Last {
  readonly archive: ListedArchive;
  readonly want: number;
  readonly lines: string[];
}

interface EntryPlace {
  /** The progress of the archive's entries. */
  readonly shown: Map<string, EntryProgress>;
  readonly before: EntryProgress | null;
  /** Collects the last lines; null: all lines are printed. */
  readonly last: Last | null;
}

/** What archives of one log have in common. */
function logOf({ source, server, type }: ListedArchive): string {
  return JSON.stringify([source, server, type]);
}
