// One clone for all tests of a run, since an install takes a minute on a slow machine: what one test has installed, packed
// or built there, the others use. `setup` and `teardown` are called by the test runner, around all files.

import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { checkoutFolder } from '../../real/support/folder.ts';
import { run } from '../../real/support/process.ts';
import { cloneInto } from './install-document.ts';

const VARIABLE = 'PROM2OTLP_TEST_CLONE';
const MAX_MS = 600_000;

let made = '';

export function setup(): void {
  made = mkdtempSync(join(tmpdir(), 'prom2otlp-clone-'));
  // Where another user may read.
  chmodSync(made, 0o755);
  process.env[VARIABLE] = made;
}

export function teardown(): void {
  rmSync(made, { recursive: true, force: true });
}

export interface Clone {
  readonly folder: string;
  /** Before everything else on the path of the commands. */
  readonly programs: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Runs a command in the clone. */
  run(command: string): Promise<string>;
  /** The same, or what it printed when a test of this run has done so before. */
  once(command: string): Promise<string>;
  /** A program that the commands find under this name. */
  provide(name: string, script: string): void;
}

export async function sharedClone(): Promise<Clone> {
  const place = process.env[VARIABLE];
  if (place === undefined) throw new Error(`cannot find the clone: ${VARIABLE} is not set`);
  const folder = join(place, 'clone');
  const stamps = join(place, 'done');
  const programs = join(place, 'programs/bin');
  const git = await run('git', ['rev-parse', '--absolute-git-dir'], { folder: checkoutFolder });
  const environment = {
    // The copy has no repository of its own.
    GIT_DIR: git.trim(),
    PATH: [programs, process.env['PATH']].join(delimiter),
    npm_config_prefix: join(place, 'programs'),
  };
  if (!existsSync(stamps)) {
    await cloneInto(folder);
    mkdirSync(programs, { recursive: true });
    mkdirSync(stamps);
  }
  const inClone = (command: string): Promise<string> =>
    run('bash', ['-ec', command], { folder, env: environment, timeoutMs: MAX_MS });
  return {
    folder,
    programs,
    environment,
    run: inClone,
    once: async command => {
      const stamp = join(stamps, createHash('sha256').update(command).digest('hex'));
      if (!existsSync(stamp)) writeFileSync(stamp, await inClone(command));
      return readFileSync(stamp, 'utf8');
    },
    provide: (name, script) => {
      const path = join(programs, name);
      writeFileSync(path, `#!/usr/bin/env bash\nset -e\n${script}\n`);
      chmodSync(path, 0o755);
    },
  };
}
