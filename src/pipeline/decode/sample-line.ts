// Splits a sample line of either text format into tokens: name, labels, value, timestamp, exemplar.
// In: bytes and the bounds of the line. Out: offsets in the fields of a reused scanner, and a hash
// of the series that does not depend on the order of labels. It creates no strings.
//
//   name{label="value",…} value timestamp # {label="value"} value timestamp
//   └────── key ────────┘ └ value ┘ └ time ┘ └─────────── exemplar ─────────┘

import type { PageLimits } from '../../model/page-rules.ts';

const TAB = 0x09;
const NEWLINE = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x22;
const HASH = 0x23;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;
const SMALL_N = 0x6e;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * Bit 1: may start a label name; bit 2: may start a metric name; bit 4: digit, may follow in both.
 */
const NAME_BYTES = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  const isLetter = /[A-Za-z_]/.test(String.fromCharCode(byte));
  NAME_BYTES[byte] = (isLetter ? 3 : 0) | (byte === 0x3a ? 2 : 0);
  if (byte >= 0x30 && byte <= 0x39) NAME_BYTES[byte] = 4;
}
const LABEL_START = 1;
const METRIC_START = 2;
const DIGIT = 4;

/** FNV-1a, 32 bits. */
const HASH_SEED = 0x811c9dc5;
const HASH_PRIME = 0x01000193;

/** The limits of one line. */
type LineLimits = Pick<PageLimits, 'labels' | 'nameBytes' | 'valueBytes'>;

/** A reused scanner: once scan() has returned true, its fields describe the line. */
export class SampleLine {
  /** Name and labels as written, without surrounding blanks. */
  keyStart = 0;
  keyEnd = 0;
  /** Equal for equal names and labels in any order and spelling; empty label values count as absent. */
  hash = 0;
  valueStart = 0;
  valueEnd = 0;
  /** -1 without a timestamp. */
  timeStart = -1;
  timeEnd = -1;
  /** Just after the `#` of an exemplar, or -1. */
  exemplarStart = -1;
  /** The problem and its byte offset, once scan() has returned false. */
  reason = '';
  reasonAt = 0;
  /** The hash of the newest token. */
  #hash = 0;
  #hasName = false;
  #labelCount = 0;
  readonly #limits: LineLimits;

  constructor(limits: LineLimits) {
    this.#limits = limits;
  }

