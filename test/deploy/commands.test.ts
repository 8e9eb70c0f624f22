// Runs the two commands of README.md in a clean clone, with the oldest Node.js and npm that it names (.ci/run itself
// covers the newer npm). Runs them again as another user, who has no home and may write nothing there.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { cached, checkoutFolder } from '../real/support/folder.ts';
import { run } from '../real/support/process.ts';
import { type Clone, sharedClone } from './support/clone.ts';

const NODE = '20.20.2';
const NPM = '10.9.9';
/** The id of the user and of the group `nobody`, who owns no file. */
const NOBODY = 65_534;

let clone: Clone;
let old = '';

beforeAll(async () => {
  const name = `node-${NODE}-npm-${NPM}-${process.arch}`;
  const { folder } = await cached(name, async draft => {
    const packages = [`node-linux-${process.arch}@${NODE}`, `npm@${NPM}`];
    await run('npm', ['install', '--no-save', '--silent', '--prefix', draft, ...packages]);
  });
  old = join(folder, 'node_modules/.bin');
  clone = await sharedClone();
});

/** Runs a command in the clone, with the old Node.js and npm. */
function withOld(command: string): Promise<string> {
  return clone.run(`export PATH=${old}:/usr/bin:/bin\n${command}`);
}

/** The commands of README.md, shortened: the start lasts 2 s, and the tests are one file. */
async function commands(): Promise<{ install: string; start: string; test: string }> {
  const readme = await readFile(join(checkoutFolder, 'README.md'), 'utf8');
  const lines = [...readme.matchAll(/^(npm ci) && (npm (?:start|test))$/gm)];
  expect(lines.map(([, , second]) => second)).toEqual(['npm start', 'npm test']);
  const [install = '', start = '', tests = ''] = [lines[0]?.[1], lines[0]?.[2], lines[1]?.[2]];
  return {
    install,
    start: `${start} -- --for 2s`,
    test: `${tests} -- test/lib/json.test.ts`,
  };
}

test(`work with Node.js ${NODE} and npm ${NPM}`, async () => {
  const { install, start, test } = await commands();
  expect(await withOld('echo $(node --version) $(npm --version)')).toBe(`v${NODE} ${NPM}\n`);
  await withOld('rm -rf node_modules');
  await expect(withOld(start)).rejects.toThrow(/run `npm ci` first/);
  expect(await withOld(`${install} 2>&1`)).not.toMatch(/warn|EBADENGINE/i);
  expect(await withOld(start)).toContain('metrics that arrived');
  expect(await withOld(test)).toMatch(/Tests .*passed/);
  // The program also starts without npm.
  expect(await withOld('node bin/prom2otlp.js version')).toMatch(/^prom2otlp \S+ \(node v2[46]/);
});

test('work for another user, without a home, in a read-only checkout', async () => {
  const { start, test } = await commands();
  const environment = 'env --ignore-environment PATH="$PATH"';
  const user = `setpriv --reuid ${NOBODY} --regid ${NOBODY} --clear-groups ${environment}`;
  await expect(withOld(`${user} touch file`)).rejects.toThrow(/Permission denied/);
  expect(await withOld(`${user} ${start}`)).toContain('metrics that arrived');
  expect(await withOld(`${user} ${test}`)).toMatch(/Tests .*passed/);
});
