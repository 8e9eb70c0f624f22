// A second reader of the text exposition format, only for the comparison: it shares nothing with the program's
// decoder, and is as simple as possible. It reads the pages of a real exporter, without timestamps, and throws
// at anything else.

export interface PageSeries {
  readonly name: string;
  /** The labels without empty values, which mean that the label is absent. */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** The word on the TYPE line of its family. */
  readonly type: string;
  /** The family's name: for histograms and summaries without the suffix, otherwise `name` itself. */
  readonly family: string;
}

const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['_sum', '_count', ''],
};

/** All samples of a page by `seriesKey`. Throws when a line cannot be read or a series comes twice. */
export function readPage(text: string): Map<string, PageSeries> {
  const types = new Map<string, string>();
  const series = new Map<string, PageSeries>();
  for (const line of text.split('\n')) {
    const words = line.split(' ');
    if (line.startsWith('# TYPE ')) types.set(words[2] ?? '', words[3] ?? '');
    if (line === '' || line.startsWith('#')) continue;
    const sample = readSample(line, types);
    const key = seriesKey(sample.name, sample.labels);
    if (series.has(key)) throw new Error(`the page has a series twice: ${line}`);
    series.set(key, sample);
  }
  return series;
}

/** The same text for a series with any order of labels and any spelling of bounds. */
export function seriesKey(name: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels)
    .filter(([, value]) => value !== '')
    .map(([label, value]) => [label, isBound(label) ? boundText(value) : value] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return name + JSON.stringify(pairs);
}

/**
 * The series of a page that OTLP can carry, by `seriesKey`: all except quantiles above 1. The exporter writes some
 * quantiles as percents (95, 99, 999).
 */
export function knownToOtlp<T>(series: ReadonlyMap<string, T>): Map<string, T> {
  const quantileOf = (key: string): number =>
    Number(/\["quantile","([^"]+)"\]/.exec(key)?.[1] ?? 0);
  return new Map([...series].filter(([key]) => quantileOf(key) <= 1));
}

/** The key of the point that a series is part of: a histogram's buckets, sum and count share one. */
export function pointKey(series: PageSeries): string {
  const labels = Object.entries(series.labels).filter(([label]) => {
    return series.family === series.name ? label !== 'quantile' : !isBound(label);
  });
  const isCompound = series.type in SUFFIXES;
  return seriesKey(series.family, isCompound ? Object.fromEntries(labels) : series.labels);
}

function isBound(label: string): boolean {
  return label === 'le' || label === 'quantile';
}

/** `1e-05`, `0.00001` and 0.00001 are the same bound. */
function boundText(value: string): string {
  return String(readValue(value));
}

function readSample(line: string, types: ReadonlyMap<string, string>): PageSeries {
  const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (\S+)$/.exec(line);
  if (match === null) throw new Error(`the page has a line that cannot be read: ${line}`);
  const [, name = '', labels = '{}', value = ''] = match;
  const [family, type] = familyOf(name, types);
  return { name, labels: readLabels(labels), value: readValue(value), type, family };
}

function readLabels(text: string): Record<string, string> {
  const pair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(,|$)/gy;
  const labels: Record<string, string> = {};
  const inner = text.slice(1, -1);
  while (pair.lastIndex < inner.length) {
    const match = pair.exec(inner);
    if (match === null) throw new Error(`the page has labels that cannot be read: ${text}`);
    const [, label = '', value = ''] = match;
    const plain = value.replaceAll(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c));
    if (plain !== '') labels[label] = plain;
    if (match[3] === '') break;
  }
  return labels;
}

function familyOf(name: string, types: ReadonlyMap<string, string>): [string, string] {
  for (const [type, suffixes] of Object.entries(SUFFIXES)) {
    for (const suffix of suffixes) {
      const family = name.slice(0, name.length - suffix.length);
      if (name.endsWith(suffix) && types.get(family) === type) return [family, type];
    }
  }
  const type = types.get(name);
  if (type === undefined) throw new Error(`the page has no TYPE for ${name}`);
  return [name, type];
}

/** Reads a number as Prometheus and similar programs write it. Throws when the text is not a number. */
export function readValue(text: string): number {
  const value = Number(text.replace(/^([+-]?)Inf(inity)?$/, '$1Infinity'));
  if (Number.isNaN(value) && text !== 'NaN') throw new Error(`this is not a number: ${text}`);
  return value;
}
