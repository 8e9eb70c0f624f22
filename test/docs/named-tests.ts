// Tests that a document names: `[start](../test/….test.ts) “F5:”, “F5b:”`, a file and the beginnings of titles.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

export const ROOT: string = join(import.meta.dirname, '../..');

export interface NamedTest {
  readonly file: string;
  readonly titles: readonly string[];
}

export function testsNamed(text: string): readonly NamedTest[] {
  return [...text.matchAll(/\]\(\.\.\/(test\/[^)]+\.test\.ts)\)((?:,? “[^”]+”)*)/g)].map(
    ([, file = '', quotes = '']) => ({
      file,
      titles: [...quotes.matchAll(/“([^”]+)”/g)].map(([, title = '']) => title),
    }),
  );
}

export function titlesIn(file: string): readonly string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(/\btest(?:\.(?:for|each)\b.*?\))?\(\s*(['"`])(.*?)\1,/gs)].map(
    ([, , title = '']) => title,
  );
}

/** Fails where a file or a title is not there, and where a file is named without a title. */
export function expectToExist(named: readonly NamedTest[]): void {
  for (const { file, titles } of named) {
    expect(existsSync(join(ROOT, file)), file).toBe(true);
    expect(titles.length, file).toBeGreaterThan(0);
    const known = titlesIn(file);
    for (const title of titles)
      expect(
        known.filter(one => one.startsWith(title)),
        `${file}: ${title}`,
      ).not.toEqual([]);
  }
}
