// Tells when one of the files that a configuration was read from has changed: the file itself, those that its
// secrets and certificates come from. A look costs one stat a file, which follows symbolic links: so it sees files
// written in place, atomic renames, and the swapped directories in which Kubernetes keeps mounted secrets.

import { statSync } from 'node:fs';
import { readTextFile, type ReadTextFile } from './text-file.ts';

export class WatchedFiles {
  readonly #stamps = new Map<string, string>();
  #unsettled: string | null = null;

  /** Reads a file and watches it from then on. */
  readonly read: ReadTextFile = path => {
    this.#stamps.set(path, stampOf(path));
    return readTextFile(path);
  };

  /**
   * True once after a change, at the first look that finds nothing further changed since the one before: what
   * is being written in place is not read half way.
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

/** What cannot even be looked at has a stamp of its own: reading it says why, and is what the operator sees. */
function stampOf(path: string): string {
  try {
    const found = statSync(path, { bigint: true });
    return [found.dev, found.ino, found.size, found.mtimeNs].join(':');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable';
  }
}
