// `check`: validates the configuration and warns of likely mistakes. --probe asks the service and the back end; --print
// shows the effective values; --fix rewrites deprecated keys (fix-file.ts); --against compares the telemetry of two configurations (against.ts).

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
import { choice, file, flag, integer, repeated, withDefault } from './options.ts';
import {
  action,
  type Call,
  CONFIG_OPTION,
  configOf,
  usageError,
  type Verb,
  type VerbContext,
} from './verb.ts';

const FORMATS = ['table', 'json', 'markdown'] as const;
const OPTIONS = {
  config: CONFIG_OPTION,
  probe: flag('also scrapes each service once and sends one point to the back end'),
  print: flag(
    'prints the effective value of every key, without secrets; * marks what is no default',
  ),
  fix: flag('first rewrites deprecated keys in the file; comments and order stay'),
  against: file(
    'compares what both configurations send for one page; that of --config is the new one',
  ),
  page: {
    ...repeated('FILE', 'of --against: exposition text, in place of a scrape; needs no key'),
    offers: 'files',
  } as const,
  'fail-on-loss': flag('of --against: exits with 1 if series, or those of an alert or panel, go'),
  limit: withDefault(integer({ min: 1, max: 10_000 }, 'of --against: rows of a table'), '20'),
  format: {
    ...withDefault(
      choice(FORMATS, 'of --print and --against: a table, JSON or, of --against, Markdown'),
      'table',
    ),
    alias: { name: 'json', text: 'json' },
  },
};

export const verb: Verb = {
  name: 'check',
  summary: 'validates a configuration; --probe also asks the service and the back end',
  about: `Reads the configuration and shows every mistake in it, each with its place. --probe prints what it
    found at both ends; it sends no data but one point of its own, up with probe="true". Warnings point at likely
    mistakes; they do not change the exit code.

    --fix replaces deprecated keys and values by what the warnings name, prints what it changed, and then checks the
    file. It changes no file with a mistake in it.

    --against OLD scrapes once, sends nothing, and shows which series the change from OLD takes away, renames or
    alters, which of the shipped alerts and panels lose series, and which keys need a restart.`,
  actions: [action({ options: OPTIONS, run: check })],
  exits: {
    0: 'the configuration is valid',
    1: 'the probe failed, or --fix left a deprecated key, or --against has no page, or --fail-on-loss found a loss',
    2: 'there is a mistake in the configuration',
  },
  examples: [
    'prom2otlp check --config /etc/prom2otlp/prom2otlp.yaml --probe',
    'prom2otlp check --config /etc/prom2otlp/prom2otlp.yaml --print',
    'prom2otlp check --config /etc/prom2otlp/prom2otlp.yaml --fix',
    'prom2otlp check --config new.yaml --against old.yaml --page page.prom --fail-on-loss',
  ],
};

async function check(call: Call<typeof OPTIONS>, context: VerbContext): Promise<number> {
  const { environment, out, err } = context;
  const { print, probe: isProbe, fix } = call.values;
  if (fix && (print || isProbe || call.values.against !== undefined))
    throw usageError(call.command, '--fix does not go together with --print, --probe or --against');
  const isJson = call.values.format === 'json';
  if (call.values.against !== undefined) return checkAgainst(call, call.values.against, context);
  if (call.values.page.length > 0 || call.values['fail-on-loss'])
    throw usageError(call.command, '--page and --fail-on-loss are for --against OLD');
  if (call.values.format === 'markdown')
    throw usageError(call.command, '--format markdown is for --against OLD');
  if (isJson && (isProbe || !print))
    throw usageError(call.command, '--format json is for --print and --against');
  const file = configOf(call, environment);
  const isFixed = !fix || (await (await import('./fix-file.ts')).fixFile(file, context));
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
  const total = own.length + elsewhere.length;
  const share = elsewhere.length === 0 ? '' : `${own.length} of `;
  const listed = `${share}${total} ${total === 1 ? 'service' : 'services'}`;
  const services = config.auto === null ? listed : 'every service that the key sees';
  const polled = `polled every ${config.metrics.intervalMs / 1000} s`;
  const polls = targets.length === 1 ? '' : ` in ${targets.length} polls`;
  const place = shard.count === 1 ? '' : `, shard ${shard.index} of ${shard.count}`;
  out.line(`${file}: valid: ${services}, ${polled}${polls}${place}`);
  for (const note of [...profileNotes(judgement.layers.metrics), ...memoryNotes(config.memory)])
    out.line(`note: ${note}`);
  for (const warning of memoryWarnings(config.memory)) warn(warning);
  if (!isProbe) return isFixed ? 0 : 1;
  const { probe } = await import('./probe.ts');
  return (await probe(config, context)) ? 0 : 1;
}

async function checkAgainst(
  call: Call<typeof OPTIONS>,
  old: string,
  context: VerbContext,
): Promise<number> {
  const { print, probe: isProbe, page, format, limit } = call.values;
  if (print || isProbe)
    throw usageError(call.command, '--against does not go together with --print or --probe');
  const file = configOf(call, context.environment);
  const { compareConfigurations } = await import('./against.ts');
  const { againstText } = await import('./against.ts');
  const found = await compareConfigurations({ old, file, pages: page }, context);
  if (found === null) return 1;
  context.out.line(againstText(found, { format, limit }));
  const isLoss = found.groups.some(({ change }) => change === 'gone') || found.losses.length > 0;
  return isLoss && call.values['fail-on-loss'] ? 1 : 0;
}

/** Container engines create one of these files. */
const CONTAINER_FILES = ['/.dockerenv', '/run/.containerenv'];
