// `logs`: the log endpoints of the service from the shell.

import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { causeText, OperatorError } from '../errors.ts';
import { formatBytes } from '../lib/format.ts';
import { printableJson } from '../lib/printable.ts';
import { SpoolFile } from '../lib/spool-file.ts';
import { archiveEntries, ArchiveError, PIECE_BYTES } from '../logs/archive.ts';
import { type EntryProgress, EntryReader } from '../logs/entry-reader.ts';
import { createLineReader } from '../logs/formats/reader.ts';
import type { ParsedRecord } from '../logs/record.ts';
import type { JsonAnswer, ServiceResult } from '../service/http-client.ts';
import {
  failureLine,
  firstList,
  listArchives,
  type ListedArchive,
  type LogValues,
  type OpenLogApi,
  readSpan,
  withLogApis,
} from './log-access.ts';
import { ACCESS_HELP, ACCESS_OPTIONS } from './service-access.ts';
import { renderTable } from './table.ts';
import {
  type Action,
  readArgs,
  readOptions,
  runAction,
  usageError,
  type Verb,
  type VerbContext,
} from './verb.ts';

const ACTIONS: Readonly<Record<string, Action>> = {
  list: logsList,
  types: logsTypes,
  servers: logsServers,
  download: logsDownload,
  tail: logsTail,
  retention: logsRetention,
};

export const verb: Verb = {
  summary: 'the logs of the service: logs list | types | servers | download | tail | retention',
  help: `
Usage: prom2otlp logs list|types|servers|download|tail|retention [options]

  ${ACCESS_HELP}
  --type TYPE        such as error-log
  --server NAME      the name of a server, or its data source id
  --from, --to TIME  RFC 3339, or back from now such as 2h; the last day when absent
  --json             JSON instead of a table

list                 the archives of this time range
types, servers       the available types and servers
download ID…         these archives as one file
  --format raw|json  lines as the server wrote them (default), or each in a JSON object
  --output FILE      a new file
tail                 the last lines of the archives of this time range
  --lines 20         number of lines of each
  --follow           also prints new lines
retention            how long the service keeps logs
  --bucket, --provider NAME    which logs
  --set-days N --confirm NAME  changes it; older logs are deleted for good. NAME repeats the name of the bucket

Exit: 0 if done, 1 if the service failed, 2 for a mistake on the command line.

Examples:
  prom2otlp logs list --config /etc/prom2otlp.yaml --type error-log --from 2h
  prom2otlp logs tail --config /etc/prom2otlp.yaml --type error-log --follow
  PROM2OTLP_API_KEY=… prom2otlp logs types --base-url https://api.example.com`,
  isStoppable: true,
  run: context => runAction('logs', ACTIONS, context),
};

/** The access to the API, and what narrows a list. */
const LOG_OPTIONS = {
  ...ACCESS_OPTIONS,
  type: { type: 'string' },
  server: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  json: { type: 'boolean' },
} as const;

// `logs list`, `logs types`, `logs servers`: what the log endpoints have, as tables or JSON.

function logsList(context: VerbContext): Promise<number> {
  const verb = 'logs list';
  const values = readOptions(verb, context.args, LOG_OPTIONS);
  const span = readSpan(verb, values, context.clock.nowMs());
  return withLogApis(verb, values, context, async apis => {
    let code = 0;
    const archives = [];
    for (const api of apis) {
      const listed = await listArchives(api, values, span, context);
      if ('reason' in listed) {
        context.err.line(failureLine(listed));
        code = 1;
      } else archives.push(...listed);
    }
    if (values.json === true) context.out.line(printableJson(archives));
    else if (code === 0 && archives.length === 0) context.out.line('no archives');
    else {
      const head = ['ID', 'TYPE', 'SERVER', 'SERVICE', 'SIZE', 'START'];
      const rows = archives.map(one => [
        one.id,
        one.type,
        one.server,
        one.service,
        one.size,
        one.start,
      ]);
      context.out.line(renderTable([head, ...rows], { width: context.out.columns }));
    }
    return code;
  });
}

