import { fstatSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SpoolFile } from '../../src/lib/spool-file.ts';
import { tempDirectory } from '../support/program.ts';

test('written data can be read, and the directory shows no file', async () => {
  using directory = tempDirectory();
  const spool = await SpoolFile.create(directory.path);
  expect(readdirSync(directory.path)).toEqual([]);
  expect(fstatSync(spool.fd).mode & 0o777).toBe(0o600);
  const chunk = Buffer.from('abc');
  spool.write(chunk);
  chunk.fill('x');
  spool.write(Buffer.from('def'));
  await spool.end();
  expect([spool.bytes, spool.failure]).toEqual([6, null]);
  expect((await spool.read(1, 3)).toString()).toBe('bcd');
  expect((await spool.read(4, 10)).toString()).toBe('ef');
  await spool.close();
});

test('a fast writer is asked to wait, and resumed', async () => {
  using directory = tempDirectory();
  const spool = await SpoolFile.create(directory.path);
  const drained = new Promise<void>(resolve => spool.onDrain(resolve));
  const chunk = Buffer.alloc(256 * 1024, 7);
  let writes = 1;
  while (spool.write(chunk)) writes++;
  expect(writes).toBe(4);
  await drained;
  expect(spool.write(chunk)).toBe(true);
  await spool.end();
  expect(fstatSync(spool.fd).size).toBe(5 * chunk.length);
  await spool.close();
});

test('a missing directory is a system error', async () => {
  using directory = tempDirectory();
  await expect(SpoolFile.create(`${directory.path}/none`)).rejects.toThrow('ENOENT');
});
