// Strict mode (otlp-mapping A6): a second, separate reading of a page that says what the format's own specification
// forbids, with line and column. It makes no samples and is made for `check`, `show decode --strict` and
// tests, so it is written to be read rather than to be fast. Memory: one line and the names of the page.

import type { ExpositionFormat, Problem } from '../../../model/page.ts';
import { OpenMetricsPage } from './openmetrics-page.ts';
import { ProblemList } from './syntax.ts';
import { TextPage } from './text-page.ts';

const NEWLINE = 0x0a;

/**
 * Violations of the format's specification, in page order: empty when the page is right. At most
 * PROBLEMS_MAX; reading ends when that many have been found.
 */
export function strictProblems(bytes: Buffer, format: ExpositionFormat): Problem[] {
  const list = new ProblemList();
  const page = format === 'text' ? new TextPage(list) : new OpenMetricsPage(list);
  let start = 0;
  for (;;) {
    const newline = bytes.indexOf(NEWLINE, start);
    if (newline < 0 || list.isFull) break;
    page.line(bytes.toString('latin1', start, newline));
    start = newline + 1;
  }
  if (!list.isFull) page.finish(bytes.toString('latin1', start));
  // What shows only at the end of a family was found late.
  return list.problems.sort((a, b) => a.line - b.line || a.column - b.column);
}
