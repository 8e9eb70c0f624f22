// `restores create`: fills a database service from a backup in a bucket, which erases what the service holds. So it is
// confirmed by the service's id, on the command line or typed at a terminal, and never sent twice by mistake.

import { createInterface } from 'node:readline/promises';
import { printableJson } from '../lib/printable.ts';
import { restoreOnce } from '../service/restore-once.ts';
import { RESTORE_METHODS, type RestoreRequest, restoreProblems } from '../service/restores.ts';
import { credentialsFromFile, keyFromFile } from './external-storage.ts';
import { tellMeanwhile, withProgress } from './progress.ts';
import { refuseProblems, tellError } from './request-problems.ts';
import { printRestores } from './restores-show.ts';
import { ACCESS_OPTIONS, withService } from './service-access.ts';
import { readArgs, refuseWords, usageError, type VerbContext } from './verb.ts';

const VERB = 'restores create';

const OPTIONS = {
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

export function restoresCreate(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(VERB, context.args, OPTIONS);
  refuseWords(VERB, words);
  const request = requestOf(values);
  return withService(VERB, values, context, async ({ client }) => {
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

type Values = Readonly<Partial<Record<Exclude<keyof typeof OPTIONS, 'json'>, string | undefined>>>;

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
      VERB,
      `--method: expected ${RESTORE_METHODS.join(' or ')}, got ${JSON.stringify(word)}`,
    );
  const keyFile = values['encryption-key-file'];
  const encryption = keyFile === undefined ? {} : { encryption_key: keyFromFile(VERB, keyFile) };
  const credentials = credentialsFromFile(VERB, bucket, file);
  const external_source = { bucket, method, credentials, ...encryption };
  const request: RestoreRequest = { service_id, key, external_source };
  refuseProblems(VERB, restoreProblems(request), OPTION_OF_FIELD);
  return request;
}

function required(values: Values, option: keyof Values, what: string): string {
  const value = values[option];
  if (value === undefined) throw usageError(VERB, `expected --${option} ${what}`);
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
      VERB,
      `--yes-erase ${confirmed} is not the service that is restored: ${warning}`,
    );
  const { input, screen } = terminal;
  if (input.isTTY !== true || screen.isTTY !== true)
    throw usageError(VERB, `${warning}: confirm it with --yes-erase ${serviceId}`);
  err.line(`${warning}, and puts the backup in its place.`);
  const typed = await ask(terminal, `Type ${serviceId} to go on: `);
  if (typed !== serviceId)
    throw usageError(VERB, 'that is not the id of the service: nothing was sent');
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
