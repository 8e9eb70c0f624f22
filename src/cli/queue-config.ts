// What the verbs for the queue have in common: the configuration, and in it a directory.

import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { OperatorError } from '../errors.ts';
import { usageError, type VerbContext } from './verb.ts';

/** The configuration that `--config` named, and its queue's directory. A queue in memory is a mistake. */
export function loadQueueConfig(
  verb: string,
  file: string | undefined,
  context: VerbContext,
): { readonly config: Config; readonly directory: string } {
  if (file === undefined) throw usageError(verb, 'expected --config FILE');
  const config = loadConfig({ file, environment: context.environment });
  const { directory } = config.queue;
  if (directory !== null) return { config, directory };
  const message = `cannot look into the queue of ${JSON.stringify(file)}: it is in the memory of the daemon`;
  const hint = 'set queue.directory, or ask the daemon itself for /status.json';
  throw new OperatorError([{ code: 'E_QUEUE_OPEN', key: 'queue.directory', message, hint }]);
}

/** What stands beside the options is a mistake. */
export function refuseWords(verb: string, [first]: readonly string[]): void {
  if (first !== undefined) throw usageError(verb, `unexpected ${JSON.stringify(first)}`);
}
