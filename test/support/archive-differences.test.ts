// The comparison names the one entry that differs, and what differs of it.

import { chmodSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { run } from '../real/support/process.ts';
import { archiveDifferences, sha256Of } from './archive-differences.ts';
import { useDirectory } from './temporary-directory.ts';

const home = useDirectory();

interface File {
  readonly text?: string;
  readonly mode?: number;
  /** In seconds since 1970. */
  readonly time?: number;
  readonly owner?: number;
}

/** Packs two files, of which one has these properties; all else is the same each time. */
async function pack(name: string, file: File, tarArgs: readonly string[] = []): Promise<string> {
  const { text = 'text', mode = 0o644, time = 0, owner = 0 } = file;
  const tree = join(home.path, `${name}.tree`);
  mkdirSync(tree);
  for (const [path, content] of [
    ['same.js', 'same'],
    ['main.js', text],
  ] as const) {
    writeFileSync(join(tree, path), content);
    chmodSync(join(tree, path), path === 'main.js' ? mode : 0o644);
    utimesSync(join(tree, path), 0, path === 'main.js' ? time : 0);
  }
  const archive = join(home.path, `${name}.tar`);
  const ids = ['--numeric-owner', '--owner=0', '--group=0'];
  await run('tar', ['-C', tree, ...ids, ...tarArgs, '-cf', archive, 'same.js']);
  await run('tar', ['-C', tree, ...ids, `--owner=${owner}`, '-rf', archive, 'main.js']);
  return archive;
}

let first = '';
beforeAll(async () => {
  first = await pack('first', {});
});

test('equal archives differ in nothing', async () => {
  expect(await archiveDifferences(first, await pack('equal', {}))).toEqual([]);
});

test.each([
  ['content', { text: 'texT' }, /^main\.js: (.*) [0-9a-f]{64} \| \1 [0-9a-f]{64}$/],
  ['mode', { mode: 0o600 }, /^main\.js: -rw-r--r-- .* \| -rw------- /],
  ['owner', { owner: 65_534 }, /^main\.js: .* 0\/0 .* \| .* 65534\/0 /],
  ['time', { time: 1 }, /^main\.js: .* 1970-01-01 00:00:00 .* \| .* 1970-01-01 00:00:01 /],
])('one file with another %s is named', async (name, file, line) => {
  const lines = await archiveDifferences(first, await pack(name, file));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(line);
});

test('a file that only one has is named', async () => {
  const smaller = join(home.path, 'smaller.tar');
  await run('cp', [first, smaller]);
  await run('tar', ['--delete', '-f', smaller, 'main.js']);
  expect(await archiveDifferences(first, smaller)).toEqual([
    expect.stringMatching(/^main\.js: -rw.* \| absent$/),
  ]);
});

test('another form of the same entries is a difference', async () => {
  const other = await pack('form', {}, ['--format=pax']);
  expect(await sha256Of(other)).not.toBe(await sha256Of(first));
  expect(await archiveDifferences(first, other)).toEqual([
    'all entries are equal: their order or compression differs',
  ]);
});
