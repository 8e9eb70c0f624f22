// The plain kinds of values: texts, numbers, switches, choices, durations and sizes; and texts with a syntax: regular
// expressions, time zones, points in time, schedules.

import { Cron } from 'croner';
import { causeText } from '../errors.ts';
import { DAY_MS, systemClock } from '../lib/clock.ts';
import { cronCause } from '../lib/pull-schedule.ts';
import { nearest } from '../lib/nearest.ts';
import { isTimeZone } from '../lib/time-zone.ts';
import { leaf, type Kind, type LeafInput, type Reading } from './declare.ts';
import {
  DURATION,
  formatQuantity,
  parseDuration,
  parseQuantity,
  parseTime,
  type Quantity,
  SIZE,
  suggestQuantity,
} from './units.ts';

export interface Range {
  readonly min?: number;
  readonly max?: number;
}

export interface TextOptions {
  readonly expected?: string;
  /** What the whole text must match; without it, any text with something in it is legal. */
  readonly pattern?: RegExp;
  readonly isEmptyLegal?: boolean;
}

/** A text without control characters (line breaks among them). */
export function text(options: TextOptions = {}): Kind<string> {
  const { expected = 'a text', pattern, isEmptyLegal = false } = options;
  return leaf({
    expected,
    json: pattern === undefined ? { type: 'string' } : { type: 'string', pattern: pattern.source },
    read: ({ text }) => {
      if (text === undefined) return undefined;
      if (text === '' && !isEmptyLegal)
        return { problem: `expected ${expected}, got an empty text` };
      if (hasControl(text)) return { problem: `expected ${expected}, got control characters` };
      return pattern === undefined || pattern.test(text) ? { value: text } : undefined;
    },
  });
}

function hasControl(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  return /[\u0000-\u001F\u007F]/.test(text);
}

export function choice<const Word extends string>(words: readonly Word[]): Kind<Word> {
  return leaf<Word>({
    expected: `one of ${words.join(', ')}`,
    json: { enum: words },
    read: ({ text }) => {
      const value = words.find(word => word === text);
      return value === undefined ? undefined : { value };
    },
    suggest: ({ text = '' }) =>
      nearest(text, words) ?? words.find(word => text.toLowerCase().startsWith(word)),
  });
}

export function flag(): Kind<boolean> {
  return leaf<boolean>({
    expected: 'true or false',
    json: { type: 'boolean' },
    read: ({ value, expanded }) => {
      if (typeof value === 'boolean') return { value };
      if (expanded === undefined || !/^(?:true|false)$/i.test(expanded.text)) return undefined;
      return { value: expanded.text.toLowerCase() === 'true' };
    },
    // `true` and `false` are texts in quotes; `yes`, `no`, `on` and `off` always are.
    suggest: ({ text = '' }) => {
      if (/^(?:true|yes|on)$/i.test(text)) return 'true';
      return /^(?:false|no|off)$/i.test(text) ? 'false' : undefined;
    },
  });
}

export function integer(range: Required<Range>): Kind<number> {
  return leaf({
    expected: 'a whole number',
    json: { type: 'integer', minimum: range.min, maximum: range.max },
    read: input => {
      const value = numberOf(input);
      if (value === undefined || !Number.isSafeInteger(value)) return undefined;
      return within(value, range, String, input);
    },
  });
}

/** A share of a whole: above 0, at most 1. */
export function share(): Kind<number> {
  return leaf({
    expected: 'a number above 0 and at most 1',
    json: { type: 'number', exclusiveMinimum: 0, maximum: 1 },
    read: input => {
      const value = numberOf(input) ?? 0;
      return value > 0 && value <= 1 ? { value } : undefined;
    },
  });
}

function numberOf({ value, expanded }: LeafInput): number | undefined {
  if (typeof value === 'number') return value;
  const isNumber = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(expanded?.text ?? '');
  return isNumber ? Number(expanded?.text) : undefined;
}

/** A duration in milliseconds; at least 1 ms and at most 3650 days by default. */
export function duration({ min = 1, max = 3650 * DAY_MS }: Range = {}): Kind<number> {
  return quantity('a duration such as 10s, 5m or 72h', DURATION, { min, max });
}

/** A size in bytes; at least 1 byte by default. */
export function size({ min = 1, max = Number.MAX_SAFE_INTEGER }: Range = {}): Kind<number> {
  return quantity('a size such as 512MiB, 1GiB or 4kB', SIZE, { min, max });
}

