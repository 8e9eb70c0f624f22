// Requests that are wrong are told in the words of the command line, every mistake at once, before anything is sent;
// and calls that failed are told in a line.

import { OperatorError } from '../errors.ts';
import { errorLine, type RequestProblem, type ServiceError } from '../service/failure.ts';
import type { VerbContext } from './verb.ts';

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

/** Tells a failure; the exit code of the verb. */
export function tellError({ err }: Pick<VerbContext, 'err'>, error: ServiceError): 1 {
  err.line(errorLine(error));
  return 1;
}

function optionOf(path: string, options: Readonly<Record<string, string>>): string {
  return options[path] ?? options[path.replace(/\..*/, '')] ?? path;
}
