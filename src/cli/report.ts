// `report`: what a user pastes into an issue. report-parts.ts collects it without names and data, report-text.ts makes the
// Markdown.

import type { Mistake } from '../errors.ts';
import { printableJson } from '../lib/printable.ts';
import { choice, withDefault } from './options.ts';
import { withProgress } from './output.ts';
import { reportOf } from './report-parts.ts';
import { reportText } from './report-text.ts';
import { action, type Call, CONFIG_OPTION, configOf, type Verb, type VerbContext } from './verb.ts';

const OPTIONS = {
  config: CONFIG_OPTION,
  format: {
    ...withDefault(
      choice(['markdown', 'json'], 'Markdown, to paste into an issue, or a JSON object'),
      'markdown',
    ),
    alias: { name: 'json', text: 'json' },
  },
};

export const verb: Verb = {
  name: 'report',
  summary: 'what to paste into an issue: versions, configuration, problems; no names, no data',
  about: `Prints versions, the keys of the configuration that differ from their defaults, and what the running daemon says
    at status.listen: its problems, its numbers, the account, the limits that it has learned, and the shape of the last
    pages: how many series and labels each metric has, and its type.

    Services, hosts and targets get placeholders such as service-1; the same name has the same placeholder in the whole
    report. There are no keys, headers, values of labels, texts of logs or words of the service and the back end. It
    asks the daemon alone. Without a daemon, or with a mistake in the configuration, it says so, and prints the rest.`,
  actions: [action({ options: OPTIONS, run: report })],
  exits: { 0: 'printed', 2: 'a mistake on the command line' },
  examples: ['prom2otlp report --config /etc/prom2otlp/prom2otlp.yaml'],
};

async function report(call: Call<typeof OPTIONS>, context: VerbContext): Promise<number> {
  const { environment, out } = context;
  const asking = reportOf(fileOf(call, environment), environment);
  const found = await withProgress(context, 'asking the daemon', asking);
  out.line(call.values.format === 'json' ? printableJson(found) : reportText(found));
  return 0;
}

/** The configuration; the mistake where none is named. */
function fileOf(
  call: Call<typeof OPTIONS>,
  environment: VerbContext['environment'],
): string | Mistake {
  try {
    return configOf(call, environment);
  } catch {
    return { message: 'no configuration is named', hint: 'name one with --config' };
  }
}
