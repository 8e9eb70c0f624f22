// How the verbs for the service reach it: by a configuration file, or by an address with the key from a file or a
// variable. A key is never an argument, because every user of the machine can see the arguments of a process.

import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { loadConfig, parseConfig } from '../config/load.ts';
import { proxyVariablesOf } from '../config/proxy-variables.ts';
import { OperatorError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import { Counters } from '../lib/counters.ts';
import { printableJson } from '../lib/printable.ts';
import { planTargets, type Target } from '../pipeline/collect/plan-targets.ts';
import { ServiceClient } from '../service/client.ts';
import { ServiceClients } from '../service/clients.ts';
import type { ServiceHttp, SettingNames } from '../service/http-client.ts';
import { LogsApi } from '../service/logs-api.ts';
import { errorLine, type RequestProblem, type ServiceError } from '../service/service-error.ts';
import { readTextFile } from '../config/text-file.ts';
import { type Encoded, readCredentials, storageOf } from '../service/credentials-file.ts';
import { headOf, labelsOf, printTable, type Rows } from './table.ts';
import { file, type Option, text, type Values, format, type Format } from './options.ts';
import { configOf, usageError, type VerbContext } from './verb.ts';

const EITHER = '--config FILE or --base-url URL';
export const KEY_VARIABLE = 'PROM2OTLP_API_KEY';

type AccessName = 'config' | 'base-url' | 'key-file' | 'service-id';

/** Which service; a name becomes the id before the action runs (service-name.ts). */
export const SERVICE_OPTION: Option<string | undefined> = text(
  'SERVICE',
  'the database service: its id, or its name in the configuration',
  'services',
);

/** The options of every action that asks the service. */
export const ACCESS_OPTIONS: Readonly<Record<AccessName, Option<string | undefined>>> = {
  config: file('the configuration, for the API and its key', 'c'),
  'base-url': text('URL', 'the address of the API, instead of a configuration'),
  'key-file': file(`with --base-url: a file with the key (default: the variable ${KEY_VARIABLE})`),
  'service-id': SERVICE_OPTION,
};

export const FORMAT_OPTION: Option<Format> = format('tables, or JSON');

/** The options of an action that shows what the service has. */
export const SHOW_OPTIONS: typeof ACCESS_OPTIONS & { readonly format: typeof FORMAT_OPTION } = {
  ...ACCESS_OPTIONS,
  format: FORMAT_OPTION,
};

type AccessValues = Values<typeof ACCESS_OPTIONS>;

interface AccessCall {
  readonly command: string;
  readonly values: AccessValues;
}

/**
 * The configuration (with --base-url: the defaults of everything else), and the APIs to ask: with --service-id, only the
 * API of this service. Throws an OperatorError if it is not clear which API, key or service is meant.
 */
function readAccess(
  call: AccessCall,
  environment: VerbContext['environment'],
): { readonly config: Config; readonly targets: readonly Target[] } {
  const { command, values } = call;
  const { 'base-url': baseUrl, 'service-id': serviceId } = values;
  if (values.config !== undefined && baseUrl !== undefined)
    throw usageError(command, `expected ${EITHER}, not both`);
  if (baseUrl === undefined && values['key-file'] !== undefined)
    throw usageError(command, '--key-file goes with --base-url, not with a configuration');
  const config =
    baseUrl === undefined
      ? inOneShard(loadConfig({ file: configOf(call, environment, EITHER), environment }))
      : configOfAddress(call, environment);
  const targets = planTargets(config);
  // With `services: auto`, only the API knows which services there are.
  if (serviceId === undefined || config.auto !== null) return { config, targets };
  const own = targets.filter(({ configured }) => configured.has(serviceId));
  if (own.length > 0) return { config, targets: own };
  const labelOf = labelsOf(config);
  const ids = config.services.map(({ id }) => labelOf(id)).join(', ');
  const message = `cannot run ${command}: there is no service ${JSON.stringify(serviceId)} in the configuration`;
  throw new OperatorError([{ message, hint: `name one of ${ids}, or add it` }]);
}

/** Verbs are for all services, whatever the share of the daemon on this machine. */
function inOneShard(config: Config): Config {
  const services = [...config.services, ...config.elsewhere];
  return { ...config, services, elsewhere: [], shard: { index: 0, count: 1 } };
}

export interface OpenService {
  readonly config: Config;
  readonly target: Target;
  readonly http: ServiceHttp;
  readonly client: ServiceClient;
  readonly logs: LogsApi;
}

/** Opens the APIs to ask, at least one, and closes them after `use`. */
export async function withServices<T>(
  call: AccessCall,
  context: VerbContext,
  use: (services: readonly OpenService[], config: Config) => Promise<T>,
): Promise<T> {
  const { config, targets } = readAccess(call, context.environment);
  const { backups, inventory, logs } = config;
  const paths = { ...backups.endpoints, inventory: inventory.path };
  const clients = clientsOf(context.clock, namesOf(call.values));
  const openService = (target: Target): OpenService => {
    const http = clients.get(target.api);
    const client = new ServiceClient({ http, paths });
    return { config, target, http, client, logs: new LogsApi(http, logs.endpoints) };
  };
  try {
    return await use(targets.map(openService), config);
  } finally {
    await clients.close();
  }
}

/** The connections of a verb to the service. */
export function clientsOf(clock: Clock, names: SettingNames = {}): ServiceClients {
  return new ServiceClients({ clock, counters: new Counters(), names });
}

/** The names of settings in messages: with --base-url, there is no configuration to correct. */
function namesOf({ 'base-url': baseUrl, 'key-file': keyFile }: AccessValues): SettingNames {
  if (baseUrl === undefined) return {};
  const others = ['timeout', 'ca', 'proxy'].map(name => `api.${name}`);
  return {
    ...Object.fromEntries(others.map(key => [key, `${key} (in a configuration: --config)`])),
    'api.base_url': '--base-url',
    'api.key': keyFile === undefined ? KEY_VARIABLE : `--key-file ${keyFile}`,
  };
}

/** For verbs that act on one API: a configuration with several needs --service-id. */
export function withService<T>(
  call: AccessCall,
  context: VerbContext,
  use: (service: OpenService) => Promise<T>,
): Promise<T> {
  return withServices(call, context, ([service, ...others]) => {
    if (service === undefined || others.length > 0)
      throw usageError(
        call.command,
        'expected --service-id: there are several APIs in the configuration',
      );
    return use(service);
  });
}

/** The configuration for --base-url. It is judged like a file: an address over plain http is refused here, too. */
function configOfAddress(
  { command, values }: AccessCall,
  environment: VerbContext['environment'],
): Config {
  const keyFile = values['key-file'];
  if (keyFile === undefined && (environment[KEY_VARIABLE] ?? '') === '') {
    const message = `cannot run ${command}: there is no key`;
    const hint = `name a file with --key-file, or set ${KEY_VARIABLE}`;
    throw new OperatorError([{ message, hint }]);
  }
  // In a shell, a path starts at the working directory.
  const reference = keyFile === undefined ? `env:${KEY_VARIABLE}` : `file:${resolve(keyFile)}`;
  const text = JSON.stringify({
    api: { base_url: values['base-url'], key: `\${${reference}}` },
    services: [{ id: values['service-id'] ?? 'any' }],
    queue: { directory: null },
  });
  // Variables for OTLP do not concern a request to the service.
  const variables = {
    [KEY_VARIABLE]: environment[KEY_VARIABLE],
    ...proxyVariablesOf(environment),
  };
  return parseOptions(text, variables, {
    'api.base_url': '--base-url',
    'api.key': keyFile === undefined ? KEY_VARIABLE : '--key-file',
    'services[0].id': '--service-id',
  });
}

/** Judges a configuration that was made from options. `options` maps each key to the option that gave it. */
export function parseOptions(
  text: string,
  environment: VerbContext['environment'],
  options: Readonly<Record<string, string>>,
  file = '',
): Config {
  try {
    return parseConfig(text, { file, environment });
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    // A mistake gets the name of the option, and loses its place in a file. What was typed as a path may be the key.
    throw new OperatorError(
      error.mistakes.map(({ file: _file, line: _line, column: _column, key = '', ...mistake }) => ({
        ...mistake,
        key: options[key] ?? key,
        message: mistake.message.replaceAll(/\$\{file:[^}]*\}/g, 'the file'),
      })),
    );
  }
}

