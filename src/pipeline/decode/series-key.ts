// Parses a series key (`name{label="value"}`, as on its page) into strings. Used only for new rows.
// Keys come from SampleLine, so their syntax is valid; the label *set* is checked here.

import type { SeriesTable } from '../../model/series-table.ts';

/** Name and labels of a series, in page order and without labels with an empty value. */
export interface SeriesKey {
  readonly name: string;
  readonly labels: readonly (readonly [name: string, value: string])[];
  /** Labels with an empty value: they count as absent, but may not occur twice either. */
  readonly emptyLabels: readonly string[];
}

const OPEN = 0x7b;

/** Parses bytes[start, end), which must have passed SampleLine.scan(). */
export function parseSeriesKey(bytes: Buffer, start: number, end: number): SeriesKey {
  let open = start;
  while (open < end && bytes[open] !== OPEN) open++;
  let name = bytes.toString('utf8', start, open).trimEnd();
  const labels: [string, string][] = [];
  const emptyLabels: string[] = [];
  if (open < end) {
    const text = bytes.toString('utf8', open + 1, end - 1);
    let at = 0;
    while ((at = skipSeparators(text, at)) < text.length) {
      const [label, afterLabel] = readWord(text, at);
      at = skipSpaces(text, afterLabel);
      if (text[at] !== '=') {
        name = label;
        continue;
      }
      const [value, afterValue] = readWord(text, skipSpaces(text, at + 1));
      at = afterValue;
      if (value === '') emptyLabels.push(label);
      else labels.push([label, value]);
    }
  }
  return { name, labels, emptyLabels };
}

/** The parsed key of a row. */
export function keyOfRow(table: SeriesTable, row: number): SeriesKey {
  const offset = table.keyOffset[row]!;
  return parseSeriesKey(table.keys, offset, offset + table.keyLength[row]!);
}

/** The name of a label that occurs twice, or null. */
export function duplicateLabel(key: SeriesKey): string | null {
  const names = [...key.labels.map(([name]) => name), ...key.emptyLabels];
  return names.find((name, i) => names.indexOf(name) < i) ?? null;
}

/** Whether two keys name the same series, in any order of labels. */
export function isSameSeries(a: SeriesKey, b: SeriesKey): boolean {
  if (a.name !== b.name || a.labels.length !== b.labels.length) return false;
  return a.labels.every(([label, value]) =>
    b.labels.some(other => other[0] === label && other[1] === value),
  );
}

/** The value of one label, or ''. */
export function labelValue(key: SeriesKey, label: string): string {
  return key.labels.find(([name]) => name === label)?.[1] ?? '';
}

/** A quoted (unescaped) or bare word at `at`, and the offset after it. */
function readWord(text: string, at: number): [string, number] {
  if (text[at] !== '"') {
    let end = at;
    while (end < text.length && !' \t=,'.includes(text[end]!)) end++;
    return [text.slice(at, end), end];
  }
  const close = text.indexOf('"', at + 1);
  const plain = text.slice(at + 1, close);
  if (!plain.includes('\\')) return [plain, close + 1];
  let end = at + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return [unescapeText(text.slice(at + 1, end)), end + 1];
}

/** Unescapes `\\`, `\"` and `\n`; any other backslash stays. */
export function unescapeText(text: string): string {
  return text.replace(/\\([\\"n])/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}

/** The same for HELP of text 0.0.4, where a quote has no escape. */
export function unescapeHelp(text: string): string {
  return text.replace(/\\([\\n])/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}

function skipSeparators(text: string, start: number): number {
  let at = start;
  while (at < text.length && ' \t,'.includes(text[at]!)) at++;
  return at;
}

function skipSpaces(text: string, start: number): number {
  let at = start;
  while (text[at] === ' ' || text[at] === '\t') at++;
  return at;
}