function quantity(expected: string, of: Quantity, range: Required<Range>): Kind<number> {
  return leaf({
    expected,
    json: { type: 'string', pattern: of.pattern },
    read: input => {
      const value = parseQuantity(input.text ?? '', of);
      const format = (amount: number): string => formatQuantity(amount, of);
      return value === undefined ? undefined : within(value, range, format, input);
    },
    suggest: ({ value, text = '' }) =>
      typeof value === 'number' ? `${String(value)}${of.usual}` : suggestQuantity(text, of),
  });
}

function within(
  value: number,
  range: Required<Range>,
  format: (value: number) => string,
  input: LeafInput,
): Reading<number> {
  if (value < range.min)
    return { problem: `expected at least ${format(range.min)}, got ${input.shown}` };
  if (value > range.max)
    return { problem: `expected at most ${format(range.max)}, got ${input.shown}` };
  return { value };
}

/** A regular expression that has to match a whole name. */
export function expression(): Kind<RegExp> {
  return leaf<RegExp>({
    expected: 'a regular expression',
    json: { type: 'string' },
    read: input => {
      const { text, shown } = input;
      if (text === undefined) return undefined;
      if (text === '') return { problem: 'expected a regular expression, got an empty text' };
      try {
        // Checks the text by itself first: `a)(b` would become legal within the group.
        RegExp(text, 'u');
        return { value: new RegExp(`^(?:${text})$`, 'u') };
      } catch (error) {
        const cause = input.expanded === undefined ? expressionProblem(error) : 'it is not legal';
        return { problem: `expected a regular expression, got ${shown}: ${cause}` };
      }
    },
  });
}

/** The words after the last colon, as in `Invalid regular expression: /a(/u: Unterminated group`. */
function expressionProblem(error: unknown): string {
  return causeText(error).split(': ').at(-1)?.toLowerCase() ?? 'it is not legal';
}

/** A time zone by its name, as `Europe/Berlin`. */
export function timeZone(): Kind<string> {
  return leaf({
    expected: 'a time zone such as UTC or Europe/Berlin',
    json: { type: 'string' },
    read: ({ text }) => {
      return text !== undefined && isTimeZone(text) ? { value: text } : undefined;
    },
  });
}

type StartPoint = { readonly backMs: number } | { readonly at: Date } | 'beginning';

/** Where the first start begins: a duration back from now, a time, or `beginning`. */
export function startPoint(): Kind<StartPoint> {
  return leaf<StartPoint>({
    expected: 'a duration such as 1h, an RFC 3339 time such as 2026-03-01T00:00:00Z, or beginning',
    json: { anyOf: [{ type: 'string', pattern: DURATION.pattern }, { type: 'string' }] },
    read: ({ text = '' }) => {
      if (text === 'beginning') return { value: text };
      const backMs = parseDuration(text);
      if (backMs !== undefined) return { value: { backMs } };
      const at = parseTime(text);
      return at === undefined ? undefined : { value: { at } };
    },
    suggest: ({ text = '' }) => (/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : undefined),
  });
}

const SCHEDULE_MS_MIN = 30_000;

type Schedule = { readonly intervalMs: number } | { readonly cron: string };

/** How often: a duration, or a cron expression in UTC; never more often than every 30 s. */
export function schedule(): Kind<Schedule> {
  return leaf<Schedule>({
    expected: 'a duration such as 5m or a cron expression such as "*/15 * * * *"',
    json: { type: 'string' },
    read: input => {
      const intervalMs = parseDuration(input.text ?? '');
      if (intervalMs === undefined) return readCron(input);
      return intervalMs < SCHEDULE_MS_MIN ? tooOften(input) : { value: { intervalMs } };
    },
    suggest: ({ value }) => (typeof value === 'number' ? `${String(value)}s` : undefined),
  });
}

function readCron(input: LeafInput): Reading<Schedule> | undefined {
  const cron = input.text?.trim() ?? '';
  // croner also takes a single point in time, which is no schedule.
  if (!/^(?:@\w+|\S+(?:\s+\S+){4,6})$/.test(cron)) return undefined;
  try {
    const now = new Date(systemClock.nowMs());
    const runs = new Cron(cron, { paused: true, timezone: 'UTC' }).nextRuns(8, now).map(Number);
    if (runs.length === 0) {
      return { problem: `the cron expression ${input.shown} matches no time to come` };
    }
    const isTooOften = runs.some((run, i) => run - (runs[i - 1] ?? 0) < SCHEDULE_MS_MIN);
    return isTooOften ? tooOften(input) : { value: { cron } };
  } catch (error) {
    // The error may repeat the expression, which must not show if it came from a reference.
    const cause = input.expanded === undefined ? cronCause(error) : 'it is not legal';
    return { problem: `expected a cron expression, got ${input.shown}: ${cause}` };
  }
}

function tooOften({ shown }: LeafInput): Reading<never> {
  return { problem: `expected at most one run in 30s, got ${shown}` };
}
