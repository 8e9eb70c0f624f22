// `restores`: restores database services from backups in buckets, and shows restores.

import type { Config } from '../config/config.ts';
import { RESTORE_METHODS } from '../config/backup-words.ts';
import {
  type Restore,
  restoreOnce,
  restoreProblems,
  type RestoreRequest,
} from '../service/restores-api.ts';
import { tellMeanwhile, withProgress } from './output.ts';
import {
  ACCESS_OPTIONS,
  credentialsFromFile,
  EXPECTED,
  FORMAT_OPTION,
  type OpenService,
  namedError,
  printListing,
  printOne,
  refuseProblems,
  secretFile,
  SERVICE_OPTION,
  SHOW_OPTIONS,
  tellError,
  tellNone,
  withService,
} from './service-access.ts';
import { labelsOf, type Rows } from './table.ts';
import { ask, canAsk, confirmWord, FORCE_OPTION } from './confirm.ts';
import { file, required, text } from './options.ts';
import { action, type Call, usageError, type Verb, type VerbContext } from './verb.ts';

const CREATE_OPTIONS = {
  ...ACCESS_OPTIONS,
  'service-id': required(SERVICE_OPTION),
  key: required(text('PATH', `the backup's path in the bucket`)),
  bucket: required(text('ADDRESS', 'the bucket: gs://NAME or s3://NAME')),
  method: required(
    text(
      'METHOD',
      'the tool that made it: enginebackup is physical, enginedump logical, or a word of your service',
      RESTORE_METHODS,
    ),
  ),
  'credentials-file': required(
    file('the credentials of the bucket, plain or encoded (see backups credentials encode)'),
  ),
  'encryption-key-file': file('the key of an encrypted backup, in one line'),
  'yes-erase': text(
    'ID',
    `the service's id once more. Without it, a terminal asks for the id; a script must pass it`,
  ),
  force: FORCE_OPTION,
  format: FORMAT_OPTION,
};

export const verb: Verb = {
  name: 'restores',
  summary: 'restores from a bucket',
  about: `Credentials and keys are never an argument and never shown. If your service has other paths, or calls the path of
    the backup id instead of key, set backups.endpoints in the configuration.`,
  actions: [
    action({
      name: 'create',
      summary: 'replaces all data of a service with a backup: ITS DATA IS ERASED',
      about: `The request is sent once and never repeated. If its answer gets lost, the program looks for the restore in the
        list of restores. If it cannot know the outcome, it says so.`,
      options: CREATE_OPTIONS,
      run: restoresCreate,
    }),
    action({
      name: 'list',
      summary: 'the restores that the key can see',
      options: SHOW_OPTIONS,
      run: restoresList,
    }),
    action({
      name: 'show',
      summary: 'one restore and its progress',
      words: { value: 'RESTORE', about: 'the id of a restore (see restores list)', count: 'one' },
      options: SHOW_OPTIONS,
      run: restoresShow,
    }),
  ],
  exits: {
    0: 'begun or shown',
    1: 'the service failed, or the outcome is unknown',
    2: 'a mistake: nothing was sent',
  },
  examples: [
    `prom2otlp restores create --config /etc/prom2otlp/prom2otlp.yaml --service-id dbpgf12345678 --key nightly/2026-03-04.gz \\
  --bucket gs://my-backups --method enginebackup --credentials-file account.json --yes-erase dbpgf12345678`,
    'prom2otlp restores list --config /etc/prom2otlp/prom2otlp.yaml --service-id dbpgf12345678',
    'PROM2OTLP_API_KEY=… prom2otlp restores show 42 --base-url https://api.example.com',
  ],
  isStoppable: true,
};

// `restores create`: replaces the data of a database service with a backup from a bucket. So it requires the service's id a
// second time, as an option or typed at a terminal, and never sends the request twice by mistake.

/** The options that give the fields of a request. */
const OPTION_OF_FIELD: Readonly<Record<string, string>> = {
  service_id: '--service-id',
  key: '--key',
  'external_source.bucket': '--bucket',
  'external_source.method': '--method',
  'external_source.credentials': '--credentials-file',
  'external_source.encryption_key': '--encryption-key-file',
};

