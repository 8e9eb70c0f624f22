import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { WatchedFiles } from '../../src/config/changes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

function watched(): { readonly files: WatchedFiles; readonly path: string } {
  const files = new WatchedFiles();
  const path = join(temporaryDirectory(), 'key');
  writeFileSync(path, 'one');
  expect(files.read(path)).toEqual({ text: 'one' });
  return { files, path };
}

test('a change is reported once, when a second check finds no further change', () => {
  const { files, path } = watched();
  expect(files.look()).toBe(false);
  writeFileSync(path, 'second');
  expect(files.look()).toBe(false);
  writeFileSync(path, 'still being written');
  expect(files.look()).toBe(false);
  expect(files.look()).toBe(true);
  expect(files.look()).toBe(false);
});

test('a removed file and a new file are changes', () => {
  const { files, path } = watched();
  rmSync(path);
  expect([files.look(), files.look()]).toEqual([false, true]);
  expect(files.read(path)).toHaveProperty('problem');
  writeFileSync(path, 'one');
  expect([files.look(), files.look()]).toEqual([false, true]);
});

test('a change that is undone before the second check is none', () => {
  const { files, path } = watched();
  renameSync(path, `${path}.old`);
  expect(files.look()).toBe(false);
  renameSync(`${path}.old`, path);
  expect([files.look(), files.look()]).toEqual([false, false]);
});

test('links are followed, so that a swapped directory is noticed', () => {
  const directory = temporaryDirectory();
  const [link, path] = [join(directory, '..data'), join(directory, 'key')];
  for (const version of ['1', '2']) {
    mkdirSync(join(directory, version));
    writeFileSync(join(directory, version, 'key'), version);
  }
  symlinkSync('1', link);
  symlinkSync('..data/key', path);
  const files = new WatchedFiles();
  expect(files.read(path)).toEqual({ text: '1' });
  symlinkSync('2', `${link}_tmp`);
  renameSync(`${link}_tmp`, link);
  expect([files.look(), files.look()]).toEqual([false, true]);
  expect(files.read(path)).toEqual({ text: '2' });
});

test('an unreadable file is a problem of the configuration, and does not end the program', () => {
  const { files, path } = watched();
  const loop = `${path}-loop`;
  symlinkSync(loop, loop);
  expect(files.read(loop)).toHaveProperty('problem');
  expect(files.look()).toBe(false);
});
