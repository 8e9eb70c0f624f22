// `logs`: the log endpoints of the service from the shell.

import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { LOG_TYPES } from '../config/keys.ts';
import { DAY_MS } from '../lib/clock.ts';
import { formatBytes } from '../lib/format.ts';
import { printableJson, printableLine, printableText } from '../lib/printable.ts';
import { SpoolFile } from '../lib/spool-file.ts';
import { type ArchiveEntry, archiveEntries, ArchiveError, PIECE_BYTES } from '../logs/archive.ts';
import { type EntryProgress, EntryReader } from '../logs/entry-reader.ts';
import { createLineReader } from '../logs/formats/reader.ts';
import type { ParsedRecord } from '../logs/record.ts';
import { textAt } from '../logs/item.ts';
import { listPages } from '../logs/list.ts';
import type { LogItem, LogsApi } from '../service/logs-api.ts';
import type { Result } from '../service/service-error.ts';
import { createMeter, withProgress } from './output.ts';
import {
  ACCESS_OPTIONS,
  cellOf,
  FORMAT_OPTION,
  type OpenService,
  namedError,
  printJson,
  printListing,
  SHOW_OPTIONS,
  tellError,
  tellNone,
  withService,
  withServices,
} from './service-access.ts';
import { printTable, type Rows } from './table.ts';
import {
  choice,
  file,
  flag,
  integer,
  moment,
  required,
  text,
  withDefault,
  format,
} from './options.ts';
import {
  action,
  type Call,
  cannotWrite,
  refuseFile,
  STDOUT,
  usageError,
  type Verb,
  type VerbContext,
  writeNewFile,
} from './verb.ts';

const LINES_MAX = 10_000;
const DAYS_MAX = 3650;

const SERVERS_OPTIONS = {
  ...SHOW_OPTIONS,
  type: text('TYPE', 'such as error-log', LOG_TYPES),
  from: moment('RFC 3339, or back from now such as 2h (default: a day before --to)'),
  to: moment('the same (default: now)'),
};
const LIST_OPTIONS = {
  ...SERVERS_OPTIONS,
  server: text('NAME', 'the name of a server, or its data source id'),
};
const DOWNLOAD_OPTIONS = {
  ...ACCESS_OPTIONS,
  format: withDefault(
    choice(['raw', 'json'], 'lines as the server wrote them, or each in a JSON object'),
    'raw',
  ),
  output: required(file('a new file, or - for stdout', 'o')),
};
const TAIL_OPTIONS = {
  ...LIST_OPTIONS,
  format: format('lines as the server wrote them, or each as JSON: {server, type, line}'),
  lines: withDefault(integer({ min: 0, max: LINES_MAX }, 'number of lines of each'), '20'),
  follow: flag('also prints new lines'),
};
const RETENTION_OPTIONS = {
  ...ACCESS_OPTIONS,
  bucket: text('NAME', 'the bucket of the logs'),
  provider: text('NAME', 'the provider of that bucket'),
  'set-days': integer(
    { min: 1, max: DAYS_MAX },
    'changes how long the service keeps them; older logs are deleted for good',
  ),
  confirm: text('NAME', 'with --set-days: the name of the bucket once more'),
  format: FORMAT_OPTION,
};

export const verb: Verb = {
  name: 'logs',
  summary: 'the logs of the service',
  actions: [
    action({
      name: 'list',
      summary: 'the archives of a time range',
      options: LIST_OPTIONS,
      run: logsList,
    }),
    action({
      name: 'types',
      summary: 'the available types',
      options: SHOW_OPTIONS,
      run: (call, context) =>
        listAnswers(call, context, api => api.types({ signal: context.stop })),
    }),
    action({
      name: 'servers',
      summary: 'the available servers',
      options: SERVERS_OPTIONS,
      run: (call, context) => {
        const span = readSpan(call, context.clock.nowMs());
        const query = { ...span, type: call.values.type, signal: context.stop };
        return listAnswers(call, context, api => api.servers(query));
      },
    }),
    action({
      name: 'download',
      summary: 'archives as one file',
      words: {
        value: 'ID',
        about: 'the id of an archive (see logs list)',
        count: 'one or more',
      },
      options: DOWNLOAD_OPTIONS,
      run: logsDownload,
    }),
    action({
      name: 'tail',
      summary: 'the last lines of the archives of a time range',
      options: TAIL_OPTIONS,
      run: logsTail,
    }),
    action({
      name: 'retention',
      summary: 'how long the service keeps logs',
      options: RETENTION_OPTIONS,
      run: logsRetention,
    }),
  ],
  exits: { 0: 'done', 1: 'the service failed', 2: 'a mistake on the command line' },
  examples: [
    'prom2otlp logs list --config /etc/prom2otlp/prom2otlp.yaml --type error-log --from 2h',
    'prom2otlp logs tail --config /etc/prom2otlp/prom2otlp.yaml --type error-log --follow',
    'PROM2OTLP_API_KEY=… prom2otlp logs types --base-url https://api.example.com',
  ],
  isStoppable: true,
};

