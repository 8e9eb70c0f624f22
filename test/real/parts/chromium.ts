// A real Chromium, for the status page: from the machine or, as root, from its Debian. Driven by playwright-core,
// which brings no browser of its own. It has no way out of this machine but to loopback.

import { type Browser, chromium } from 'playwright-core';
import { updateOwnLists } from '../support/debian.ts';
import type { Preparable, Prepared } from '../support/part.ts';
import { findProgram, run } from '../support/process.ts';

export const chromiumPart: Preparable = { name: 'chromium', prepare };

const QUIET = ['background-networking', 'component-update', 'sync', 'gpu', 'quic'];

async function prepare(): Promise<Prepared> {
  const startedAt = performance.now();
  let seconds = 0;
  if (findProgram('chromium') === null) {
    if (process.getuid?.() !== 0 || findProgram('apt-get') === null)
      return { absent: 'there is no Chromium here; install chromium of your distribution' };
    try {
      await updateOwnLists();
      const packages = ['chromium', 'fonts-dejavu-core'];
      const args = ['-q', 'install', '-y', '--no-install-recommends', ...packages];
      await run('apt-get', args, {
        env: { DEBIAN_FRONTEND: 'noninteractive' },
        timeoutMs: 300_000,
      });
    } catch (error) {
      return { absent: (error as Error).message };
    }
    seconds = (performance.now() - startedAt) / 1000;
  }
  const path = findProgram('chromium') ?? 'chromium';
  const version = /Chromium ([\d.]+)/.exec(await run(path, ['--version']))?.[1];
  return { version: version ?? 'unknown', path, seconds };
}

/** A browser without a profile; each context of it is as a new one. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: findProgram('chromium') ?? 'chromium',
    args: ['--no-first-run', '--no-sandbox', ...QUIET.map(what => `--disable-${what}`)],
  });
}