  /** Splits bytes[start, end), without its newline; false with `reason` if it is not a sample. */
  scan(bytes: Buffer, start: number, end: number): boolean {
    let at = skipBlanks(bytes, start, end);
    this.keyStart = at;
    this.hash = 0;
    this.#hasName = bytes[at] !== OPEN;
    if (this.#hasName) {
      at = this.#word(bytes, at, end, METRIC_START, 'expected a metric name');
      if (at < 0) return false;
      if (at - this.keyStart > this.#limits.nameBytes)
        return this.#fail('the name is longer than limits.name', this.keyStart);
      this.hash = mix(this.#hash);
      this.keyEnd = at;
      const next = skipBlanks(bytes, at, end);
      if (bytes[next] === OPEN && next < end) at = next;
    }
    if (bytes[at] === OPEN && at < end) {
      at = this.#labels(bytes, at + 1, end);
      if (at < 0) return false;
      if (!this.#hasName) return this.#fail('the sample has no name', this.keyStart);
    }
    return this.#numbers(bytes, at, end);
  }

  /** Splits a line whose key and labels are known to end at `keyEnd`. Sets no name and no hash. */
  scanNumbers(bytes: Buffer, keyStart: number, keyEnd: number, end: number): boolean {
    this.keyStart = keyStart;
    this.keyEnd = keyEnd;
    return this.#numbers(bytes, keyEnd, end);
  }

  /** Splits the exemplar after its `#`: labels, value, optional time. The key is the label set. */
  scanExemplar(bytes: Buffer, start: number, end: number): boolean {
    const open = skipBlanks(bytes, start, end);
    if (bytes[open] !== OPEN || open >= end)
      return this.#fail('expected `{` at the start of the exemplar', open);
    this.keyStart = open;
    // An exemplar needs no name.
    this.#hasName = true;
    const at = this.#labels(bytes, open + 1, end);
    return at >= 0 && this.#numbers(bytes, at, end);
  }

  /** Reads a word that begins with a byte of the class `first`; -1 with the reason. */
  #word(bytes: Buffer, start: number, end: number, first: number, reason: string): number {
    let hash = HASH_SEED;
    let at = start;
    if (at >= end || (NAME_BYTES[bytes[at]!]! & first) === 0) return this.#failAt(reason, at);
    for (; at < end; at++) {
      const byte = bytes[at]!;
      if ((NAME_BYTES[byte]! & (first | DIGIT)) === 0) break;
      hash = Math.imul(hash ^ byte, HASH_PRIME);
    }
    this.#hash = hash;
    return at;
  }

  /** Reads from after `{` to after `}`, where the key ends; -1 with a reason. A quoted string without `=` is the name. */
  #labels(bytes: Buffer, start: number, end: number): number {
    this.#labelCount = 0;
    let at = skipBlanks(bytes, start, end);
    while (bytes[at] !== CLOSE) {
      if (at >= end) return this.#failAt('expected `}` after the labels', at);
      const labelStart = at;
      const isQuoted = bytes[at] === QUOTE;
      at = isQuoted
        ? this.#quoted(bytes, at, end)
        : this.#word(bytes, at, end, LABEL_START, 'expected a label name');
      if (at < 0) return -1;
      const nameHash = this.#hash;
      const labelEnd = at;
      if (labelEnd - labelStart - (isQuoted ? 2 : 0) > this.#limits.nameBytes)
        return this.#failAt('the name is longer than limits.name', labelStart);
      at = skipBlanks(bytes, at, end);
      if (isQuoted && labelEnd - labelStart === 2)
        return this.#failAt('the name is empty', labelStart);
      if (isQuoted && bytes[at] !== EQUALS) {
        if (this.#hasName) return this.#failAt('a second metric name', labelStart);
        this.#hasName = true;
        this.hash = (this.hash + mix(nameHash)) >>> 0;
      } else {
        at = this.#labelValue(bytes, at, end, nameHash);
        if (at < 0) return -1;
      }
      at = skipBlanks(bytes, at, end);
      if (bytes[at] === COMMA) at = skipBlanks(bytes, at + 1, end);
      else if (bytes[at] !== CLOSE) return this.#failAt('expected `,` or `}` after a label', at);
    }
    if (at >= end) return this.#failAt('expected `}` after the labels', at);
    this.keyEnd = at + 1;
    return at + 1;
  }

  #labelValue(bytes: Buffer, start: number, end: number, nameHash: number): number {
    if (bytes[start] !== EQUALS || start >= end)
      return this.#failAt('expected `=` after a label name', start);
    const at = skipBlanks(bytes, start + 1, end);
    if (bytes[at] !== QUOTE || at >= end) return this.#failAt('expected a quoted label value', at);
    const after = this.#quoted(bytes, at, end);
    if (after < 0) return -1;
    if (after - at - 2 > this.#limits.valueBytes)
      return this.#failAt('a label value is longer than limits.value', at);
    if (++this.#labelCount > this.#limits.labels)
      return this.#failAt('more labels than limits.labels', at);
    if (after - at > 2) this.hash = (this.hash + mix(this.#hash ^ mix(nameHash))) >>> 0;
    return after;
  }

  /**
   * Reads a quoted string at `start`; returns the offset after its closing quote. The hash is of
   * the unescaped text: see unescapeText().
   */
  #quoted(bytes: Buffer, start: number, end: number): number {
    let hash = HASH_SEED;
    let at = start + 1;
    for (; at < end; at++) {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        this.#hash = hash;
        return at + 1;
      }
      if (byte !== BACKSLASH) {
        hash = Math.imul(hash ^ byte, HASH_PRIME);
        continue;
      }
      if (++at >= end) break;
      const escaped = bytes[at]!;
      const isKnown = escaped === BACKSLASH || escaped === QUOTE || escaped === SMALL_N;
      if (!isKnown) hash = Math.imul(hash ^ BACKSLASH, HASH_PRIME);
      hash = Math.imul(hash ^ (escaped === SMALL_N ? NEWLINE : escaped), HASH_PRIME);
    }
    return this.#failAt('a quoted text has no end', start);
  }

  #numbers(bytes: Buffer, start: number, end: number): boolean {
    let at = skipBlanks(bytes, start, end);
    if (at >= end) return this.#fail('the value is missing', at);
    if (at === start && !mayTouch(bytes, at)) return this.#fail('expected a blank', at);
    this.valueStart = at;
    at = skipToken(bytes, at, end);
    this.valueEnd = at;
    if (this.valueEnd === this.valueStart) return this.#fail('the value is missing', at);
    at = skipBlanks(bytes, at, end);
    this.timeStart = -1;
    this.exemplarStart = -1;
    if (at < end && bytes[at] !== HASH) {
      this.timeStart = at;
      at = skipToken(bytes, at, end);
      this.timeEnd = at;
      at = skipBlanks(bytes, at, end);
    }
    if (at < end && bytes[at] === HASH) this.exemplarStart = at + 1;
    else if (at < end) return this.#fail('unexpected text after the timestamp', at);
    return true;
  }

  #fail(reason: string, at: number): boolean {
    this.reason = reason;
    this.reasonAt = at;
    return false;
  }

  #failAt(reason: string, at: number): number {
    this.#fail(reason, at);
    return -1;
  }
}

/** The hash of a series by its name and labels with a value. */
export function hashOfSeries(name: string, labels: readonly (readonly [string, string])[]): number {
  const sum = (hash: number, [label, value]: readonly [string, string]): number =>
    (hash + hashOfLabel(label, value)) >>> 0;
  return labels.reduce(sum, mix(hashOfText(name)));
}

/** What a label with a value adds to the hash of its series. */
export function hashOfLabel(label: string, value: string): number {
  return mix(hashOfText(value) ^ mix(hashOfText(label)));
}

function hashOfText(text: string): number {
  let hash = HASH_SEED;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, HASH_PRIME);
  return hash;
}

/** Spreads the bits of a hash, so that sums of hashes do not cancel out. */
export function mix(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function skipBlanks(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] === SPACE || bytes[at] === TAB)) at++;
  return at;
}

/** Whether a value may follow without a blank: after labels, or if it begins with a sign. */
function mayTouch(bytes: Buffer, at: number): boolean {
  return bytes[at - 1] === CLOSE || bytes[at] === PLUS || bytes[at] === MINUS;
}

function skipToken(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] !== SPACE && bytes[at] !== TAB) at++;
  return at;
}
