// The verbs as commands of commander: it parses the arguments and prints the help. What is ours: the words of mistakes
// (OperatorError, with "did you mean"), exit codes and examples below the help, and options that most verbs have, which
// may also stand before the verb.

import { Argument, Command, CommanderError, Help, Option as CommandOption } from 'commander';
import { OperatorError } from '../errors.ts';
import {
  argumentsOf,
  endingText,
  type HelpStyle,
  optionFlags,
  optionText,
  startText,
  textsOf,
  wordsUsage,
} from './help.ts';
import { type Format, format, type Option } from './options.ts';
import { paint } from './output.ts';
import {
  type Action,
  CONFIG_OPTION,
  type Ending,
  suggestion,
  usageError,
  type Verb,
  type VerbContext,
  type Words,
} from './verb.ts';

export type Request =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'run';
      readonly verb: Verb;
      readonly start: (context: VerbContext) => Ending;
    };

/**
 * Reads the arguments of the program: an action to run, or a help text. `others`: names of verbs that are not loaded.
 * Throws an OperatorError for a mistake.
 */
export function readCommand(
  verbs: readonly Verb[],
  argv: readonly string[],
  style: HelpStyle,
  others: readonly string[] = [],
): Request {
  let request: Request | null = null;
  let text = '';
  const program = programOf(verbs, style, {
    write: piece => (text += piece),
    choose: chosen => (request = chosen),
  });
  for (const name of others) program.command(name, { hidden: true });
  try {
    program.parse(argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
  }
  return request ?? { kind: 'text', text: text.trimEnd() };
}

/** Runs a verb with the arguments after its name. */
export async function runVerb(
  verb: Verb,
  args: readonly string[],
  context: VerbContext,
): Promise<number> {
  const request = readCommand([verb], [verb.name, ...args], { width: 80, isColoured: false });
  if (request.kind === 'run') return request.start(context);
  context.out.line(request.text);
  return 0;
}

// The tree of commands.

interface Ears {
  readonly write: (text: string) => void;
  readonly choose: (request: Request) => void;
}

function programOf(verbs: readonly Verb[], style: HelpStyle, { write, choose }: Ears): Command {
  const program = new ProgramCommand('prom2otlp');
  program
    .description(
      'prom2otlp brings the metrics and logs of a hosted database service into OpenTelemetry.',
    )
    .usage('VERB [options]')
    .commandsGroup('Verbs:')
    .helpCommand(false)
    .helpOption('-h, --help', 'shows the help')
    .exitOverride()
    .showSuggestionAfterError(false)
    .configureOutput({
      writeOut: write,
      getOutHelpWidth: () => style.width,
      getOutHasColors: () => style.isColoured,
    })
    .configureHelp({
      minWidthToWrap: 20,
      styleTitle: title => paint(style, 'bold', title),
      subcommandTerm: pathOf,
      visibleCommands: leavesOf,
      commandUsage: command => wrappedUsage(command, style),
    })
    .addOption(
      new CommandOption(
        '-V, --version',
        'the version of the program and of Node.js, and the commit',
      ),
    )
    .addHelpText('after', ({ command }) => startText(command.createHelp(), style));
  takeCommonOptions(program);
  for (const verb of verbs) {
    const command = program.command(verb.name).commandsGroup('Actions:');
    const isOnly = verb.actions.length === 1;
    const names = verb.actions.map(({ name }) => name).join(', ');
    describe(command, verb, verb.examples, verb, style);
    if (!isOnly) command.summary(`${verb.summary}: ${names}`).usage('ACTION [options]');
    for (const action of verb.actions) {
      const own = actionCommand(command, action.name);
      addAction(own, verb, action, choose);
      if (isOnly) continue;
      const examples = verb.examples.filter(one => one.includes(`prom2otlp ${commandName(own)}`));
      describe(own, action, examples, verb, style);
    }
    if (isOnly) continue;
    takeCommonOptions(command);
  }
  return program;
}

/** The command of an action such as `schedules list` below its verb; the verb itself for its only action. */
function actionCommand(verb: Command, name: string): Command {
  return name
    .split(' ')
    .filter(word => word !== '')
    .reduce((parent, word) => {
      const known = parent.commands.find(one => one.name() === word);
      if (known !== undefined) return known;
      takeCommonOptions(parent);
      return parent.command(word).usage('ACTION [options]').commandsGroup('Actions:');
    }, verb);
}

function addAction(command: Command, verb: Verb, action: Action, choose: Ears['choose']): void {
  command.usage(argumentsOf(action));
  for (const [name, option] of Object.entries(action.options)) {
    const own = new CommandOption(optionFlags(name, option), optionText(option));
    if (option.value !== '')
      own.argParser((text: string, before: unknown) =>
        option.isRepeated === true
          ? [...((before as unknown[] | undefined) ?? []), option.read(text)]
          : option.read(text),
      );
    own.makeOptionMandatory(option.isRequired === true).hideHelp(option.isHidden === true);
    command.addOption(own);
    const { alias } = option;
    if (alias === undefined) continue;
    const implied = { [own.attributeName()]: option.read(alias.text) };
    command.addOption(new CommandOption(`--${alias.name}`).implies(implied).hideHelp());
  }
  const { words } = action;
  if (words !== undefined) command.addArgument(new Argument(wordsUsage(words), words.about));
  command.action(() => {
    const name = commandName(command);
    const values = Object.entries(action.options).map(([key, option]) => [
      key,
      valueOf(command, key) ?? inherited(command, key, option) ?? option.absent,
    ]);
    refuseStrangers(command, action);
    if (words !== undefined) checkWords(name, words, command.args);
    const call = { command: name, values: Object.fromEntries(values), words: command.args };
    choose({ kind: 'run', verb, start: context => action.start(call, context) });
  });
}

function checkWords(command: string, { value, offers }: Words, words: readonly string[]): void {
  const wrong = words.find(
    word => word === '' || (Array.isArray(offers) && !offers.includes(word)),
  );
  if (wrong !== undefined)
    throw usageError(command, `expected ${value}, got ${JSON.stringify(wrong)}`);
}

/** The verb that completion scripts call; no user types it. */
export const COMPLETE = '__complete';

// Options before the verb.

/** The options that may stand before the verb, where the action is not yet known that reads them. */
export const COMMON_OPTIONS: {
  readonly config: Option<string | undefined>;
  readonly format: Option<Format>;
} = {
  config: CONFIG_OPTION,
  format: format('of the verbs that print data'),
};

function takeCommonOptions(command: Command): void {
  command.enablePositionalOptions();
  if (command.options.some(({ long }) => long === '--config')) return;
  for (const [name, option] of Object.entries(COMMON_OPTIONS)) {
    const own = new CommandOption(optionFlags(name, option), option.about);
    command.addOption(own.hideHelp(command.parent !== null));
  }
}

function valueOf(command: Command, name: string): unknown {
  return command.getOptionValue(new CommandOption(`--${name}`).attributeName());
}

/** What was given before the action, from the nearest word. */
function inherited(command: Command, name: string, option: Option<unknown>): unknown {
  for (let { parent } = command; parent !== null; { parent } = parent) {
    const text = valueOf(parent, name);
    if (typeof text !== 'string') continue;
    try {
      return option.read(text);
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      throw usageError(commandName(command), `option '--${name}' argument '${text}': ${cause}`);
    }
  }
  return undefined;
}

/** Throws if an option before the verb is none of this action. */
function refuseStrangers(command: Command, { options }: Action): void {
  for (let { parent } = command; parent !== null; { parent } = parent)
    for (const name of Object.keys(COMMON_OPTIONS))
      if (valueOf(parent, name) !== undefined && options[name] === undefined)
        throw usageError(commandName(command), `unknown option "--${name}"`);
}

// Mistakes.

class ProgramCommand extends Command {
  override createCommand(name: string): Command {
    return new ProgramCommand(name);
  }

  /** A verb or a group of actions by itself. The program by itself shows its help. */
  override help(): never {
    if (this.parent === null) {
      this.outputHelp();
      throw new CommanderError(0, 'commander.help', '');
    }
    throw this.#withoutAction();
  }

  #withoutAction(): OperatorError {
    const names = leavesOf(this).map(pathOf).join(', ');
    return usageError(commandName(this), `expected one of ${names}`);
  }

  override error(message: string, { code = '' }: { code?: string } = {}): never {
    const name = commandName(this);
    const cause = message.replace(/^error: /, '').replace(/\.$/, '');
    switch (code) {
      case 'commander.unknownOption':
        throw this.#unknownOption(name, /'(.*)'$/s.exec(cause)?.[1] ?? '');
      case 'commander.unknownCommand':
        throw this.#unknownCommand(name);
      case 'commander.missingArgument':
        throw usageError(name, `${cause}: ${this.registeredArguments[0]?.description ?? ''}`);
      default:
        // Two sentences of commander are one of ours.
        throw usageError(name, cause.replace(/(invalid|arguments for .*?)\. (?:E|e)x/, '$1: ex'));
    }
  }

  #unknownOption(name: string, given: string): OperatorError {
    if (this.parent !== null && this.commands.length > 0) return this.#withoutAction();
    // Only the name: what a user types after `=` may be a secret.
    const spelled = given.replace(/=.*$/s, '');
    const options = [...this.options.filter(one => !one.hidden).map(one => one.name()), 'help'];
    const meant = suggestion(spelled.replace(/^-+/, ''), options);
    const found = meant === undefined ? undefined : `--${meant}`;
    const cause = `unknown option ${JSON.stringify(spelled)}`;
    return this.parent === null
      ? programError(`${cause} before the verb`, found)
      : usageError(name, cause, found);
  }

  #unknownCommand(name: string): OperatorError {
    const end = this.args.findIndex(word => word.startsWith('-'));
    const [first = '', ...more] = this.args.slice(0, end < 0 ? 2 : Math.min(end, 2));
    const names = leavesOf(this).map(pathOf);
    if (this.parent === null) {
      const verbs = this.commands.map(one => one.name());
      const meant = suggestion(first, verbs);
      const cause = `there is no verb ${JSON.stringify(first)}`;
      return programError(cause, meant, `the verbs are ${verbs.join(', ')}`);
    }
    const words = [...name.split(' ').slice(1), first, ...more].join(' ');
    const meant = suggestion(words, names) ?? suggestion(first, names);
    const cause = `there is no action ${JSON.stringify(words)}, only ${names.join(', ')}`;
    const verb = name.split(' ')[0] ?? '';
    return usageError(name, cause, meant === undefined ? undefined : `${verb} ${meant}`);
  }
}

