// The limits of downloads, over all APIs: bytes per hour, archives at once, and disk space for given-up archives. Those
// are kept for inspection as whole files in a separate folder, readable only by the owner, under names derived from the
// archive's; the program never reads them again. Guarantees that the folder stays within its limit: the oldest files
// are deleted first.

import { hash } from 'node:crypto';
import { lstat, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogsConfig } from '../config/config.ts';
import { causeText } from '../errors.ts';
import { type Clock, HOUR_MS } from '../lib/clock.ts';
import { Semaphore } from '../lib/semaphore.ts';
import type { SpoolFile } from '../lib/spool-file.ts';
import { fileBytes } from './archive.ts';
import { type Partition, partitionKey } from './item.ts';

const ARCHIVES_AT_ONCE = 2;

export class Downloads {
  readonly directory: string;
  readonly permits: Semaphore = new Semaphore(ARCHIVES_AT_ONCE);
  readonly budget: ByteBudget;
  /** Null when nothing is kept on disk. */
  readonly kept: KeptArchives | null;

  /** `directory` null: uses the temporary directory, and keeps nothing. */
  constructor(clock: Clock, directory: string | null, limits: LogsConfig['limits']) {
    this.directory = directory ?? tmpdir();
    this.budget = new ByteBudget(clock, limits.downloadPerHourBytes);
    this.kept = directory === null ? null : new KeptArchives(directory, limits.setAsideBytes);
  }
}

/**
 * Refills evenly. A download may take more than is left; then the next one waits longer, which shows as lag.
 */
class ByteBudget {
  readonly #clock: Clock;
  readonly #perHour: number;
  #left: number;
  #filledAtMs: number;

  constructor(clock: Clock, perHourBytes: number) {
    this.#clock = clock;
    this.#perHour = perHourBytes;
    this.#left = perHourBytes;
    this.#filledAtMs = clock.monotonicMs();
  }

  /** False while it is overdrawn. */
  get isOpen(): boolean {
    const nowMs = this.#clock.monotonicMs();
    const gained = ((nowMs - this.#filledAtMs) / HOUR_MS) * this.#perHour;
    this.#left = Math.min(this.#perHour, this.#left + gained);
    this.#filledAtMs = nowMs;
    return this.#left > 0;
  }

  take(bytes: number): void {
    this.#left -= bytes;
  }
}

/** The file, or the reason why there is none. */
export interface Keeping {
  readonly file?: string;
  readonly cause?: string;
}

const FOLDER = 'set-aside';
const FILES_MAX = 100;
const NAME_LENGTH_MAX = 100;
const HASH_LENGTH = 8;

export class KeptArchives {
  readonly #folder: string;
  readonly #bytesMax: number;

  /** `bytesMax` 0: nothing is kept. */
  constructor(directory: string, bytesMax: number) {
    this.#folder = join(directory, FOLDER);
    this.#bytesMax = bytesMax;
  }

  /** Never rejects. Replaces an earlier file of the same archive that is smaller: either may be a wrong answer. */
  async keep(spool: SpoolFile, partition: Partition, id: string): Promise<Keeping> {
    if (spool.bytes > this.#bytesMax)
      return { cause: `it is larger than logs.limits.set_aside (${this.#bytesMax} bytes)` };
    const path = join(this.#folder, fileName(partition, id));
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      // Files are deleted in the folder: never follow a link that somebody else has made.
      if (!(await lstat(this.#folder)).isDirectory())
        return { cause: `${this.#folder} is a symbolic link and no directory` };
      const earlier = await lstat(path).catch(() => null);
      if (earlier?.isFile() === true && earlier.size >= spool.bytes) return { file: path };
      await rm(path, { force: true });
      await this.#makeRoom(spool.bytes);
      await writeFile(path, fileBytes(spool), { flag: 'wx', mode: 0o600 });
      return { file: path };
    } catch (error) {
      await rm(path, { force: true }).catch(() => undefined);
      return { cause: causeText(error) };
    }
  }

  /** Deletes the oldest files. */
  async #makeRoom(bytes: number): Promise<void> {
    const files = await Promise.all(
      (await readdir(this.#folder)).map(async name => {
        const path = join(this.#folder, name);
        const { size, mtimeMs } = await stat(path);
        return { path, size, mtimeMs };
      }),
    );
    let left = files.reduce((sum, file) => sum + file.size, bytes);
    let count = files.length + 1;
    for (const { path, size } of files.sort((a, b) => a.mtimeMs - b.mtimeMs)) {
      if (left <= this.#bytesMax && count <= FILES_MAX) return;
      await rm(path, { force: true });
      left -= size;
      count--;
    }
  }
}

/** The harmless characters of the archive's id; the digest distinguishes similar ids. */
function fileName(partition: Partition, id: string): string {
  const identity = `${partitionKey(partition)} ${id}`;
  const digest = hash('sha256', identity).slice(0, HASH_LENGTH);
  const readable = id.replaceAll(/[^\w.-]+/g, '_').replace(/^\.+/, '');
  return `${readable.slice(0, NAME_LENGTH_MAX)}.${digest}`;
}