interface Listing<Item> {
  /** The items of one API; null after a failure, which has been printed. */
  readonly read: (service: OpenService) => Promise<readonly Item[] | null>;
  readonly rows: (items: readonly Item[], config: Config) => Rows;
  /** The value that is printed as JSON, if that is not the items unchanged. */
  readonly json?: (items: readonly Item[]) => unknown;
  readonly empty: string;
  /** The fields that every item should have; if some items lack one, a line says so. */
  readonly expected?: readonly (keyof Item & string)[];
}

/** Prints the items of every API to ask, as a table or as JSON. Returns the exit code: 1 if an API has failed. */
export function printListing<Item>(
  call: AccessCall & { readonly values: { readonly format: Format } },
  context: VerbContext,
  { read, rows, json = items => items, empty, expected = [] }: Listing<Item>,
): Promise<number> {
  return withServices(call, context, async (services, config) => {
    let code = 0;
    const found: Item[] = [];
    for (const service of services) {
      const items = await read(service);
      if (items === null) code = 1;
      else found.push(...items);
    }
    for (const name of expected) {
      const count = found.filter(one => one[name] === undefined).length;
      if (count > 0) context.err.line(`${count} of ${found.length} have no ${name}`);
    }
    if (call.values.format === 'json') printJson(context, json(found));
    else if (code === 0 || found.length > 0)
      printTable(context.out, rows(found, config), { empty });
    return code;
  });
}

