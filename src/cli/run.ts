// `run`: the daemon. Starts the bridge and its status page, reloads it, and stops both on a signal.

import { OperatorError } from '../errors.ts';
import { untilAborted } from '../lib/bell.ts';
import { collectStartGarbage } from '../lib/footprint.ts';
import { programVersion } from '../lib/version.ts';
import { serveStatus } from '../status/status-server.ts';
import { Supervisor } from '../daemon/reload.ts';
import { action, type Call, CONFIG_OPTION, configOf, type Verb, type VerbContext } from './verb.ts';

const OPTIONS = { config: CONFIG_OPTION };

export const verb: Verb = {
  name: 'run',
  summary: 'runs the daemon',
  about: `Scrapes, types, queues and sends until a signal stops it. The first SIGTERM or SIGINT stops collecting and
    delivers what it can; the rest stays in the queue. The second stops at once.

    After a SIGHUP, or a change of the configuration or of a file in it (a key, a certificate), the daemon loads it
    again: a restart inside the process, which keeps the queue, the senders and the status page. A configuration with a
    mistake is not used; the log and the status page say why. config/prom2otlp.example.yaml shows every key.

    If another process holds the queue or the port of the status page, the start waits for 30 seconds in all. The
    daemon starts on a full disk as long as the queue has its reserved space.`,
  actions: [action({ options: OPTIONS, run })],
  exits: {
    0: 'a clean stop',
    1: 'a bug, or a second signal that stopped the daemon at once',
    2: 'there is a mistake in the configuration',
    75: `the same start may work later: the queue is held, the port is taken, or the disk is full without reserved space`,
  },
  examples: [
    'prom2otlp check --config /etc/prom2otlp/prom2otlp.yaml && prom2otlp run --config /etc/prom2otlp/prom2otlp.yaml',
  ],
  isStoppable: true,
  isReloadable: true,
  notNow: 75,
};

async function run(call: Call<typeof OPTIONS>, context: VerbContext): Promise<number> {
  try {
    return await runDaemon(configOf(call, context.environment), context);
  } catch (error) {
    // A start that was stopped while it waited has done nothing yet: this is a clean stop.
    if (context.stop.aborted && error instanceof OperatorError && error.isTransient) return 0;
    throw error;
  }
}

async function runDaemon(file: string, context: VerbContext): Promise<number> {
  const { clock, environment, stop, stopNow } = context;
  const supervisor = await Supervisor.open({ file, environment, clock, stop });
  const status = await supervisor
    .waitFor(() => serveStatus(supervisor, clock))
    .catch(async (error: unknown) => {
      await supervisor.daemon.stop(AbortSignal.abort());
      throw error;
    });
  const running = supervisor.run(stop, context.hangUp);
  const { logger, targets, config } = supervisor.daemon;
  const [version, services] = [programVersion(), config.services.length];
  logger.info({ version, targets: targets.length, services, status: status.url }, 'started');
  const stopped = Promise.all([running, collectStartGarbage(clock, stop)]);
  // A reload may wait for answers: the second signal does not wait for it.
  await Promise.race([stopped, untilAborted(stopNow)]);
  logger.info({}, 'stopping: collecting has ended, the queue is being delivered');
  const { daemon } = supervisor;
  const kept = await daemon.stop(stopNow);
  await status.close();
  logger.info({ left: daemon.queue.points, kept }, 'stopped');
  return stopNow.aborted ? 1 : 0;
}
