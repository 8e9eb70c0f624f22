// `simulate`: the simulated service alone, to develop against.

import { untilAborted } from '../lib/bell.ts';
import { startSimulator } from '../simulator/simulator.ts';
import { causeText, OperatorError } from '../errors.ts';
import { readOptions, usageError, type Verb } from './verb.ts';

const VERB = 'simulate';
/** Not a secret: it opens the simulator alone. */
export const SIMULATED_KEY = 'simulated-key';

export const verb: Verb = {
  summary: 'the simulated service, for development',
  help: `
Usage: prom2otlp simulate --port N [--refresh 60s] [--key KEY]

Serves every endpoint of the service on 127.0.0.1:N: metrics of four database services (single behind a
proxy, multimaster, distributed, single), logs, backups, the agent. The key is "${SIMULATED_KEY}".

  --port N        the port (required; 0 for any free port)
  --refresh 60s   how often the simulated store takes new samples
  --key KEY       the key that it requires

Set faults while it runs:
  curl -d '{"faults":{"status":500}}' http://127.0.0.1:N/_control

Example:
  prom2otlp simulate --port 9000 &
  curl -H 'X-API-Key: ${SIMULATED_KEY}' http://127.0.0.1:9000/observability/v2/metrics`,
  isStoppable: true,
  run: async context => {
    const { parseDuration } = await import('../config/units.ts');
    const values = readOptions(VERB, context.args, {
      port: { type: 'string' },
      refresh: { type: 'string', default: '60s' },
      key: { type: 'string', default: SIMULATED_KEY },
    });
    const port = Number(values.port);
    if (values.port === undefined || !Number.isInteger(port) || port < 0 || port > 65_535)
      throw usageError(VERB, 'expected --port with a number from 0 to 65535');
    const refreshMs = parseDuration(values.refresh);
    if (refreshMs === undefined || refreshMs === 0)
      throw usageError(VERB, 'expected --refresh as 60s');
    const simulator = await startSimulator({
      port,
      key: values.key,
      clock: context.clock,
      refreshMs,
    }).catch((error: unknown) => {
      const message = `cannot listen on port ${port}: ${causeText(error)}`;
      throw new OperatorError([
        { code: 'E_STATUS_LISTEN', message, hint: 'choose another port, or 0 for any' },
      ]);
    });
    context.out.line(`listening on ${simulator.url}, X-API-Key: ${values.key}`);
    await untilAborted(context.stop);
    await simulator.close();
    return 0;
  },
};
