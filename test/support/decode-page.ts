// Decodes one page as the daemon would, for tests of the decoder's output.

import type { MetricsConfig } from '../../src/config/config.ts';
import type { PageLimits } from '../../src/model/page-rules.ts';
import { defaultConfig } from '../../src/config/load.ts';
import type { ExpositionFormat, Page, PageReport } from '../../src/model/page.ts';
import { SeriesTable } from '../../src/model/series-table.ts';
import type { ShownFamily, ShownSample } from '../../src/cli/prom2json.ts';
import { familiesOf } from '../../src/cli/show.ts';
import { Decoding } from '../../src/pipeline/decode/decode.ts';

export const METRICS: MetricsConfig = defaultConfig().metrics;
export const LIMITS: PageLimits = METRICS.limits;

export interface DecodedPage {
  readonly table: SeriesTable;
  readonly report: PageReport;
  readonly families: readonly ShownFamily[];
  readonly samples: readonly ShownSample[];
}

export interface DecodeOptions {
  readonly format?: ExpositionFormat;
  readonly table?: SeriesTable;
  readonly limits?: Partial<PageLimits>;
  /** Lines per slice. */
  readonly slice?: number;
}

/** Decodes `page` into `table`, or into a new one. */
export function decodePage(page: string | Buffer, options: DecodeOptions = {}): DecodedPage {
  const { format = 'text', table = new SeriesTable(), limits = {}, slice = 4096 } = options;
  const decoding = new Decoding(pageOf(page, format), table, {
    ...METRICS,
    limits: { ...LIMITS, ...limits },
  });
  while (!decoding.step(slice));
  const families = familiesOf(decoding, table);
  return { table, report: decoding.report, families, samples: families.flatMap(f => f.samples) };
}

/** A page as the pipeline's collect step returns it. */
export function pageOf(page: string | Buffer, format: ExpositionFormat = 'text'): Page {
  const bytes = Buffer.isBuffer(page) ? page : Buffer.from(page);
  const times = { startedAtMs: 0, monotonicMs: 0, durationMs: 0, serverAtMs: Number.NaN };
  return { bytes, format, wireBytes: bytes.length, ...times };
}

/** The key of a row; empty for a free one. */
export function keyOf({ keys, keyOffset, keyLength }: SeriesTable, row: number): string {
  const offset = keyOffset[row] ?? 0;
  return keys.toString('utf8', offset, offset + (keyLength[row] ?? 0));
}

/** The keys that the table remembers. */
export function keysOf(table: SeriesTable): readonly string[] {
  return Array.from({ length: table.count }, (_, row) => keyOf(table, row)).filter(Boolean);
}
