// `run`: the daemon. Starts the bridge and its status page, reloads it, and stops both on a signal.

import { OperatorError } from '../errors.ts';
import { collectStartGarbage } from '../lib/footprint.ts';
import { programVersion } from '../lib/version.ts';
import { serveStatus } from '../status/status-server.ts';
import { Supervisor } from '../daemon/reload.ts';
import { configOf, readOptions, type Verb, type VerbContext } from './verb.ts';

const VERB = 'run';

export const verb: Verb = {
  summary: 'the daemon',
  help: `
Usage: prom2otlp run --config FILE

Scrapes, types, queues and sends until a signal stops it. The first SIGTERM or SIGINT stops collecting and
delivers what it can; the rest stays in the queue. The second stops at once.

After a SIGHUP, or a change of the configuration or of a file in it (a key, a certificate), the daemon loads it again.
Unchanged parts continue undisturbed. A configuration with a mistake is not used; the log and the status page say why.

  --config FILE   the configuration (config/prom2otlp.example.yaml shows every key)

If another process holds the queue or the port of the status page, the start waits for 30 seconds in all. The daemon
starts on a full disk as long as the queue has its reserved space.

Exit: 0 after a clean stop, 1 for a bug, 2 for a mistake in the configuration; 75 if the same start may work later
(the queue is held, the port is taken, the disk is full without reserved space).

Example:
  prom2otlp check --config /etc/prom2otlp.yaml && prom2otlp run --config /etc/prom2otlp.yaml`,
  isStoppable: true,
  isReloadable: true,
  notNow: 75,
  run: async context => {
    try {
      return await runDaemon(context);
    } catch (error) {
      // A start that was stopped while it waited has done nothing that could be broken.
      if (context.stop.aborted && error instanceof OperatorError && error.isTransient) return 0;
      throw error;
    }
  },
};

async function runDaemon(context: VerbContext): Promise<number> {
  const { clock, environment, stop, stopNow } = context;
  const file = configOf(VERB, readOptions(VERB, context.args, { config: { type: 'string' } }));
  const supervisor = await Supervisor.open({ file, environment, clock, stop });
  const status = await supervisor
    .waitFor(() => serveStatus(supervisor, clock))
    .catch(async (error: unknown) => {
      await supervisor.daemon.stop(AbortSignal.abort());
      throw error;
    });
  const running = supervisor.run(stop, context.hangUp);
  const { logger } = supervisor;
  const { targets, config } = supervisor.daemon;
  const [version, services] = [programVersion(), config.services.length];
  logger.info({ version, targets: targets.length, services, status: status.url }, 'started');
  await Promise.all([running, collectStartGarbage(clock, stop)]);
  logger.info({}, 'stopping: collecting has ended, the queue is being delivered');
  const { daemon } = supervisor;
  await daemon.stop(stopNow);
  await status.close();
  logger.info({ left: daemon.leftPoints() }, 'stopped');
  return stopNow.aborted ? 1 : 0;
}
