// The help of each verb has exactly the options that the verb takes.

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ACCESS_HELP, ACCESS_OPTIONS } from '../../src/cli/service-access.ts';
import type { Verb } from '../../src/cli/verb.ts';

const folder = new URL('../../src/cli/', import.meta.url);
const files = readdirSync(folder).filter(name =>
  /^export const verb: Verb = /m.test(readFileSync(new URL(name, folder), 'utf8')),
);

/** The options in declarations as `'key-file': { type: 'string' }`. */
function declaredIn(source: string): ReadonlySet<string> {
  const names = [...source.matchAll(/'?([\w-]+)'?: \{ type: '(?:string|boolean)'/g)];
  const access = source.includes('...ACCESS_OPTIONS') ? Object.keys(ACCESS_OPTIONS) : [];
  return new Set([...names.map(([, name = '']) => name), ...access]);
}

/** The options in a help text, without its examples, which may show other programs. */
function shownIn(help: string): ReadonlySet<string> {
  const [usage = ''] = help.split(/\nExamples?:\n/);
  return new Set([...usage.matchAll(/--([a-z][\w-]*)/g)].map(([, name = '']) => name));
}

test('every verb is looked at', () => {
  expect(files.length).toBeGreaterThan(12);
  expect([...shownIn(ACCESS_HELP)].sort()).toEqual(Object.keys(ACCESS_OPTIONS).sort());
});

describe.each(files)('%s', name => {
  test('shows the options that it takes, and no others', async () => {
    const { verb } = (await import(new URL(name, folder).href)) as { verb: Verb };
    const declared = declaredIn(readFileSync(new URL(name, folder), 'utf8'));
    const shown = [...shownIn(verb.help)].filter(option => option !== 'help');
    expect(shown.sort()).toEqual([...declared].sort());
  });
});
