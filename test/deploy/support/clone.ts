// One clone for all tests of a run, since an install takes a minute on a slow machine. A test uses what another test
// has installed, packed or built there. The test runner calls `setup` and `teardown` around all files.

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
  // One test reads the clone as another user.
  chmodSync(made, 0o755);
  process.env[VARIABLE] = made;
}

export function teardown(): void {
  rmSync(made, { recursive: true, force: true });
}

export interface Clone {
  readonly folder: string;
  /** The first folder on the PATH of the commands. */
  readonly programs: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Runs a command in the clone. */
  run(command: string): Promise<string>;
  /** Runs a command once in a run of the tests; later calls give the output of that time. */
  once(command: string): Promise<string>;
  /** Writes a script that the commands find under this name. */
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
    // The copy has no repository.
    GIT_DIR: git.trim(),
    PATH: [programs, process.env['PATH']].join(delimiter),
    npm_config_prefix: join(place, 'programs'),
    // The images that are built here, as podman names them.
    REGISTRY: 'localhost',
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
