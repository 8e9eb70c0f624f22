// `check`: validates the configuration and warns of likely mistakes. --probe asks the service and the back end; --print
// shows the effective values.

import { existsSync } from 'node:fs';
import { effectiveValues } from '../config/examine.ts';
import { judgeFile, warningMistakes } from '../config/load.ts';
import { formatMistake } from '../errors.ts';
import { memoryNotes, memoryWarnings } from '../config/memory-limits.ts';
import { profileNotes } from '../config/profile.ts';
import { printableJson } from '../lib/printable.ts';
import { planTargets } from '../pipeline/collect/plan-targets.ts';
import { paint } from './output.ts';
import { printTable } from './table.ts';
import { flag, format } from './options.ts';
import {
  action,
  type Call,
  CONFIG_OPTION,
  configOf,
  usageError,
  type Verb,
  type VerbContext,
} from './verb.ts';

const OPTIONS = {
  config: CONFIG_OPTION,
  probe: flag('also scrapes each service once and sends one point to the back end'),
  print: flag(
    'prints the effective value of every key, without secrets; * marks what is no default',
  ),
  format: format('of --print: a table, or JSON'),
};

export const verb: Verb = {
  name: 'check',
  summary: 'validates a configuration; --probe also asks the service and the back end',
  about: `Reads the configuration and shows every mistake in it, each with its place. --probe prints what it
    found at both ends; it sends no data but one point of its own, up with probe="true". Warnings point at likely
    mistakes; they do not change the exit code.`,
  actions: [action({ options: OPTIONS, run: check })],
  exits: {
    0: 'the configuration is valid',
    1: 'the probe failed',
    2: 'there is a mistake in the configuration',
  },
  examples: [
    'prom2otlp check --config /etc/prom2otlp/prom2otlp.yaml --probe',
    'prom2otlp check --config /etc/prom2otlp/prom2otlp.yaml --print',
  ],
};

async function check(call: Call<typeof OPTIONS>, context: VerbContext): Promise<number> {
  const { environment, out, err } = context;
  const { print, probe: isProbe } = call.values;
  const isJson = call.values.format === 'json';
  if (isJson && (isProbe || !print))
    throw usageError(call.command, '--format json is for --print alone');
  const file = configOf(call, environment);
  const judgement = judgeFile({ file, environment });
  const { config } = judgement;
  const warn = (text: string): void => err.line(paint(err, 'yellow', `warning: ${text}`));
  // The containers of a pod share localhost: a collector beside the daemon is there.
  const isInPod = environment['KUBERNETES_SERVICE_HOST'] !== undefined;
  const isContainer = CONTAINER_FILES.some(one => existsSync(one)) && !isInPod;
  for (const mistake of warningMistakes(judgement, isContainer)) warn(formatMistake(mistake));
  if (print) {
    const values = effectiveValues(judgement);
    if (isJson) out.line(printableJson(values));
    const rows = values.map(({ key, value, isDefault }) => [isDefault ? '' : '*', key, value]);
    if (!isJson) printTable(out, [['', 'KEY', 'VALUE'], ...rows], { isWhole: true });
    if (!isProbe) return 0;
  }
  const targets = planTargets(config);
  const { services: own, elsewhere, shard } = config;
  const share = elsewhere.length === 0 ? '' : ` of ${own.length + elsewhere.length}`;
  const listed = `${own.length}${share} ${own.length === 1 ? 'service' : 'services'}`;
  const services = config.auto === null ? listed : 'every service that the key sees';
  const polled = `polled every ${config.metrics.intervalMs / 1000} s`;
  const polls = targets.length === 1 ? '' : ` in ${targets.length} polls`;
  const place = shard.count === 1 ? '' : `, shard ${shard.index} of ${shard.count}`;
  out.line(`${file}: valid: ${services}, ${polled}${polls}${place}`);
  for (const note of [...profileNotes(judgement.layers.metrics), ...memoryNotes(config.memory)])
    out.line(`note: ${note}`);
  for (const warning of memoryWarnings(config.memory)) warn(warning);
  if (!isProbe) return 0;
  const { probe } = await import('./probe.ts');
  return (await probe(config, context)) ? 0 : 1;
}

/** Container engines create one of these files. */
const CONTAINER_FILES = ['/.dockerenv', '/run/.containerenv'];
