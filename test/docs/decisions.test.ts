// The decisions are numbered without holes, each number once, and a link shows the number of what it leads to.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const folder = join(import.meta.dirname, '../../docs/decisions');
const names = readdirSync(folder)
  .filter(name => /^\d{4}-/.test(name))
  .sort();
const textOf = (name: string): string => readFileSync(join(folder, name), 'utf8');

test('each has the next number, in its name and in its title', () => {
  expect(names.map(name => Number(name.slice(0, 4)))).toEqual(names.map((_, index) => index + 1));
  for (const name of names)
    expect(textOf(name)).toMatch(new RegExp(`^# ${Number(name.slice(0, 4))}\\. `));
});

test('links between them show the right number', () => {
  for (const name of names)
    for (const [, shown, file = ''] of textOf(name).matchAll(/\[(\d+)\]\((\d{4}-[^)#]+)/g)) {
      expect(names, name).toContain(file);
      expect(Number(shown), `${name}: ${file}`).toBe(Number(file.slice(0, 4)));
    }
});
