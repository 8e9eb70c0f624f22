// Keeps archives that were given up, for people to look into: whole files in a folder of their own, readable by the
// owner alone, under names made of the archive's. Guarantees that the folder stays within its limit: what was kept
// longest goes first. Nothing in it is ever read again.

import { createHash } from 'node:crypto';
import { lstat, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { causeText } from '../errors.ts';
import type { SpoolFile } from '../lib/spool-file.ts';
import { type Partition, partitionKey } from './partition.ts';

/** Where it was kept, or why it was not. */
export type Keeping = { readonly file: string } | { readonly cause: string };

const FOLDER = 'set-aside';
const FILES_MAX = 100;
const NAME_LENGTH_MAX = 100;
const HASH_LENGTH = 8;
const COPY_BYTES = 64 * 1024;

interface KeptFile {
  readonly path: string;
  readonly bytes: number;
  readonly atMs: number;
}

export class KeptArchives {
  readonly #folder: string;
  readonly #bytesMax: number;

  /** `bytesMax` 0: nothing is kept. */
  constructor(directory: string, bytesMax: number) {
    this.#folder = join(directory, FOLDER);
    this.#bytesMax = bytesMax;
  }

  /** It never rejects. The same archive takes the place of what was kept of it before. */
  async keep(spool: SpoolFile, partition: Partition, id: string): Promise<Keeping> {
    if (spool.bytes > this.#bytesMax)
      return { cause: `it is larger than logs.limits.set_aside (${this.#bytesMax} bytes)` };
    const path = join(this.#folder, fileName(partition, id));
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      // What is kept longest is deleted there: not where somebody else has made a link to.
      if (!(await lstat(this.#folder)).isDirectory())
        return { cause: `${this.#folder} is a symbolic link and no directory` };
      await rm(path, { force: true });
      await this.#makeRoom(spool.bytes);
      await copy(spool, path);
      return { file: path };
    } catch (error) {
      await rm(path, { force: true }).catch(() => undefined);
      return { cause: causeText(error) };
    }
  }

  async #makeRoom(bytes: number): Promise<void> {
    const files = await this.#files();
    let left = files.reduce((sum, file) => sum + file.bytes, bytes);
    let count = files.length + 1;
    for (const file of files) {
      if (left <= this.#bytesMax && count <= FILES_MAX) return;
      await rm(file.path, { force: true });
      left -= file.bytes;
      count--;
    }
  }

  /** Oldest first. */
  async #files(): Promise<readonly KeptFile[]> {
    const found: KeptFile[] = [];
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const { size, mtimeMs } = await stat(path);
      found.push({ path, bytes: size, atMs: mtimeMs });
    }
    return found.sort((a, b) => a.atMs - b.atMs);
  }
}

async function copy(spool: SpoolFile, path: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for (let offset = 0; offset < spool.bytes; offset += COPY_BYTES)
      await file.write(await spool.read(offset, COPY_BYTES));
  } finally {
    await file.close();
  }
}

/** Of the archive's id only what is harmless in a name; the digest tells alike ones apart. */
function fileName(partition: Partition, id: string): string {
  const identity = `${partitionKey(partition)} ${id}`;
  const digest = createHash('sha256').update(identity).digest('hex').slice(0, HASH_LENGTH);
  const readable = id.replaceAll(/[^\w.-]+/g, '_').replace(/^\.+/, '');
  return `${readable.slice(0, NAME_LENGTH_MAX)}.${digest}`;
}
