// A problem as /status.json and the page show it: the subject, the message, and advice. The chapters of the report find
// problems; status-report.ts sorts them.

import { formatCount } from '../lib/format.ts';

/** `error`: data is missing or waits. `warning`: data was lost or soon will be. `note`: worth knowing. */
export type Severity = 'error' | 'warning' | 'note';

export interface StatusProblem {
  readonly severity: Severity;
  /** What it is about: a target, a service, a signal. */
  readonly subject: string;
  readonly message: string;
  /** What to do, as a sentence; '' where there is nothing to do. */
  readonly hint: string;
}

/** A message without a full stop, and a hint in whole sentences ('' where there is nothing to do). */
export interface Advice {
  readonly message: string;
  readonly hint: string;
}

export function problem(
  severity: Severity,
  subject: string,
  { message, hint }: Advice,
): StatusProblem {
  return { severity, subject, message, hint };
}

/** `1 line`, `3 lines`; `series` is both. */
export function counted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 || noun === 'series' ? '' : 's'}`;
}

/** A hint of the collector, which begins and ends in the middle of a sentence. */
export function sentence(hint: string): string {
  return hint === '' ? '' : `${hint.charAt(0).toUpperCase()}${hint.slice(1)}.`;
}
