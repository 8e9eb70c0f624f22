// `backups`: the backup schedules of the service, and the credentials of buckets, from the shell.

import { writeFileSync } from 'node:fs';
import { causeText, OperatorError } from '../errors.ts';
import { formatAge } from '../lib/format.ts';
import { printableJson } from '../lib/printable.ts';
import { encodeCredentials } from '../service/credentials-file.ts';
import {
  type Schedule,
  scheduleProblems,
  type ScheduleRequest,
  scheduleWarnings,
} from '../service/backups-api.ts';
import type { Result, ServiceError } from '../service/service-error.ts';
import { type KnownBackups, nextFullRunMs } from '../backups/known-backups.ts';
import { credentialsFromFile, requireEncoded, secretFile } from './external-storage.ts';
import { withProgress } from './progress.ts';
import {
  ACCESS_HELP,
  ACCESS_OPTIONS,
  type OpenService,
  withService,
  withServices,
  refuseProblems,
  tellError,
} from './service-access.ts';
import { renderTable } from './table.ts';
import {
  type Action,
  readOptions,
  runAction,
  usageError,
  type Verb,
  type VerbContext,
} from './verb.ts';

const ACTIONS: Readonly<Record<string, Action>> = {
  'schedules list': schedulesList,
  'schedules create': schedulesCreate,
  'credentials encode': credentialsEncode,
};

export const verb: Verb = {
  summary: 'backups: backups schedules list | create, backups credentials encode',
  help: `
Usage: prom2otlp backups schedules list [--service-id ID] [options]
       prom2otlp backups schedules create --service-id ID --type full --schedule '0 3 * * *' [options]
       prom2otlp backups credentials encode --storage s3|gs --file FILE [--output FILE]

  ${ACCESS_HELP}
  --json             JSON instead of a table

schedules list       the schedules of one service, or of all that the key can see
schedules create     plans backups
  --type full        the type of backup; the service names no other
  --schedule CRON    five fields (minute, hour, day, month, weekday) in UTC, or the word once
  --bucket ADDRESS   stores them in your bucket: s3://NAME or gs://NAME
  --credentials-file FILE   the credentials of that bucket, plain or encoded; see below

credentials encode   checks the credentials of a bucket member by member and encodes them; sends nothing
  --storage s3       FILE has a section [default] with aws_access_key_id, aws_secret_access_key and region,
                     a line for each
  --storage gs       FILE is the JSON key of a service account
  --output FILE      a new file, by default FILE.base64; - is stdout

Credentials are never an argument and never shown. The program never repeats a request.

Exit: 0 if done, 1 if the service failed, 2 for a mistake: then nothing was sent.

Examples:
  prom2otlp backups schedules list --config /etc/prom2otlp.yaml
  prom2otlp backups schedules create --config /etc/prom2otlp.yaml --service-id dbpgf12345678 --type full \\
    --schedule '0 3 * * *' --bucket s3://my-backups --credentials-file ~/.aws/credentials
  PROM2OTLP_API_KEY=… prom2otlp backups schedules list --base-url https://api.example.com --json
  prom2otlp backups credentials encode --storage gs --file account.json`,
  isStoppable: true,
  run: context => {
    const [first = '', second = '', ...args] = context.args;
    return runAction('backups', ACTIONS, { ...context, args: [`${first} ${second}`, ...args] });
  },
};

// `backups schedules list` and `backups schedules create`: what backups are planned, and new plans.

const LIST = 'backups schedules list';
const CREATE = 'backups schedules create';

/** The options that give the fields of a request. */
const OPTION_OF_FIELD: Readonly<Record<string, string>> = {
  backup_type: '--type',
  schedule: '--schedule',
  service_id: '--service-id',
  'external_storage.bucket.path': '--bucket',
  'external_storage.bucket.credentials': '--credentials-file',
};

function schedulesList(context: VerbContext): Promise<number> {
  const options = { ...ACCESS_OPTIONS, json: { type: 'boolean' } } as const;
  const values = readOptions(LIST, context.args, options);
  const { 'service-id': serviceId, config } = values;
  return withServices(LIST, values, context, async services => {
    let code = 0;
    const found: Schedule[] = [];
    for (const service of services) {
      const ids = config === undefined ? [] : service.target.services.map(({ id }) => id);
      const listed = listAll(service, { serviceId, ids, signal: context.stop });
      const result = await withProgress(context, 'reading the schedules', listed);
      if (!result.ok) {
        code = tellError(context, result.error);
        continue;
      }
      found.push(...result.schedules);
      if (!result.isComplete) context.err.line('there are more schedules than could be read');
    }
    const isJson = values.json === true;
    if (code === 0 || found.length > 0 || isJson) printSchedules(context, found, isJson);
    return code;
  });
}

type Listed = Result<{ readonly schedules: readonly Schedule[]; readonly isComplete: boolean }>;

/** Of one service or of all that the key can see; some deployments want to be asked for each by its id. */
async function listAll(
  { client }: OpenService,
  asked: {
    readonly serviceId: string | undefined;
    /** Those that are configured. */
    readonly ids: readonly string[];
    readonly signal: AbortSignal;
  },
): Promise<Listed> {
  const { serviceId, ids, signal } = asked;
  const all = await client.schedules.list({ service_id: serviceId, signal });
  if (all.ok || serviceId !== undefined || all.error.status !== 400) return all;
  let isComplete = true;
  const schedules: Schedule[] = [];
  for (const id of ids) {
    const one = await client.schedules.list({ service_id: id, signal });
    if (!one.ok) return one;
    schedules.push(...one.schedules);
    isComplete &&= one.isComplete;
  }
  if (ids.length > 0) return { ok: true, schedules, isComplete };
  const hint = `name a service with --service-id if the service demands it; ${all.error.hint}`;
  return { ok: false, error: { ...all.error, hint } };
}

