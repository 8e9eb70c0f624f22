import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { drawn, shuffled, testsByFile } from '../../tools/mutants.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

function project(files: Readonly<Record<string, string>>): string {
  const root = temporaryDirectory();
  const settings = { compilerOptions: { strict: true, types: [] }, include: ['src'] };
  const all = { 'tsconfig.json': JSON.stringify(settings), ...files };
  for (const [file, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return root;
}

/** The faults that a file can get, in the order of its lines: at most one in each line. */
function changes(text: string): readonly string[] {
  const root = project({ 'src/a.ts': text });
  const mutants = drawn(root, 'src', 1, 100);
  return mutants.toSorted((a, b) => a.line - b.line).map(({ change }) => change);
}

describe('a fault', () => {
  it('is one of operators, literals, statements and branches', () => {
    const text = `
      declare function use(...values: unknown[]): void;
      declare const a: number, b: boolean;
      export const compared = a
        <= a;
      export const added = a
        + a;
      export const both = b
        && b;
      export const negated = !b;
      export const truth =
        true;
      export const count =
        64;
      use(a);
      if (b) use();
      let c = 0;
      c++;
      export const chosen = b ? a : c;
    `;
    const found = changes(text);
    expect(found).toEqual(
      expect.arrayContaining([
        'a <= a → <',
        'a + a → -',
        'b && b → ||',
        '!b → b',
        'true → false',
        'count = 64: 64 → 65',
        'removed: use(a);',
        'swapped: b ? a : c',
      ]),
    );
  });

  it('is never in a type, an import or a large number', () => {
    const text = `
      import { type A } from './a.ts';
      export type B = A extends { a: 1 } ? true : false;
      export const SIZE = 65_536;
      export let c: 1 | null;
    `;
    expect(changes(text)).toEqual([]);
  });

  it('is not counted when the compiler refuses it', () => {
    const text = `
      export function f(a: string | null): number {
        if (a === null) return a ?? NaN;
        return a.length;
      }
    `;
    expect(changes(text)).toEqual([]);
  });
});

describe('a draw', () => {
  const text = Array.from({ length: 20 }, (_, i) => `export const a${i} = true;`).join('\n');

  it('is the same for the same seed, and has the size that was asked for', () => {
    const root = project({ 'src/a.ts': text });
    const first = drawn(root, 'src', 7, 10);
    expect(first).toHaveLength(10);
    expect(drawn(root, 'src', 7, 10)).toEqual(first);
    expect(drawn(root, 'src', 8, 10)).not.toEqual(first);
  });

  it('leaves out what lies elsewhere, and tables', () => {
    const files = ['src/lib/a.ts', 'src/model/b.ts', 'src/catalog/dist.ts', 'src/catalog/table.ts'];
    const root = project(Object.fromEntries(files.map(file => [file, text])));
    const filesBelow = (under: string) =>
      new Set(drawn(root, under, 7, 1000).map(({ file }) => file));
    expect(filesBelow('src')).toEqual(new Set(files.filter(file => !file.includes('dist'))));
    expect(filesBelow('src/lib')).toEqual(new Set(['src/lib/a.ts']));
  });

  it('loses and repeats nothing when it is shuffled', () => {
    const items = Array.from({ length: 100 }, (_, i) => i);
    const result = shuffled(items, 7);
    expect(result).not.toEqual(items);
    expect(result.toSorted((a, b) => a - b)).toEqual(items);
  });
});

it('the tests of a file are those that import it, with the number of imports between', () => {
  const root = project({
    'src/a.ts': "import './b.ts';",
    'src/b.ts': '',
    'src/c.ts': "await import('./b.ts');",
    'test/a.test.ts': "import '../src/a.ts';",
    'test/deep/c.test.ts': "new URL('../../src/c.ts', import.meta.url);",
    'test/e2e/b.test.ts': "import '../../src/b.ts';",
    'test/none.test.ts': '',
  });
  const tests = testsByFile(root).get('src/b.ts');
  expect([...(tests ?? [])]).toEqual([
    ['test/a.test.ts', 2],
    ['test/deep/c.test.ts', 2],
  ]);
});
