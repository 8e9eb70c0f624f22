// What docs/mapping.md claims holds: every rule has its row, and every test that is named there exists.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectToExist, ROOT, testsNamed, titlesIn } from './named-tests.ts';

const RULES = ['A1-7', 'B', 'C', 'D', 'E', 'F1-8', 'G1-4', 'H', 'I1-5', 'J1-7'].flatMap(range => {
  const [, letter = range, last] = /^(.)1-(\d)$/.exec(range) ?? [];
  return Array.from(
    { length: Number(last ?? 1) },
    (_, i) => letter + (last === undefined ? '' : i + 1),
  );
});

const mapping = readFileSync(join(ROOT, 'docs/mapping.md'), 'utf8');

/** The rows of the rules: `| **F5** | … |`. */
const rows = new Map(
  [...mapping.matchAll(/^\| \*\*([A-J]\d?)\*\* \|(.*)$/gm)].map(([, rule = '', row = '']) => [
    rule,
    row,
  ]),
);

describe('docs/mapping.md', () => {
  test('has a row for every rule, each with tests', () => {
    expect([...rows.keys()]).toEqual(RULES);
    for (const [rule, row] of rows) expect(testsNamed(row).length, rule).toBeGreaterThan(0);
  });

  test.each([...rows.keys()])('names tests of %s that exist', rule => {
    expectToExist(testsNamed(rows.get(rule) ?? ''));
  });

  test('no test that bears a rule is left out', () => {
    const files = ['derive', 'encode'].flatMap(stage =>
      readdirSync(join(ROOT, 'test/pipeline', stage)).map(name => `test/pipeline/${stage}/${name}`),
    );
    for (const file of files.filter(name => name.endsWith('.test.ts')))
      for (const title of titlesIn(file)) {
        const rule = /^([B-I]\d?)[a-c]?: /.exec(title)?.[1];
        if (rule === undefined) continue;
        expect(
          testsNamed(rows.get(rule) ?? '').map(named => named.file),
          title,
        ).toContain(file);
      }
  });

  test('every golden folder is linked, and every link leads somewhere', () => {
    const folders = readdirSync(join(ROOT, 'test/golden'));
    const linked = [...mapping.matchAll(/\(\.\.\/test\/golden\/([^)]+)\)/g)].map(
      ([, name = '']) => name,
    );
    expect(linked.sort()).toEqual(folders.sort());
    for (const [, target = ''] of mapping.matchAll(/\]\(((?:\.\.\/|decisions\/)[^)]+)\)/g))
      expect(existsSync(join(ROOT, 'docs', target)), target).toBe(true);
  });
});
