// The tests that docs/how-it-works/mapping.md and docs/how-it-works/service-coverage.md name by their files exist. Every
// rule and every section of the specification has its row, and every test whose title begins with a rule is named there.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { keysByLevel } from '../../src/config/declare.ts';
import { CONFIG } from '../../src/config/keys.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The files of tests to which a text links. */
function filesNamed(text: string): readonly string[] {
  return [...text.matchAll(/\]\(\.\.\/\.\.\/(test\/[^)]+(?:\.test\.ts|\.txt))\)/g)].map(
    ([, file = '']) => file,
  );
}

function titlesIn(file: string): readonly string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  // Titles of a script of the rules.
  if (file.endsWith('.txt'))
    return [...text.matchAll(/^== (.*)$/gm)].map(([, title = '']) => title);
  return [...text.matchAll(/\btest(?:\.(?:for|each)\b.*?\))?\(\s*(['"`])(.*?)\1,/gs)].map(
    ([, , title = '']) => title,
  );
}

function expectToExist(files: readonly string[]): void {
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter(file => !existsSync(join(ROOT, file)))).toEqual([]);
}

const RULES = ['A1-7', 'B', 'C', 'D', 'E', 'F1-8', 'G1-4', 'H', 'I1-5', 'J1-7'].flatMap(range => {
  const [, letter = range, last] = /^(.)1-(\d)$/.exec(range) ?? [];
  return Array.from(
    { length: Number(last ?? 1) },
    (_, i) => letter + (last === undefined ? '' : i + 1),
  );
});

const mapping = readFileSync(join(ROOT, 'docs/how-it-works/mapping.md'), 'utf8');

/** The rows of the rules: `| **F5** | … |`. */
const rows = new Map(
  [...mapping.matchAll(/^\| \*\*([A-J]\d?)\*\* \|(.*)$/gm)].map(([, rule = '', row = '']) => [
    rule,
    row,
  ]),
);

describe('docs/how-it-works/mapping.md', () => {
  test('has a row for every rule, each with tests', () => {
    expect([...rows.keys()]).toEqual(RULES);
  });

  test.each([...rows.keys()])('names tests of %s that exist', rule => {
    expectToExist(filesNamed(rows.get(rule) ?? ''));
  });

  test('no test that bears a rule is left out', () => {
    const files = ['pipeline/derive', 'pipeline/encode', 'rules'].flatMap(folder =>
      readdirSync(join(ROOT, 'test', folder)).map(name => `test/${folder}/${name}`),
    );
    for (const file of files.filter(name => /\.test\.ts$|\.txt$/.test(name)))
      for (const title of titlesIn(file)) {
        const rule = /^([A-I]\d?)[a-c]?: /.exec(title)?.[1];
        if (rule === undefined) continue;
        expect(filesNamed(rows.get(rule) ?? ''), title).toContain(file);
      }
  });

  test('every golden folder is linked, and every link leads somewhere', () => {
    const folders = readdirSync(join(ROOT, 'test/golden')).filter(name => !name.includes('.'));
    const linked = [...mapping.matchAll(/\(\.\.\/\.\.\/test\/golden\/([^)]+)\)/g)].map(
      ([, name = '']) => name,
    );
    expect(linked.sort()).toEqual(folders.sort());
    for (const [, target = ''] of mapping.matchAll(/\]\(((?:\.\.\/|decisions\/)[^)]+)\)/g))
      expect(existsSync(join(ROOT, 'docs/how-it-works', target)), target).toBe(true);
  });
});

const document = readFileSync(join(ROOT, 'docs/how-it-works/service-coverage.md'), 'utf8');
const sections = [...document.matchAll(/^\| \*\*([\d.]+)[^*]*\*\* \|(.*)$/gm)].map(
  ([line, section = '', row = '']) => ({ line, section, row }),
);

/** Sections of the specification that state something about the service. */
const SECTIONS = '2.1 2.2 2.3 2.4 2.5 2.6 2.7 3 4 5 6 7 8 9'.split(' ');

const KEY = /`((?:api|metrics|logs|backups|otlp)\.[\w.]+)`/g;

describe('docs/how-it-works/service-coverage.md', () => {
  test('has a row for every section', () => {
    const there = new Set(sections.map(({ section }) => section));
    expect(SECTIONS.filter(section => !there.has(section))).toEqual([]);
  });

  test.each(sections)('names tests that exist: $line', ({ row }) => {
    expectToExist(filesNamed(row));
  });

  test('names keys of the configuration that exist', () => {
    const keys = new Set(
      [...keysByLevel(CONFIG)].flatMap(([level, names]) =>
        names.map(name => `${level}.${name}`.replace(/^\./, '')),
      ),
    );
    const named = [...document.matchAll(KEY)].map(([, key = '']) => key);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter(key => !keys.has(key))).toEqual([]);
  });
});
