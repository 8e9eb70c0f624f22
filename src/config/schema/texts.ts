// Kinds of text with a meaning of their own: regular expressions, time zones, points in time, schedules.

import { Cron } from 'croner';
import type * as z from 'zod';
import { causeText } from '../../errors.ts';
import { systemClock } from '../../lib/clock.ts';
import { isTimeZone } from '../../lib/time-zone.ts';
import type { LogsConfig } from '../config.ts';
import { DURATION_PATTERN, parseDuration } from '../units.ts';
import { leaf, type LeafInput, type Reading } from './leaf.ts';

/** A regular expression that has to match a whole name. */
export function expression(): z.ZodType<RegExp> {
  return leaf<RegExp>({
    expected: 'a regular expression',
    json: { type: 'string' },
    read: input => {
      const { text, shown } = input;
      if (text === undefined) return undefined;
      if (text === '') return { problem: 'expected a regular expression, got an empty text' };
      try {
        // By itself first: `a)(b` would become legal within the group.
        RegExp(text, 'u');
        return { value: new RegExp(`^(?:${text})$`, 'u') };
      } catch (error) {
        const cause = input.expanded === undefined ? expressionProblem(error) : 'it is not legal';
        return { problem: `expected a regular expression, got ${shown}: ${cause}` };
      }
    },
  });
}

/** `Invalid regular expression: /a(/u: Unterminated group` says it after the last colon. */
function expressionProblem(error: unknown): string {
  return causeText(error).split(': ').at(-1)?.toLowerCase() ?? 'it is not legal';
}

/** A time zone by its name, as `Europe/Berlin`. */
export function timeZone(): z.ZodType<string> {
  return leaf({
    expected: 'a time zone such as UTC or Europe/Berlin',
    json: { type: 'string' },
    read: ({ text }) => {
      return text !== undefined && isTimeZone(text) ? { value: text } : undefined;
    },
  });
}

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** The time of an RFC 3339 text, or undefined. The day must exist: 30 February is no date. */
function parseTime(text: string): Date | undefined {
  const [, year, month, day] = (RFC_3339.exec(text) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined) return undefined;
  const monthDays = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const time = new Date(text.toUpperCase().replace(' ', 'T'));
  return day <= monthDays && !Number.isNaN(time.getTime()) ? time : undefined;
}

/** Where the first start begins: a duration back from now, a time, or `beginning`. */
export function startPoint(): z.ZodType<LogsConfig['firstStart']> {
  return leaf<LogsConfig['firstStart']>({
    expected: 'a duration such as 1h, an RFC 3339 time such as 2026-03-01T00:00:00Z, or beginning',
    json: { anyOf: [{ type: 'string', pattern: DURATION_PATTERN }, { type: 'string' }] },
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

/** How often: a duration, or a cron expression in UTC; never more often than every 30 s. */
export function schedule(): z.ZodType<LogsConfig['schedule']> {
  return leaf<LogsConfig['schedule']>({
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

function readCron(input: LeafInput): Reading<LogsConfig['schedule']> | undefined {
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
    // Its words may repeat the expression, which must not show when it came out of a reference.
    const cause = input.expanded === undefined ? cronProblem(error) : 'it is not legal';
    return { problem: `expected a cron expression, got ${input.shown}: ${cause}` };
  }
}

function cronProblem(error: unknown): string {
  const text = causeText(error).replace(/^CronPattern: /, '');
  return `${text.charAt(0).toLowerCase()}${text.slice(1, 100)}`;
}

function tooOften({ shown }: LeafInput): Reading<never> {
  return { problem: `expected at most one run in 30s, got ${shown}` };
}
