// What all single values of the configuration have in common: how one is read, how it is refused, and how an
// editor is told. A leaf takes what the YAML gave (or an ExpandedText, whose text is then read as if it stood
// there) and gives the value that the program uses. zod's own wording never shows.

import * as z from 'zod';
import { ExpandedText } from '../secrets.ts';

/** What a leaf reads. `text` is set for texts only, and for whatever a reference has given. */
export interface LeafInput {
  readonly value: unknown;
  readonly text: string | undefined;
  /** Set when the value came out of references. */
  readonly expanded: ExpandedText | undefined;
  /** The value in words for a message; never the text of a secret. */
  readonly shown: string;
}

/** Why a value is refused: words that stand after `key: `, and what to do about it. */
export interface Refusal {
  readonly problem: string;
  readonly hint?: string | undefined;
}

export type Reading<T> = { readonly value: T } | Refusal;

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface LeafOptions<T> {
  /** Completes `expected …`. */
  readonly expected: string;
  readonly json: JsonSchema;
  /** True: the value is never shown in a message. */
  readonly isSecret?: boolean;
  /** undefined: not what was expected. */
  readonly read: (input: LeafInput) => Reading<T> | undefined;
  /** What was probably meant. */
  readonly suggest?: (input: LeafInput) => string | undefined;
}

/** What a custom issue carries beside its message. */
export interface IssueDetail {
  readonly hint?: string | undefined;
}

// Schemas are used once or rarely: zod need not write a function for each, which costs more than it saves.
z.config({ jitless: true });

const REFERENCE_JSON = { type: 'string', pattern: '\\$\\{(file|env):[^}]+\\}' };
const SHOWN_LENGTH_MAX = 80;

/** A leaf as zod sees it: anything in, `T` out, refusals as custom issues in our words. */
export function leaf<T>(options: LeafOptions<T>): z.ZodType<T> {
  const isText = options.json['type'] === 'string' && Object.keys(options.json).length === 1;
  const json = isText ? options.json : { anyOf: [options.json, REFERENCE_JSON] };
  return z
    .unknown()
    .meta(json)
    .transform((value, context) => {
      const reading = readLeaf(value, options);
      if ('value' in reading) return reading.value;
      const params: IssueDetail = { hint: reading.hint };
      context.addIssue({ code: 'custom', message: reading.problem, params });
      return z.NEVER;
    });
}

function readLeaf<T>(value: unknown, options: LeafOptions<T>): Reading<T> {
  if (value === undefined) return { problem: 'missing', hint: `add ${options.expected}` };
  const expanded = value instanceof ExpandedText ? value : undefined;
  const text = expanded?.text ?? (typeof value === 'string' ? value : undefined);
  const shown = showValue(value, options.isSecret === true);
  const input = { value, text, expanded, shown };
  const reading = options.read(input);
  if (reading !== undefined) return reading;
  // A suggestion repeats part of the value, which must not show when it came out of a reference.
  const suggestion = expanded === undefined ? options.suggest?.(input) : undefined;
  return {
    problem: `expected ${options.expected}, got ${shown}`,
    hint: suggestion === undefined ? quoteHint(input, options) : `did you mean \`${suggestion}\`?`,
  };
}

/** YAML makes a number of `12345`, which is right as soon as it stands in quotes. */
function quoteHint<T>({ value }: LeafInput, options: LeafOptions<T>): string | undefined {
  if (typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  const text = String(value);
  const reading = options.read({ value: text, text, expanded: undefined, shown: text });
  return reading !== undefined && 'value' in reading ? 'put it in quotes' : undefined;
}

/** A value in words for a message: quoted and cut short, without the credentials of a URL. */
export function showValue(value: unknown, isSecret = false): string {
  if (value === null || value === undefined) return 'nothing';
  if (value instanceof ExpandedText) return `what ${showText(value.template)} gives`;
  if (Array.isArray(value)) return 'a list';
  switch (typeof value) {
    case 'string':
      return isSecret ? 'a text' : showText(value);
    case 'number':
      return isSecret ? 'a number' : `the number ${String(value)}`;
    case 'boolean':
      return isSecret ? 'true or false' : String(value);
    default:
      return 'a map';
  }
}

function showText(text: string): string {
  const clean = text.replaceAll(/:\/\/[^\s/]*@/g, '://[secret]@');
  const short =
    clean.length <= SHOWN_LENGTH_MAX ? clean : `${clean.slice(0, SHOWN_LENGTH_MAX - 1)}…`;
  return JSON.stringify(short);
}
