// What a verb of the command line is made of. Data goes to `out`, messages to `err`; a verb returns its exit code
// and throws OperatorError for mistakes of the operator (exit 2, or the verb's `notNow`; printed by main).

import type { Readable, Writable } from 'node:stream';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { OperatorError } from '../errors.ts';
import type { Bell } from '../lib/bell.ts';
import type { Clock } from '../lib/clock.ts';

export interface VerbContext {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly out: TextSink;
  readonly err: TextSink;
  /** For verbs that ask back or show how far they are. */
  readonly terminal: Terminal;
  /** Aborted by the first SIGTERM or SIGINT: stop taking in, finish what is begun. */
  readonly stop: AbortSignal;
  /** Aborted by the second: stop now. */
  readonly stopNow: AbortSignal;
  /** Rings at each SIGHUP: read the configuration again. */
  readonly hangUp: Bell;
}

/** What is typed, and where prompts and progress are shown: beside the data, so that a pipe gets that alone. */
export interface Terminal {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly screen: Writable & { readonly isTTY?: boolean; readonly columns?: number };
}

/** Where lines go; a reader that has gone away is no error. */
export interface TextSink {
  line(text: string): void;
  /** Resolves when what was given so far is no longer in memory; false when nobody takes lines any more. */
  taken(): Promise<boolean>;
  readonly isTerminal: boolean;
  readonly columns: number;
}

export interface Verb {
  /** One line for the list of verbs. */
  readonly summary: string;
  /** What `--help` prints: usage, options, examples, exit codes. */
  readonly help: string;
  /** True: the verb ends on `stop`. Otherwise signals end the process at once, as they do anywhere. */
  readonly isStoppable?: boolean;
  /** The exit code where the same command may work later (another process has the queue, say); 2 when absent. */
  readonly notNow?: number;
  /** True: the verb listens to `hangUp`. Otherwise SIGHUP ends the process, as it does anywhere. */
  readonly isReloadable?: boolean;
  run(context: VerbContext): Promise<number>;
}

type Options = NonNullable<ParseArgsConfig['options']>;

/** The values of `options` and the words beside them; a mistake names the verb's help. */
export function readArgs<const T extends Options>(
  verb: string,
  args: readonly string[],
  options: T,
): { values: ReturnType<typeof parseArgs<{ options: T }>>['values']; words: string[] } {
  try {
    const parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
    return { values: parsed.values, words: parsed.positionals };
  } catch (error) {
    const cause = error instanceof Error ? (error.message.split(/\.\s/)[0] ?? '') : String(error);
    throw usageError(verb, cause.charAt(0).toLowerCase() + cause.slice(1));
  }
}

/** The values of `options` where nothing else is expected: a word beside them is a mistake. */
export function readOptions<const T extends Options>(
  verb: string,
  args: readonly string[],
  options: T,
): ReturnType<typeof readArgs<T>>['values'] {
  const { values, words } = readArgs(verb, args, options);
  refuseWords(verb, words);
  return values;
}

/** The file of `--config`, which the verb needs. */
export function configOf(
  verb: string,
  { config }: { readonly config?: string | undefined },
): string {
  if (config === undefined || config === '') throw usageError(verb, 'expected --config FILE');
  return config;
}

/** One of the actions that a verb consists of, with the arguments after its word. */
export type Action = (context: VerbContext) => Promise<number>;

/** Runs the action that the first word names. */
export function runAction(
  verb: string,
  actions: Readonly<Record<string, Action>>,
  context: VerbContext,
): Promise<number> {
  const [word = '', ...args] = context.args;
  const action = Object.hasOwn(actions, word) ? actions[word] : undefined;
  if (action === undefined)
    throw usageError(verb, `expected one of ${Object.keys(actions).join(', ')}`);
  return action({ ...context, args });
}

/** Throws when there is a word that nothing takes. */
export function refuseWords(verb: string, words: readonly string[]): void {
  if (words.length > 0) throw usageError(verb, `unexpected ${JSON.stringify(words[0])}`);
}

/** A mistake on the command line. */
export function usageError(verb: string, cause: string): OperatorError {
  const message = `cannot run ${verb}: ${cause.replace(/\.$/, '')}`;
  return new OperatorError([
    { code: 'E_CLI_USAGE', message, hint: `see prom2otlp ${verb} --help` },
  ]);
}
