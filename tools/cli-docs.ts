// Writes docs/use/cli.md and the man page deploy/man/prom2otlp.1 from the declarations of the verbs, so that each
// option is described once. Run `node tools/cli-docs.ts` after a change of a verb. A test compares the files.

import { writeFileSync } from 'node:fs';
import {
  oneLine,
  optionFlags,
  optionText,
  shownOptions,
  textsOf,
  usageOf,
  wordsUsage,
} from '../src/cli/help.ts';
import { type Action, CONFIG_ORDER, type Verb } from '../src/cli/verb.ts';
import { loadVerbs } from '../src/cli/verbs.ts';

/** The texts of the files by their paths relative to the root. */
export async function cliDocuments(): Promise<Readonly<Record<string, string>>> {
  const verbs = await loadVerbs();
  return { 'docs/use/cli.md': markdown(verbs), 'deploy/man/prom2otlp.1': manPage(verbs) };
}

/** The variables of the program itself. */
export const VARIABLES: readonly (readonly [name: string, text: string])[] = [
  ['PROM2OTLP_CONFIG', 'the configuration, where --config does not name one'],
  ['PROM2OTLP_API_KEY', 'the key of the API, with --base-url and without --key-file'],
  [
    'PROM2OTLP_TERMINATION_MESSAGE',
    'an existing file that receives the reason of a bad end, for Kubernetes',
  ],
];
const OTHER_VARIABLES =
  'The variables of OpenTelemetry (OTEL_…) apply to the verbs that read a configuration.';
const EVERYWHERE: readonly (readonly [option: string, text: string])[] = [
  ['-h, --help', 'the help of the program, of a verb or of an action'],
  ['-V, --version', 'the version of the program and of Node.js, and the commit'],
];

/** Arguments and options of an action. */
function rowsOf({ words, options }: Action): readonly (readonly [head: string, text: string])[] {
  return [
    ...(words === undefined ? [] : [[wordsUsage(words), words.about] as const]),
    ...shownOptions(options).map(
      ([name, option]) => [optionFlags(name, option), optionText(option)] as const,
    ),
  ];
}

// Markdown.

const INTRODUCTION = `# The command line

\`tools/cli-docs.ts\` generates this page and the man page \`deploy/man/prom2otlp.1\` from the declarations of the verbs in \`src/cli\`.

Data goes to stdout, messages go to stderr. ${oneLine(CONFIG_ORDER)} A verb that asks the service also takes
\`--base-url URL\` instead of a configuration. A key is never an argument: other users of the machine can see arguments. \`--config\` and
\`--format\` may also stand before the verb. Until 1.0, \`--json\` and \`--jsonl\` mean \`--format json\`.

\`prom2otlp completion bash\` (or \`zsh\`, \`fish\`) prints a script that completes verbs, actions, options and their values, such as the services of
the configuration. Its first line says how to install it. After \`npm install --global\`, \`man prom2otlp\` shows this page.
`;

function markdown(verbs: readonly Verb[]): string {
  return [
    INTRODUCTION,
    table('everywhere', EVERYWHERE),
    '',
    table('variable', VARIABLES),
    '',
    `${OTHER_VARIABLES}\n`,
    ...verbs.map(verbSection),
  ].join('\n');
}

function verbSection(verb: Verb): string {
  const exits = Object.entries(verb.exits).map(([code, text]) => `${code}: ${oneLine(text)}`);
  const isOnly = verb.actions.length === 1;
  return [
    `## \`prom2otlp ${verb.name}\`\n`,
    ...textsOf(verb).map(spaced),
    ...verb.actions.flatMap(action => [
      ...(isOnly
        ? []
        : [`### \`prom2otlp ${verb.name} ${action.name}\`\n`, ...textsOf(action).map(spaced)]),
      `    ${usageOf(verb, action)}\n`,
      ...(rowsOf(action).length === 0 ? [] : [`${table('option', rowsOf(action))}\n`]),
    ]),
    `Exit codes: ${exits.join('; ')}.\n`,
    ...(verb.examples.length === 0 ? [] : [`\`\`\`sh\n${verb.examples.join('\n')}\n\`\`\`\n`]),
  ].join('\n');
}

function spaced(text: string): string {
  return `${text}\n`;
}

function table(head: string, rows: readonly (readonly [string, string])[]): string {
  const cells = rows.map(([name, text]) => [`\`${name}\``, text].map(escapeCell));
  return [`| ${head} | meaning |`, '|---|---|', ...cells.map(row => `| ${row.join(' | ')} |`)].join(
    '\n',
  );
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}

// The man page.

function manPage(verbs: readonly Verb[]): string {
  return `${[
    '.TH PROM2OTLP 1',
    '.SH NAME',
    String.raw`prom2otlp \- metrics and logs of a hosted database service into OpenTelemetry`,
    '.SH SYNOPSIS',
    '.B prom2otlp',
    '.I VERB',
    '.RI [ ACTION ]',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    roff(oneLine(CONFIG_ORDER)),
    ...EVERYWHERE.flatMap(tagged),
    ...verbs.flatMap(manSection),
    '.SH ENVIRONMENT',
    ...VARIABLES.flatMap(tagged),
    '.PP',
    roff(OTHER_VARIABLES),
    '.SH FILES',
    ...tagged(['/etc/prom2otlp/prom2otlp.yaml', 'the configuration, where nothing names another']),
  ].join('\n')}\n`;
}

function manSection(verb: Verb): readonly string[] {
  const isOnly = verb.actions.length === 1;
  return [
    `.SH ${roff(verb.name.toUpperCase())}`,
    ...(isOnly ? [] : textsOf(verb).flatMap(paragraph)),
    ...verb.actions.flatMap(action => [
      `.SS ${roff(usageOf(verb, action))}`,
      ...textsOf(isOnly ? verb : action).flatMap(paragraph),
      ...rowsOf(action).flatMap(tagged),
    ]),
    '.SS Exit codes',
    ...Object.entries(verb.exits).flatMap(([code, text]) => tagged([code, text])),
    ...(verb.examples.length === 0
      ? []
      : ['.SS Examples', '.nf', ...verb.examples.flatMap(one => one.split('\n')).map(roff), '.fi']),
  ];
}

function paragraph(text: string): readonly string[] {
  return ['.PP', roff(text)];
}

function tagged([head, text]: readonly [string, string]): readonly string[] {
  return ['.TP', `.B ${roff(head)}`, roff(oneLine(text))];
}

/** Escapes text for the formatter: backslashes, hyphens, ellipses, and a dot or quote at the start of a line. */
function roff(text: string): string {
  return text
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replaceAll('…', '...')
    .replaceAll(/^(?=[.'])/gm, String.raw`\&`);
}

if (import.meta.main)
  for (const [file, text] of Object.entries(await cliDocuments()))
    writeFileSync(new URL(`../${file}`, import.meta.url), text);
