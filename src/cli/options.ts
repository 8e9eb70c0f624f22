// The options that actions declare: what each is called in the help, and how its text is read. commander does the parsing
// (command.ts); a text that cannot be read is an InvalidArgumentError, to which it adds the name of the option.

import { InvalidArgumentError } from 'commander';
import { formatDuration, parseDuration, parseTime } from '../config/units.ts';
import { DAY_MS } from '../lib/clock.ts';
import { nearest } from '../lib/nearest.ts';

/** One option. The functions below make them. */
export interface Option<out T> {
  /** The word for its value in the help, such as FILE; '' for a switch. */
  readonly value: string;
  readonly about: string;
  readonly short?: string;
  /** The text that is read when it is left out. */
  readonly default?: string;
  /** What shell completion offers: words, the files, or the services of the configuration. */
  readonly offers?: Offers;
  readonly isRequired?: true;
  readonly isRepeated?: true;
  /** It works until 1.0, and is not shown. */
  readonly isHidden?: true;
  /** A switch that means one value of this option; not shown. */
  readonly alias?: { readonly name: string; readonly text: string };
  readonly read: (text: string) => unknown;
  /** Its value when it is left out. */
  readonly absent: T;
}

export type Offers = 'files' | 'services' | readonly string[];
export type Options = Readonly<Record<string, Option<unknown>>>;
export type Values<O extends Options> = {
  readonly [Name in keyof O]: O[Name] extends Option<infer T> ? T : never;
};

/** An option whose last text counts. `read` returns undefined for an unexpected text, of which `words` may be meant. */
function single<T>(
  form: Pick<Option<T>, 'value' | 'about' | 'short' | 'offers'>,
  expected: string,
  read: (text: string) => T | undefined,
  words: readonly string[] = [],
): Option<T | undefined> {
  const orThrow = (text: string): T => {
    const value = read(text);
    if (value !== undefined) return value;
    const meant = nearest(text, words);
    const question = meant === undefined ? '' : `; did you mean ${meant}?`;
    throw new InvalidArgumentError(`expected ${expected}${question}`);
  };
  return { ...form, read: orThrow, absent: undefined };
}

export function flag(about: string, short?: string): Option<boolean> {
  return { value: '', about, read: () => true, absent: false, ...(short && { short }) };
}

export function text(value: string, about: string, offers?: Offers): Option<string | undefined> {
  return single({ value, about, ...(offers && { offers }) }, value, text => text);
}

export function file(about: string, short?: string): Option<string | undefined> {
  const form = { value: 'FILE', about, offers: 'files', ...(short && { short }) } as const;
  return single(form, 'a file', text => (text === '' ? undefined : text));
}

/** `former`: words that go on working, and are not shown. */
export function choice<const Word extends string>(
  choices: readonly Word[],
  about: string,
  former: readonly Word[] = [],
): Option<Word | undefined> {
  const shown = choices.filter(word => !former.includes(word));
  const form = { value: shown.join('|'), about, offers: shown };
  return single(form, shown.join(' or '), text => choices.find(word => word === text), shown);
}

export function integer(
  { min, max }: { readonly min: number; readonly max: number },
  about: string,
  short?: string,
): Option<number | undefined> {
  return single(
    { value: 'N', about, ...(short && { short }) },
    `a number from ${min} to ${max}`,
    text => {
      const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max ? value : undefined;
    },
  );
}

/** In milliseconds; above 0. */
export function duration(about: string, maxMs: number = Infinity): Option<number | undefined> {
  const limit = maxMs === Infinity ? '' : `, at most ${formatDuration(maxMs)}`;
  const expected = `a duration such as 10s or 5m${limit}`;
  return single({ value: 'DURATION', about }, expected, text => {
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
  return single<Moment>({ value: 'TIME', about }, expected, text => {
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
  return { ...option, default: text, absent: option.read(text) as T };
}

export function repeated(value: string, about: string): Option<readonly string[]> {
  return { value, about, isRepeated: true, read: text => text, absent: [] };
}

export type Format = 'table' | 'json';

/** `--format table|json`, of every action that prints data. `former` is the switch that meant json until 1.0. */
export function format(about: string, former: 'json' | 'jsonl' = 'json'): Option<Format> {
  const option = withDefault(choice(['table', 'json'], about), 'table');
  return { ...option, alias: { name: former, text: 'json' } };
}

export function hidden<T>(option: Option<T>): Option<T> {
  return { ...option, isHidden: true };
}
