// Disk space kept for a bad day: a file that is given up when the disk is full, so that what the back end has
// accepted can still be marked as such. While it is gone nothing new is stored; it is taken back as soon as
// there is room for it and some more.

import { randomFillSync } from 'node:crypto';
import {
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  openSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

export class Reserve {
  readonly #path: string;
  readonly #bytes: number;
  #isHeld = false;

  constructor(path: string, bytes: number) {
    this.#path = path;
    this.#bytes = bytes;
    this.look();
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** True when the space is set aside; tries to set it aside when it is not. */
  hold(): boolean {
    if (this.#isHeld) return true;
    // Taking the last free bytes would bring the next commit to the same end.
    if (freeBytes(dirname(this.#path)) < 2 * this.#bytes) return false;
    this.#isHeld = this.#write();
    return this.#isHeld;
  }

  /** Looks whether the file is still there: somebody may have deleted it. */
  look(): void {
    this.#isHeld = this.#isWhole();
  }

  /** Frees the space; false when there was none. */
  giveUp(): boolean {
    const wasHeld = this.#isHeld;
    this.#isHeld = false;
    this.#remove();
    return wasHeld;
  }

  #isWhole(): boolean {
    try {
      const found = lstatSync(this.#path);
      return found.isFile() && found.size === this.#bytes;
    } catch {
      return false;
    }
  }

  #remove(): void {
    try {
      rmSync(this.#path, { force: true });
    } catch {
      // On a disk where nothing can be removed there is nothing to be had either.
    }
  }

  #write(): boolean {
    try {
      // What is there is not written into: it is of another size, or leads elsewhere.
      this.#remove();
      const { O_CREAT, O_EXCL, O_WRONLY } = constants;
      const file = openSync(this.#path, O_CREAT | O_EXCL | O_WRONLY, 0o600);
      try {
        // Random, since some file systems store a run of equal bytes in no space at all.
        writeSync(file, randomFillSync(Buffer.allocUnsafeSlow(this.#bytes)));
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      return this.#isWhole();
    } catch {
      this.#remove();
      return false;
    }
  }
}

/** What a process without privileges may still write to the disk of a directory; unlimited when unknown. */
export function freeBytes(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return Infinity;
  }
}
