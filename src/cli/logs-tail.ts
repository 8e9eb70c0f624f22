// `logs tail`: the last lines of the archives that match, and with --follow what comes after them. Lines are unwrapped,
// and shown as the server wrote them.

import { tmpdir } from 'node:os';
import { SpoolFile } from '../lib/spool-file.ts';
import { archiveEntries } from '../logs/archive.ts';
import { ArchiveError } from '../logs/archive-error.ts';
import { EntryReader, type EntryProgress } from '../logs/entry-reader.ts';
import { createLineReader } from '../logs/formats/reader.ts';
import type { ParsedRecord } from '../logs/record.ts';
import {
  failureLine,
  listArchives,
  LOG_OPTIONS,
  type ListedArchive,
  type LogValues,
  type OpenLogApi,
  readSpan,
  withLogApis,
} from './log-access.ts';
import { refuseWords } from './queue-config.ts';
import { readArgs, usageError, type VerbContext } from './verb.ts';

const VERB = 'logs tail';
const LINES_MAX = 10_000;
/** Asking more often brings nothing new, and the service may mind. */
const FOLLOW_MS = 60_000;

export function logsTail(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(VERB, context.args, {
    ...LOG_OPTIONS,
    lines: { type: 'string', default: '20' },
    follow: { type: 'boolean' },
  });
  refuseWords(VERB, words);
  const lineCount = Number(values.lines);
  if (!(Number.isInteger(lineCount) && lineCount >= 0 && lineCount <= LINES_MAX))
    throw usageError(VERB, `expected --lines as a number from 0 to ${LINES_MAX}`);
  return withLogApis(VERB, values, context, async apis => {
    const tails = apis.map(api => new Tail(api, context, values, lineCount));
    for (;;) {
      let code = 0;
      for (const tail of tails) if (!(await tail.show())) code = 1;
      if (values.follow !== true || context.stop.aborted) return code;
      if (!(await context.out.taken())) return 0;
      await context.clock.sleep(FOLLOW_MS, context.stop);
      if (context.stop.aborted) return code;
    }
  });
}

/** The archives of one API, and how far each of them has been shown. */
class Tail {
  readonly #api: OpenLogApi;
  readonly #context: VerbContext;
  readonly #values: LogValues;
  readonly #lineCount: number;
  readonly #sizes = new Map<string, string>();
  readonly #progress = new Map<string, EntryProgress>();

  constructor(api: OpenLogApi, context: VerbContext, ...[values, lineCount]: [LogValues, number]) {
    this.#api = api;
    this.#context = context;
    this.#values = values;
    this.#lineCount = lineCount;
  }

  /** Shows what is new; false when something could not be had. */
  async show(): Promise<boolean> {
    const span = readSpan(VERB, this.#values, this.#context.clock.nowMs());
    const listed = await listArchives(this.#api, this.#values, span, this.#context);
    if ('reason' in listed) {
      this.#context.err.line(failureLine(listed));
      return false;
    }
    let isGood = true;
    for (const archive of listed) {
      const isSame = archive.size !== '' && this.#sizes.get(archive.id) === archive.size;
      if (isSame || this.#context.stop.aborted) continue;
      this.#sizes.set(archive.id, archive.size);
      if (!(await this.#showArchive(archive))) isGood = false;
    }
    return isGood;
  }

  async #showArchive(archive: ListedArchive): Promise<boolean> {
    const { limits } = this.#api.config.logs;
    const spool = await SpoolFile.create(tmpdir());
    try {
      const settings = { signal: this.#context.stop, maxBytes: limits.archiveBytes };
      const answer = await this.#api.api.archive(archive.id, spool, settings);
      if (!answer.ok) {
        this.#context.err.line(failureLine(answer.failure));
        return false;
      }
      for await (const entry of archiveEntries(spool, limits))
        await this.#showEntry(archive, entry.name, entry.pieces());
      return true;
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      this.#context.err.line(`cannot read the archive ${archive.id}: ${error.message}`);
      return false;
    } finally {
      await spool.close();
    }
  }

  async #showEntry(
    archive: ListedArchive,
    name: string,
    pieces: AsyncGenerator<Buffer>,
  ): Promise<void> {
    const { logs } = this.#api.config;
    const key = `${archive.id} ${name}`;
    const before = this.#progress.get(key) ?? null;
    const reader = new EntryReader({
      progress: before,
      // Of no type: line by line.
      reader: createLineReader({
        type: '',
        timezone: logs.sourceTimezone,
        isRedacting: logs.redactLiterals,
        recordBytesMax: logs.limits.recordBytes,
      }),
      unwrap: {
        format: logs.endpoints.format,
        pointers: this.#api.api.pointers,
        lineBytesMax: logs.limits.lineBytes,
      },
    });
    const kept: ParsedRecord[] = [];
    for await (const piece of pieces) {
      // A file that is another is shown from its beginning the next time.
      if (!reader.feed(piece)) return void this.#progress.delete(key);
      while (reader.next()) this.#keep(kept, reader.records);
    }
    reader.end(false);
    this.#keep(kept, reader.records);
    this.#progress.set(key, reader.progress());
    const shown = before === null ? kept.slice(-this.#lineCount || kept.length) : kept;
    for (const { body } of shown)
      this.#context.out.line(`${archive.server} ${archive.type} ${body}`);
  }

  /** Of a first look, only the last lines are wanted: the others are let go. */
  #keep(kept: ParsedRecord[], records: readonly ParsedRecord[]): void {
    kept.push(...records);
    if (kept.length > 2 * LINES_MAX) kept.splice(0, kept.length - LINES_MAX);
  }
}
