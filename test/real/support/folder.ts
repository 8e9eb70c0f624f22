// The folder of the real parts: $REAL, or .real at the root of the checkout (which git ignores).
// parts/ caches downloads and builds, one folder per version; go/ has the caches of the Go tool chain;
// run/ has one folder per started part, with its configuration, data and logs.

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';

export const checkoutFolder: string = resolve(import.meta.dirname, '../../..');

export const realFolder: string = resolve(checkoutFolder, process.env['REAL'] ?? '.real');

/** A test keeps its folders, so that a failure can be examined. After this time, the next run removes them. */
const RUN_KEPT_MS = 24 * 60 * 60 * 1000;

/**
 * Runs `work` while no other process that shares the folder does so: otherwise, test files that run side by side would
 * build the same part at the same time. The lock is that of a database, so a killed process releases it.
 */
export async function exclusively<T>(work: () => Promise<T>): Promise<T> {
  await mkdir(realFolder, { recursive: true });
  const lock = new DatabaseSync(join(realFolder, 'prepare.lock'), { timeout: 0 });
  try {
    while (!isLocked(lock)) await delay(200);
    return await work();
  } finally {
    lock.close();
  }
}

function isLocked(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return false;
    throw error;
  }
}

const SQLITE_BUSY = 5;

export interface Cached {
  readonly folder: string;
  /** How long it took to make the folder. */
  readonly seconds: number;
}

/**
 * The folder of a part's version; `make` makes it if it does not exist. A half-made folder never has the final name, so
 * an interrupted build starts again.
 */
export async function cached(
  key: string,
  make: (folder: string) => Promise<void>,
): Promise<Cached> {
  const folder = join(realFolder, 'parts', key);
  const stamp = join(folder, '.seconds');
  if (!existsSync(stamp)) {
    const draft = `${folder}.draft`;
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { recursive: true });
    const startedAt = performance.now();
    try {
      await make(draft);
      const seconds = (performance.now() - startedAt) / 1000;
      await writeFile(join(draft, '.seconds'), seconds.toFixed(1));
      await rename(draft, folder);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }
  return { folder, seconds: Number(await readFile(stamp, 'utf8')) };
}

/** Makes a new folder for one started part. Also removes folders of runs that are a day old. */
export async function runFolder(name: string): Promise<string> {
  const runs = join(realFolder, 'run');
  await mkdir(runs, { recursive: true });
  for (const entry of await readdir(runs)) {
    const path = join(runs, entry);
    // Another test may have removed the folder meanwhile.
    const { mtimeMs = Infinity } = (await stat(path).catch(() => null)) ?? {};
    if (Date.now() - mtimeMs > RUN_KEPT_MS) await rm(path, { recursive: true, force: true });
  }
  return mkdtemp(join(runs, `${name}-`));
}
