// Reads a series key (`name{label="value"}`, as on its page), which has passed SampleLine.scan(), so that its syntax is
// valid. Used only for new rows. Most need no strings: KeyLabels gives offsets, including those of labels with an empty
// value. It refuses keys with an escape or a quoted name: parseSeriesKey() reads all of them, into strings. The label
// *set* is checked here.

import { resized, type SeriesTable } from '../../model/series-table.ts';

const TAB = 0x09;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const LABELS_MIN = 16;

/** A reused reader: once read() has returned true, its columns describe the key. */
export class KeyLabels {
  /** The end of the name, which begins where the key does. */
  nameEnd = 0;
  count = 0;
  labelStart: Uint32Array = new Uint32Array(LABELS_MIN);
  labelEnd: Uint32Array = new Uint32Array(LABELS_MIN);
  /** Between the quotes. */
  valueStart: Uint32Array = new Uint32Array(LABELS_MIN);
  valueEnd: Uint32Array = new Uint32Array(LABELS_MIN);

  /** Finds the labels in bytes[start, end); false if the key needs parseSeriesKey(). */
  read(bytes: Buffer, start: number, end: number): boolean {
    this.count = 0;
    let at = start;
    while (at < end && bytes[at] !== OPEN) at++;
    this.nameEnd = at;
    while (this.nameEnd > start && isBlank(bytes[this.nameEnd - 1])) this.nameEnd--;
    if (this.nameEnd === start) return false;
    for (at++; at < end; ) {
      const byte = bytes[at]!;
      if (byte === CLOSE) return true;
      if (byte === QUOTE) return false;
      if (byte === COMMA || isBlank(byte)) {
        at++;
        continue;
      }
      at = this.#label(bytes, at, end);
      if (at < 0) return false;
    }
    return true;
  }

  /** True when no two labels have the same name. */
  isDistinct(bytes: Buffer): boolean {
    const { labelStart, labelEnd, count } = this;
    for (let i = 1; i < count; i++) {
      const start = labelStart[i]!;
      const length = labelEnd[i]! - start;
      for (let other = 0; other < i; other++) {
        const otherStart = labelStart[other]!;
        if (labelEnd[other]! - otherStart !== length) continue;
        if (isSameRun(bytes, start, otherStart, length)) return false;
      }
    }
    return true;
  }

  /** Notes the label at `start`; returns the offset after its value, or -1 at an escape. */
  #label(bytes: Buffer, start: number, end: number): number {
    const index = this.count++;
    if (index === this.labelStart.length) this.#grow();
    let at = start;
    while (at < end && bytes[at] !== EQUALS && !isBlank(bytes[at])) at++;
    this.labelStart[index] = start;
    this.labelEnd[index] = at;
    while (at < end && bytes[at] !== QUOTE) at++;
    this.valueStart[index] = ++at;
    for (; at < end; at++) {
      const byte = bytes[at]!;
      if (byte === BACKSLASH) return -1;
      if (byte === QUOTE) break;
    }
    this.valueEnd[index] = at;
    return at + 1;
  }

  #grow(): void {
    const size = this.labelStart.length * 2;
    this.labelStart = resized(this.labelStart, size);
    this.labelEnd = resized(this.labelEnd, size);
    this.valueStart = resized(this.valueStart, size);
    this.valueEnd = resized(this.valueEnd, size);
  }
}

/**
 * Whether two places have the same `length` bytes; for few bytes this is faster than
 * Buffer.compare.
 */
function isSameRun(bytes: Uint8Array, start: number, otherStart: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (bytes[start + i] !== bytes[otherStart + i]) return false;
  return true;
}

/** Whether bytes[start, end) are `text`. */
export function isText(bytes: Uint8Array, start: number, end: number, text: Uint8Array): boolean {
  const { length } = text;
  if (end - start !== length) return false;
  for (let i = 0; i < length; i++) if (bytes[start + i] !== text[i]) return false;
  return true;
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}

/** Name and labels of a series, in page order and without labels with an empty value. */
export interface SeriesKey {
  readonly name: string;
  readonly labels: readonly (readonly [name: string, value: string])[];
  /** Labels with an empty value: they count as absent, but may not occur twice either. */
  readonly emptyLabels: readonly string[];
}

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