function restoresCreate(call: Call<typeof CREATE_OPTIONS>, context: VerbContext): Promise<number> {
  const request = requestOf(call);
  return withService(call, context, async ({ client, config }) => {
    const { command, values } = call;
    const known = config.backups.methods;
    await confirmWord(
      { command, option: '--method', word: values.method, known },
      values.force,
      context,
    );
    await confirm(call, context);
    const { clock, stop: signal } = context;
    const onNews = (line: string): void => tellMeanwhile(context, line);
    const beginning = restoreOnce(client.restores, request, { clock, signal, onNews });
    const result = await withProgress(context, 'beginning the restore', beginning);
    if (!result.ok) return tellError(context, result.error);
    const { format } = call.values;
    return printOne({ format, done: 'begun' }, context, result.restore, one => rowsOf(one, config));
  });
}

/** The request. Throws every mistake in it before anything is sent. */
function requestOf({ command, values }: Call<typeof CREATE_OPTIONS>): RestoreRequest {
  const { 'service-id': service_id, key, bucket, method } = values;
  const keyFile = values['encryption-key-file'];
  // One line, without the line break at its end.
  const encryption =
    keyFile === undefined
      ? {}
      : { encryption_key: secretFile(command, keyFile).replace(/[\r\n]+$/, '') };
  const credentials = credentialsFromFile(command, bucket, values['credentials-file']);
  const external_source = { bucket, method, credentials, ...encryption };
  const request: RestoreRequest = { service_id, key, external_source };
  refuseProblems(command, restoreProblems(request), OPTION_OF_FIELD);
  return request;
}

/** Throws unless the id of the service was given once more. */
async function confirm(
  { command, values }: Call<typeof CREATE_OPTIONS>,
  { terminal, err, stop }: Pick<VerbContext, 'terminal' | 'err' | 'stop'>,
): Promise<void> {
  const { 'service-id': serviceId, 'yes-erase': confirmed } = values;
  const warning = `this erases all data of the database service ${serviceId}`;
  if (confirmed === serviceId) return;
  if (confirmed !== undefined)
    throw usageError(
      command,
      `--yes-erase ${confirmed} is not the service that is restored: ${warning}`,
    );
  if (!canAsk(terminal))
    throw usageError(command, `${warning}: confirm it with --yes-erase ${serviceId}`);
  err.line(`${warning}, and puts the backup in its place.`);
  const typed = await ask(terminal, `Type ${serviceId} to go on: `, stop);
  if (typed === serviceId) return;
  const cause = typed === null ? 'it was stopped' : 'that is not the id of the service';
  throw usageError(command, `${cause}: nothing was sent`);
}

// `restores list` and `restores show`: restores and their progress.

function restoresList(call: Call<typeof SHOW_OPTIONS>, context: VerbContext): Promise<number> {
  const service_id = call.values['service-id'];
  const read = async ({ client }: OpenService): Promise<readonly Restore[] | null> => {
    const list = client.restores.list({ service_id, signal: context.stop });
    const result = await withProgress(context, 'reading the restores', list);
    if (!result.ok) return tellNone(context, result.error);
    if (!result.isComplete) context.err.line('the list is not whole: there may be more restores');
    return result.restores;
  };
  const shown = { read, rows: rowsOf, empty: 'no restores', expected: EXPECTED };
  return printListing(call, context, shown);
}

function restoresShow(call: Call<typeof SHOW_OPTIONS>, context: VerbContext): Promise<number> {
  const [id = ''] = call.words;
  return withService(call, context, async ({ client, config }) => {
    const answer = client.restores.show(id, { signal: context.stop });
    const result = await withProgress(context, 'reading the restore', answer);
    const check = 'check the id: prom2otlp restores list shows those that there are';
    if (!result.ok) return tellError(context, namedError(result.error, check));
    return printOne(call.values, context, result.restore, one => rowsOf(one, config));
  });
}

function rowsOf(restores: readonly Restore[], config: Config): Rows {
  const labelOf = labelsOf(config);
  const head = ['ID', 'SERVICE', 'TYPE', 'STATUS', 'CREATED', 'MESSAGE'];
  const rows = restores.map(one => [
    String(one.id ?? '-'),
    labelOf(one.service_id ?? ''),
    one.type ?? '',
    one.status ?? '',
    one.created_at ?? '',
    one.message ?? '',
  ]);
  return [head, ...rows];
}
