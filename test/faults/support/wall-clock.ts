// The wall clock of a process, set by a test at any moment, by libfaketime; its monotonic clock goes on as it is.

import { globSync } from 'node:fs';
import { tempDirectory } from '../../support/program.ts';

const [LIBRARY] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');

export class WallClock {
  readonly #files = tempDirectory();
  readonly #file: string = this.#files.write('offset', '+0');

  /** Why there can be none; null where there can. */
  static reasonToSkip(): string | null {
    return LIBRARY === undefined ? 'libfaketime is not installed' : null;
  }

  /** What a process gets that is to go by this clock. */
  get environment(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: LIBRARY ?? '',
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** By how many days it is wrong from now on. */
  set(days: number): void {
    this.#files.write('offset', `${days < 0 ? '-' : '+'}${String(Math.abs(days))}d`);
  }

  [Symbol.dispose](): void {
    this.#files[Symbol.dispose]();
  }
}
