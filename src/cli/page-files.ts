// Exposition files as pages, for verbs that do without the service.

import { readFileSync } from 'node:fs';
import { readProblem } from '../config/text-file.ts';
import { OperatorError } from '../errors.ts';
import type { ExpositionFormat, Page } from '../model/page.ts';

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
