// The three kinds of error, which are never mixed:
// - An operator's mistake is an OperatorError: all of them are collected and shown with place and hint; exit 2. A held
//   queue, a taken port or a full disk at the start is an OperatorError, too: see `isTransient`.
// - An operating failure is a value (a discriminated union in a return type): it is counted and shown, and the work
//   continues.
// - A broken invariant is thrown by `bug()`: the message begins with `BUG:`; exit 1.
// Messages have one form: `cannot <verb> <object>: <cause>; <what to do>`.

/** One mistake of the operator: the problem, its place, and what to do about it. */
export interface Mistake {
  /** `cannot <verb> <object>: <cause>`. */
  readonly message: string;
  /** What to do, without a leading `;`. */
  readonly hint?: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  /** The path of the configuration key, such as `otlp.tls.ca` or `services[0].id`. */
  readonly key?: string;
  /** The same start may succeed later without a configuration change. */
  readonly isTransient?: boolean;
}

/** Only thrown on a bad start; main prints every mistake without a stack trace. `isTransient` sets the exit code. */
export class OperatorError extends Error {
  readonly mistakes: readonly Mistake[];

  constructor(mistakes: readonly Mistake[], options?: ErrorOptions) {
    super(mistakes.map(formatMistake).join('\n'), options);
    this.name = 'OperatorError';
    this.mistakes = mistakes;
  }

  /** True when waiting may help: every mistake is transient. */
  get isTransient(): boolean {
    return this.mistakes.every(mistake => mistake.isTransient === true);
  }
}

/** The mistake as one line for users: `file:line:column: key: message; hint`. */
export function formatMistake(mistake: Mistake): string {
  const { file, line, column, key, message, hint } = mistake;
  const place = [file, line, column].filter(part => part !== undefined).join(':');
  const parts = [place, key].filter(part => part !== undefined && part !== '');
  const head = parts.length === 0 ? '' : `${parts.join(': ')}: `;
  return `${head}${message}${hint === undefined ? '' : `; ${hint}`}`;
}

/** A broken invariant: the program is wrong, not its input. The process ends with exit code 1. */
export function bug(what: string): never {
  throw new Error(`BUG: ${what}`);
}

/** The text of any caught value, with the cause's text if that adds information, as steadyText() has it. */
export function causeText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = (error as NodeJS.ErrnoException).code;
  const text = steadyText(error.message === '' ? (code ?? error.name) : error.message);
  const cause = error.cause instanceof Error ? causeText(error.cause) : '';
  return cause === '' || text.includes(cause) ? text : `${text}: ${cause}`;
}

/** What differs each time that a system or a library reports one cause, and what to put instead. */
const UNSTEADY: readonly (readonly [pattern: RegExp, instead: string])[] = [
  // OpenSSL surrounds the cause with a thread, numbers, libraries and source lines.
  [/\S*:error:\w+:[^:]*:[^:]*:([^:]*):\S+:\d+:.*/, '$1'],
  // Names may have many addresses, and each connection has a port of its own.
  [/ - Local \([^)]*\)/, ''],
  [/\b(connect E[A-Z]+) (?:[\d.]+|[\da-f:]+):\d+\b/g, '$1'],
  [/attempted address(?:es)?: [^)]*, timeout/, 'timeout'],
  [/ \(\d{4}-\d\d-\d\dT[\d:.]+Z\)/g, ''],
];

/** The words of a cause without times, addresses and ports that change: one cause is one line. */
export function steadyText(text: string): string {
  return UNSTEADY.reduce((words, [pattern, instead]) => words.replace(pattern, instead), text);
}

export const MORE_FILES =
  'let this process open more files: `ulimit -n`, or LimitNOFILE in a systemd unit';
const FREE_SPACE = 'free space on its disk';
const MAY_NOT = 'give this user the right, or run it as the user that has it';

const SYSTEM_REMEDIES: Readonly<Record<string, string>> = {
  EMFILE: MORE_FILES,
  ENFILE: 'let the system open more files: `sysctl fs.file-max`',
  ENOLCK: 'use a local disk: this one, perhaps of a network, gives no locks',
  EROFS: 'its disk is mounted read-only: mount it for writing, or name another directory',
  EACCES: MAY_NOT,
  EPERM: MAY_NOT,
  ENOSPC: FREE_SPACE,
  EDQUOT: `${FREE_SPACE}, or raise the quota of this user`,
};

/** What to do about an error of the operating system; null if the code alone does not say it. */
export function systemRemedy(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code = '' } = error as NodeJS.ErrnoException;
  return SYSTEM_REMEDIES[code] ?? systemRemedy(error.cause);
}