/** The fields that every schedule and restore should have. */
export const EXPECTED = ['id', 'status'] as const;

/**
 * Prints one item that the service has shown, or has made: then `done` says so, and null is an item that the service
 * says nothing about. If an expected field is missing, prints the fields that are there. Returns the exit code: 1 if
 * nothing was made and every expected field is missing.
 */
export function printOne<Item extends Readonly<Record<string, unknown>>>(
  { format, done = '' }: { readonly format: Format; readonly done?: string },
  context: VerbContext,
  item: Item | null,
  rows: (items: readonly Item[]) => Rows,
  expected: readonly (keyof Item & string)[] = EXPECTED,
): 0 | 1 {
  if (item === null) context.err.line(`${done}; the service says nothing about it`);
  const there = Object.entries(item ?? {}).filter(([, value]) => value !== undefined);
  const missing = item === null ? [] : expected.filter(name => item[name] === undefined);
  if (missing.length > 0) {
    const begin = done === '' ? '' : `${done}; `;
    context.err.line(`${begin}the answer of the service has no ${missing.join(' and no ')}`);
  }
  if (format === 'json') printJson(context, item);
  else if (item !== null && missing.length === 0) printTable(context.out, rows([item]));
  else if (there.length > 0)
    printTable(context.out, [
      there.map(([name]) => headOf(name)),
      there.map(([name, value]) => cellOf(shownOf(name, value))),
    ]);
  return done === '' && missing.length > 0 && missing.length === expected.length ? 1 : 0;
}

// Wrong requests are reported in the words of the command line, every mistake at once, before anything is sent; failed
// calls in a line.

