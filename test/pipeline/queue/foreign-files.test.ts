// Links, FIFOs and permissions by which other users could interfere with the queue's directory: refused with a message,
// or corrected.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { OperatorError } from '../../../src/errors.ts';
import { QueueView } from '../../../src/pipeline/queue/queue-view.ts';
import { Queue } from '../../../src/pipeline/queue/queue.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { queueOptions } from './queue-behaviour.ts';

const VICTIM = join(import.meta.dirname, '../../support/queue-victim.ts');
const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log('foreign-files: other owners are skipped, since only root can make them');

function open(directory: string): Queue {
  const queue = Queue.open(queueOptions(), directory);
  onTestFinished(() => queue.close());
  return queue;
}

function expectRefused(directory: string, words: string): void {
  expect(() => open(directory)).toThrow(OperatorError);
  expect(() => open(directory)).toThrow(words);
}

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('files', () => {
  const NAMES = ['queue.sqlite', 'queue.sqlite-wal', 'lock.sqlite', 'reserve', 'salvage.sqlite'];

  for (const name of NAMES) {
    test(`${name} as a symbolic link: refused, and its target is not touched`, () => {
      const directory = temporaryDirectory();
      const victim = join(temporaryDirectory(), 'victim');
      writeFileSync(victim, 'of somebody');
      symlinkSync(victim, join(directory, name));
      expectRefused(directory, `${name} is a symbolic link and no regular file`);
      expect(readFileSync(victim, 'utf8')).toBe('of somebody');
    });

    test(`${name} as a FIFO: refused at once`, async () => {
      const directory = temporaryDirectory();
      execFileSync('mkfifo', [join(directory, name)]);
      // In a separate process: opening a FIFO would block this one for ever.
      const child = spawn(process.execPath, [VICTIM, 'mix', directory], { timeout: 10_000 });
      let told = '';
      child.stderr.on('data', (text: Buffer) => (told += String(text)));
      const [code] = (await once(child, 'close')) as [number | null];
      expect(code).toBe(1);
      expect(told).toContain(`${name} is a FIFO and no regular file`);
    });
  }

  test('a FIFO in the place of the queue does not block a reader of it', () => {
    const directory = temporaryDirectory();
    execFileSync('mkfifo', [join(directory, 'queue.sqlite')]);
    expect(() => QueueView.open(directory)).toThrow('is a FIFO');
  });

  test('that others may read lose that permission', async () => {
    const directory = temporaryDirectory();
    await Queue.open(queueOptions(), directory).close();
    for (const name of ['queue.sqlite', 'lock.sqlite', 'reserve'])
      chmodSync(join(directory, name), 0o644);
    open(directory);
    for (const name of ['queue.sqlite', 'queue.sqlite-wal', 'lock.sqlite', 'reserve'])
      expect(modeOf(join(directory, name)), name).toBe('600');
  });

  test.skipIf(!isRoot)('of another user are refused', () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'queue.sqlite'), '');
    chownSync(join(directory, 'queue.sqlite'), 12_345, 12_345);
    expectRefused(directory, 'queue.sqlite belongs to the user 12345, and this process runs as 0');
  });
});

test('the lock does not block a start while somebody reads its file', () => {
  const directory = temporaryDirectory();
  const path = join(directory, 'lock.sqlite');
  const reader = new DatabaseSync(path);
  onTestFinished(() => reader.close());
  reader.exec('CREATE TABLE t (a); BEGIN; SELECT * FROM t');
  // A read lock, held as long as its statement.
  const rows = reader.prepare('SELECT * FROM sqlite_schema').iterate();
  rows.next();
  open(directory);
  expectRefused(directory, 'another process is using it');
});

describe('the directory', () => {
  test('that others may write to loses that permission, and this is reported', () => {
    const directory = temporaryDirectory();
    chmodSync(directory, 0o777);
    const queue = open(directory);
    expect(modeOf(directory)).toBe('755');
    expect(queue.notes()).toEqual([expect.stringContaining('other users could write into')]);
  });

  test('that others may only read does not change', () => {
    const directory = temporaryDirectory();
    chmodSync(directory, 0o750);
    expect(open(directory).notes()).toEqual([]);
    expect(modeOf(directory)).toBe('750');
  });

  test('may be a symbolic link', () => {
    const parent = temporaryDirectory();
    mkdirSync(join(parent, 'real'), { mode: 0o700 });
    symlinkSync('real', join(parent, 'link'));
    open(join(parent, 'link'));
    expect(statSync(join(parent, 'real', 'queue.sqlite')).isFile()).toBe(true);
  });

  test.skipIf(!isRoot)('of another user is refused', () => {
    const directory = temporaryDirectory();
    chownSync(directory, 12_345, 12_345);
    expectRefused(
      directory,
      'belongs to the user 12345, and this process runs as 0; run it as that',
    );
  });

  test.skipIf(!isRoot)('of root, for a group: a volume of Kubernetes is accepted', async () => {
    const directory = temporaryDirectory();
    chownSync(directory, 0, 12_345);
    chmodSync(directory, 0o2770);
    expect(await openedAs(12_345, directory)).toEqual([]);
    chmodSync(directory, 0o2777);
    expect(await openedAs(12_345, directory)).toEqual([
      expect.stringContaining('every user can write into'),
    ]);
  });
});

/** The notes of a queue that another user's process opens. */
async function openedAs(user: number, directory: string): Promise<readonly string[]> {
  const { setegid, seteuid } = process;
  if (setegid === undefined || seteuid === undefined) throw new Error('no users here');
  setegid(user);
  seteuid(user);
  try {
    const queue = Queue.open(queueOptions(), directory);
    const notes = queue.notes();
    await queue.close();
    return notes;
  } finally {
    seteuid(0);
    setegid(0);
  }
}
