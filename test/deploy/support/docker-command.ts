// What the test of docs/install.md puts in the place of `docker`: `build` as far as it goes on a machine without container
// engine and registry, everything else by podman. It takes the arguments of a user's command line as they are.

import { spawnSync } from 'node:child_process';
import { buildImage, podmanArgs, runArgs } from './containers.ts';

const [verb = '', ...rest] = process.argv.slice(2);
if (verb === 'build') {
  const [option, tag = '', ...more] = rest;
  if (option !== '--tag') throw new Error(`cannot build: expected --tag, got ${String(option)}`);
  await buildImage(tag, more.at(-1) ?? '', more.slice(0, -1));
} else {
  const more = verb === 'run' ? runArgs : [];
  const { status } = spawnSync('podman', [...podmanArgs, verb, ...more, ...rest], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}
