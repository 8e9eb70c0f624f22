// `--service-id` takes an id, or a name of the configuration. A name becomes the id once, before the action runs
// (command.ts): the actions know ids alone. Where no configuration lists the services (--base-url, `services: auto`), a
// text is an id.

import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { OperatorError } from '../errors.ts';
import { type ConfigCall, configOf, type VerbContext } from './verb.ts';

/** The id of the service that the user has named. Throws an OperatorError if several services have the name. */
export function serviceIdOf(
  named: string,
  call: ConfigCall,
  environment: VerbContext['environment'],
): string {
  const services = servicesOf(call, environment);
  if (services.some(({ id }) => id === named)) return named;
  const [found, ...others] = services.filter(({ name }) => name === named);
  if (found === undefined || others.length === 0) return found?.id ?? named;
  const ids = [found, ...others].map(({ id }) => id).join(' or ');
  const message = `cannot run ${call.command}: several services have the name ${JSON.stringify(named)}`;
  throw new OperatorError([{ message, hint: `name one by its id: ${ids}` }]);
}

/** None if the configuration cannot be read: then the action says why. */
function servicesOf(call: ConfigCall, environment: VerbContext['environment']): Config['services'] {
  try {
    const { services, elsewhere } = loadConfig({ file: configOf(call, environment), environment });
    return [...services, ...elsewhere];
  } catch (error) {
    if (error instanceof OperatorError) return [];
    throw error;
  }
}
