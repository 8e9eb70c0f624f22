// What a verb of the command line declares: its actions, their words and options, examples and exit codes. Everything
// else follows from the declaration: reading the arguments (here), help (help.ts), shell completion (completion.ts),
// the man page and docs/use/cli.md (tools/cli-docs.ts). Data goes to `out`, messages to `err`; an action returns the
// exit code and throws OperatorError for an operator's mistake (exit 2, or the verb's `notNow`; main prints it).

import { existsSync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { formatDuration, parseDuration, parseTime } from '../config/units.ts';
import { causeText, OperatorError } from '../errors.ts';
import type { Bell } from '../lib/bell.ts';
import { type Clock, DAY_MS } from '../lib/clock.ts';
import { nearest } from '../lib/nearest.ts';

/** The file of `--output` that stands for stdout. */
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
  readonly start: (command: string, args: readonly string[], context: VerbContext) => Ending;
}

type Ending = Promise<number> | number;

export interface Words extends Pick<Option<unknown>, 'value' | 'about' | 'choices' | 'isFile'> {
  readonly count: 'one' | 'one or more' | 'any';
}

/** What a user has typed for one action. */
export interface Call<O extends Options> {
  /** Such as `logs tail`. */
  readonly command: string;
  readonly values: Values<O>;
  readonly words: readonly string[];
}

export type Options = Readonly<Record<string, Option<unknown>>>;
export type Values<O extends Options> = {
  readonly [Name in keyof O]: O[Name] extends Option<infer T> ? T : never;
};

/**
 * Declares one action. It has a name and a summary, unless it is the only action of its verb. `run` gets the arguments
 * as declared; a mistake in them is thrown before that.
 */
export function action<O extends Options>(
  declared: Partial<Pick<Action, 'name' | 'summary'>> &
    Pick<Action, 'about' | 'words'> & {
      readonly options: O;
      readonly run: (call: Call<O>, context: VerbContext) => Ending;
    },
): Action {
  const { run, name = '', summary = '', ...rest } = declared;
  return {
    ...rest,
    name,
    summary,
    start: (command, args, context) => run(readCall(command, declared, args), context),
  };
}

// Options.

/** One option. The functions below make them. */
export interface Option<out T> {
  /** The word for its value in the help, such as FILE; '' for a switch. */
  readonly value: string;
  readonly about: string;
  readonly short?: string;
  readonly default?: string;
  readonly choices?: readonly string[];
  readonly isFile?: true;
  readonly isRequired?: true;
  readonly isRepeated?: true;
  /** Reads the texts that were given, in their order; for a switch, one empty text for each time that it was given. */
  readonly read: (texts: readonly string[]) => Reading<T>;
}

type Reading<T> = { readonly value: T } | { readonly problem: string };

/** An option whose last text counts. `read` returns undefined for an unexpected text. */
function single<T>(
  form: Pick<Option<T>, 'value' | 'short' | 'choices' | 'isFile'>,
  about: string,
  expected: string,
  read: (text: string) => T | undefined,
): Option<T | undefined> {
  return {
    ...form,
    about,
    read: texts => {
      const text = texts.at(-1);
      if (text === undefined) return { value: undefined };
      const value = read(text);
      if (value !== undefined) return { value };
      return { problem: `expected ${expected}, got ${JSON.stringify(text)}` };
    },
  };
}

export function flag(about: string): Option<boolean> {
  return { value: '', about, read: texts => ({ value: texts.length > 0 }) };
}

export function text(value: string, about: string): Option<string | undefined> {
  return single({ value }, about, value, text => text);
}

export function file(about: string, short?: string): Option<string | undefined> {
  const form = { value: 'FILE', isFile: true, ...(short !== undefined && { short }) } as const;
  return single(form, about, 'a file', text => (text === '' ? undefined : text));
}

export function choice<const Word extends string>(
  choices: readonly Word[],
  about: string,
): Option<Word | undefined> {
  return single({ value: choices.join('|'), choices }, about, choices.join(' or '), text =>
    choices.find(word => word === text),
  );
}

export function integer(
  { min, max }: { readonly min: number; readonly max: number },
  about: string,
): Option<number | undefined> {
  return single({ value: 'N' }, about, `a number from ${min} to ${max}`, text => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : undefined;
  });
}

/** In milliseconds; above 0. */
export function duration(about: string, maxMs: number = Infinity): Option<number | undefined> {
  const limit = maxMs === Infinity ? '' : `, at most ${formatDuration(maxMs)}`;
  return single({ value: 'DURATION' }, about, `a duration such as 10s or 5m${limit}`, text => {
    const ms = parseDuration(text) ?? 0;
    return ms > 0 && ms <= maxMs ? ms : undefined;
  });
}

/** A point in time that may depend on the current time; milliseconds since the epoch. */
export type Moment = (nowMs: number) => number;

/** Ten years, as in the configuration. */
const BACK_MS_MAX = 3650 * DAY_MS;

