// What a verb of the command line declares: its actions, their words and options, examples and exit codes. Everything
// else follows from the declaration: parsing and help (command.ts, by commander), shell completion (completion.ts), the
// man page and docs/use/cli.md (tools/cli-docs.ts). Data goes to `out`, messages to `err`; an action returns the exit
// code and throws OperatorError for an operator's mistake (exit 2, or the verb's `notNow`; main prints it).

import { existsSync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { causeText, OperatorError, systemRemedy } from '../errors.ts';
import type { Bell } from '../lib/bell.ts';
import type { Clock } from '../lib/clock.ts';
import { nearest } from '../lib/nearest.ts';
import { file, type Option, type Options, type Values } from './options.ts';

/** The file of `--output` that means stdout. */
export const STDOUT = '-';

export interface VerbContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly out: TextSink;
  readonly err: TextSink;
  /** For verbs that ask the user or show their progress. */
  readonly terminal: Terminal;
  /** Aborted by the first SIGTERM or SIGINT, or SIGHUP unless reloadable: start nothing new, finish the running work. */
  readonly stop: AbortSignal;
  /** Aborted by the second: stop now. */
  readonly stopNow: AbortSignal;
  /** Rings at each SIGHUP: read the configuration again. */
  readonly hangUp: Bell;
}

/** Where the user types, and where prompts and progress appear: apart from the data, so that a pipe gets only data. */
export interface Terminal {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly screen: Writable & { readonly isTTY?: boolean; readonly columns?: number };
}

/** Where lines go. A reader that has gone away is no error. */
export interface TextSink {
  line(text: string): void;
  /** For data that is not text; false when the reader is gone. */
  bytes(data: Uint8Array): Promise<boolean>;
  /** Resolves when the lines so far have left memory; false when the reader is gone. */
  taken(): Promise<boolean>;
  readonly isColoured: boolean;
  /** The width of the terminal; Infinity if there is none. */
  readonly columns: number;
}

export interface Verb {
  readonly name: string;
  readonly summary: string;
  /** Paragraphs, separated by blank lines. */
  readonly about?: string;
  /** One action with the name '' where the verb does only one thing. */
  readonly actions: readonly [Action, ...Action[]];
  readonly exits: Readonly<Record<number, string>>;
  readonly examples: readonly string[];
  /** True: the verb ends on `stop`. Otherwise signals end the process at once, as usual. */
  readonly isStoppable?: boolean;
  /** The exit code when the same command may work later (another process holds the queue, say); 2 when absent. */
  readonly notNow?: number;
  /** True: the verb listens to `hangUp`. Otherwise SIGHUP ends the process, as usual. */
  readonly isReloadable?: boolean;
}

export interface Action {
  /** The words after the verb, such as `schedules list`. */
  readonly name: string;
  readonly summary: string;
  readonly about?: string;
  /** The arguments that are not options; none are legal when absent. */
  readonly words?: Words;
  readonly options: Options;
  readonly start: (call: Call<Options>, context: VerbContext) => Ending;
}

export type Ending = Promise<number> | number;

export interface Words extends Pick<Option<unknown>, 'value' | 'about' | 'offers'> {
  readonly count: 'one' | 'one or more' | 'any';
}

/** What a user has typed for one action. */
export interface Call<O extends Options> {
  /** Such as `logs tail`. */
  readonly command: string;
  readonly values: Values<O>;
  readonly words: readonly string[];
}

/** Declares one action. It has a name and a summary, unless it is the only action of its verb. */
export function action<O extends Options>(
  declared: Partial<Pick<Action, 'name' | 'summary'>> &
    Pick<Action, 'about' | 'words'> & {
      readonly options: O;
      readonly run: (call: Call<O>, context: VerbContext) => Ending;
    },
): Action {
  const { run, name = '', summary = '', ...rest } = declared;
  // The values were read as these options say (command.ts).
  return { ...rest, name, summary, start: (call, context) => run(call as Call<O>, context) };
}

/** The candidate that was probably meant: the nearest, or the only one that begins like this. */
export function suggestion(word: string, candidates: readonly string[]): string | undefined {
  const longer = candidates.filter(candidate => word !== '' && candidate.startsWith(word));
  return nearest(word, candidates) ?? (longer.length === 1 ? longer[0] : undefined);
}

/** A mistake on the command line. `command` is the verb with its action. */
export function usageError(command: string, cause: string, meant?: string): OperatorError {
  const message = `cannot run ${command}: ${cause}`;
  const see = `see prom2otlp ${command} --help`;
  const hint = meant === undefined ? see : `did you mean ${meant}? Or ${see}`;
  return new OperatorError([{ message, hint }]);
}

const WRITE_HINT = 'name a file that does not exist yet, in a directory where this user may write';

/** The mistake that a file cannot be written. */
export function cannotWrite(
  path: string,
  error: unknown,
  hint: string = WRITE_HINT,
): OperatorError {
  const { code } = error as Partial<NodeJS.ErrnoException>;
  const cause = code === 'EEXIST' ? 'it exists' : causeText(error);
  const message = `cannot write ${JSON.stringify(path)}: ${cause}`;
  const known = systemRemedy(error);
  const remedy = known === null ? hint : `${known}, or ${hint}`;
  return new OperatorError([{ message, hint: remedy }], { cause: error });
}

/** Returns a function that throws this mistake, for `catch` of a promise. */
export function refuseFile(path: string, hint?: string): (error: unknown) => never {
  return error => {
    throw cannotWrite(path, error, hint);
  };
}

/** Passes a new file to `write`; only this user can read it. Never replaces a file, and leaves none if `write` fails. */
export async function writeNewFile<T>(
  path: string,
  write: (file: FileHandle) => Promise<T>,
  hint?: string,
): Promise<T> {
  const file = await open(path, 'wx', 0o600).catch(refuseFile(path, hint));
  try {
    try {
      return await write(file);
    } finally {
      await file.close().catch(refuseFile(path, hint));
    }
  } catch (error) {
    await unlink(path).catch(() => undefined);
    throw error;
  }
}

// The configuration, which most verbs read.

const CONFIG_VARIABLE = 'PROM2OTLP_CONFIG';
const CONFIG_FILE = '/etc/prom2otlp/prom2otlp.yaml';

/** Which configuration a verb reads. */
export const CONFIG_ORDER: string = `The configuration is the file that --config names, else the file that the variable
  ${CONFIG_VARIABLE} names, else ${CONFIG_FILE}.`;

export const CONFIG_OPTION: Option<string | undefined> = file('the configuration', 'c');

export interface ConfigCall {
  readonly command: string;
  readonly values: { readonly config: string | undefined };
}

/** The configuration that a verb reads (CONFIG_ORDER). Throws when there is none. */
export function configOf(
  { command, values: { config } }: ConfigCall,
  environment: VerbContext['environment'],
  expected = '--config FILE',
): string {
  const named = config ?? environment[CONFIG_VARIABLE] ?? '';
  if (named !== '') return named;
  if (existsSync(CONFIG_FILE)) return CONFIG_FILE;
  const cause = `${CONFIG_VARIABLE} is not set, and there is no ${CONFIG_FILE}`;
  throw usageError(command, `expected ${expected}: ${cause}`);
}
