// Exposition files as pages, for verbs that do without the service, and what is wrong with a page.

import { readFileSync } from 'node:fs';
import { readProblem } from '../config/text-file.ts';
import { seriesRefused, TIMES_EARLY } from '../daemon/target-log.ts';
import { OperatorError } from '../errors.ts';
import { formatCount } from '../lib/format.ts';
import { type ExpositionFormat, type Page, type Problem, PROBLEMS_MAX } from '../model/page.ts';
import type { Translated } from '../pipeline.ts';
import type { TextSink } from './verb.ts';

/** The bytes of a file, or of standard input for `-`. */
export function readPageFile(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    const message = `cannot read ${JSON.stringify(file)}: ${readProblem(error)}`;
    throw new OperatorError([{ message, hint: 'check the path' }]);
  }
}

/** A file as a page, as if it was scraped at `startedAtMs`. */
export function pageOf(bytes: Buffer, format: ExpositionFormat, startedAtMs = 0): Page {
  const times = { startedAtMs, monotonicMs: startedAtMs, durationMs: 0, serverAtMs: Number.NaN };
  return { bytes, format, wireBytes: bytes.length, ...times };
}

/** OpenMetrics pages end in `# EOF`; anything else is read as text. */
export function guessFormat(bytes: Buffer): ExpositionFormat {
  const tail = bytes.toString('latin1', Math.max(0, bytes.length - 16));
  return /(^|\n)# EOF\n?$/.test(tail) ? 'openmetrics' : 'text';
}

type Lines = Pick<TextSink, 'line'>;

/** Prints the problems of a page, and how many samples the daemon would leave out; true if there are problems. */
export function tellPage(err: Lines, file: string, { page, derived }: Translated): boolean {
  const problems = page?.problems ?? [];
  tellProblems(err, file, problems);
  if (derived.refused !== null) {
    const { limits, samples } = derived.refused;
    const { message } = seriesRefused(limits);
    err.line(`${file}: ${message}: ${formatCount(samples)} samples are left out`);
  }
  if (derived.earlyTimes > 0) err.line(`${file}: ${TIMES_EARLY.message}`);
  return problems.length > 0;
}

export function tellProblems(err: Lines, file: string, problems: readonly Problem[]): void {
  for (const { line, column, reason } of problems) err.line(`${file}:${line}:${column}: ${reason}`);
  tellMore(err, file, problems);
}

/** Prints a line if there may be more problems than the parser keeps. */
export function tellMore(err: Lines, file: string, problems: readonly Problem[]): void {
  if (problems.length >= PROBLEMS_MAX)
    err.line(`${file}: reported the first ${PROBLEMS_MAX} problems; there may be more`);
}
