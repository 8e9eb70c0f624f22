// When work is due: by a cron expression of five fields (minute, hour, day of the month, month, day of the week) in UTC,
// or at an interval. Pure: the caller passes the time.

import { Cron } from 'croner';
import { digestOf } from './shard.ts';

/** Numbers, steps, ranges, lists, and names of months and days: the syntax that every cron shares. */
const FIELD =
  /^(?:[\d*,/-]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)+$/i;

export function cronProblem(expression: string, nowMs: number): string | null {
  const fields = expression.split(' ');
  if (fields.length !== 5 || fields.includes(''))
    return 'it does not have five fields with one blank between them';
  const odd = fields.find(field => !FIELD.test(field));
  if (odd !== undefined)
    return `the field ${JSON.stringify(odd)} is not a number, name, range or step`;
  try {
    return nextCronRun(expression, nowMs) === null ? 'it matches no future time' : null;
  } catch (error) {
    return cronCause(error);
  }
}

/** The parser's message about an invalid expression; it may repeat the expression. */
export function cronCause(error: unknown): string {
  const text = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : '';
  return `${text.charAt(0).toLowerCase()}${text.slice(1, 100)}`;
}

/** The first time after `nowMs` that an expression matches; null if there is none. Throws if it is invalid. */
export function nextCronRun(expression: string, nowMs: number): number | null {
  const cron = new Cron(expression, { mode: '5-part', paused: true, timezone: 'UTC' });
  return cron.nextRun(new Date(nowMs))?.getTime() ?? null;
}

/** The share of the interval over which work is spread. */
const SPREAD_SHARE = 0.1;
const SPREAD_MS_MAX = 30_000;
/** The spread of the first time, which does not wait for the interval. */
const FIRST_SPREAD_MS_MAX = 1000;

/** The due times of one of many tasks, spread so that they do not all request from a service at once. */
export class PullSchedule {
  readonly #intervalMs: number;
  readonly #cron: Cron | null;
  readonly #place: number;

  /** `id` determines the place among others, which does not change with a restart. */
  constructor(schedule: { readonly intervalMs: number } | { readonly cron: string }, id: string) {
    this.#intervalMs = 'intervalMs' in schedule ? schedule.intervalMs : 0;
    // The configuration also allows a field for seconds.
    this.#cron =
      'cron' in schedule ? new Cron(schedule.cron, { timezone: 'UTC', paused: true }) : null;
    this.#place = digestOf(id) / 2 ** 32;
  }

  /** The time between two runs; of a cron expression, the next two after `nowMs` (wall clock). */
  everyMs(nowMs: number): number {
    const [first, second] = this.#cron?.nextRuns(2, new Date(nowMs)) ?? [];
    return first && second ? second.getTime() - first.getTime() : this.#intervalMs;
  }

  /** The time from `nowMs` (wall clock) to the first run. */
  firstMs(nowMs: number): number {
    if (this.#cron !== null) return this.nextMs(nowMs, nowMs);
    return this.#place * FIRST_SPREAD_MS_MAX;
  }

  /** The time from `nowMs` to the run after the one that began at `startedMs` (both wall clock); 0 if it is overdue. */
  nextMs(startedMs: number, nowMs: number): number {
    if (this.#cron !== null) {
      const next = this.#cron.nextRun(new Date(nowMs));
      return next === null ? Infinity : next.getTime() - nowMs + this.#place * SPREAD_MS_MAX;
    }
    const intervalMs = this.#intervalMs;
    const spreadMs = Math.min(SPREAD_MS_MAX, intervalMs * SPREAD_SHARE);
    const waitMs = intervalMs + (this.#place - 0.5) * spreadMs;
    // The clock may have been set back since the run began.
    return Math.min(Math.max(0, startedMs + waitMs - nowMs), waitMs);
  }
}
