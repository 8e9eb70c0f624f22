// The decoder against the public suites: it reads each page that its suite accepts without a problem,
// with the suite's values, labels, times, exemplars and metadata.

import { describe, expect, test } from 'vitest';
import type { ShownSample } from '../../../src/cli/prom2json.ts';
import { decodePage } from '../../support/decode-page.ts';
import { type CaseSample, expositionSuites, pageBytes } from '../../support/exposition-cases.ts';

/** Pages that the formats forbid and no other parser reads: the bad line is dropped here too. */
const DROPPED: Readonly<Record<string, string>> = {
  'a comma without labels': 'a comma must follow a label',
  'a comma without labels, blanks before': 'a comma must follow a label',
  'a comma without labels, blanks behind': 'a comma must follow a label',
  'every kind of line, a comma missing between labels': 'labels are separated by commas',
};

/** The page has a NUL: its line is dropped. */
const NUL = '\u0000';

/** HELP texts that a suite's own parser reads differently than the format. */
const HELP: Readonly<Record<string, string>> = {
  // In text 0.0.4, HELP has no escape for a quote.
  'quoted label names, escapes and wide characters': 'gauge\ndoc\nstr\\"ing',
};

for (const { name: suite, format, cases } of expositionSuites()) {
  describe(suite, () => {
    for (const one of cases) {
      if (one.name in DROPPED || one.page.includes(NUL)) continue;
      test(one.name, () => {
        const { families, samples, report } = decodePage(pageBytes(one), { format });
        expect(report.problems).toStrictEqual([]);
        if (one.samples !== undefined)
          expect(samples.map(asCase).sort(bySeries)).toStrictEqual([...one.samples].sort(bySeries));
        if (one.exemplars !== undefined) {
          const exemplars = samples.flatMap(({ exemplar }) => exemplar ?? []);
          expect(exemplars).toStrictEqual(
            one.exemplars.map(([labels, value, timestampMs]) => ({
              labels,
              value,
              ...(timestampMs === undefined ? {} : { timestampMs }),
            })),
          );
        }
        for (const key of ['help', 'type', 'unit'] as const)
          for (const [family, want] of Object.entries(one[key] ?? {}))
            expect(families.find(({ name }) => name === family)?.[key]).toBe(
              key === 'help' ? (HELP[one.name] ?? want) : want,
            );
      });
    }
  });
}

function asCase({ name, labels, value, timestampMs }: ShownSample): CaseSample {
  return timestampMs === undefined
    ? [name, labels, value]
    : [name, labels, value, Number(timestampMs)];
}

/** Suites list their samples by family, so the order is ignored. */
function bySeries(a: CaseSample, b: CaseSample): number {
  const key = ([name, labels, value]: CaseSample): string =>
    JSON.stringify([name, Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)), value]);
  return key(a) < key(b) ? -1 : 1;
}