function logsTypes(context: VerbContext): Promise<number> {
  return listAnswers('logs types', context, ({ api }, { stop }) => api.types({ signal: stop }));
}

function logsServers(context: VerbContext): Promise<number> {
  return listAnswers('logs servers', context, ({ api }, { stop }, values) => {
    const { fromMs, toMs } = readSpan('logs servers', values, context.clock.nowMs());
    return api.servers({ fromMs, toMs, type: values.type ?? null }, { signal: stop });
  });
}

type AskApi = (
  api: OpenLogApi,
  context: VerbContext,
  values: LogValues,
) => Promise<ServiceResult<JsonAnswer>>;

/** Prints a list of whatever members its items have. */
function listAnswers(verb: string, context: VerbContext, askApi: AskApi): Promise<number> {
  const values = readOptions(verb, context.args, LOG_OPTIONS);
  return withLogApis(verb, values, context, async apis => {
    let code = 0;
    const items: unknown[] = [];
    for (const api of apis) {
      const answer = await askApi(api, context, values);
      const list = answer.ok ? firstList(api.api, answer.json) : null;
      if (list === null) {
        context.err.line(
          answer.ok ? `cannot run ${verb}: the answer holds no list` : failureLine(answer.error),
        );
        code = 1;
      } else items.push(...list);
    }
    if (values.json === true) context.out.line(printableJson(items));
    else if (code === 0 && items.length === 0) context.out.line('nothing is listed');
    else context.out.line(renderTable(rowsOf(items), { width: context.out.columns }));
    return code;
  });
}

/** A head of all members' names, and the items below it. */
export function rowsOf(items: readonly unknown[]): readonly (readonly string[])[] {
  const objects = items.map(item =>
    typeof item === 'object' && item !== null ? (item as Record<string, unknown>) : { value: item },
  );
  const names = [...new Set(objects.flatMap(object => Object.keys(object)))];
  const rows = objects.map(object => names.map(name => cellOf(object[name])));
  return [names.map(name => name.toUpperCase()), ...rows];
}

function cellOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

// `logs download`: archives as the service packs them, into a new file.

const DOWNLOAD = 'logs download';

function logsDownload(context: VerbContext): Promise<number> {
  const { values, words: ids } = readArgs(DOWNLOAD, context.args, {
    ...LOG_OPTIONS,
    format: { type: 'string' },
    output: { type: 'string' },
  });
  const { output, format = 'raw' } = values;
  if (ids.length === 0) throw usageError(DOWNLOAD, 'expected the id of an archive (see logs list)');
  if (output === undefined) throw usageError(DOWNLOAD, 'expected --output FILE');
  if (format !== 'raw' && format !== 'json')
    throw usageError(DOWNLOAD, 'expected --format raw or json');
  return withLogApis(DOWNLOAD, values, context, async apis => {
    const [first, ...others] = apis;
    if (first === undefined || others.length > 0)
      throw usageError(
        DOWNLOAD,
        'expected --service-id: there are several APIs in the configuration',
      );
    const spool = await SpoolFile.create(dirname(output)).catch(refuseFile(output));
    try {
      const answer = await first.api.archive(ids.join(','), spool, {
        signal: context.stop,
        maxBytes: first.config.logs.limits.archiveBytes,
        format,
      });
      if (!answer.ok) {
        context.err.line(failureLine(answer.error));
        return 1;
      }
      await copyTo(output, spool).catch(refuseFile(output));
      context.err.line(`${output}: ${formatBytes(spool.bytes)}`);
      return 0;
    } finally {
      await spool.close();
    }
  });
}

/** Only a whole archive gets a name, and only one that nothing has. */
async function copyTo(path: string, spool: SpoolFile): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for (let offset = 0; offset < spool.bytes; offset += PIECE_BYTES)
      await file.writeFile(await spool.read(offset, PIECE_BYTES));
  } finally {
    await file.close();
  }
}

