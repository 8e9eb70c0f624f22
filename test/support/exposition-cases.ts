// The cases of the public parser suites: test/fixtures/exposition/<format>/<suite>.jsonl has one case per line, with a
// page that the suite accepts. If the suite says so, the case also has the samples and metadata of the page.

import { readdirSync, readFileSync } from 'node:fs';
import type { ExpositionFormat } from '../../src/model/page.ts';

export interface ExpositionCase {
  readonly name: string;
  readonly page: string;
  /** Set if the page is not valid UTF-8: each of its characters is a byte. */
  readonly encoding?: 'latin1';
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
