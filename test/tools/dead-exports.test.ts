import { describe, expect, it } from 'vitest';
import { exportUses } from '../../tools/dead-exports.ts';

/** Names of `src/a.ts` that nobody imports. */
function dead(a: string, others: Readonly<Record<string, string>> = {}): readonly string[] {
  const files = new Map(Object.entries({ 'src/a.ts': a, ...others }));
  return exportUses(files)
    .filter(use => use.file === 'src/a.ts' && !use.isUsedInSource && !use.isUsedElsewhere)
    .map(({ name }) => name);
}

describe('an export', () => {
  it.each([
    'export const one = 1;',
    'export function one() {}',
    'export async function one() {}',
    'export function* one() {}',
    'export abstract class one {}',
    'export type one = 1;',
    'const one = 1;\nexport { one };',
    'const two = 1;\nexport { two as one };',
    "export { one } from './b.ts';",
    "export {\n  type one,\n} from './b.ts';",
  ])('is dead where nobody imports it: %j', text => {
    expect(dead(text)).toEqual(['one']);
  });

  it.each([
    "import { one } from './a.ts';",
    "import { type one, two } from './a.ts';",
    "import type { one } from './a.ts';",
    "import {\n  two,\n  one as three,\n} from './a.ts';",
    "import * as a from './a.ts';",
    "export { one } from './a.ts';",
    "const { one } = await import('./a.ts');",
    "const a = await import('./a.ts');",
    "let a: typeof import('./a.ts');",
  ])('is alive by %j', text => {
    expect(dead('export const one = 1;', { 'src/b.ts': text })).toEqual([]);
  });

  it.each([
    "import { two } from './a.ts';",
    "import { one } from './b.ts';",
    "// import { one } of './a.ts'",
    "const { two } = await import('./a.ts');",
  ])('stays dead by %j', text => {
    expect(dead('export const one = 1;', { 'src/c.ts': text })).toEqual(['one']);
  });

  it('is alive as a type that its own file uses, but not as a value', () => {
    expect(dead('export interface Shape {}\nexport function make(): Shape {}')).toEqual(['make']);
    expect(dead('export const SIZE = 1;\nuse(SIZE);')).toEqual(['SIZE']);
  });
});

it('imports of tests count apart from those of src', () => {
  const files = new Map([
    ['src/a.ts', 'export const one = 1;'],
    ['test/a.test.ts', "import { one } from '../src/a.ts';"],
  ]);
  expect(exportUses(files)).toEqual([
    { file: 'src/a.ts', name: 'one', isUsedInSource: false, isUsedElsewhere: true },
  ]);
});
