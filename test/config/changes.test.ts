import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isSame, WatchedFiles, withFixed } from '../../src/config/changes.ts';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import type { TextFile } from '../../src/config/text-file.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

function parse(blocks: string, key = 'k'): Config {
  const text = `api: {base_url: "https://a", key: "\${env:KEY}"}\nservices: [{id: x}]\n${blocks}`;
  const file = join(temporaryDirectory(), 'c.yaml');
  return parseConfig(text, { file, environment: { KEY: key } });
}

test('secrets are compared by their text, expressions by their source', () => {
  expect(isSame(parse('').services, parse('').services)).toBe(true);
  expect(isSame(parse('').services, parse('', 'other').services)).toBe(false);
  const metrics = (include: string): unknown => parse(`metrics: {include: [${include}]}`).metrics;
  expect(isSame(metrics('a.*'), metrics('a.*'))).toBe(true);
  expect(isSame(metrics('a.*'), metrics('b.*'))).toBe(false);
  const map = (value: number): unknown => ({ configured: new Map([['a', value]]) });
  expect(isSame(map(1), map(1))).toBe(true);
  expect(isSame(map(1), map(2))).toBe(false);
});

test('the keys that a process is built around stay, and are named', () => {
  const plain = parse('');
  expect(withFixed(plain, parse('', 'other')).restart).toEqual([]);
  const wanted = parse(
    'log: {level: debug}\nstatus: {listen: 127.0.0.1:1, token: t}\nqueue: {directory: null, metrics: {max_age: 1h}}',
  );
  const { config, restart } = withFixed(plain, wanted);
  expect(restart).toEqual(['queue.directory', 'status.listen']);
  expect(config.log.level).toBe('debug');
  expect(config.queue).toEqual({ ...wanted.queue, directory: plain.queue.directory });
  const { host, port } = plain.status;
  expect(config.status).toEqual({ ...wanted.status, host, port });
});

function read(files: WatchedFiles, path: string): Promise<TextFile> {
  return files.load(readFile => readFile(path));
}

async function watched(): Promise<{ readonly files: WatchedFiles; readonly path: string }> {
  const files = new WatchedFiles();
  const path = join(temporaryDirectory(), 'key');
  writeFileSync(path, 'one');
  expect(await read(files, path)).toEqual({ text: 'one' });
  return { files, path };
}

test('a change is reported once, when a second check finds no further change', async () => {
  const { files, path } = await watched();
  expect(files.look()).toBe(false);
  writeFileSync(path, 'second');
  expect(files.look()).toBe(false);
  writeFileSync(path, 'still being written');
  expect(files.look()).toBe(false);
  expect(files.look()).toBe(true);
  expect(files.look()).toBe(false);
});

test('a removed file and a new file are changes', async () => {
  const { files, path } = await watched();
  rmSync(path);
  expect([files.look(), files.look()]).toEqual([false, true]);
  expect(await read(files, path)).toHaveProperty('problem');
  writeFileSync(path, 'one');
  expect([files.look(), files.look()]).toEqual([false, true]);
});

test('a change that is undone before the second check is none', async () => {
  const { files, path } = await watched();
  renameSync(path, `${path}.old`);
  expect(files.look()).toBe(false);
  renameSync(`${path}.old`, path);
  expect([files.look(), files.look()]).toEqual([false, false]);
});

test('links are followed, so that a swapped directory is noticed', async () => {
  const directory = temporaryDirectory();
  const [link, path] = [join(directory, '..data'), join(directory, 'key')];
  for (const version of ['1', '2']) {
    mkdirSync(join(directory, version));
    writeFileSync(join(directory, version, 'key'), version);
  }
  symlinkSync('1', link);
  symlinkSync('..data/key', path);
  const files = new WatchedFiles();
  expect(await read(files, path)).toEqual({ text: '1' });
  symlinkSync('2', `${link}_tmp`);
  renameSync(`${link}_tmp`, link);
  expect([files.look(), files.look()]).toEqual([false, true]);
  expect(await read(files, path)).toEqual({ text: '2' });
});

test('an unreadable file is a problem of the configuration, and does not end the program', async () => {
  const { files, path } = await watched();
  const loop = `${path}-loop`;
  symlinkSync(loop, loop);
  expect(await read(files, loop)).toHaveProperty('problem');
  expect(files.look()).toBe(false);
});

test('a file that is read again, in the same load or later, still counts as of its first reading', async () => {
  const { files, path } = await watched();
  const [first, second, readLater] = await files.load(readFile => {
    const before = readFile(path);
    writeFileSync(path, 'second');
    return [before, readFile(path), readFile];
  });
  expect([first, second]).toEqual([{ text: 'one' }, { text: 'second' }]);
  expect([files.look(), files.look(), files.look()]).toEqual([false, true, false]);
  writeFileSync(path, 'the third');
  expect(readLater(path)).toEqual({ text: 'the third' });
  expect([files.look(), files.look()]).toEqual([false, true]);
});

test('a file that may be read now has changed', async () => {
  const { files, path } = await watched();
  chmodSync(path, 0o640);
  expect([files.look(), files.look()]).toEqual([false, true]);
});

test('files of a former configuration are watched until another one is in use', async () => {
  const { files, path } = await watched();
  const other = `${path}-other`;
  const fail = (): Promise<void> =>
    files.load(readFile => {
      readFile(other);
      throw new Error('a mistake');
    });
  await expect(fail()).rejects.toThrow('a mistake');
  for (const changed of [path, other]) {
    writeFileSync(changed, 'changed');
    expect([files.look(), files.look()]).toEqual([false, true]);
  }
  expect(await read(files, other)).toEqual({ text: 'changed' });
  writeFileSync(path, 'is no longer of interest');
  expect([files.look(), files.look()]).toEqual([false, false]);
});
