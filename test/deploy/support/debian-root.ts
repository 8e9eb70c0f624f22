// A root file system of a Debian release, made once by debootstrap and then cached. It is the base of the tests' image,
// and of the machine in which the systemd unit starts.

import { join } from 'node:path';
import { ownMirror } from '../../real/support/debian.ts';
import { cached } from '../../real/support/folder.ts';
import type { Prepared } from '../../real/support/part.ts';
import { findProgram, run } from '../../real/support/process.ts';

export const RELEASE = 'bookworm';
const MAX_MS = 600_000;

/** `path` of the result is the root file system. Only the user root can make one. */
export async function debianRoot(name: string, packages: readonly string[]): Promise<Prepared> {
  if (process.getuid?.() !== 0) return { absent: 'only root can make a root file system' };
  if (findProgram('debootstrap') === null) return { absent: 'there is no debootstrap here' };
  try {
    const { folder, seconds } = await cached(`root-${name}-${RELEASE}`, async draft => {
      const include = `--include=${packages.join(',')}`;
      const options = ['--variant=minbase', include, RELEASE, join(draft, 'root')];
      await run('debootstrap', [...options, await ownMirror()], { timeoutMs: MAX_MS });
    });
    return { version: RELEASE, path: join(folder, 'root'), seconds };
  } catch (error) {
    return { absent: (error as Error).message };
  }
}
