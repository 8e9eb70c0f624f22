// The cases of the public parser suites, as facts: test/fixtures/exposition/<format>/<suite>.jsonl has one case per
// line, a page and whether the suite accepts it; where the suite says so, also what is to be read from it.

import { readdirSync, readFileSync } from 'node:fs';
import type { ExpositionFormat } from '../../src/model/page.ts';

export interface ExpositionCase {
  readonly name: string;
  readonly expect: 'accept' | 'reject';
  readonly page: string;
  /** The page's characters are bytes: it is no valid UTF-8. */
  readonly encoding?: 'latin1';
  /** The line that the first problem is to name. */
  readonly line?: number;
  readonly samples?: readonly CaseSample[];
  readonly exemplars?: readonly (readonly [
    labels: Record<string, string>,
    value: number,
    timestampMs?: number,
  ])[];
  /** By family name. */
  readonly help?: Readonly<Record<string, string>>;
  readonly type?: Readonly<Record<string, string>>;
  readonly unit?: Readonly<Record<string, string>>;
}

export type CaseSample = readonly [
  name: string,
  labels: Readonly<Record<string, string>>,
  value: number | string,
  timestampMs?: number,
];

export interface ExpositionSuite {
  readonly name: string;
  readonly format: ExpositionFormat;
  readonly cases: readonly ExpositionCase[];
}

const ROOT = new URL('../fixtures/exposition/', import.meta.url);

export function expositionSuites(): ExpositionSuite[] {
  return (['text', 'openmetrics'] as const).flatMap(format =>
    readdirSync(new URL(`${format}/`, ROOT)).map(file => ({
      name: `${format}/${file.replace(/\.jsonl$/, '')}`,
      format,
      cases: readFileSync(new URL(`${format}/${file}`, ROOT), 'utf8')
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line) as ExpositionCase),
    })),
  );
}

export function pageBytes(one: ExpositionCase): Buffer {
  return Buffer.from(one.page, one.encoding ?? 'utf8');
}
