// `logs`: the log endpoints of the service from the shell.

import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { formatBytes } from '../lib/format.ts';
import { SpoolFile } from '../lib/spool-file.ts';
import { PIECE_BYTES } from '../logs/archive.ts';
import { textAt } from '../logs/item.ts';
import type { LogItem, LogsApi } from '../service/logs-api.ts';
import type { Result } from '../service/service-error.ts';
import {
  LIST_OPTIONS,
  type ListCall,
  listArchives,
  type ListedArchive,
  noArchives,
  readSpan,
  refuseTemporary,
  SERVERS_OPTIONS,
} from './log-archives.ts';
import { logsTail, TAIL_OPTIONS } from './logs-tail.ts';
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
} from './service-access.ts';
import { headOf, printTable, type Rows } from './table.ts';
import { choice, file, integer, required, text, withDefault } from './options.ts';
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

const DAYS_MAX = 3650;

const DOWNLOAD_OPTIONS = {
  ...ACCESS_OPTIONS,
  format: withDefault(
    choice(['raw', 'json'], 'lines as the server wrote them, or each in a JSON object'),
    'raw',
  ),
  output: required(file('a new file, or - for stdout', 'o')),
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
      summary: 'the last lines of each server in a time range, and those that follow',
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
    'prom2otlp logs tail --config /etc/prom2otlp/prom2otlp.yaml --type error-log -f -n 50',
    'PROM2OTLP_API_KEY=… prom2otlp logs types --base-url https://api.example.com',
  ],
  isStoppable: true,
};

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
    empty: noArchives(call),
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
  return names.length === 0 ? [] : [names.map(headOf), ...rows];
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

/** Passes the archive to `take`, piece by piece; false when `take` refuses a piece. */
async function copy(spool: SpoolFile, take: (piece: Buffer) => Promise<boolean>): Promise<boolean> {
  for (let offset = 0; offset < spool.bytes; offset += PIECE_BYTES)
    if (!(await take(await spool.read(offset, PIECE_BYTES)))) return false;
  return true;
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
