// The words of messages, in one golden file: test/golden/wordings.txt has a line `PLACE: words` for each. A test asserts
// the place, and a change of words is a change of that file: `UPDATE=1` rewrites the lines of the tests that run.

import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

const FILE = join(import.meta.dirname, '../golden/wordings.txt');
const NOTHING = '(nothing)';

/** Expects that this, and nothing else, is said at the place, such as `problems: a full disk`. */
export function expectWordings(place: string, said: readonly string[]): void {
  const lines = (said.length === 0 ? [NOTHING] : said).map(words => `${place}: ${words}`);
  if (process.env['UPDATE'] === '1') alone(() => rewrite(place, lines));
  expect(linesAt(place)).toEqual(lines);
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter(line => line !== '');
}

function linesAt(place: string): readonly string[] {
  return linesOf(readFileSync(FILE, 'utf8')).filter(line => line.startsWith(`${place}: `));
}

function rewrite(place: string, lines: readonly string[]): void {
  const others = linesOf(readFileSync(FILE, 'utf8')).filter(line => !line.startsWith(`${place}: `));
  // By place; the lines of one place keep their order.
  const placeOf = (line: string): string => line.split(': ', 2).join(': ');
  const all = [...others, ...lines].sort((a, b) => placeOf(a).localeCompare(placeOf(b), 'en'));
  writeFileSync(FILE, `${all.join('\n')}\n`);
}

/** Other workers rewrite the same file. */
function alone(run: () => void): void {
  const lock = `${FILE}.lock`;
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
  try {
    run();
  } finally {
    rmdirSync(lock);
  }
}
