// Finds the row of a series that is known by name and labels, not by the bytes of a page.

import type { SeriesTable } from '../../model/series-table.ts';
import { lookUpRow } from '../decode/row-index.ts';
import { SampleLine } from '../decode/sample-line.ts';
import { parseSeriesKey, type SeriesKey } from '../decode/series-key.ts';

type Labels = readonly (readonly [name: string, value: string])[];

const PLAIN_NAME = /^[A-Za-z_:][A-Za-z0-9_:]*$/;
const PLAIN_LABEL = /^[A-Za-z_][A-Za-z0-9_]*$/;
const NO_LIMITS = { labels: Infinity, nameBytes: Infinity, valueBytes: Infinity };

/** The key of a row, taken apart. */
export function keyOfRow(table: SeriesTable, row: number): SeriesKey {
  const offset = table.keyOffset[row]!;
  return parseSeriesKey(table.keys, offset, offset + table.keyLength[row]!);
}

/** The row of the series with this name and these labels in any order, or -1. */
export function findSeries(table: SeriesTable, name: string, labels: Labels): number {
  const words = labels.map(([label, value]) => {
    const shown = PLAIN_LABEL.test(label) ? label : quoted(label);
    return `${shown}=${quoted(value)}`;
  });
  const isPlain = PLAIN_NAME.test(name);
  const inside = (isPlain ? words : [quoted(name), ...words]).join(',');
  const bytes = Buffer.from(`${isPlain ? name : ''}{${inside}} 0`);
  const line = new SampleLine(NO_LIMITS);
  return line.scan(bytes, 0, bytes.length) ? lookUpRow(table, bytes, line) : -1;
}

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}
