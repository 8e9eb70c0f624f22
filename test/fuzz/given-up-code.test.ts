// V8 gives up optimized code whose assumptions fail, and compiles the function again. If every page causes this, it can
// cost more than the page: it once took a third of the time of pages with new series, and no test saw it.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const POLLS = 40;
const GIVEN_UP = /^\[bailout .*reason: ([^)]*)\).* deoptimizing \S+ <JSFunction (\S+)/gm;
/** How often one function's code may be given up, since it meets cases that it has not met before. */
const GIVEN_UP_MAX = 8;
/** Code compiled during a function's first loop lacks type feedback for the code after the loop. */
const OF_FIRST_USE = 'Insufficient type feedback';
/** The bench's own functions, which make the pages. */
const OF_THE_PAGES: readonly string[] = ['render', 'formatGoFloat'];

/** Code that is given up at every page is so in every run; on a busy machine it may happen in one run by chance. */
const TRIES = 3;

test.each(['churning', 'histograms', 'captured'])(
  '%s: no code is given up again and again',
  async scenario => {
    let often = await givenUpOften(scenario);
    for (let tries = 1; tries < TRIES && often.length > 0; tries++)
      often = await givenUpOften(scenario);
    expect(often).toEqual([]);
  },
);

/** The functions of ours whose code is given up too often, with the number of times. */
async function givenUpOften(scenario: string): Promise<readonly (readonly [string, number])[]> {
  const args = ['--trace-deopt', 'bench/translate.ts', scenario, String(POLLS)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 });
  expect(stdout).toContain(`polls to ${POLLS}: `);
  const given = new Map<string, number>();
  for (const [, reason = '', name = ''] of stdout.matchAll(GIVEN_UP))
    if (!reason.startsWith(OF_FIRST_USE) && !OF_THE_PAGES.includes(name))
      given.set(name, (given.get(name) ?? 0) + 1);
  expect(given.size).toBeGreaterThan(0);
  return [...given].filter(([, count]) => count > GIVEN_UP_MAX);
}
