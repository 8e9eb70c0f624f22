// The help of the program, of a verb and of an action, from their declarations: usage, actions, options, exit codes and
// examples, as lines for a terminal. The man page and docs/use/cli.md take usage and option texts from here, too.

import { paint } from './output.ts';
import { type Action, CONFIG_ORDER, type Option, type Verb, type Words } from './verb.ts';

/** The layout of a help text. */
export interface HelpStyle {
  readonly width: number;
  readonly isColoured: boolean;
}

const INTRODUCTION =
  'prom2otlp brings the metrics and logs of a hosted database service into OpenTelemetry.';
const FIRST_STEPS = [
  ['prom2otlp demo', 'everything in one process; needs nothing else'],
  ['prom2otlp check --probe', 'checks the configuration, the service and the back end'],
  ['prom2otlp VERB --help', 'options and examples of a verb'],
] as const;
/** A text is beside its head if the head has at most this width; else the head gets a separate line. */
const HEAD_WIDTH_MAX = 28;

export function programHelp(verbs: readonly Verb[], style: HelpStyle): string {
  return [
    ...wrap(INTRODUCTION, '', style.width),
    '',
    `${paint(style, 'bold', 'Usage:')} prom2otlp VERB [options]`,
    ...section(
      'Verbs:',
      verbs.map(verb => [verb.name, verb.summary + actionNames(verb)]),
      style,
    ),
    ...section('First steps:', FIRST_STEPS, style),
    '',
    ...wrap(CONFIG_ORDER, '', style.width),
  ].join('\n');
}

function actionNames({ actions }: Verb): string {
  return actions.length === 1 ? '' : `: ${actions.map(({ name }) => name).join(', ')}`;
}

/** The help of a verb; if it has only one action, the help of that action. */
export function verbHelp(verb: Verb, style: HelpStyle): string {
  const [only, ...others] = verb.actions;
  if (others.length === 0) return actionHelp(verb, only, style);
  return [
    `${paint(style, 'bold', 'Usage:')} prom2otlp ${verb.name} ACTION [options]`,
    '',
    ...paragraphs(verb, style),
    ...section(
      'Actions:',
      verb.actions.map(one => [one.name, one.summary]),
      style,
    ),
    '',
    `prom2otlp ${verb.name} ACTION --help shows the options of an action.`,
    ...ending(verb, verb.examples, style),
  ].join('\n');
}

export function actionHelp(verb: Verb, action: Action, style: HelpStyle): string {
  const command = commandOf(verb, action);
  const own = verb.examples.filter(example => example.includes(command));
  const isOnly = verb.actions.length === 1;
  const { words } = action;
  return [
    ...usage(verb, action, style),
    '',
    ...paragraphs(isOnly ? verb : action, style),
    ...section('Arguments:', words === undefined ? [] : [[words.value, words.about]], style),
    ...section(
      'Options:',
      Object.entries(action.options).map(([name, option]) => [
        optionHead(name, option),
        optionText(option),
      ]),
      style,
    ),
    ...ending(verb, isOnly ? verb.examples : own, style),
  ].join('\n');
}

function commandOf({ name }: Verb, action: Action): string {
  return `prom2otlp ${name} ${action.name}`.trimEnd();
}

/** The command with the arguments that it needs: `prom2otlp show derive [options] FILE…`. */
export function usageOf(verb: Verb, action: Action): string {
  const options = Object.entries(action.options);
  const needed = options.filter(([, { isRequired }]) => isRequired === true);
  const rest = needed.length < options.length ? ['[options]'] : [];
  const required = needed.map(([name, { value }]) => `--${name} ${value}`);
  const parts = [commandOf(verb, action), ...required, ...rest, wordsUsage(action.words)];
  return parts.filter(part => part !== '').join(' ');
}

function wordsUsage(words: Words | undefined): string {
  if (words === undefined) return '';
  const { value, count } = words;
  return { one: value, 'one or more': `${value}...`, any: `[${value}...]` }[count];
}

export function optionHead(name: string, { short, value }: Option<unknown>): string {
  const head = short === undefined ? `--${name}` : `-${short}, --${name}`;
  return `${head} ${value}`.trimEnd();
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

function usage(verb: Verb, action: Action, style: HelpStyle): string[] {
  const [first = '', ...more] = wrap(usageOf(verb, action), '', style.width - 'Usage: '.length);
  return [`${paint(style, 'bold', 'Usage:')} ${first}`, ...more.map(line => `         ${line}`)];
}

function ending({ exits }: Verb, examples: readonly string[], style: HelpStyle): string[] {
  const lines = examples.flatMap(example => example.split('\n')).map(line => `  ${line}`);
  return [
    ...section('Exit codes:', Object.entries(exits), style),
    ...(lines.length === 0 ? [] : ['', paint(style, 'bold', 'Examples:'), ...lines]),
  ];
}

function paragraphs(about: Pick<Action, 'summary' | 'about'>, { width }: HelpStyle): string[] {
  return textsOf(about).flatMap((text, i) => [...(i === 0 ? [] : ['']), ...wrap(text, '', width)]);
}

/** Heads on the left, their texts beside them. */
function section(
  name: string,
  rows: readonly (readonly [head: string, text: string])[],
  style: HelpStyle,
): string[] {
  if (rows.length === 0) return [];
  const widths = rows.map(([head]) => head.length).filter(width => width <= HEAD_WIDTH_MAX);
  const column = Math.max(...widths, 4) + 5;
  const lines = rows.flatMap(([head, text]) => {
    const [first = '', ...more] = wrap(text, ' '.repeat(column), style.width);
    const isBeside = head.length <= HEAD_WIDTH_MAX;
    const own = `  ${head}`;
    return isBeside
      ? [own.padEnd(column) + first.trimStart(), ...more]
      : [own, ...(first === '' ? [] : [first]), ...more];
  });
  return ['', paint(style, 'bold', name), ...lines.map(line => line.trimEnd())];
}

/** Breaks a text into lines of at most `width`. A longer word gets its own line. */
export function wrap(text: string, indent: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).filter(word => word !== '')) {
    if (line !== '' && indent.length + line.length + 1 + word.length > width) {
      lines.push(indent + line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, indent + line];
}
