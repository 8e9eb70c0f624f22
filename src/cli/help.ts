// The texts of the help that follow from the declarations: usage, options, and the parts below the help of commander:
// exit codes and examples. The man page and docs/use/cli.md have the same texts.

import type { Help } from 'commander';
import type { Option } from './options.ts';
import { paint } from './output.ts';
import { type Action, CONFIG_ORDER, type Verb, type Words } from './verb.ts';

/** The layout of a help text. */
export interface HelpStyle {
  readonly width: number;
  readonly isColoured: boolean;
}

export const INTRODUCTION =
  'prom2otlp brings the metrics and logs of a hosted database service into OpenTelemetry.';

/** Such as `prom2otlp show derive [options] [FILE...]`. */
export function usageOf({ name }: Verb, { name: action, options, words }: Action): string {
  const ending = words === undefined ? '' : wordsUsage(words);
  return ['prom2otlp', name, action, Object.keys(options).length === 0 ? '' : '[options]', ending]
    .filter(part => part !== '')
    .join(' ');
}

export function wordsUsage({ value, count }: Words): string {
  return { one: `<${value}>`, 'one or more': `<${value}...>`, any: `[${value}...]` }[count];
}

export function shownOptions<O extends Pick<Option<unknown>, 'isHidden'>>(
  options: Readonly<Record<string, O>>,
): readonly (readonly [name: string, option: O])[] {
  return Object.entries(options).filter(([, { isHidden }]) => isHidden !== true);
}

/** Such as `-c, --config <FILE>`. */
export function optionFlags(
  name: string,
  { short, value }: Pick<Option<unknown>, 'short' | 'value'>,
): string {
  const flags = short === undefined ? `--${name}` : `-${short}, --${name}`;
  return value === '' ? flags : `${flags} <${value}>`;
}

/** What an option is for, its default, and whether it is needed or may be repeated. */
export function optionText(option: Option<unknown>): string {
  const { about, isRequired, isRepeated } = option;
  return [
    oneLine(about),
    option.default === undefined ? '' : `(default: ${option.default})`,
    isRequired === true ? '(required)' : '',
    isRepeated === true ? '(may be repeated)' : '',
  ]
    .filter(part => part !== '')
    .join(' ');
}

/** The purpose of a verb or an action, in paragraphs: its summary as a sentence, then its description. */
export function textsOf({ summary, about = '' }: Pick<Action, 'summary' | 'about'>): string[] {
  const sentence = `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
  return [sentence, ...about.split(/\n\s*\n/)].map(oneLine).filter(text => text !== '');
}

/** Puts a text on one line, wherever the source code breaks it. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

// Below the help of commander.

const FIRST_STEPS: Rows = [
  ['prom2otlp demo', 'everything in one process; needs nothing else'],
  ['prom2otlp check --probe', 'checks the configuration, the service and the back end'],
  ['prom2otlp VERB --help', 'options and examples of a verb'],
];

type Rows = readonly (readonly [head: string, text: string])[];

/** Below the help of the program. */
export function startText(help: Help, style: HelpStyle): string {
  const steps = section(help, 'First steps:', FIRST_STEPS, style);
  return `${steps}\n${help.boxWrap(oneLine(CONFIG_ORDER), style.width)}`;
}

/** Below the help of a verb or an action. */
export function endingText(
  help: Help,
  exits: Verb['exits'],
  examples: readonly string[],
  style: HelpStyle,
): string {
  const lines = examples.flatMap(example => example.split('\n')).map(line => `  ${line}`);
  const codes = section(help, 'Exit codes:', Object.entries(exits), style);
  return lines.length === 0
    ? codes
    : [codes, paint(style, 'bold', 'Examples:'), ...lines].join('\n');
}

function section(help: Help, title: string, rows: Rows, { width }: HelpStyle): string {
  help.prepareContext({ helpWidth: width });
  const termWidth = Math.max(...rows.map(([head]) => head.length));
  const items = rows.map(([head, text]) => help.formatItem(head, termWidth, text, help));
  return `\n${help.formatItemList(title, items, help).join('\n')}`;
}
