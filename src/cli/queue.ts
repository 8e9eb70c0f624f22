// `queue`: a look into the durable queue, and the ways out of it without the daemon.

import { queueDrain } from './queue-drain.ts';
import { queueExport } from './queue-export.ts';
import { queueInspect } from './queue-inspect.ts';
import { usageError, type Verb, type VerbContext } from './verb.ts';

const ACTIONS: Readonly<Record<string, (context: VerbContext) => Promise<number>>> = {
  inspect: queueInspect,
  export: queueExport,
  drain: queueDrain,
};

export const verb: Verb = {
  summary: 'what waits in the durable queue: queue inspect | export | drain',
  help: `
Usage: prom2otlp queue inspect --config FILE [--json]
       prom2otlp queue export --config FILE [--signal metrics|logs] [--output FILE]
       prom2otlp queue drain --config FILE [--endpoint URL] [--for DURATION]

Looks into the queue in queue.directory. inspect and export may be used while the daemon runs.

inspect   sizes and ages by signal and service, what the back end refused for good and in which words, the account
  --json                  the same as one JSON object, with a sample of each refused request

export    what waits as OTLP/JSON, one request a line, oldest first; nothing is removed
  --signal metrics|logs   one signal alone
  --output FILE           into a new file instead of stdout

drain     delivers what waits and removes what is accepted; refuses while a daemon holds the queue
  --endpoint URL          to this receiver instead of the configured one, in the configured protocol. Headers
                          of the configuration go to the configured origins only
  --for DURATION          gives up after so long, such as 10m; the rest stays in the queue

Exit: 0 when done; 1 when something is damaged, was refused or is left, or the queue is held; 2 for a mistake.

Examples:
  prom2otlp queue inspect --config /etc/prom2otlp.yaml
  prom2otlp queue export --config /etc/prom2otlp.yaml --signal logs | gzip > logs.jsonl.gz
  prom2otlp queue drain --config /etc/prom2otlp.yaml --endpoint http://localhost:4318`,
  isStoppable: true,
  notNow: 1,
  run: context => {
    const [word = '', ...args] = context.args;
    const action = Object.hasOwn(ACTIONS, word) ? ACTIONS[word] : undefined;
    if (action === undefined) throw usageError('queue', 'expected inspect, export or drain');
    return action({ ...context, args });
  },
};
