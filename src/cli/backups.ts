// `backups`: lists and creates backup schedules, and encodes the credentials of buckets.

import type { FileHandle } from 'node:fs/promises';
import { BACKUP_TYPES } from '../config/backup-words.ts';
import { encodeCredentials } from '../service/credentials-file.ts';
import { type Schedule, scheduleProblems, type ScheduleRequest } from '../service/backups-api.ts';
import type { Result } from '../service/service-error.ts';
import { newestRestorableMs, nextRestorableRunMs } from '../backups/known-backups.ts';
import type { ServiceBackups } from '../backups/service-backups.ts';
import { withProgress } from './output.ts';
import {
  ACCESS_OPTIONS,
  credentialsFromFile,
  encodedFile,
  EXPECTED,
  FORMAT_OPTION,
  type OpenService,
  printListing,
  printOne,
  refuseProblems,
  SERVICE_OPTION,
  SHOW_OPTIONS,
  tellError,
  tellNone,
  withService,
} from './service-access.ts';
import { confirmWord, FORCE_OPTION } from './confirm.ts';
import { ageOf, renderTable, type Rows } from './table.ts';
import { choice, file, required, text } from './options.ts';
import {
  action,
  type Call,
  refuseFile,
  STDOUT,
  usageError,
  type Verb,
  type VerbContext,
  writeNewFile,
} from './verb.ts';

const CREATE_OPTIONS = {
  ...ACCESS_OPTIONS,
  'service-id': required(SERVICE_OPTION),
  type: required(
    text('TYPE', 'the type of backup, a word of the service such as full', BACKUP_TYPES),
  ),
  schedule: required(
    text('CRON', 'five fields (minute, hour, day, month, weekday) in UTC, or the word once'),
  ),
  bucket: text('ADDRESS', 'stores the backups in your bucket: s3://NAME or gs://NAME'),
  'credentials-file': file(
    'the credentials of that bucket, plain or encoded (see backups credentials encode)',
  ),
  force: FORCE_OPTION,
  format: FORMAT_OPTION,
};
const ENCODE_OPTIONS = {
  storage: required(choice(['s3', 'gs'], 'whose credentials they are')),
  file: required(file('the credentials')),
  output: file('a new file, by default FILE.base64, or - for stdout', 'o'),
  format: FORMAT_OPTION,
};

export const verb: Verb = {
  name: 'backups',
  summary: 'backup schedules, and credentials for them',
  about: `Credentials are never an argument and never shown. The program never repeats a request.`,
  actions: [
    action({
      name: 'schedules list',
      summary: 'the schedules of one service, or of all that the key can see',
      options: SHOW_OPTIONS,
      run: schedulesList,
    }),
    action({
      name: 'schedules create',
      summary: 'creates a schedule for backups',
      options: CREATE_OPTIONS,
      run: schedulesCreate,
    }),
    action({
      name: 'credentials encode',
      summary:
        'checks the credentials of a bucket member by member and encodes them; sends nothing',
      about: `For s3, FILE has a section [default] with aws_access_key_id, aws_secret_access_key and region, a line for
        each; other sections and keys are left out. For gs, FILE is the JSON key of a service account.`,
      options: ENCODE_OPTIONS,
      run: credentialsEncode,
    }),
  ],
  exits: { 0: 'done', 1: 'the service failed', 2: 'a mistake: nothing was sent' },
  examples: [
    'prom2otlp backups schedules list --config /etc/prom2otlp/prom2otlp.yaml',
    `prom2otlp backups schedules create --config /etc/prom2otlp/prom2otlp.yaml --service-id dbpgf12345678 --type full \\
  --schedule '0 3 * * *' --bucket s3://my-backups --credentials-file bucket-credentials`,
    'PROM2OTLP_API_KEY=… prom2otlp backups schedules list --base-url https://api.example.com --format json',
    'prom2otlp backups credentials encode --storage gs --file account.json',
  ],
  isStoppable: true,
};

// `backups schedules list` and `backups schedules create`.

/** The options that give the fields of a request. */
const OPTION_OF_FIELD: Readonly<Record<string, string>> = {
  backup_type: '--type',
  schedule: '--schedule',
  service_id: '--service-id',
  'external_storage.bucket.path': '--bucket',
  'external_storage.bucket.credentials': '--credentials-file',
};

function schedulesList(call: Call<typeof SHOW_OPTIONS>, context: VerbContext): Promise<number> {
  const read = async (service: OpenService): Promise<readonly Schedule[] | null> => {
    const listed = listAll(service, call.values, context.stop);
    const result = await withProgress(context, 'reading the schedules', listed);
    if (!result.ok) return tellNone(context, result.error);
    if (!result.isComplete) context.err.line('the list is not whole: there may be more schedules');
    return result.schedules;
  };
  const shown = { read, rows: rowsOf, empty: 'no schedules', expected: EXPECTED };
  return printListing(call, context, shown);
}

