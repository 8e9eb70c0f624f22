// `check`: is the configuration right? With --probe: do both ends answer, and what is on the page?

import { loadConfig } from '../config/load.ts';
import { memoryNotes, memoryWarnings } from '../config/memory-limits.ts';
import { planTargets } from '../pipeline/collect/plan-targets.ts';
import { configOf, readOptions, type Verb } from './verb.ts';

const VERB = 'check';

export const verb: Verb = {
  summary: 'validates a configuration; --probe also asks the service and the back end',
  help: `
Usage: prom2otlp check --config FILE [--probe]

Reads the configuration and shows every mistake in it, each with its place. With --probe it also scrapes each
service once and sends an empty request to the back end, and prints what it found. No data is sent.

  --config FILE   the configuration
  --probe         asks the service and the back end once

Exit: 0 if valid, 2 for a mistake in the configuration, 1 if the probe fails.

Example:
  prom2otlp check --config /etc/prom2otlp.yaml --probe`,
  run: async context => {
    const values = readOptions(VERB, context.args, {
      config: { type: 'string' },
      probe: { type: 'boolean' },
    });
    const file = configOf(VERB, values);
    const config = loadConfig({ file, environment: context.environment });
    const targets = planTargets(config);
    const { services: own, elsewhere, shard } = config;
    const share = elsewhere.length === 0 ? '' : ` of ${own.length + elsewhere.length}`;
    const services = `${own.length}${share} ${own.length === 1 ? 'service' : 'services'}`;
    const polled = `polled every ${config.metrics.intervalMs / 1000} s`;
    const polls = targets.length === 1 ? '' : ` in ${targets.length} polls`;
    const place = shard.count === 1 ? '' : `, shard ${shard.index} of ${shard.count}`;
    context.out.line(`${file}: valid: ${services}, ${polled}${polls}${place}`);
    for (const note of memoryNotes(config.memory)) context.out.line(`note: ${note}`);
    for (const warning of memoryWarnings(config.memory)) context.err.line(`warning: ${warning}`);
    if (values.probe !== true) return 0;
    const { probe } = await import('./probe.ts');
    return (await probe(config, context)) ? 0 : 1;
  },
};
