// `run`: the daemon. Starts the bridge and its status page, and stops both when told to.

import { loadConfig } from '../config/load.ts';
import { Daemon } from '../daemon.ts';
import { createLogger } from '../lib/log.ts';
import { untilAborted } from '../lib/until-aborted.ts';
import { programVersion } from '../lib/version.ts';
import { serveStatus } from '../status/serve-status.ts';
import { readArgs, refuseWords, usageError, type Verb, type VerbContext } from './verb.ts';

const VERB = 'run';

export const verb: Verb = {
  summary: 'the daemon',
  help: `
Usage: prom2otlp run --config FILE

Scrapes, types, queues and sends until it is told to stop. The first SIGTERM or SIGINT stops collecting and
delivers what it can; what is left stays in the queue. The second stops now.

  --config FILE   the configuration (config/prom2otlp.example.yaml shows every key)

Exit: 0 after a clean stop, 1 when something is broken, 2 for a mistake in the configuration.

Example:
  prom2otlp check --config /etc/prom2otlp.yaml && prom2otlp run --config /etc/prom2otlp.yaml`,
  isStoppable: true,
  run: async context => {
    const config = loadConfig({
      file: configFile(VERB, context),
      environment: context.environment,
    });
    const { clock } = context;
    const logger = createLogger({ ...config.log, clock });
    const daemon = await Daemon.open({ config, clock, logger });
    const status = await serveStatus(daemon, clock);
    daemon.start();
    logger.info(
      {
        version: programVersion(),
        targets: daemon.targets.length,
        services: config.services.length,
        status: status.url,
      },
      'started',
    );
    await untilAborted(context.stop);
    logger.info({}, 'stopping: collecting has ended, what is queued is being delivered');
    await daemon.stop(context.stopNow);
    await status.close();
    logger.info({ left: daemon.leftPoints() }, 'stopped');
    return context.stopNow.aborted ? 1 : 0;
  },
};

/** The file that `--config` names; missing is a mistake. Other options are, too. */
export function configFile(name: string, context: VerbContext): string {
  const { values, words } = readArgs(name, context.args, { config: { type: 'string' } });
  if (values.config === undefined || values.config === '')
    throw usageError(name, 'expected --config FILE');
  refuseWords(name, words);
  return values.config;
}
