// A problem in /status.json and on the page: what is wrong, since when, and what to do. The files of the report find
// problems; this file merges those with the same cause into one, and dates them. Guarantees that one cause is one line,
// however many services it hits.

import { formatCount } from '../lib/format.ts';

/** `error`: data is missing or waits. `warning`: data was lost, or will be soon. `note`: no action is needed now. */
export type Severity = 'error' | 'warning' | 'note';

export interface StatusProblem {
  readonly severity: Severity;
  /** A target, a service, a signal, … */
  readonly subject: string;
  readonly message: string;
  /** What to do, in sentences; '' if there is nothing to do. */
  readonly hint: string;
  /** The problem in one line, with its time. */
  readonly title: string;
  /** The problem in HEADLINE_WORDS at most. */
  readonly headline: string;
  /** Stays the same as long as the problem lasts. */
  readonly cause: string;
  /** RFC 3339; the first and the last time that it was found. */
  readonly since: string;
  readonly lastSeen: string;
  /** The services that it hits, where it hits several; SUBJECTS_SHOWN_MAX at most. */
  readonly services: readonly string[];
}

/** A message without a full stop, and a hint in sentences ('' if there is nothing to do). */
export interface Advice {
  readonly message: string;
  readonly hint: string;
}

/** A problem before it is merged and dated. */
export interface Finding extends Pick<StatusProblem, 'severity' | 'subject' | 'message' | 'hint'> {
  /** Findings of one severity and cause are one problem. */
  readonly cause: string;
  /** The message for several subjects; the message of the first when absent. */
  readonly shared?: string;
  /** The line for the banner, with `{since}` where the time belongs. */
  readonly title?: string;
  /** When absent, the severity and the subject. */
  readonly headline?: string;
  /** RFC 3339; when absent, the time of the first report that has the problem. */
  readonly since?: string | null;
  /** RFC 3339; when absent, the time of the report. */
  readonly lastSeen?: string | null;
}

/** `about`: further fields, such as a cause other than the subject with its message. */
export function problem(
  severity: Severity,
  subject: string,
  { message, hint }: Advice,
  about: Partial<Finding> = {},
): Finding {
  // Numbers change while a problem lasts.
  const cause = `${subject}: ${message.replace(/\d[\d,.]*/g, '#')}`;
  return { severity, subject, message, hint, cause, ...about };
}

const SUBJECTS_SHOWN_MAX = 20;

/** Remembers when each problem was first found. */
export class ProblemBook {
  #since: ReadonlyMap<string, string> = new Map();

  /** Merges and dates the findings of a report at this time (RFC 3339). Forgets all other problems, unless `isPart`. */
  date(findings: readonly Finding[], reportedAt: string, isPart = false): readonly StatusProblem[] {
    const problems = [...Map.groupBy(findings, keyOf)].map(([key, group]) => {
      const known = group.map(one => one.since ?? null).filter(at => at !== null);
      return merged(group, known.sort()[0] ?? this.#since.get(key) ?? reportedAt, reportedAt);
    });
    if (!isPart) this.#since = new Map(problems.map(one => [keyOf(one), one.since]));
    return problems;
  }

  /** How many errors of the last whole report began before this time (RFC 3339, as the reports have it). */
  errorsSince(before: string): number {
    return [...this.#since].filter(([key, since]) => key.startsWith('error ') && since < before)
      .length;
  }
}

function keyOf({ severity, cause }: Pick<StatusProblem, 'severity' | 'cause'>): string {
  return `${severity} ${cause}`;
}

function merged(group: readonly Finding[], since: string, reportedAt: string): StatusProblem {
  const [first] = group as readonly [Finding, ...Finding[]];
  const subjects = [...new Set(group.map(({ subject }) => subject))];
  const isAlone = subjects.length === 1;
  const subject = isAlone ? first.subject : counted(subjects.length, 'service');
  const message = isAlone ? first.message : (first.shared ?? first.message);
  const seen = group.map(({ lastSeen }) => lastSeen ?? reportedAt).sort();
  const time = shortTime(since, reportedAt);
  const title = first.title?.replace('{since}', `since ${time}`);
  return {
    severity: first.severity,
    subject,
    message,
    hint: first.hint,
    title: title ?? `${subject}: ${message}, since ${time}`,
    headline: fewWords(first.headline ?? `${first.severity}: ${subject}`),
    cause: first.cause,
    since,
    lastSeen: seen.at(-1) ?? reportedAt,
    services: isAlone ? [] : subjects.slice(0, SUBJECTS_SHOWN_MAX),
  };
}

const HEADLINE_WORDS = 8;
const WORD_LENGTH = 60;

/** A sentence of HEADLINE_WORDS at most, each of WORD_LENGTH at most; `…` replaces the rest. */
function fewWords(text: string): string {
  const words = text.split(' ');
  const few = words
    .slice(0, HEADLINE_WORDS)
    .map(word => (word.length > WORD_LENGTH ? `${word.slice(0, WORD_LENGTH)}…` : word))
    .join(' ');
  return `${few.charAt(0).toUpperCase()}${few.slice(1)}${words.length > HEADLINE_WORDS ? '…' : ''}`;
}

/** `14:40:19` in UTC, with the day if it is not the day of the report. */
export function shortTime(at: string, reportedAt: string): string {
  const time = at.slice(11, 19);
  return at.slice(0, 10) === reportedAt.slice(0, 10) ? time : `${at.slice(0, 10)} ${time}`;
}

/** `1 line`, `3 lines`; `series` is singular and plural. */
export function counted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 || noun === 'series' ? '' : 's'}`;
}

/** The hint of an error, which has no capital and no full stop, as a sentence. */
export function sentence(hint: string): string {
  return hint === '' ? '' : `${hint.charAt(0).toUpperCase()}${hint.slice(1)}.`;
}