function schedulesCreate(context: VerbContext): Promise<number> {
  const values = readOptions(CREATE, context.args, {
    ...ACCESS_OPTIONS,
    type: { type: 'string' },
    schedule: { type: 'string' },
    bucket: { type: 'string' },
    'credentials-file': { type: 'string' },
    json: { type: 'boolean' },
  });
  const { 'service-id': service_id, type: backup_type, schedule, bucket } = values;
  const file = values['credentials-file'];
  if (service_id === undefined) throw usageError(CREATE, 'expected --service-id ID');
  if (backup_type === undefined) throw usageError(CREATE, 'expected --type full');
  if (schedule === undefined) throw usageError(CREATE, "expected --schedule '0 3 * * *' or once");
  if ((bucket === undefined) !== (file === undefined))
    throw usageError(CREATE, '--bucket and --credentials-file go together');
  const plan = { backup_type, schedule, service_id };
  const storage = (path: string, file: string): Pick<ScheduleRequest, 'external_storage'> => ({
    external_storage: { bucket: { path, credentials: credentialsFromFile(CREATE, path, file) } },
  });
  const request: ScheduleRequest =
    bucket === undefined || file === undefined ? plan : { ...plan, ...storage(bucket, file) };
  refuseProblems(CREATE, scheduleProblems(request), OPTION_OF_FIELD);
  return withService(CREATE, values, context, async ({ client }) => {
    for (const warning of scheduleWarnings(request)) context.err.line(`warning: ${warning}`);
    const creation = client.schedules.create(request, { signal: context.stop });
    const result = await withProgress(context, 'creating the schedule', creation);
    if (!result.ok) {
      if (result.error.isOutcomeUnknown)
        context.err.line(
          'whether the schedule was created is not known: see backups schedules list before you try again',
        );
      return tellError(context, result.error);
    }
    if (result.schedule === null) context.err.line('created; the service tells nothing of it');
    if (values.json === true) context.out.line(printableJson(result.schedule));
    else if (result.schedule !== null) printSchedules(context, [result.schedule], false);
    return 0;
  });
}

function printSchedules(
  { out }: Pick<VerbContext, 'out'>,
  schedules: readonly Schedule[],
  isJson: boolean,
): void {
  if (isJson) return out.line(printableJson(schedules));
  const head = ['ID', 'SERVICE', 'NAME', 'TYPE', 'SCHEDULE', 'NEXT', 'STATUS', 'MESSAGE'];
  const rows = schedules.map(one => [
    String(one.id ?? ''),
    one.service_id ?? '',
    one.service_name ?? '',
    one.type ?? '',
    one.schedule ?? '',
    one.scheduled_at ?? '',
    one.suspended === true ? `${one.status ?? ''} (suspended)`.trim() : (one.status ?? ''),
    one.message ?? '',
  ]);
  out.line(
    schedules.length === 0 ? 'no schedules' : renderTable([head, ...rows], { width: out.columns }),
  );
}

// `backups credentials encode`: the credentials of external storage in the form in which they are sent. They are a
// secret, encoded or not: they go into a new file that only this user may read, or to stdout where that is asked for.

const ENCODE = 'backups credentials encode';
const STDOUT = '-';

function credentialsEncode({ args, out, err }: VerbContext): Promise<number> {
  const values = readOptions(ENCODE, args, {
    storage: { type: 'string' },
    file: { type: 'string' },
    output: { type: 'string' },
    json: { type: 'boolean' },
  });
  const { storage, file } = values;
  if (storage !== 's3' && storage !== 'gs') throw usageError(ENCODE, 'expected --storage s3 or gs');
  if (file === undefined || file === '') throw usageError(ENCODE, 'expected --file FILE');
  const { output = `${file}.base64` } = values;
  const text = secretFile(ENCODE, file);
  const encoded = requireEncoded(ENCODE, file, encodeCredentials(storage, text));
  if (output === STDOUT) {
    out.line(values.json === true ? JSON.stringify({ credentials: encoded }) : encoded);
    return Promise.resolve(0);
  }
  writeNew(output, encoded);
  if (values.json === true) out.line(JSON.stringify({ file: output }));
  else err.line(`${output}: the credentials, encoded; keep it as secret as they are`);
  return Promise.resolve(0);
}

/** Never over another file, and for nobody else to read. */
function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, `${text}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const message = `cannot write ${JSON.stringify(path)}: ${causeText(error)}`;
    const hint = 'name a file that does not exist yet with --output, or - for stdout';
    throw new OperatorError([{ code: 'E_CLI_USAGE', message, hint }], { cause: error });
  }
}

// The watch over backups as a table: what `once` and `check --probe` print of it.

/** What is known of one service, and what went wrong. */
export interface BackupsRow {
  readonly id: string;
  readonly known: KnownBackups | null;
  readonly error: ServiceError | null;
}

export function backupsTable(services: readonly BackupsRow[], nowMs: number): string {
  const head = ['SERVICE', 'FULL BACKUP', 'SCHEDULES', 'NEXT', 'LAST', 'REASON'];
  const rows = services.map(({ id, known, error }) => {
    const nextMs = known === null ? null : nextFullRunMs(known, nowMs);
    const full = nextMs === null ? 'none scheduled' : 'scheduled';
    return [
      id,
      known === null ? 'unknown' : full,
      known === null ? '-' : String(known.schedules.length),
      ageOf(nextMs, nowMs),
      ageOf(known?.finishedAtMs['full'] ?? null, nowMs),
      error?.message ?? '',
    ];
  });
  return renderTable([head, ...rows]);
}

function ageOf(atMs: number | null, nowMs: number): string {
  return atMs === null ? '-' : formatAge(nowMs - atMs);
}
