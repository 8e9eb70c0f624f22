// Reads a series key (`name{label="value"}`, as on its page), which has passed SampleLine.scan(), so that its syntax is
// valid. decode usually finds known rows without it. Most keys need no strings: KeyLabels gives offsets, including those
// of labels with an empty value. Keys with an escape or a quoted name need parseSeriesKey(), which makes strings of any
// key. The label *set* is checked here. The order of labels defines nothing: otherwise a page with
// another order after a restart would end every series.

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

/** A reused reader: its columns describe the key that was read last. */
export class KeyLabels {
  /** Before `{`, or between quotes. */
  nameStart = 0;
  nameEnd = 0;
  count = 0;
  labelStart: Uint32Array = new Uint32Array(LABELS_MIN);
  labelEnd: Uint32Array = new Uint32Array(LABELS_MIN);
  /** Between the quotes. */
  valueStart: Uint32Array = new Uint32Array(LABELS_MIN);
  valueEnd: Uint32Array = new Uint32Array(LABELS_MIN);
  #isPlain = true;

  /** Finds name and labels in bytes[start, end); false if there are escapes or quoted names. */
  read(bytes: Buffer, start: number, end: number): boolean {
    this.count = 0;
    this.#isPlain = true;
    let at = start;
    while (at < end && bytes[at] !== OPEN) at++;
    this.nameStart = start;
    this.nameEnd = at;
    while (this.nameEnd > start && isBlank(bytes[this.nameEnd - 1])) this.nameEnd--;
    for (at++; at < end && bytes[at] !== CLOSE; ) {
      if (bytes[at] === COMMA || isBlank(bytes[at])) at++;
      else at = this.#label(bytes, at, end);
    }
    return this.#isPlain;
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

  /** Notes the label at `start`; returns the offset after its value. A quoted text without a value is the name. */
  #label(bytes: Buffer, start: number, end: number): number {
    const isQuoted = bytes[start] === QUOTE;
    if (isQuoted) this.#isPlain = false;
    const from = isQuoted ? start + 1 : start;
    let at = from;
    if (isQuoted) at = this.#endOfText(bytes, from, end);
    else while (at < end && bytes[at] !== EQUALS && !isBlank(bytes[at])) at++;
    const to = at;
    if (isQuoted) at++;
    while (isBlank(bytes[at])) at++;
    if (bytes[at] !== EQUALS) {
      this.nameStart = from;
      this.nameEnd = to;
      return at;
    }
    if (this.count === this.labelStart.length) this.#grow();
    const index = this.count++;
    this.labelStart[index] = from;
    this.labelEnd[index] = to;
    while (at < end && bytes[at] !== QUOTE) at++;
    this.valueStart[index] = ++at;
    at = this.#endOfText(bytes, at, end);
    this.valueEnd[index] = at;
    return at + 1;
  }

  /** Where the quoted text ends that begins at `start`. */
  #endOfText(bytes: Buffer, start: number, end: number): number {
    let at = start;
    for (; at < end; at++) {
      const byte = bytes[at]!;
      if (byte === QUOTE) break;
      if (byte !== BACKSLASH) continue;
      this.#isPlain = false;
      at++;
    }
    return at;
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

const parsed = new KeyLabels();

/** Parses bytes[start, end), which must have passed SampleLine.scan(). */
export function parseSeriesKey(bytes: Buffer, start: number, end: number): SeriesKey {
  const isPlain = parsed.read(bytes, start, end);
  const textAt = (from: number, to: number): string => {
    const text = bytes.toString('utf8', from, to);
    return isPlain ? text : unescapeText(text);
  };
  const labels: [string, string][] = [];
  const emptyLabels: string[] = [];
  for (let index = 0; index < parsed.count; index++) {
    const label = textAt(parsed.labelStart[index]!, parsed.labelEnd[index]!);
    const value = textAt(parsed.valueStart[index]!, parsed.valueEnd[index]!);
    if (value === '') emptyLabels.push(label);
    else labels.push([label, value]);
  }
  return { name: textAt(parsed.nameStart, parsed.nameEnd), labels, emptyLabels };
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
export function isSameSeries(a: SeriesKey, b: Omit<SeriesKey, 'emptyLabels'>): boolean {
  if (a.name !== b.name || a.labels.length !== b.labels.length) return false;
  return a.labels.every(([label, value]) =>
    b.labels.some(other => other[0] === label && other[1] === value),
  );
}

/** The value of one label, or ''. */
export function labelValue(key: SeriesKey, label: string): string {
  return key.labels.find(([name]) => name === label)?.[1] ?? '';
}

/** Unescapes `\\`, `\"` and `\n`; any other backslash stays. */
export function unescapeText(text: string): string {
  return text.replace(/\\([\\"n])/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}

/** The same for HELP of text 0.0.4, where a quote has no escape. */
export function unescapeHelp(text: string): string {
  return text.replace(/\\([\\n])/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}