function refuseFile(path: string): (error: unknown) => never {
  return error => {
    const message = `cannot write ${JSON.stringify(path)}: ${causeText(error)}`;
    const hint = 'name a file that does not exist yet, in a directory where this user may write';
    throw new OperatorError([{ code: 'E_CLI_USAGE', message, hint }], { cause: error });
  };
}

// `logs tail`: the last lines of the archives that match, and with --follow what comes after them. Lines are unwrapped,
// and shown as the server wrote them.

const TAIL = 'logs tail';
const LINES_MAX = 10_000;
/** Asking more often brings nothing new, and the service may mind. */
const FOLLOW_MS = 60_000;

function logsTail(context: VerbContext): Promise<number> {
  const values = readOptions(TAIL, context.args, {
    ...LOG_OPTIONS,
    lines: { type: 'string', default: '20' },
    follow: { type: 'boolean' },
  });
  const lineCount = Number(values.lines);
  if (!(Number.isInteger(lineCount) && lineCount >= 0 && lineCount <= LINES_MAX))
    throw usageError(TAIL, `expected --lines as a number from 0 to ${LINES_MAX}`);
  return withLogApis(TAIL, values, context, async apis => {
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

  constructor(api: OpenLogApi, context: VerbContext, values: LogValues, lineCount: number) {
    this.#api = api;
    this.#context = context;
    this.#values = values;
    this.#lineCount = lineCount;
  }

  /** Shows what is new; false when something could not be had. */
  async show(): Promise<boolean> {
    const span = readSpan(TAIL, this.#values, this.#context.clock.nowMs());
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
        this.#context.err.line(failureLine(answer.error));
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

// `logs retention`: shows how long the service keeps logs; changes it only when asked to in so many words, since what
// is older is deleted by the service at once and for good.

const RETENTION = 'logs retention';
const DAYS_MAX = 3650;

function logsRetention(context: VerbContext): Promise<number> {
  const values = readOptions(RETENTION, context.args, {
    ...LOG_OPTIONS,
    bucket: { type: 'string' },
    provider: { type: 'string' },
    'set-days': { type: 'string' },
    confirm: { type: 'string' },
  });
  const { bucket, provider, 'set-days': setDays, confirm } = values;
  const query = {
    ...(bucket === undefined ? {} : { bucket_name: bucket }),
    ...(provider === undefined ? {} : { provider }),
  };
  const days = setDays === undefined ? null : Number(setDays);
  if (days !== null && !(Number.isInteger(days) && days >= 1 && days <= DAYS_MAX))
    throw usageError(RETENTION, `expected --set-days as a number from 1 to ${DAYS_MAX}`);
  if (days !== null && (bucket === undefined || provider === undefined))
    throw usageError(RETENTION, '--set-days needs --bucket and --provider');
  if (days !== null && confirm !== bucket)
    throw usageError(
      RETENTION,
      `--set-days deletes older logs for good: confirm with --confirm ${bucket}`,
    );
  return withLogApis(RETENTION, values, context, async apis => {
    const [first, ...others] = apis;
    if (first === undefined || others.length > 0)
      throw usageError(
        RETENTION,
        'expected --service-id: there are several APIs in the configuration',
      );
    const settings = { signal: context.stop };
    const answer =
      days === null
        ? await first.api.retention(query, settings)
        : await first.api.setRetention({ ...query, retention_policy_days: days }, settings);
    if (!answer.ok) {
      context.err.line(failureLine(answer.error));
      return 1;
    }
    const items = Array.isArray(answer.json) ? (answer.json as unknown[]) : [answer.json ?? {}];
    if (values.json === true) context.out.line(printableJson(answer.json ?? null));
    else context.out.line(renderTable(rowsOf(items), { width: context.out.columns }));
    return 0;
  });
}