/** Throws when a request would be refused. `options` maps a field, or the object around it, to its option. */
export function refuseProblems(
  command: string,
  problems: readonly RequestProblem[] | null,
  options: Readonly<Record<string, string>>,
): void {
  if (problems === null) return;
  throw new OperatorError(
    problems.map(({ path, message }) => ({
      message: `cannot run ${command}: ${options[path] ?? options[path.replace(/\..*/, '')] ?? path}: ${message}`,
      hint: `see prom2otlp ${command} --help`,
    })),
  );
}

/** Prints a failure; returns the exit code of the verb. */
export function tellError({ err }: Pick<VerbContext, 'err'>, error: ServiceError): 1 {
  err.line(errorLine(error));
  return 1;
}

/** The error of a request with names from the user: after a 404, 400 or 422 they are checked first. */
export function namedError(error: ServiceError, check: string): ServiceError {
  const mayBeName = error.kind === 'not_found' || error.kind === 'bad_request';
  return mayBeName ? { ...error, hint: `${check}; else ${error.hint}` } : error;
}

/** Prints a failure to read; returns null instead of the items. */
export function tellNone(context: VerbContext, error: ServiceError): null {
  tellError(context, error);
  return null;
}

// Answers of the service as JSON. All JSON of this program spells its members alike: serviceId, not service_id.

/**
 * Members whose own members were named by users and databases, and keep their names: metadata of a session, rows of an
 * answer.
 */
const FOREIGN: ReadonlySet<string> = new Set(['metadata', 'data']);

/** `own`: members of the value that are the user's data, and are printed as they are. */
export function printJson(
  { out }: Pick<VerbContext, 'out'>,
  value: unknown,
  own: Readonly<Record<string, unknown>> | null = null,
): void {
  const json = respelled(value);
  out.line(printableJson(own === null ? json : { ...(json as object), ...own }));
}

/** Members that a service may echo, in any spelling, and that nobody may see. */
const SECRETS: ReadonlySet<string> = new Set(['credentials', 'encryptionkey']);

function shownOf(name: string, value: unknown, isForeign = false): unknown {
  if (SECRETS.has(name.replaceAll(/[^a-z]/gi, '').toLowerCase())) return '[secret]';
  return respelled(value, isForeign || FOREIGN.has(name));
}

/** A value of the service in a table. */
export function cellOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function respelled(value: unknown, isForeign = false): unknown {
  if (Array.isArray(value)) return value.map(one => respelled(one, isForeign));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, one]: [string, unknown]) => [
    isForeign
      ? name
      : name.replaceAll(/(?<=[a-z\d])_([a-z\d])/g, (_, letter: string) => letter.toUpperCase()),
    shownOf(name, one, isForeign),
  ]);
  return Object.fromEntries(members);
}

// Secrets in files, because no secret may be an argument: credentials of a bucket, and the key of an encrypted backup. A
// mistake names the file and never repeats its content.

/** The credentials for a bucket, encoded as they are sent. The file holds them plain or already encoded. */
export function credentialsFromFile(command: string, bucket: string, file: string): string {
  if (!/^(?:s3|gs):\/\//.test(bucket))
    throw usageError(
      command,
      `--bucket: expected s3://NAME or gs://NAME, got ${JSON.stringify(bucket)}`,
    );
  return encodedFile(command, file, text => readCredentials(storageOf(bucket), text));
}

/** The credentials of a file, encoded. Throws all problems with them at once. */
export function encodedFile(
  command: string,
  file: string,
  encode: (text: string) => Encoded,
): string {
  const encoded = encode(secretFile(command, file));
  if (encoded.ok) return encoded.encoded;
  throw new OperatorError(
    encoded.problems.map(problem => ({
      message: `cannot use the credentials in ${JSON.stringify(file)}: ${problem}`,
      hint: `prom2otlp ${command} --help shows what they look like`,
    })),
  );
}

export function secretFile(command: string, file: string): string {
  const found = readTextFile(file);
  if ('text' in found) return found.text;
  const message = `cannot read ${JSON.stringify(file)}: ${found.problem}`;
  const hint = `see prom2otlp ${command} --help`;
  throw new OperatorError([{ message, hint }]);
}
