// Detects changes for a reload: whether a file of the configuration has changed, and which changed keys need a
// restart. The files are the configuration and the files of its secrets and certificates. A check costs one stat per
// file. It follows symbolic links, so it sees files written in place, atomic renames, and the swapped directories in
// which Kubernetes keeps mounted secrets.

import { statSync } from 'node:fs';
import type { Config } from './config.ts';
import { ConfigSecret } from './secrets.ts';
import { readTextFile, type ReadTextFile } from './text-file.ts';

export class WatchedFiles {
  #stamps = new Map<string, string>();
  #unsettled: string | null = null;

  /**
   * Loads a configuration and takes it into use, and watches the files that `load` reads from now on.
   * After a failure, it also keeps watching the files of the configuration in use. A file's stamp is
   * taken before its first reading here. So a file that changes between two readings counts as
   * changed, and so does a rotated secret that is read again later.
   */
  async load<T>(load: (read: ReadTextFile) => T | Promise<T>): Promise<T> {
    const stamps = new Map<string, string>();
    const read: ReadTextFile = path => {
      if (!stamps.has(path)) stamps.set(path, stampOf(path));
      return readTextFile(path);
    };
    let former = this.#stamps;
    try {
      const loaded = await load(read);
      former = new Map();
      return loaded;
    } finally {
      // A copy, which later readings do not change.
      this.#stamps = new Map([...former, ...stamps]);
    }
  }

  /** Whether the last check found a change that may not be complete. */
  get isUnsettled(): boolean {
    return this.#unsettled !== null;
  }

  /**
   * True once after a change, as soon as a check finds no further change since the previous one. So a file that is
   * being written in place is not read half way.
   */
  look(): boolean {
    const paths = [...this.#stamps.keys()];
    const stamps = paths.map(stampOf);
    if (paths.every((path, index) => this.#stamps.get(path) === stamps[index])) {
      this.#unsettled = null;
      return false;
    }
    const all = stamps.join('\n');
    const isSettled = this.#unsettled === all;
    this.#unsettled = isSettled ? null : all;
    if (isSettled)
      for (const [index, path] of paths.entries()) this.#stamps.set(path, stamps[index] ?? '');
    return isSettled;
  }
}

/** If stat fails, the error code is the stamp: the attempt to read the file tells the operator why. */
function stampOf(path: string): string {
  try {
    const found = statSync(path, { bigint: true });
    const { dev, ino, size, mtimeNs, mode, uid, gid } = found;
    // Permissions count as well: an unreadable file is read again once they allow it.
    return [dev, ino, size, mtimeNs, mode, uid, gid].join(':');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable';
  }
}

/** True when two parts of configurations mean the same. Secrets count by their text, expressions by their source. */
export function isSame(a: unknown, b: unknown): boolean {
  return comparable(a) === comparable(b);
}

/** A text for a comparison. It contains secrets, so it must not be kept. */
function comparable(value: unknown): string {
  return JSON.stringify(value, function replace(this: Record<string, unknown>, key, shown) {
    // JSON.stringify has already called toJSON, which hides the text of a secret.
    const own: unknown = this[key];
    if (own instanceof RegExp) return own.source;
    if (own instanceof Map) return [...(own as Map<unknown, unknown>)];
    if (own instanceof ConfigSecret) return own.reveal();
    return shown as unknown;
  });
}

/**
 * A configuration for a running process: `wanted`, but with the running values of the keys around which the process is
 * built. `restart` names those that `wanted` changes (docs/how-it-works/decisions/0044-reload.md).
 */
export function withFixed(
  running: Config,
  wanted: Config,
): { readonly config: Config; readonly restart: readonly string[] } {
  const { directory } = running.queue;
  const { host, port } = running.status;
  const queue = { ...wanted.queue, directory };
  const status = { ...wanted.status, host, port };
  const restart = [
    ...(isSame(queue, wanted.queue) ? [] : ['queue.directory']),
    ...(isSame(status, wanted.status) ? [] : ['status.listen']),
  ];
  return { config: { ...wanted, queue, status }, restart };
}
