// The plain kinds of values: texts, numbers, switches, choices, durations and sizes.

import type * as z from 'zod';
import { nearest } from '../nearest.ts';
import {
  DURATION_PATTERN,
  SIZE_PATTERN,
  formatDuration,
  formatSize,
  parseDuration,
  parseSize,
  suggestDuration,
  suggestSize,
} from '../units.ts';
import { leaf, type LeafInput, type Reading } from './leaf.ts';

export interface Range {
  readonly min?: number;
  readonly max?: number;
}

const DAY_MS = 86_400_000;

export interface TextOptions {
  readonly expected?: string;
  /** What the whole text must match; without it, any text with something in it is legal. */
  readonly pattern?: RegExp;
  /** An empty text is legal too. */
  readonly isEmptyLegal?: boolean;
}

/** A text without control characters (line breaks among them). */
export function text(options: TextOptions = {}): z.ZodType<string> {
  const { expected = 'a text', pattern, isEmptyLegal = false } = options;
  return leaf({
    expected,
    json: pattern === undefined ? { type: 'string' } : { type: 'string', pattern: pattern.source },
    read: ({ text }) => {
      if (text === undefined) return undefined;
      if (text === '' && !isEmptyLegal)
        return { problem: `expected ${expected}, got an empty text` };
      if (hasControl(text)) return { problem: `expected ${expected}, got control characters` };
      return pattern === undefined || pattern.test(text) ? { value: text } : undefined;
    },
  });
}

function hasControl(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  return /[\u0000-\u001F\u007F]/.test(text);
}

/** One of a few words. */
export function choice<const Word extends string>(words: readonly Word[]): z.ZodType<Word> {
  return leaf<Word>({
    expected: `one of ${words.join(', ')}`,
    json: { enum: words },
    read: ({ text }) => {
      const value = words.find(word => word === text);
      return value === undefined ? undefined : { value };
    },
    suggest: ({ text = '' }) =>
      nearest(text, words) ?? words.find(word => text.toLowerCase().startsWith(word)),
  });
}

/** In quotes, `true` is a text; the others are texts anyway. */
const SWITCH_WORDS: ReadonlyMap<string, string> = new Map([
  ['true', 'true'],
  ['yes', 'true'],
  ['on', 'true'],
  ['false', 'false'],
  ['no', 'false'],
  ['off', 'false'],
]);

export function flag(): z.ZodType<boolean> {
  return leaf<boolean>({
    expected: 'true or false',
    json: { type: 'boolean' },
    read: ({ value, expanded }) => {
      if (typeof value === 'boolean') return { value };
      if (expanded === undefined || !/^(?:true|false)$/i.test(expanded.text)) return undefined;
      return { value: expanded.text.toLowerCase() === 'true' };
    },
    suggest: ({ text = '' }) => SWITCH_WORDS.get(text.toLowerCase()),
  });
}

export function integer(range: Required<Range>): z.ZodType<number> {
  return leaf({
    expected: 'a whole number',
    json: { type: 'integer', minimum: range.min, maximum: range.max },
    read: input => {
      const value = numberOf(input);
      if (value === undefined || !Number.isSafeInteger(value)) return undefined;
      return within(value, range, String, input);
    },
  });
}

/** A share of a whole: above 0, at most 1. */
export function share(): z.ZodType<number> {
  return leaf({
    expected: 'a number above 0 and at most 1',
    json: { type: 'number', exclusiveMinimum: 0, maximum: 1 },
    read: input => {
      const value = numberOf(input) ?? 0;
      return value > 0 && value <= 1 ? { value } : undefined;
    },
  });
}

function numberOf({ value, expanded }: LeafInput): number | undefined {
  if (typeof value === 'number') return value;
  const isNumber = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(expanded?.text ?? '');
  return isNumber ? Number(expanded?.text) : undefined;
}

/** A duration in milliseconds; at least 1 ms and at most 3650 days unless told otherwise. */
export function duration(range: Range = {}): z.ZodType<number> {
  const { min = 1, max = 3650 * DAY_MS } = range;
  return leaf({
    expected: 'a duration such as 10s, 5m or 72h',
    json: { type: 'string', pattern: DURATION_PATTERN },
    read: input => {
      const value = parseDuration(input.text ?? '');
      return value === undefined ? undefined : within(value, { min, max }, formatDuration, input);
    },
    suggest: ({ value, text }) =>
      typeof value === 'number' ? `${String(value)}s` : suggestDuration(text ?? ''),
  });
}

/** A size in bytes; at least 1 byte unless told otherwise. */
export function size(range: Range = {}): z.ZodType<number> {
  const { min = 1, max = Number.MAX_SAFE_INTEGER } = range;
  return leaf({
    expected: 'a size such as 512MiB, 1GiB or 4kB',
    json: { type: 'string', pattern: SIZE_PATTERN },
    read: input => {
      const value = parseSize(input.text ?? '');
      return value === undefined ? undefined : within(value, { min, max }, formatSize, input);
    },
    suggest: ({ value, text }) =>
      typeof value === 'number' ? `${String(value)}B` : suggestSize(text ?? ''),
  });
}

function within(
  value: number,
  range: Required<Range>,
  format: (value: number) => string,
  input: LeafInput,
): Reading<number> {
  if (value < range.min)
    return { problem: `expected at least ${format(range.min)}, got ${input.shown}` };
  if (value > range.max)
    return { problem: `expected at most ${format(range.max)}, got ${input.shown}` };
  return { value };
}
