// Cron expressions of five fields (minute, hour, day of the month, month, day of the week), in UTC.

import { Cron } from 'croner';

/** Numbers, steps, ranges, lists, and names of months and days: what every cron reads in the same way. */
const FIELD =
  /^(?:[\d*,/-]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)+$/i;

/** What is wrong with an expression, or null. */
export function cronProblem(expression: string, nowMs: number): string | null {
  const fields = expression.split(' ');
  if (fields.length !== 5 || fields.includes(''))
    return 'it does not have five fields with one blank between them';
  const odd = fields.find(field => !FIELD.test(field));
  if (odd !== undefined)
    return `the field ${JSON.stringify(odd)} is no number, name, range or step`;
  try {
    return nextCronRun(expression, nowMs) === null ? 'it matches no time to come' : null;
  } catch (error) {
    const text = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : '';
    return `${text.charAt(0).toLowerCase()}${text.slice(1, 100)}`;
  }
}

/** The first time after `nowMs` that an expression matches; null when there is none. Throws where it is not legal. */
export function nextCronRun(expression: string, nowMs: number): number | null {
  const cron = new Cron(expression, { mode: '5-part', paused: true, timezone: 'UTC' });
  return cron.nextRun(new Date(nowMs))?.getTime() ?? null;
}