type ListCall = Call<typeof LIST_OPTIONS>;
type TailCall = Call<typeof TAIL_OPTIONS>;

// `logs list`, `logs types`, `logs servers`: the lists of the log endpoints, as tables or JSON.

function logsList(call: ListCall, context: VerbContext): Promise<number> {
  const span = readSpan(call, context.clock.nowMs());
  const head = ['ID', 'TYPE', 'SERVER', 'SERVICE', 'SIZE', 'START'];
  return printListing<ListedArchive>(call, context, {
    read: ({ logs }) => listArchives(logs, call, span, context),
    rows: archives => [
      head,
      ...archives.map(one => [one.id, one.type, one.server, one.service, one.size, one.start]),
    ],
    json: archives => archives.map(({ size: _size, ...one }) => one),
    empty: 'no archives',
  });
}

/** Prints a list with a column for each member that its items have. */
function listAnswers(
  call: Call<typeof SHOW_OPTIONS>,
  context: VerbContext,
  askApi: (api: LogsApi) => Promise<Result<{ readonly items: readonly LogItem[] }>>,
): Promise<number> {
  const read = async ({ logs }: OpenService): Promise<readonly unknown[] | null> => {
    const answer = await askApi(logs);
    return answer.ok ? answer.items : tellNone(context, answer.error);
  };
  return printListing(call, context, { read, rows: rowsOf, empty: 'nothing is listed' });
}

export function rowsOf(items: readonly unknown[]): Rows {
  const objects = items.map(item =>
    typeof item === 'object' && item !== null ? (item as Record<string, unknown>) : { value: item },
  );
  const names = [...new Set(objects.flatMap(object => Object.keys(object)))];
  const rows = objects.map(object => names.map(name => cellOf(object[name] ?? '')));
  return names.length === 0 ? [] : [names.map(name => name.toUpperCase()), ...rows];
}

// `logs download`: archives as the service packs them, into a new file.

function logsDownload(call: Call<typeof DOWNLOAD_OPTIONS>, context: VerbContext): Promise<number> {
  const { words: ids } = call;
  const { output, format } = call.values;
  return withService(call, context, async ({ logs, config }) => {
    const isStdout = output === STDOUT;
    if (isStdout && context.out.columns < Infinity)
      throw usageError(call.command, 'an archive is no text: pipe it, or name a file');
    if (!isStdout && existsSync(output)) throw cannotWrite(output, new Error('it exists'));
    const refuse = isStdout ? refuseTemporary : refuseFile(output);
    const spool = await SpoolFile.create(isStdout ? tmpdir() : dirname(output)).catch(refuse);
    try {
      const meter = createMeter(context.clock, formatBytes);
      const asking = logs.download(ids, spool, {
        signal: context.stop,
        maxBytes: config.logs.limits.archiveBytes,
        format,
      });
      const answer = await withProgress(context, () => meter(spool.bytes), asking);
      if (spool.failure !== null) refuse(spool.failure);
      const check = 'check each ID: prom2otlp logs list shows those that there are';
      if (!answer.ok) return tellError(context, namedError(answer.error, check));
      if (isStdout) return (await copy(spool, piece => context.out.bytes(piece))) ? 0 : 1;
      await writeNewFile(output, file =>
        copy(spool, piece => file.writeFile(piece).then(() => true)).catch(refuse),
      );
      context.err.line(`${output}: ${formatBytes(spool.bytes)}`);
      return 0;
    } finally {
      await spool.close();
    }
  });
}

/** Throws the mistake that the temporary file cannot be written. */
function refuseTemporary(error: unknown): never {
  throw cannotWrite(tmpdir(), error, 'set TMPDIR to a directory where this user may write');
}

/** Passes the archive to `take`, piece by piece; false when `take` refuses a piece. */
async function copy(spool: SpoolFile, take: (piece: Buffer) => Promise<boolean>): Promise<boolean> {
  for (let offset = 0; offset < spool.bytes; offset += PIECE_BYTES)
    if (!(await take(await spool.read(offset, PIECE_BYTES)))) return false;
  return true;
}

// `logs tail`: the last lines of the archives that match, and with --follow the lines after them. Lines are unwrapped,
// and shown as the server wrote them.

/** Asking more often brings nothing new, and the service may mind. */
const FOLLOW_MS = 60_000;
/** An archive that cannot be shown is tried less and less often, down to once an hour. */
const LOOKS_SKIPPED_MAX = 60;

