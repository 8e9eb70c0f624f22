// `restores`: database services filled from backups in buckets, from the shell.

import { createInterface } from 'node:readline/promises';
import { printableJson } from '../lib/printable.ts';
import {
  type Restore,
  RESTORE_METHODS,
  restoreOnce,
  restoreProblems,
  type RestoreRequest,
} from '../service/restores-api.ts';
import { credentialsFromFile, keyFromFile } from './external-storage.ts';
import { tellMeanwhile, withProgress } from './progress.ts';
import {
  ACCESS_HELP,
  ACCESS_OPTIONS,
  withService,
  withServices,
  refuseProblems,
  tellError,
} from './service-access.ts';
import { renderTable } from './table.ts';
import {
  type Action,
  readArgs,
  readOptions,
  refuseWords,
  runAction,
  usageError,
  type Verb,
  type VerbContext,
} from './verb.ts';

const ACTIONS: Readonly<Record<string, Action>> = {
  create: restoresCreate,
  list: restoresList,
  show: restoresShow,
};

export const verb: Verb = {
  summary: 'restores from a bucket: restores create | list | show',
  help: `
Usage: prom2otlp restores create --service-id ID --key PATH --bucket gs://NAME --method enginebackup|enginedump
                                 --credentials-file FILE [--encryption-key-file FILE] --yes-erase ID [options]
       prom2otlp restores list [--service-id ID] [options]
       prom2otlp restores show RESTORE [options]

  ${ACCESS_HELP}
  --json             JSON instead of a table

create               replaces all data of the service with a backup: ITS DATA IS ERASED
  --key PATH         the backup's path in the bucket
  --bucket ADDRESS   gs://NAME or s3://NAME
  --method TOOL      the tool that made it: enginebackup (physical) or enginedump (logical)
  --credentials-file FILE      the credentials of the bucket, plain or encoded (see backups --help)
  --encryption-key-file FILE   the key of an encrypted backup, in one line
  --yes-erase ID     the service's id once more. Without it, a terminal asks for the id; a script must
                     pass it
list                 the restores that the key can see
show RESTORE         one restore and its progress

If an answer gets lost, create checks the list of restores before it tries again, once. If it cannot know the outcome,
it says so. Credentials and keys are never an argument and never shown.
The paths and the name of the member are in the configuration: backups.endpoints.

Exit: 0 if begun or shown, 1 if the service failed or the outcome is unknown, 2 for a mistake: then nothing was sent.

Examples:
  prom2otlp restores create --config /etc/prom2otlp.yaml --service-id dbpgf12345678 --key nightly/2026-03-04.gz \\
    --bucket gs://my-backups --method enginebackup --credentials-file account.json --yes-erase dbpgf12345678
  prom2otlp restores list --config /etc/prom2otlp.yaml --service-id dbpgf12345678
  PROM2OTLP_API_KEY=… prom2otlp restores show 42 --base-url https://api.example.com`,
  isStoppable: true,
  run: context => runAction('restores', ACTIONS, context),
};

// `restores create`: fills a database service from a backup in a bucket, which erases what the service holds. So it is
// confirmed by the service's id, on the command line or typed at a terminal, and never sent twice by mistake.

const CREATE = 'restores create';

const CREATE_OPTIONS = {
  ...ACCESS_OPTIONS,
  key: { type: 'string' },
  bucket: { type: 'string' },
  method: { type: 'string' },
  'credentials-file': { type: 'string' },
  'encryption-key-file': { type: 'string' },
  'yes-erase': { type: 'string' },
  json: { type: 'boolean' },
} as const;

/** The options that give the fields of a request. */
const OPTION_OF_FIELD: Readonly<Record<string, string>> = {
  service_id: '--service-id',
  key: '--key',
  'external_source.bucket': '--bucket',
  'external_source.method': '--method',
  'external_source.credentials': '--credentials-file',
  'external_source.encryption_key': '--encryption-key-file',
};

function restoresCreate(context: VerbContext): Promise<number> {
  const values = readOptions(CREATE, context.args, CREATE_OPTIONS);
  const request = requestOf(values);
  return withService(CREATE, values, context, async ({ client }) => {
    await confirm(request.service_id, values['yes-erase'], context);
    const { clock, stop: signal } = context;
    const onNews = (line: string): void => tellMeanwhile(context, line);
    const beginning = restoreOnce(client.restores, request, { clock, signal, onNews });
    const result = await withProgress(context, 'beginning the restore', beginning);
    if (!result.ok) return tellError(context, result.error);
    const { restore } = result;
    if (restore === null) context.err.line('begun; the service tells nothing of it');
    if (values.json === true) context.out.line(printableJson(restore));
    else if (restore !== null) printRestores(context, [restore]);
    return 0;
  });
}

type Values = Readonly<
  Partial<Record<Exclude<keyof typeof CREATE_OPTIONS, 'json'>, string | undefined>>
>;

