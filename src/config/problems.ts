// From what zod and the rules find to the mistakes that a user sees: each with line and column, or with the
// name of the standard variable that it came from. Nothing of zod's own wording gets through.

import type * as z from 'zod';
import { formatMistake, type Mistake, type OperatorErrorCode } from '../errors.ts';
import { meantKey, unknownKeyHint } from './key-hints.ts';
import { pathText, valueAt, type KeyPath, type Places } from './places.ts';
import { showValue, type IssueDetail } from './schema/leaf.ts';
import { UNREADABLE } from './yaml-tree.ts';

/** How many mistakes are shown; a file with more is probably another kind of file. */
export const MISTAKES_MAX = 100;

/** The plain data that was judged, and where its parts came from. */
export interface JudgedTree {
  readonly root: unknown;
  readonly file: string;
  readonly places: Places;
  /** The name of the variable that a value came from; undefined: from the YAML. */
  readonly variableOf: (path: KeyPath) => string | undefined;
}

/** Something wrong at one key: what a rule reports, and what an issue of zod becomes. */
export interface Violation {
  readonly path: KeyPath;
  readonly problem: string;
  readonly hint?: string | undefined;
  /** What the place points at; `value` unless told otherwise. A missing key is told at its parent's. */
  readonly at?: 'key' | 'value' | 'parent';
  readonly code?: OperatorErrorCode;
  /** Of an unknown key: the one beside it that was probably meant. */
  readonly meant?: string | undefined;
}

/** What the schema finds. `base` is the path of what was parsed. */
export function issueViolations(
  error: z.ZodError | undefined,
  root: unknown,
  base: KeyPath = [],
): Violation[] {
  const issues = error?.issues ?? [];
  let hinted = 0;
  const explain: ExplainKey = (path, key) => {
    hinted++;
    return hinted > MISTAKES_MAX
      ? {}
      : { hint: unknownKeyHint(path, key), meant: meantKey(path, key) };
  };
  return issues.flatMap(issue =>
    violations({ ...issue, path: [...base, ...issue.path] }, root, explain),
  );
}

/** The hint for an unknown key, as long as there are few: finding one compares it with all keys there are. */
type ExplainKey = (path: KeyPath, key: string) => Pick<Violation, 'hint' | 'meant'>;

function violations(issue: z.core.$ZodIssue, root: unknown, explain: ExplainKey): Violation[] {
  const { path } = issue;
  const value = valueAt(root, path);
  if (value === UNREADABLE) return [];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map(key => ({
        path: [...path, key],
        problem: 'unknown key',
        ...explain(path, key),
        at: 'key',
        code: 'E_CONFIG_KEY',
      }));
    case 'invalid_key':
      return issue.issues.slice(0, 1).map(inner => ({
        ...customViolation(inner, path),
        at: 'key',
        code: 'E_CONFIG_KEY',
      }));
    case 'invalid_type':
      return [wrongContainer(issue.expected, path, value)];
    default:
      return [
        value === undefined
          ? { ...customViolation(issue, path), at: 'parent', code: 'E_CONFIG_KEY' }
          : customViolation(issue, path),
      ];
  }
}

function customViolation(issue: z.core.$ZodIssue, path: KeyPath): Violation {
  const detail = issue.code === 'custom' ? (issue.params as IssueDetail | undefined) : undefined;
  return { path, problem: issue.message, hint: detail?.hint };
}

/** A scalar in place of a map may be a secret in the wrong place, so its text does not show. */
function wrongContainer(expected: string, path: KeyPath, value: unknown): Violation {
  const isList = expected === 'array';
  const words = isList ? 'a list' : 'a map of keys';
  const isScalar = typeof value !== 'object';
  const hint = isList && isScalar ? 'put it in brackets: `[…]`' : undefined;
  return { path, problem: `expected ${words}, got ${showValue(value, true)}`, hint };
}

/** The mistakes of one tree. A key that is there, but misspelt, is not told as missing too. */
export function violationMistakes(violations: readonly Violation[], tree: JudgedTree): Mistake[] {
  const misspelt = violations
    .filter(({ meant }) => meant !== undefined)
    .map(({ path, meant = '' }) => pathText([...path.slice(0, -1), meant]));
  return violations
    .filter(({ at, path }) => at !== 'parent' || !misspelt.includes(pathText(path)))
    .map(violation => toMistake(violation, tree));
}

function toMistake(violation: Violation, tree: JudgedTree): Mistake {
  const { path, problem, hint, at = 'value', code = 'E_CONFIG_VALUE' } = violation;
  const told = { message: problem, ...(hint === undefined ? {} : { hint }) };
  const variable = tree.variableOf(path);
  if (variable !== undefined) return { code: 'E_CONFIG_ENV', key: variable, ...told };
  const { places, file } = tree;
  const place = {
    key: () => places.ofKey(path),
    value: () => places.ofValue(path),
    parent: () => places.ofKey(path.slice(0, -1)),
  }[at]();
  return { code, ...told, file, ...place, key: pathText(path) };
}

/** In the order of the file, those of variables last; without repeats, and at most MISTAKES_MAX of them. */
export function orderMistakes(mistakes: readonly Mistake[]): Mistake[] {
  const unique = [...new Map(mistakes.map(mistake => [formatMistake(mistake), mistake])).values()];
  const last = Number.POSITIVE_INFINITY;
  unique.sort(
    (a, b) =>
      Number(a.line === undefined) - Number(b.line === undefined) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      (a.column ?? last) - (b.column ?? last),
  );
  if (unique.length <= MISTAKES_MAX) return unique;
  const rest = unique.length - MISTAKES_MAX;
  const more: Mistake = { code: 'E_CONFIG_VALUE', message: `and ${String(rest)} more mistakes` };
  return [...unique.slice(0, MISTAKES_MAX), more];
}