function logsTail(call: TailCall, context: VerbContext): Promise<number> {
  if (call.values.follow && call.values.to !== undefined)
    throw usageError(call.command, '--follow has no end: leave out --to');
  return withServices(call, context, async services => {
    const tails = services.map(service => new Tail(service, context, call));
    let isFirst = true;
    for (;;) {
      let code = 0;
      for (const tail of tails) if (!(await tail.show())) code = 1;
      const isEmpty = code === 0 && !tails.some(tail => tail.hasArchives);
      if (isFirst && isEmpty && !context.stop.aborted) context.err.line('no archives');
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
  readonly #sizes = new Map<string, string>();
  #look = 0;
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

  /** Shows new lines; false when something could not be read. */
  async show(): Promise<boolean> {
    const span = readSpan(this.#call, this.#context.clock.nowMs());
    const listed = await listArchives(this.#service.logs, this.#call, span, this.#context);
    if (listed === null) return this.#context.stop.aborted;
    this.#old ??= new Set(listed.map(({ id }) => id));
    this.#look++;
    this.#forgetGone(new Set(listed.map(({ id }) => id)));
    let isGood = true;
    for (const archive of listed) {
      const { id, size } = archive;
      const { count, nextLook } = this.#failed.get(id) ?? { count: 0, nextLook: 0 };
      const isSame = size !== '' && this.#sizes.get(id) === size;
      if (isSame || this.#look < nextLook || this.#context.stop.aborted) continue;
      if (await this.#showArchive(archive)) {
        this.#failed.delete(id);
        this.#sizes.set(id, size);
        continue;
      }
      isGood = false;
      const waitLooks = Math.min(count + 1, LOOKS_SKIPPED_MAX);
      this.#failed.set(id, { count: count + 1, nextLook: this.#look + waitLooks });
    }
    return isGood || this.#context.stop.aborted;
  }

  /** Forgets what is known of archives that a complete list no longer has, so that a long run keeps no more than a day. */
  #forgetGone(ids: ReadonlySet<string>): void {
    for (const known of [this.#sizes, this.#failed, this.#progress])
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
  }

  async #showArchive(archive: ListedArchive): Promise<boolean> {
    const { config, logs } = this.#service;
    const { limits } = config.logs;
    const isFirst = this.#old?.has(archive.id) === true && !this.#sizes.has(archive.id);
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
        const isLast = before === null && isFirst;
        if (await this.#showEntry(archive, entry, { shown, before, isLast })) continue;
        // The entry is now another file, and is shown from its beginning.
        await this.#showEntry(archive, entry, { shown, before: null, isLast: false });
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

  /** Shows the lines after `before`, or only the last lines. False when the bytes up to `before` have changed. */
  async #showEntry(
    { server, type }: ListedArchive,
    entry: ArchiveEntry,
    { shown, before, isLast }: EntryPlace,
  ): Promise<boolean> {
    const { logs } = this.#service.config;
    const { lines, format, follow } = this.#call.values;
    const { out } = this.#context;
    const reader = new EntryReader({
      progress: before,
      // Without a type, each line is a record.
      reader: createLineReader({
        type: '',
        timezone: logs.sourceTimezone,
        isRedacting: logs.redactLiterals,
        comments: { isTracing: false, keys: [] },
        recordBytesMax: logs.limits.recordBytes,
      }),
      unwrap: {
        format: logs.endpoints.format,
        pointers: this.#service.logs.pointers,
        lineBytesMax: logs.limits.lineBytes,
      },
    });
    const head = `${printableLine(server)} ${printableLine(type)} `;
    let kept: ParsedRecord[] = [];
    const show = (): void => {
      for (const { body: line } of kept)
        out.line(
          format === 'json' ? printableJson({ server, type, line }, 0) : head + shownLine(line),
        );
      kept = [];
    };
    try {
      for await (const piece of entry.pieces()) {
        if (!reader.feed(piece)) return false;
        while (reader.next()) kept.push(...reader.records);
        if (isLast) kept.splice(0, kept.length - lines);
        else show();
        // Waits for a slow reader of the output, and stops when the reader is gone.
        if (!(await out.taken())) return true;
      }
    } finally {
      // Also for a damaged entry, so that its lines are not shown again.
      if (!isLast && !reader.isBehind) shown.set(entry.name, reader.progress());
    }
    if (!reader.end(!follow)) return false;
    kept.push(...reader.records);
    if (isLast) kept.splice(0, kept.length - lines);
    show();
    shown.set(entry.name, reader.progress());
    return true;
  }
}

interface EntryPlace {
  /** The progress of the archive's entries. */
  readonly shown: Map<string, EntryProgress>;
  readonly before: EntryProgress | null;
  readonly isLast: boolean;
}

// `logs retention`: shows how long the service keeps logs. A change needs a confirmation: the service
// deletes older logs at once and for good.

function logsRetention(
  call: Call<typeof RETENTION_OPTIONS>,
  context: VerbContext,
): Promise<number> {
  const { command, values } = call;
  const { bucket, provider, 'set-days': days, confirm } = values;
  const query = {
    ...(bucket !== undefined && { bucket_name: bucket }),
    ...(provider !== undefined && { provider }),
  };
  if (bucket === '' || provider === '')
    throw usageError(command, '--bucket and --provider are names, and not empty');
  if (days === undefined && confirm !== undefined)
    throw usageError(command, '--confirm goes with --set-days');
  if (days !== undefined && (bucket === undefined || provider === undefined))
    throw usageError(command, '--set-days needs --bucket and --provider');
  if (days !== undefined && confirm !== bucket)
    throw usageError(
      command,
      `--set-days deletes older logs for good: confirm with --confirm ${bucket}`,
    );
  return withService(call, context, async ({ logs }) => {
    const settings = { signal: context.stop };
    const answer =
      days === undefined || bucket === undefined || provider === undefined
        ? await logs.retention(query, settings)
        : await logs.setRetention(
            { bucket_name: bucket, provider, retention_policy_days: days },
            settings,
          );
    if (!answer.ok) {
      if (answer.error.isOutcomeUnknown)
        context.err.line(
          'whether the retention was changed is not known: see `logs retention` before you try again',
        );
      return tellError(context, answer.error);
    }
    const { json } = answer;
    if (values.format === 'json') printJson(context, json ?? null);
    else printTable(context.out, rowsOf([json ?? []].flat()), { empty: 'nothing is shown' });
    return days === undefined
      ? 0
      : judgeRetention(context, textAt(['retention_policy_days'], json), days);
  });
}

/** Compares the answer with the request: a status of success does not prove that the retention was changed. */
function judgeRetention({ err }: VerbContext, kept: string, days: number): number {
  if (Number(kept || Number.NaN) === days) return 0;
  err.line(
    kept === ''
      ? 'the service does not say how long it keeps logs now: compare with `logs retention`'
      : `cannot set the retention: the service keeps logs for ${kept} days, not ${days}; ask for what it allows`,
  );
  return kept === '' ? 0 : 1;
}

// Shared by the actions: times, and archives as the service lists them.

/** The fields of an archive that are read, by the names of their pointers. */
const TEXTS = ['id', 'type', 'server', 'service', 'source', 'size', 'start'] as const;

interface ListedArchive extends Readonly<Record<(typeof TEXTS)[number], string>> {
  /** null where the service names no number of bytes. */
  readonly sizeBytes: number | null;
}

/** The times of --from and --to; by default the last 24 hours. */
function readSpan(
  { command, values: { from, to } }: Call<typeof SERVERS_OPTIONS>,
  nowMs: number,
): { readonly from: Date; readonly to: Date } {
  const toMs = to?.(nowMs) ?? nowMs;
  const fromMs = from?.(nowMs) ?? toMs - DAY_MS;
  if (fromMs >= toMs) throw usageError(command, '--from is later than --to');
  return { from: new Date(fromMs), to: new Date(toMs) };
}

/** The archives of one API that match the options, even if the service does not filter; null after a printed failure. */
async function listArchives(
  api: LogsApi,
  { values }: ListCall,
  span: { readonly from: Date; readonly to: Date },
  context: VerbContext,
): Promise<readonly ListedArchive[] | null> {
  const { stop: signal } = context;
  const { type, server } = values;
  // The service can filter by data source id, but not by server name: isWanted() does that.
  const isSource = server?.includes('/') === true;
  const query = { ...span, type, ...(isSource ? { server } : {}), signal };
  const found = new Map<string, ListedArchive>();
  const end = await listPages(api, query, items => {
    for (const item of items) {
      const archive = readArchive(api, item);
      if (isWanted(archive, values)) found.set(`${archive.source} ${archive.id}`, archive);
    }
    return null;
  });
  if (end.ok) return [...found.values()];
  return signal.aborted ? null : tellNone(context, end.error);
}

function readArchive({ pointers }: LogsApi, item: unknown): ListedArchive {
  const texts = TEXTS.map(name => [name, textAt(pointers[name], item)] as const);
  const { start, size, ...rest } = Object.fromEntries(texts) as Omit<ListedArchive, 'sizeBytes'>;
  return { ...rest, size, sizeBytes: /^\d+$/.test(size) ? Number(size) : null, start };
}

function isWanted(archive: ListedArchive, values: ListCall['values']): boolean {
  const { type, server, 'service-id': serviceId } = values;
  if (type !== undefined && archive.type !== type) return false;
  if (server !== undefined && archive.server !== server && archive.source !== server) return false;
  return (
    serviceId === undefined ||
    archive.source === '' ||
    `${archive.source}/`.startsWith(`${serviceId}/`)
  );
}
