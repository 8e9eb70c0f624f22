// How the verbs for the service reach it: by a configuration file, or by an address with the key from a file or a
// variable. A key is never an argument: those are shown to every user of the machine.

import type { Config } from '../config/config.ts';
import { loadConfig, parseConfig } from '../config/load.ts';
import { OperatorError } from '../errors.ts';
import { Counters } from '../lib/counters.ts';
import { programVersion } from '../lib/version.ts';
import { planTargets, type Target } from '../pipeline/collect/plan-targets.ts';
import { ServiceClient } from '../service/client.ts';
import { ServiceClients } from '../service/clients.ts';
import type { ServiceHttp } from '../service/http-client.ts';
import { errorLine, type RequestProblem, type ServiceError } from '../service/service-error.ts';
import { usageError, type VerbContext } from './verb.ts';

/** To be spread into the options of a verb. */
export const ACCESS_OPTIONS = {
  config: { type: 'string' },
  'base-url': { type: 'string' },
  'key-file': { type: 'string' },
  'service-id': { type: 'string' },
} as const;

/** For the help of a verb. */
export const ACCESS_HELP: string = `
  --config FILE      the API and its key as configured, or:
  --base-url URL     the API's address, with the key from
  --key-file FILE    a file; without it from PROM2OTLP_API_KEY
  --service-id ID    the database service`.trim();

const KEY_VARIABLE = 'PROM2OTLP_API_KEY';

export interface AccessValues {
  readonly config?: string | undefined;
  readonly 'base-url'?: string | undefined;
  readonly 'key-file'?: string | undefined;
  readonly 'service-id'?: string | undefined;
}

export interface ServiceAccess {
  /** With --base-url: the defaults of everything else. */
  readonly config: Config;
  /** The APIs to ask; with --service-id that of this service alone. */
  readonly targets: readonly Target[];
}

/** Throws an OperatorError where it is not clear which API, key or service is meant. */
function readAccess(
  verb: string,
  values: AccessValues,
  context: Pick<VerbContext, 'environment'>,
): ServiceAccess {
  const { config: file, 'base-url': baseUrl, 'service-id': serviceId } = values;
  if ((file === undefined) === (baseUrl === undefined))
    throw usageError(verb, 'expected either --config FILE or --base-url URL');
  if (file !== undefined && values['key-file'] !== undefined)
    throw usageError(verb, '--key-file goes with --base-url, not with --config');
  const { environment } = context;
  const config =
    file === undefined
      ? configOfAddress(verb, values, environment)
      : loadConfig({ file, environment });
  const targets = planTargets(config);
  if (serviceId === undefined) return { config, targets };
  const own = targets.filter(({ configured }) => configured.has(serviceId));
  if (own.length > 0) return { config, targets: own };
  const ids = config.services.map(({ id }) => id).join(', ');
  const message = `cannot run ${verb}: there is no service ${JSON.stringify(serviceId)} in the configuration`;
  throw new OperatorError([
    { code: 'E_SERVICE_ACCESS', message, hint: `name one of ${ids}, or add it` },
  ]);
}

/** One API, opened. */
export interface OpenService {
  readonly config: Config;
  readonly target: Target;
  readonly http: ServiceHttp;
  readonly client: ServiceClient;
}

/** Opens the APIs that are meant, at least one, for the time of `use`. */
export async function withServices<T>(
  verb: string,
  values: AccessValues,
  context: Pick<VerbContext, 'environment' | 'clock'>,
  use: (services: readonly OpenService[]) => Promise<T>,
): Promise<T> {
  const { config, targets } = readAccess(verb, values, context);
  const { clock } = context;
  const userAgent = `prom2otlp/${programVersion()}`;
  const clients = new ServiceClients({ clock, counters: new Counters(), userAgent });
  try {
    return await use(
      targets.map(target => {
        const http = clients.get(target.api);
        return {
          config,
          target,
          http,
          client: new ServiceClient({ http, paths: config.backups.endpoints }),
        };
      }),
    );
  } finally {
    await clients.close();
  }
}

/** For verbs that act on one API: a configuration with several needs --service-id. */
export function withService<T>(
  verb: string,
  values: AccessValues,
  context: Pick<VerbContext, 'environment' | 'clock'>,
  use: (service: OpenService) => Promise<T>,
): Promise<T> {
  return withServices(verb, values, context, ([service, ...others]) => {
    if (service === undefined || others.length > 0)
      throw usageError(verb, 'expected --service-id: there are several APIs in the configuration');
    return use(service);
  });
}

/** The same judgement as for a file: an address over plain http is refused here, too. */
function configOfAddress(
  verb: string,
  values: AccessValues,
  environment: VerbContext['environment'],
): Config {
  const keyFile = values['key-file'];
  if (keyFile === undefined && (environment[KEY_VARIABLE] ?? '') === '') {
    const message = `cannot run ${verb}: there is no key`;
    const hint = `name a file with --key-file, or set ${KEY_VARIABLE}`;
    throw new OperatorError([{ code: 'E_SERVICE_ACCESS', message, hint }]);
  }
  const key = keyFile === undefined ? `\${env:${KEY_VARIABLE}}` : `\${file:${keyFile}}`;
  const text = JSON.stringify({
    api: { base_url: values['base-url'], key },
    services: [{ id: values['service-id'] ?? 'any' }],
    queue: { directory: null },
  });
  try {
    return parseConfig(text, { file: '', environment });
  } catch (error) {
    throw error instanceof OperatorError ? inOptions(error, values) : error;
  }
}

/** The same mistakes with the name of what the operator typed instead of a place in a file that there is none of. */
function inOptions({ mistakes }: OperatorError, values: AccessValues): OperatorError {
  const options: Readonly<Record<string, string>> = {
    'api.base_url': '--base-url',
    'api.key': values['key-file'] === undefined ? KEY_VARIABLE : '--key-file',
    'services[0].id': '--service-id',
  };
  return new OperatorError(
    mistakes.map(({ file: _file, line: _line, column: _column, key = '', ...mistake }) => ({
      ...mistake,
      key: options[key] ?? key,
    })),
  );
}

// Wrong requests are reported in the words of the command line, every mistake at once, before anything is sent; failed
// calls in a line.

/** Throws when a request would be refused. `options` names the option that gave a field, or what the field is in. */
export function refuseProblems(
  verb: string,
  problems: readonly RequestProblem[] | null,
  options: Readonly<Record<string, string>>,
): void {
  if (problems === null) return;
  throw new OperatorError(
    problems.map(({ path, message }) => ({
      code: 'E_CLI_USAGE',
      message: `cannot run ${verb}: ${optionOf(path, options)}: ${message}`,
      hint: `see prom2otlp ${verb} --help`,
    })),
  );
}

/** Prints a failure; returns the exit code of the verb. */
export function tellError({ err }: Pick<VerbContext, 'err'>, error: ServiceError): 1 {
  err.line(errorLine(error));
  return 1;
}

function optionOf(path: string, options: Readonly<Record<string, string>>): string {
  return options[path] ?? options[path.replace(/\..*/, '')] ?? path;
}
