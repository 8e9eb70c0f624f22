// Strict mode (docs/mapping.md A6): a second reader that lists violations of the format's
// specification with line and column. `check`, `show decode --strict` and tests use it, so it is
// written for readability, not speed. It makes no samples. Memory: one line and the names of the
// page.

import type { ExpositionFormat, Problem } from '../../../model/page.ts';
import { OpenMetricsPage } from './openmetrics-page.ts';
import { ProblemList } from './syntax.ts';
import { TextPage } from './text-page.ts';

const NEWLINE = 0x0a;

/** Violations of the format's specification, in page order. Stops after PROBLEMS_MAX. */
export function strictProblems(bytes: Buffer, format: ExpositionFormat): Problem[] {
  const list = new ProblemList();
  const page = format === 'text' ? new TextPage(list) : new OpenMetricsPage(list);
  let start = 0;
  for (;;) {
    const newline = bytes.indexOf(NEWLINE, start);
    if (newline < 0 || list.isFull) break;
    list.line++;
    page.line(bytes.toString('latin1', start, newline));
    start = newline + 1;
  }
  if (start < bytes.length) list.line++;
  if (!list.isFull) page.finish(bytes.toString('latin1', start));
  // Some problems are found only at the end of a family.
  return list.problems.sort((a, b) => a.line - b.line || a.column - b.column);
}
