// A small file system in memory, which a test can fill up and make read-only. Only root can mount it.

import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class SmallDisk {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** The reason why it cannot be mounted; null if it can. */
  static reasonToSkip(): string | null {
    if (process.platform !== 'linux') return 'only Linux has file systems in memory';
    if (process.getuid?.() !== 0) return 'only root can mount a small disk';
    try {
      SmallDisk.mount(1)[Symbol.dispose]();
      return null;
    } catch {
      return 'a small disk cannot be mounted here';
    }
  }

  static mount(megabytes: number): SmallDisk & Disposable {
    const path = mkdtempSync(join(tmpdir(), 'prom2otlp-disk-'));
    mount('-t', 'tmpfs', '-o', `size=${String(megabytes)}m`, 'tmpfs', path);
    return new SmallDisk(path);
  }

  /** Takes every byte that is left, as another program would. */
  fill(): void {
    for (const bytes of [65_536, 4096, 1])
      try {
        for (;;) appendFileSync(this.#filler, Buffer.alloc(bytes, 1));
      } catch {
        // The disk has no more room for a chunk of this size.
      }
  }

  /** Frees everything that fill() has taken. */
  clear(): void {
    rmSync(this.#filler, { force: true });
  }

  /** No file may be open for writing. */
  makeReadOnly(isReadOnly: boolean): void {
    mount('-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, this.path);
  }

  [Symbol.dispose](): void {
    execFileSync('umount', ['--lazy', this.path]);
    rmSync(this.path, { recursive: true, force: true });
  }

  get #filler(): string {
    return join(this.path, 'filler');
  }
}

function mount(...args: string[]): void {
  execFileSync('mount', args, { stdio: 'pipe' });
}
