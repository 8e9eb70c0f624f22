// An earlier version of this program, which an upgrade begins with: out of the repository's history, built with the
// packages of its own lock file.

import { globSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { cached, checkoutFolder } from '../../real/support/folder.ts';
import type { Preparable } from '../../real/support/part.ts';
import { run, runAny } from '../../real/support/process.ts';

/** Version 0.1.0. Its queue file is like today's; its positions in the logs, its series and some keys are not. */
const COMMIT = '96c5eb95';
const BUILD_MAX_MS = 600_000;

/** Null if the clone has the commit. A shallow clone is no fault of the machine: its tests are skipped, also with CI=true. */
export async function lackOfHistory(): Promise<string | null> {
  const what = ['cat-file', '-e', `${COMMIT}^{commit}`];
  const { code } = await runAny('git', what, { folder: checkoutFolder });
  if (code === 0) return null;
  const reason = `the history of this clone lacks ${COMMIT}`;
  console.warn(`skipped, ${reason}`);
  return reason;
}

/** Writes the files of the version below `path` into a folder. */
export async function unpackEarlier(folder: string, path = '.'): Promise<void> {
  const unpack = `set -o pipefail; git archive ${COMMIT} "$2" | tar -x -C "$1"`;
  await run('bash', ['-ec', unpack, 'bash', folder, path], { folder: checkoutFolder });
}

/** Its `path` is the package. */
export const earlierDeb: Preparable = {
  name: `prom2otlp ${COMMIT}`,
  prepare: async () => {
    const { folder, seconds } = await cached(`prom2otlp-${COMMIT}`, build);
    const [path = ''] = globSync(join(folder, '*.deb'));
    const [, version = ''] = basename(path).split('_');
    return { version, path, seconds };
  },
};

async function build(draft: string): Promise<void> {
  // Outside the checkout, whose repository would give the build another commit.
  const folder = await mkdtemp(join(tmpdir(), 'prom2otlp-earlier-'));
  try {
    await unpackEarlier(folder);
    for (const command of ['npm ci', 'sh deploy/deb/build.sh'])
      await run('sh', ['-ec', command], { folder, timeoutMs: BUILD_MAX_MS });
    for (const path of globSync(join(folder, '*.deb')))
      await copyFile(path, join(draft, basename(path)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