function programError(message: string, meant: string | undefined, else_ = ''): OperatorError {
  const see = 'see prom2otlp --help';
  const others = else_ === '' ? see : `${else_}; ${see}`;
  return new OperatorError([
    { message, hint: meant === undefined ? others : `did you mean ${meant}? Or ${see}` },
  ]);
}

// The help: what commander does not know.

/** The words after `prom2otlp`, such as `backups schedules list`. */
function commandName(command: Command): string {
  const names: string[] = [];
  for (let one = command; one.parent !== null; one = one.parent) names.unshift(one.name());
  return names.join(' ');
}

/** The words after the verb; the name of a verb. */
function pathOf(command: Command): string {
  const name = commandName(command);
  return command.parent?.parent === null ? name : name.replace(/^\S+ /, '');
}

/** The verbs of the program; the actions of a verb, without the words on the way to them. */
function leavesOf(command: Command): Command[] {
  return command.parent === null
    ? command.commands.filter(one => one.summary() !== '')
    : command.commands.flatMap(one => (one.commands.length === 0 ? [one] : leavesOf(one)));
}

function wrappedUsage(command: Command, { width }: HelpStyle): string {
  const help = new Help();
  const usage = help.boxWrap(help.commandUsage(command), width - 'Usage:    '.length);
  return usage.replaceAll('\n', '\n         ');
}

function describe(
  command: Command,
  about: Pick<Action, 'summary' | 'about'>,
  examples: readonly string[],
  { exits }: Verb,
  style: HelpStyle,
): void {
  command
    .summary(about.summary)
    .description(textsOf(about).join('\n\n'))
    .addHelpText('after', () => endingText(command.createHelp(), exits, examples, style));
}