/** An RFC 3339 time, or a duration back from now. */
export function moment(about: string): Option<Moment | undefined> {
  const expected = 'a time such as 2026-03-04T09:00:00Z, or a duration back from now such as 2h';
  return single<Moment>({ value: 'TIME' }, about, expected, text => {
    const backMs = parseDuration(text);
    if (backMs !== undefined) return backMs <= BACK_MS_MAX ? nowMs => nowMs - backMs : undefined;
    const atMs = parseTime(text)?.getTime();
    return atMs === undefined ? undefined : () => atMs;
  });
}

/** Makes an option required. */
export function required<T>(option: Option<T | undefined>): Option<T> {
  return { ...option, isRequired: true } as Option<T>;
}

/** Gives an option the text that is read when it is left out. */
export function withDefault<T>(option: Option<T | undefined>, text: string): Option<T> {
  const read: typeof option.read = texts => option.read(texts.length === 0 ? [text] : texts);
  return { ...option, default: text, read } as Option<T>;
}

export function repeated(value: string, about: string): Option<readonly string[]> {
  return { value, about, isRepeated: true, read: value => ({ value }) };
}

// Reading arguments.

function readCall<O extends Options>(
  command: string,
  declared: { readonly options: O; readonly words?: Words },
  args: readonly string[],
): Call<O> {
  const { options } = declared;
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    tokens: true,
    options: Object.fromEntries(
      Object.entries(options).map(([name, { value, short }]) => [
        name,
        { type: value === '' ? 'boolean' : 'string', ...(short !== undefined && { short }) },
      ]),
    ),
  });
  const texts = new Map<string, string[]>();
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined) throw unknownOption(command, rawName, options);
    if (option.value === '' && value !== undefined)
      throw usageError(command, `--${name} takes no value`);
    // A word that looks like an option is a value only after `=`.
    if (option.value !== '' && (value === undefined || (!inlineValue && /^-./.test(value))))
      throw missingOption(command, name, option);
    texts.set(name, [...(texts.get(name) ?? []), value ?? '']);
  }
  const values = Object.entries(options).map(([name, option]) => {
    const given = texts.get(name) ?? [];
    if (option.isRequired === true && given.length === 0)
      throw missingOption(command, name, option);
    const reading = option.read(given);
    if ('problem' in reading) throw usageError(command, `--${name}: ${reading.problem}`);
    return [name, reading.value];
  });
  checkWords(command, declared.words, words);
  return { command, values: Object.fromEntries(values) as Values<O>, words };
}

function checkWords(command: string, declared: Words | undefined, words: readonly string[]): void {
  const { count, value, about, choices } = declared ?? {};
  const max = count === undefined ? 0 : count === 'one' ? 1 : Infinity;
  if (words.length > max) throw usageError(command, `unexpected ${JSON.stringify(words[max])}`);
  if (words.some(word => word === '' || choices?.includes(word) === false))
    throw usageError(command, `expected ${value}, got ${JSON.stringify(words.join(' '))}`);
  if (count !== undefined && count !== 'any' && words.length === 0)
    throw usageError(command, `expected ${value}: ${about}`);
}

function missingOption(command: string, name: string, option: Option<unknown>): OperatorError {
  const value = option.choices?.join(' or ') ?? option.value;
  return usageError(command, `expected --${name} ${value}`);
}

function unknownOption(command: string, rawName: string, options: Options): OperatorError {
  const meant = suggestion(rawName.replace(/^-+/, ''), [...Object.keys(options), 'help']);
  const hint = meant === undefined ? undefined : `--${meant}`;
  return usageError(command, `unknown option ${JSON.stringify(rawName)}`, hint);
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
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  const remedy = isFull ? `free space on its disk, or ${hint}` : hint;
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

// Verbs and their actions.

/** The action that the first words of `args` name, and the arguments after them. */
export function findAction(
  verb: Verb,
  args: readonly string[],
): { readonly action: Action; readonly args: readonly string[] } | undefined {
  for (const action of verb.actions) {
    const words = action.name === '' ? [] : action.name.split(' ');
    if (words.every((word, index) => args[index] === word))
      return { action, args: args.slice(words.length) };
  }
  return undefined;
}

export async function runVerb(
  verb: Verb,
  args: readonly string[],
  context: VerbContext,
): Promise<number> {
  const found = findAction(verb, args);
  if (found === undefined) throw unknownAction(verb, args);
  const { action, args: rest } = found;
  return action.start(`${verb.name} ${action.name}`.trim(), rest, context);
}

function unknownAction({ name, actions }: Verb, args: readonly string[]): OperatorError {
  const names = actions.map(action => action.name);
  const end = args.findIndex(word => word.startsWith('-'));
  const words = args.slice(0, end < 0 ? 2 : Math.min(end, 2));
  if (words.length === 0) return usageError(name, `expected one of ${names.join(', ')}`);
  const [first = ''] = words;
  const meant = suggestion(words.join(' '), names) ?? suggestion(first, names);
  const cause = `there is no action ${JSON.stringify(words.join(' '))}, only ${names.join(', ')}`;
  return usageError(name, cause, meant === undefined ? undefined : `${name} ${meant}`);
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
