// The verbs as commands of commander: it parses the arguments and prints the help. What is ours: the words of mistakes
// (OperatorError, with "did you mean"), exit codes and examples below the help, and options that most verbs have, which
// may also stand before the verb.

import { Argument, Command, CommanderError, Option as CommandOption } from 'commander';
import { OperatorError } from '../errors.ts';
import {
  INTRODUCTION,
  endingText,
  type HelpStyle,
  optionFlags,
  optionText,
  startText,
  textsOf,
  wordsUsage,
} from './help.ts';
import { type Format, format, type Option, type Options } from './options.ts';
import { paint } from './output.ts';
import {
  type Action,
  type Call,
  CONFIG_OPTION,
  type Ending,
  suggestion,
  usageError,
  type Verb,
  type VerbContext,
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

/** The verb that completion scripts call; no user types it. */
export const COMPLETE = '__complete';

/** What may also stand before the verb. Each action declares those that it reads. */
export const COMMON_OPTIONS: {
  readonly config: Option<string | undefined>;
  readonly format: Option<Format>;
} = { config: CONFIG_OPTION, format: format('of the verbs that print data') };

// The tree of commands.

interface Ears {
  readonly write: (text: string) => void;
  readonly choose: (request: Request) => void;
}

function programOf(verbs: readonly Verb[], style: HelpStyle, { write, choose }: Ears): Command {
  const program = new ProgramCommand('prom2otlp')
    .description(INTRODUCTION)
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
    })
    .addHelpText('after', ({ command }) => startText(command.createHelp(), style));
  program.option('-V, --version', 'the version of the program and of Node.js, and the commit');
  for (const [name, option] of Object.entries(COMMON_OPTIONS))
    program.option(optionFlags(name, option), option.about);
  for (const verb of verbs) {
    const isOnly = verb.actions.length === 1;
    const command = groupOf(program, verb.name);
    const endingOf = (examples: readonly string[]) => (): string =>
      endingText(command.createHelp(), verb.exits, examples, style);
    if (!isOnly) {
      const names = verb.actions.map(({ name }) => name).join(', ');
      command.summary(`${verb.summary}: ${names}`).description(textsOf(verb).join('\n\n'));
      command.addHelpText('after', endingOf(verb.examples));
    }
    for (const action of verb.actions) {
      const words = action.name.split(' ').filter(word => word !== '');
      const own = words.reduce(groupOf, command);
      const about = isOnly ? verb : action;
      own.usage('').summary(about.summary).description(textsOf(about).join('\n\n'));
      const examples = verb.examples.filter(one => one.includes(`prom2otlp ${commandName(own)}`));
      own.addHelpText('after', endingOf(isOnly ? verb.examples : examples));
      addAction(own, verb, action, choose);
    }
  }
  return program;
}

/** The command of this name below another. */
function groupOf(parent: Command, name: string): Command {
  return (
    parent.commands.find(one => one.name() === name) ??
    parent.command(name).usage('ACTION [options]').commandsGroup('Actions:')
  );
}

function addAction(command: Command, verb: Verb, action: Action, choose: Ears['choose']): void {
  const { options, words } = action;
  for (const [name, option] of Object.entries(options)) addOption(command, name, option);
  if (words !== undefined) {
    const own = new Argument(wordsUsage(words), words.about);
    command.addArgument(Array.isArray(words.offers) ? own.choices(words.offers) : own);
  }
  command.action(() => {
    const name = commandName(command);
    const before = command.parent?.optsWithGlobals() ?? {};
    for (const key of Object.keys(COMMON_OPTIONS))
      if (before[key] !== undefined && options[key] === undefined)
        throw usageError(name, `unknown option "--${key}"`);
    if (command.args.includes('')) throw usageError(name, `expected ${words?.value}, got ""`);
    const values = Object.entries(options).map(([key, option]) => {
      const text: unknown = before[key];
      const given = typeof text === 'string' ? readText(name, key, option, text) : undefined;
      return [key, given ?? valueOf(command, key) ?? option.absent];
    });
    const call = { command: name, values: Object.fromEntries(values), words: command.args };
    choose({ kind: 'run', verb, start: starterOf(action, call) });
  });
}

/** Starts the action, with the id of the service that the user has named. */
function starterOf(action: Action, call: Call<Options>): (context: VerbContext) => Ending {
  const { 'service-id': service, 'base-url': baseUrl, config } = call.values;
  const isNamed = action.options['service-id']?.offers === 'services' && baseUrl === undefined;
  if (typeof service !== 'string' || !isNamed) return context => action.start(call, context);
  const configCall = { command: call.command, values: { config: config as string | undefined } };
  return async context => {
    const { serviceIdOf } = await import('./service-name.ts');
    const id = serviceIdOf(service, configCall, context.environment);
    return action.start({ ...call, values: { ...call.values, 'service-id': id } }, context);
  };
}

