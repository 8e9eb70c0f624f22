// `simulate`: the simulated service alone, to develop against.

import { untilAborted } from '../lib/bell.ts';
import { startSimulator } from '../simulator/simulator.ts';
import { demoServices } from '../simulator/world.ts';
import { causeText, OperatorError } from '../errors.ts';
import { duration, integer, required, text, withDefault } from './options.ts';
import { action, type Call, type Verb, type VerbContext } from './verb.ts';

/** Not a secret: it opens only the simulator. */
export const SIMULATED_KEY = 'simulated-key';
const SERVICES_RANGE = { min: 1, max: 10_000 } as const;
export const PORT_RANGE = { min: 0, max: 65_535 } as const;

const OPTIONS = {
  port: required(integer(PORT_RANGE, 'the port; 0 for any free port')),
  services: withDefault(integer(SERVICES_RANGE, 'how many database services it has'), '4'),
  refresh: withDefault(duration('how often the simulated store takes new samples'), '60s'),
  key: withDefault(text('KEY', 'the key that it requires'), SIMULATED_KEY),
};

export const verb: Verb = {
  name: 'simulate',
  summary: 'the simulated service, for development',
  about: `Serves every endpoint of the service on 127.0.0.1: metrics of database services (primary and replica
    behind a proxy, multimaster, distributed, single, and so on), logs, backups, the agent, the inventory. Set faults while it runs, as below.`,
  actions: [action({ options: OPTIONS, run: simulate })],
  exits: { 0: 'stopped by a signal', 2: 'a mistake on the command line, or the port is taken' },
  examples: [
    'prom2otlp simulate --port 9000 &',
    'prom2otlp simulate --port 9000 --services 200',
    `curl -H 'X-API-Key: ${SIMULATED_KEY}' http://127.0.0.1:9000/observability/v2/metrics`,
    `curl -d '{"faults":{"status":500}}' http://127.0.0.1:9000/_control`,
    `curl -d '{"stopped":["dbpgf10000001"],"maintenance":["dbpgf10000002"]}' http://127.0.0.1:9000/_control`,
  ],
  isStoppable: true,
};

async function simulate(call: Call<typeof OPTIONS>, context: VerbContext): Promise<number> {
  const { port, refresh: refreshMs, key, services } = call.values;
  const { clock, out, stop } = context;
  const starting = startSimulator({
    port,
    key,
    clock,
    refreshMs,
    services: demoServices(services),
  });
  const simulator = await starting.catch((error: unknown) => {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    const cause = isTaken ? 'the port is in use' : causeText(error);
    const message = `cannot listen on port ${port}: ${cause}`;
    throw new OperatorError([{ message, hint: 'choose another port, or 0 for any' }]);
  });
  out.line(`listening on ${simulator.url}, X-API-Key: ${key}`);
  await untilAborted(stop);
  await simulator.close();
  return 0;
}