type Listed = Result<{ readonly schedules: readonly Schedule[]; readonly isComplete: boolean }>;

/**
 * Lists the schedules of one service, or of all that the key can see. Some deployments require the id of a service in
 * each request: then it asks for each configured service.
 */
async function listAll(
  { client, target }: OpenService,
  { 'service-id': serviceId, 'base-url': baseUrl }: Call<typeof SHOW_OPTIONS>['values'],
  signal: AbortSignal,
): Promise<Listed> {
  const all = await client.schedules.list({ service_id: serviceId, signal });
  if (all.ok || serviceId !== undefined || ![400, 422].includes(all.error.status ?? 0)) return all;
  const ids = baseUrl === undefined ? target.services.map(({ id }) => id) : [];
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

function schedulesCreate(call: Call<typeof CREATE_OPTIONS>, context: VerbContext): Promise<number> {
  const { command, values } = call;
  const { 'service-id': service_id, type: backup_type, schedule, bucket } = values;
  const file = values['credentials-file'];
  if ((bucket === undefined) !== (file === undefined))
    throw usageError(command, '--bucket and --credentials-file go together');
  let request: ScheduleRequest = { backup_type, schedule, service_id };
  if (bucket !== undefined && file !== undefined) {
    const credentials = credentialsFromFile(command, bucket, file);
    request = { ...request, external_storage: { bucket: { path: bucket, credentials } } };
  }
  refuseProblems(command, scheduleProblems(request), OPTION_OF_FIELD);
  return withService(call, context, async ({ client, config }) => {
    const known = [...new Set([...BACKUP_TYPES, ...config.backups.restorable])];
    await confirmWord(
      { command, option: '--type', word: backup_type, known },
      values.force,
      context,
    );
    const creation = client.schedules.create(request, { signal: context.stop });
    const result = await withProgress(context, 'creating the schedule', creation);
    if (!result.ok) {
      if (result.error.isOutcomeUnknown)
        context.err.line(
          'whether the schedule was created is not known: see backups schedules list before you try again',
        );
      return tellError(context, result.error);
    }
    return printOne({ format: values.format, done: 'created' }, context, result.schedule, rowsOf);
  });
}

function rowsOf(schedules: readonly Schedule[]): Rows {
  const head = ['ID', 'SERVICE', 'NAME', 'TYPE', 'SCHEDULE', 'NEXT', 'STATUS', 'MESSAGE'];
  const rows = schedules.map(one => [
    String(one.id ?? '-'),
    one.service_id ?? '',
    one.service_name ?? '',
    one.type ?? '',
    one.schedule ?? '',
    one.scheduled_at ?? '',
    one.suspended === true ? `${one.status ?? ''} (suspended)`.trim() : (one.status ?? ''),
    one.message ?? '',
  ]);
  return [head, ...rows];
}

// `backups credentials encode`: encodes the credentials of external storage as the API expects them. They stay secret when
// encoded, so they go into a new file that only this user may read, or to stdout on request.

async function credentialsEncode(
  { command, values }: Call<typeof ENCODE_OPTIONS>,
  { out, err }: VerbContext,
): Promise<number> {
  const { storage, file, format } = values;
  const { output = `${file}.base64` } = values;
  const encoded = encodedFile(command, file, text => encodeCredentials(storage, text));
  if (output === STDOUT) {
    out.line(format === 'json' ? JSON.stringify({ credentials: encoded }) : encoded);
    return 0;
  }
  const hint = 'name a file that does not exist yet with --output, or - for stdout';
  const write = (file: FileHandle): Promise<void> =>
    file.writeFile(`${encoded}\n`).catch(refuseFile(output, hint));
  await writeNewFile(output, write, hint);
  if (format === 'json') out.line(JSON.stringify({ file: output }));
  else err.line(`${output}: the credentials, encoded; keep it as secret as they are`);
  return 0;
}

// The state of backups as a table, for `once` and `check --probe`.

/** The backups of one service, and the error if they could not be read. */
export type BackupsRow = Pick<ServiceBackups, 'service' | 'known' | 'error'>;

export function backupsTable(
  services: readonly BackupsRow[],
  labelOf: (id: string) => string,
  nowMs: number,
): string {
  const head = ['SERVICE', 'RESTORABLE', 'SCHEDULES', 'NEXT', 'LAST', 'REASON'];
  const rows = services.map(({ service, known, error }) => {
    const nextMs = known === null ? null : nextRestorableRunMs(known, nowMs);
    const scheduled = nextMs === null ? 'none scheduled' : 'scheduled';
    return [
      labelOf(service.id),
      known === null ? 'unknown' : scheduled,
      known === null ? '-' : String(known.schedules.length),
      ageOf(nextMs, nowMs),
      ageOf(known && newestRestorableMs(known), nowMs),
      error?.message ?? '',
    ];
  });
  return renderTable([head, ...rows]);
}
