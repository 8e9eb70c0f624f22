import {
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SpoolFile } from '../../src/lib/spool-file.ts';
import { KeptArchives } from '../../src/logs/downloads.ts';
import type { Partition } from '../../src/logs/item.ts';
import { testService } from '../support/log-api.ts';
import { tempDirectory } from '../support/program.ts';

const PARTITION: Partition = {
  service: testService('db1'),
  source: 'db1/a',
  server: 'a',
  type: 'error-log',
};

async function spoolOf(directory: string, bytes: Buffer): Promise<SpoolFile> {
  const spool = await SpoolFile.create(directory);
  spool.write(bytes);
  await spool.end();
  return spool;
}

async function keep(kept: KeptArchives, directory: string, id: string, size = 100) {
  const spool = await spoolOf(directory, Buffer.alloc(size, id));
  const keeping = await kept.keep(spool, PARTITION, id);
  await spool.close();
  return keeping;
}

test('a file is kept whole, readable only for its owner, under a safe name', async () => {
  using files = tempDirectory();
  const kept = new KeptArchives(files.path, 1_000_000);
  const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, i) => i % 251));
  const spool = await spoolOf(files.path, bytes);
  const keeping = await kept.keep(spool, PARTITION, '../../etc/passwd\n');
  await spool.close();
  const folder = join(files.path, 'set-aside');
  const [name = ''] = readdirSync(folder);
  expect(name).toMatch(/^_[\w.-]+\.[\da-f]{8}$/);
  expect(keeping).toEqual({ file: join(folder, name) });
  expect(readFileSync(join(folder, name)).equals(bytes)).toBe(true);
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
});

test('the folder stays within its limit: the oldest files go first', async () => {
  using files = tempDirectory();
  const kept = new KeptArchives(files.path, 250);
  for (const [age, id] of ['b', 'c', 'a'].entries()) {
    const keeping = await keep(kept, files.path, id);
    utimesSync(keeping.file ?? '', 1000 + age, 1000 + age);
  }
  const ids = new Set(readdirSync(join(files.path, 'set-aside')).map(name => name[0]));
  expect(ids).toEqual(new Set(['a', 'c']));
  await keep(kept, files.path, 'a');
  expect(readdirSync(join(files.path, 'set-aside'))).toHaveLength(2);
});

test('a smaller answer does not take the place of a file: it may be a wrong one', async () => {
  using files = tempDirectory();
  const kept = new KeptArchives(files.path, 1000);
  const sizes: number[] = [];
  for (const size of [100, 20, 300]) {
    const keeping = await keep(kept, files.path, 'a', size);
    sizes.push(statSync(keeping.file ?? '').size);
  }
  expect(sizes).toEqual([100, 100, 300]);
});

test('a file that is too large, or cannot be written, is not kept, and the cause is reported', async () => {
  using files = tempDirectory();
  const none = await keep(new KeptArchives(files.path, 0), files.path, 'a');
  expect(none).toEqual({ cause: expect.stringContaining('logs.limits.set_aside') });
  const nowhere = files.write('file', '');
  const failed = await keep(new KeptArchives(nowhere, 1000), files.path, 'a');
  expect(failed).toEqual({ cause: expect.stringMatching(/ENOTDIR|EEXIST/) });
});

test('nothing is written or deleted through a link', async () => {
  using files = tempDirectory();
  using others = tempDirectory();
  writeFileSync(join(others.path, 'of somebody'), '');
  symlinkSync(others.path, join(files.path, 'set-aside'));
  const keeping = await keep(new KeptArchives(files.path, 1000), files.path, 'a');
  expect(keeping).toEqual({ cause: expect.stringContaining('is a symbolic link') as string });
  expect(readdirSync(others.path)).toEqual(['of somebody']);
});
