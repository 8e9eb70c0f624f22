// Exposition files as pages, for the verbs that look at files instead of a service.

import { readFileSync } from 'node:fs';
import { parseConfig } from '../config/load.ts';
import type { Config } from '../config/config.ts';
import { causeText, OperatorError } from '../errors.ts';
import {
  type ExpositionFormat,
  type Problem,
  PROBLEMS_MAX,
  type ScrapeTime,
} from '../model/page.ts';
import { type TextSink, usageError } from './verb.ts';

/** The bytes of a file, or of standard input for `-`. */
export function readPageFile(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    const message = `cannot read ${JSON.stringify(file)}: ${fileCause(error)}`;
    throw new OperatorError([{ code: 'E_FILE_READ', message, hint: 'check the path' }]);
  }
}

/** Why a file cannot be read, without the system's call. */
function fileCause(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  if (code === 'ENOENT') return 'there is no such file';
  return code === 'EISDIR' ? 'it is a directory' : causeText(error);
}

/** When a file was scraped: nobody knows. */
export const NO_SCRAPE: ScrapeTime = {
  startedAtMs: 0,
  monotonicMs: 0,
  durationMs: 0,
  serverAtMs: Number.NaN,
};

/** The files of a command line; none is a mistake. */
export function requireFiles(verb: string, files: readonly string[]): readonly string[] {
  if (files.length === 0) throw usageError(verb, 'expected at least one FILE');
  return files;
}

/** Says the problems of a file, and that there are more than the reader keeps. */
export function tellProblems(err: TextSink, file: string, problems: readonly Problem[]): void {
  for (const { line, column, reason } of problems) err.line(`${file}:${line}:${column}: ${reason}`);
  tellMore(err, file, problems);
}

/** Says that there may be more problems than the reader keeps. */
export function tellMore(err: TextSink, file: string, problems: readonly Problem[]): void {
  if (problems.length >= PROBLEMS_MAX)
    err.line(`${file}: reported the first ${PROBLEMS_MAX} problems; there may be more`);
}

/** The format that `--format` names. */
export function readFormat(verb: string, word: string): ExpositionFormat {
  if (word === 'text' || word === 'openmetrics') return word;
  throw usageError(verb, `expected --format text or openmetrics, got ${JSON.stringify(word)}`);
}

/** OpenMetrics pages end in `# EOF`; anything else is read as text. */
export function guessFormat(bytes: Buffer): ExpositionFormat {
  const tail = bytes.toString('latin1', Math.max(0, bytes.length - 16));
  return /(^|\n)# EOF\n?$/.test(tail) ? 'openmetrics' : 'text';
}

/** The configuration that consists of defaults alone. */
export function defaultConfig(): Config {
  const text = 'api: {base_url: "http://localhost", key: none}\nservices: [{id: local}]\n';
  return parseConfig(text, { file: 'defaults', environment: {} });
}
