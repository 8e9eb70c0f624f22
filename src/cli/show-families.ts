// What `show decode` prints of a decoded page: its families in page order with every sample as it stood, and the
// same in the shape that the prom2json tool made known. Reads the SeriesTable of one page and changes nothing;
// numbers that JSON cannot hold are the words of the exposition formats: "NaN", "+Inf", "-Inf".

import type { DeclaredType, Metric, SeriesTable } from '../model.ts';
import type { Exemplar } from '../table-memory.ts';
import type { FamilyLines } from '../pipeline/decode/metadata.ts';
import { parseSeriesKey } from '../pipeline/decode/series-key.ts';

/** A number, or the word for one that JSON does not have. */
export type ShownValue = number | 'NaN' | '+Inf' | '-Inf';

export interface ShownExemplar {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: ShownValue;
  readonly timestampMs?: number;
}

export interface ShownSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: ShownValue;
  readonly timestampMs?: number;
  readonly exemplar?: ShownExemplar;
}

export interface ShownFamily {
  readonly name: string;
  readonly type: DeclaredType;
  readonly help: string;
  readonly unit: string;
  readonly samples: readonly ShownSample[];
}

/** What is asked of a finished Decoding. */
export interface DecodedFamilies {
  readonly families: ReadonlyMap<string, Readonly<FamilyLines>>;
}

interface SampleAt {
  readonly line: number;
  readonly row: number;
  readonly value: number;
  readonly timeMs: number;
}

/**
 * The families of the page that `decoding` has just put into `table`, each where its name is met first (in
 * metadata or in a sample), with its samples in page order. Families that only have metadata lines are there too.
 */
export function familiesOf(decoding: DecodedFamilies, table: SeriesTable): ShownFamily[] {
  const found = new Map<string, { line: number; family: ShownFamily; samples: ShownSample[] }>();
  const add = (name: string, line: number, metric: Metric | undefined): ShownSample[] => {
    const known = found.get(name);
    if (known !== undefined) return known.samples;
    const lines = decoding.families.get(name);
    const samples: ShownSample[] = [];
    const type = lines?.type ?? metric?.declared ?? 'unknown';
    const family = { name, type, help: lines?.help ?? '', unit: lines?.unit ?? '', samples };
    found.set(name, { line: Math.min(line, lines?.line ?? line), family, samples });
    return samples;
  };
  for (const sample of samplesInOrder(table)) {
    const metric = table.metrics[table.metric[sample.row] ?? 0];
    add(metric?.familyName ?? '', sample.line, metric).push(shownSample(table, sample));
  }
  for (const [name, { line }] of decoding.families) add(name, line, undefined);
  return [...found.values()].sort((a, b) => a.line - b.line).map(({ family }) => family);
}

function samplesInOrder(table: SeriesTable): SampleAt[] {
  const samples: SampleAt[] = table.repeats.map(({ line, row, value, timeMs }) => ({
    line,
    row,
    value,
    timeMs,
  }));
  for (let row = 0; row < table.count; row++) {
    if (table.seen[row] !== table.page || table.keyLength[row] === 0) continue;
    samples.push({
      line: table.line[row] ?? 0,
      row,
      value: table.value[row] ?? 0,
      timeMs: table.timeMs[row] ?? Number.NaN,
    });
  }
  return samples.sort((a, b) => a.line - b.line);
}

function shownSample(table: SeriesTable, { row, value, timeMs }: SampleAt): ShownSample {
  const offset = table.keyOffset[row] ?? 0;
  const { name, labels } = parseSeriesKey(table.keys, offset, offset + (table.keyLength[row] ?? 0));
  const exemplar = table.exemplars.get(row);
  return {
    name,
    labels: Object.fromEntries(labels),
    value: shownValue(value),
    ...shownTime(timeMs),
    ...(exemplar === undefined ? {} : { exemplar: shownExemplar(exemplar) }),
  };
}

function shownExemplar({ labels, value, timeMs }: Exemplar): ShownExemplar {
  return { labels: Object.fromEntries(labels), value: shownValue(value), ...shownTime(timeMs) };
}

function shownTime(timeMs: number): { timestampMs?: number } {
  return Number.isNaN(timeMs) ? {} : { timestampMs: timeMs };
}

/** A number as JSON can carry it. */
export function shownValue(value: number): ShownValue {
  if (Number.isNaN(value)) return 'NaN';
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : value;
}
