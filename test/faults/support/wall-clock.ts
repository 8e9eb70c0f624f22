// The wall clock of a process, which a test can set at any time, with libfaketime. The monotonic clock does not change.

import { globSync } from 'node:fs';
import { tempDirectory } from '../../support/program.ts';

const [LIBRARY] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');

export class WallClock {
  readonly #files = tempDirectory();
  readonly #file: string = this.#files.write('offset', '+0');

  /** The reason why the clock cannot be set; null if it can. */
  static reasonToSkip(): string | null {
    return LIBRARY === undefined ? 'libfaketime is not installed' : null;
  }

  /** The environment of a process that uses this clock. */
  get environment(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: LIBRARY ?? '',
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Sets the clock so many days wrong. */
  set(days: number): void {
    this.#files.write('offset', `${days < 0 ? '-' : '+'}${String(Math.abs(days))}d`);
  }

  [Symbol.dispose](): void {
    this.#files[Symbol.dispose]();
  }
}