/** Throws what is wrong before anything is sent. */
function requestOf(values: Values): RestoreRequest {
  const service_id = required(values, 'service-id', 'ID');
  const key = required(values, 'key', 'PATH');
  const bucket = required(values, 'bucket', 'gs://NAME or s3://NAME');
  const word = required(values, 'method', RESTORE_METHODS.join(' or '));
  const file = required(values, 'credentials-file', 'FILE');
  const method = RESTORE_METHODS.find(one => one === word);
  if (method === undefined)
    throw usageError(
      CREATE,
      `--method: expected ${RESTORE_METHODS.join(' or ')}, got ${JSON.stringify(word)}`,
    );
  const keyFile = values['encryption-key-file'];
  const encryption = keyFile === undefined ? {} : { encryption_key: keyFromFile(CREATE, keyFile) };
  const credentials = credentialsFromFile(CREATE, bucket, file);
  const external_source = { bucket, method, credentials, ...encryption };
  const request: RestoreRequest = { service_id, key, external_source };
  refuseProblems(CREATE, restoreProblems(request), OPTION_OF_FIELD);
  return request;
}

function required(values: Values, option: keyof Values, what: string): string {
  const value = values[option];
  if (value === undefined) throw usageError(CREATE, `expected --${option} ${what}`);
  return value;
}

/** Throws unless the id of the service was given once more. */
async function confirm(
  serviceId: string,
  confirmed: string | undefined,
  { terminal, err }: Pick<VerbContext, 'terminal' | 'err'>,
): Promise<void> {
  const warning = `this erases all data of the database service ${serviceId}`;
  if (confirmed === serviceId) return;
  if (confirmed !== undefined)
    throw usageError(
      CREATE,
      `--yes-erase ${confirmed} is not the service that is restored: ${warning}`,
    );
  const { input, screen } = terminal;
  if (input.isTTY !== true || screen.isTTY !== true)
    throw usageError(CREATE, `${warning}: confirm it with --yes-erase ${serviceId}`);
  err.line(`${warning}, and puts the backup in its place.`);
  const typed = await ask(terminal, `Type ${serviceId} to go on: `);
  if (typed !== serviceId)
    throw usageError(CREATE, 'that is not the id of the service: nothing was sent');
}

/** What is typed; null when the question is left by Ctrl-C or Ctrl-D. */
async function ask(
  { input, screen }: VerbContext['terminal'],
  question: string,
): Promise<string | null> {
  const lines = createInterface({ input, output: screen, terminal: true });
  const left = new Promise<null>(resolve => {
    lines.once('close', () => resolve(null));
  });
  // Ctrl-C rejects the question, Ctrl-D leaves it open.
  const typed = await Promise.race([lines.question(question).catch(() => null), left]);
  lines.close();
  if (typed === null) screen.write('\n');
  return typed?.trim() ?? null;
}

// `restores list` and `restores show`: what restores there are, and how far they are.

const LIST = 'restores list';
const SHOW = 'restores show';
const LIST_OPTIONS = { ...ACCESS_OPTIONS, json: { type: 'boolean' } } as const;

function restoresList(context: VerbContext): Promise<number> {
  const values = readOptions(LIST, context.args, LIST_OPTIONS);
  return withServices(LIST, values, context, async services => {
    let code = 0;
    const found: Restore[] = [];
    for (const { client } of services) {
      const list = client.restores.list({ service_id: values['service-id'], signal: context.stop });
      const result = await withProgress(context, 'reading the restores', list);
      if (!result.ok) {
        code = tellError(context, result.error);
        continue;
      }
      found.push(...result.restores);
      if (!result.isComplete) context.err.line('there are more restores than could be read');
    }
    if (values.json === true) context.out.line(printableJson(found));
    else if (code === 0 || found.length > 0) printRestores(context, found);
    return code;
  });
}

function restoresShow(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(SHOW, context.args, LIST_OPTIONS);
  const [id, ...others] = words;
  if (id === undefined || id === '')
    throw usageError(SHOW, 'expected the id of a restore (see restores list)');
  refuseWords(SHOW, others);
  return withService(SHOW, values, context, async ({ client }) => {
    const answer = client.restores.show(id, { signal: context.stop });
    const result = await withProgress(context, 'reading the restore', answer);
    if (!result.ok) return tellError(context, result.error);
    if (values.json === true) context.out.line(printableJson(result.restore));
    else printRestores(context, [result.restore]);
    return 0;
  });
}

function printRestores({ out }: Pick<VerbContext, 'out'>, restores: readonly Restore[]): void {
  const head = ['ID', 'SERVICE', 'TYPE', 'STATUS', 'CREATED', 'MESSAGE'];
  const rows = restores.map(one => [
    String(one.id ?? ''),
    one.service_id ?? '',
    one.type ?? '',
    one.status ?? '',
    one.created_at ?? '',
    one.message ?? '',
  ]);
  out.line(
    restores.length === 0 ? 'no restores' : renderTable([head, ...rows], { width: out.columns }),
  );
}
