// The .deb of an earlier commit, which an upgrade begins with: built from this repository's history with the packages of
// that commit's own lock file.

import { globSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { cached, checkoutFolder } from '../../real/support/folder.ts';
import type { Preparable, Prepared } from '../../real/support/part.ts';
import { run, runAny } from '../../real/support/process.ts';

/** Version 0.1.0. Its queue file is like today's; its positions in the logs, its series and some keys are not. */
const COMMIT = '96c5eb95';
const BUILD_MAX_MS = 600_000;

export const oldDeb: Preparable = { name: `prom2otlp ${COMMIT}`, prepare };

/** `path` of the result is the package. */
async function prepare(): Promise<Prepared> {
  try {
    const { folder, seconds } = await cached(`prom2otlp-${COMMIT}`, build);
    const [path = ''] = globSync(join(folder, '*.deb'));
    const [, version = ''] = basename(path).split('_');
    return { version, path, seconds };
  } catch (error) {
    return { absent: (error as Error).message };
  }
}

async function build(draft: string): Promise<void> {
  const commit = `${COMMIT}^{commit}`;
  const { code } = await runAny('git', ['cat-file', '-e', commit], { folder: checkoutFolder });
  if (code !== 0) throw new Error(`the history of this clone lacks ${COMMIT}`);
  // Outside the checkout, whose repository would give the build another commit.
  const folder = await mkdtemp(join(tmpdir(), 'prom2otlp-old-'));
  try {
    const unpack = `set -o pipefail; git archive ${COMMIT} | tar -x -C "$1"`;
    await run('bash', ['-ec', unpack, 'bash', folder], { folder: checkoutFolder });
    for (const command of ['npm ci', 'sh deploy/deb/build.sh'])
      await run('sh', ['-ec', command], { folder, timeoutMs: BUILD_MAX_MS });
    for (const path of globSync(join(folder, '*.deb')))
      await copyFile(path, join(draft, basename(path)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