function addOption(command: Command, name: string, option: Option<unknown>): void {
  const own = new CommandOption(optionFlags(name, option), optionText(option));
  const { alias, isRepeated, isRequired = false, isHidden = false } = option;
  if (isRepeated === true)
    own.argParser((text, before: readonly unknown[] | undefined) => [
      ...(before ?? []),
      option.read(text),
    ]);
  else if (option.value !== '') own.argParser(option.read);
  command.addOption(own.makeOptionMandatory(isRequired).hideHelp(isHidden));
  if (alias === undefined) return;
  const implied = { [own.attributeName()]: option.read(alias.text) };
  command.addOption(new CommandOption(`--${alias.name}`).implies(implied).hideHelp());
}

function valueOf(command: Command, name: string): unknown {
  return command.getOptionValue(new CommandOption(`--${name}`).attributeName());
}

/** Reads an option that the program took, wherever it stood: only the action knows how. */
function readText(command: string, name: string, option: Option<unknown>, text: string): unknown {
  try {
    return option.read(text);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const flags = optionFlags(name, option);
    const [expected, meant] = splitQuestion(error.message);
    throw usageError(
      command,
      `option '${flags}' argument '${text}' is invalid: ${expected}`,
      meant,
    );
  }
}

// Mistakes, in the form of all others.

class ProgramCommand extends Command {
  override createCommand(name: string): Command {
    return new ProgramCommand(name);
  }

  /** A verb or a group of actions by itself. The program by itself shows its help. */
  override help(): never {
    if (this.parent !== null) throw this.#withoutAction();
    this.outputHelp();
    throw new CommanderError(0, 'commander.help', '');
  }

  override error(message: string, { code = '' }: { code?: string } = {}): never {
    const cause = message.replace(/^error: /, '').replace(/\.$/, '');
    const word = /'(.*)'$/s.exec(cause)?.[1] ?? '';
    if (code === 'commander.unknownOption') throw this.#unknownOption(word);
    if (code === 'commander.unknownCommand') throw this.#unknownCommand();
    const about = this.registeredArguments[0]?.description ?? '';
    if (code === 'commander.missingArgument') throw this.#mistake(`${cause}: ${about}`);
    if (code === 'commander.excessArguments') throw this.#excess(cause);
    throw this.#mistake(...splitQuestion(oneSentence(cause)));
  }

  /** Without the words themselves: one of them may be a key. */
  #excess(cause: string): OperatorError {
    const takesFile = this.options.some(one => one.long === '--config');
    const isFile =
      takesFile && valueOf(this, 'config') === undefined && /\.ya?ml$/.test(this.args[0] ?? '');
    const text = oneSentence(cause).replace(/( but got \d+): .*$/s, '$1');
    return this.#mistake(text, isFile ? '--config FILE' : undefined);
  }

  #mistake(cause: string, meant?: string, others = ''): OperatorError {
    const name = commandName(this);
    if (name !== '') return usageError(name, cause, meant);
    const hint = meant === undefined ? others : `did you mean ${meant}? Or `;
    return new OperatorError([{ message: cause, hint: `${hint}see prom2otlp --help` }]);
  }

  #withoutAction(): OperatorError {
    return this.#mistake(`expected one of ${leavesOf(this).map(pathOf).join(', ')}`);
  }

  #unknownOption(given: string): OperatorError {
    if (this.parent !== null && this.commands.length > 0) return this.#withoutAction();
    // Only the name: what a user types after `=`, or after the letter, may be a secret.
    const word = given.replace(/=.*$/s, '').replace(/^(-[^-]).*$/s, '$1');
    const shown = this.options.filter(one => !one.hidden).map(one => one.name());
    const meant = suggestion(word.replace(/^-+/, ''), [...shown, 'help']);
    const cause = `unknown option ${JSON.stringify(word)}${this.parent === null ? ' before the verb' : ''}`;
    return this.#mistake(cause, meant === undefined ? undefined : `--${meant}`);
  }

  #unknownCommand(): OperatorError {
    const [verb = '', ...group] = commandName(this).split(' ');
    const typed = this.args.slice(0, 1);
    if (verb === '') {
      const names = this.commands.map(one => one.name());
      const cause = `there is no verb ${JSON.stringify(typed[0])}`;
      return this.#mistake(
        cause,
        suggestion(typed[0] ?? '', names),
        `the verbs are ${names.join(', ')}; `,
      );
    }
    const names = leavesOf(this).map(pathOf);
    const words = [...group, ...typed].join(' ');
    const meant = suggestion(words, names);
    const cause = `there is no action ${JSON.stringify(words)}, only ${names.join(', ')}`;
    return this.#mistake(cause, meant === undefined ? undefined : `${verb} ${meant}`);
  }
}

/** A mistake, and the word that is probably meant (options.ts). */
function splitQuestion(cause: string): readonly [cause: string, meant?: string] {
  const [, mistake, meant] = /^(.*); did you mean (\S+)\?$/s.exec(cause) ?? [];
  return mistake === undefined ? [cause] : [mistake, meant ?? ''];
}

/** Two sentences of commander are one of ours. */
function oneSentence(cause: string): string {
  const lower = (_: string, word: string): string => `: ${word.toLowerCase()} `;
  return cause.replace(/\. (Expected|expected|Allowed) /, lower);
}

// Names of commands.

/** The words after `prom2otlp`, such as `backups schedules list`. */
function commandName(command: Command): string {
  return command.parent === null ? '' : `${commandName(command.parent)} ${command.name()}`.trim();
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
