// Replaces `docker` in the tests of docs/operate/install.md and docs/operate/release.md. It takes the arguments of a
// user's command line as they are. `build`, and `buildx build` that writes an archive of images, need no container
// engine and no registry here; podman does everything else.

import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { buildArchive, buildImage, podmanArgs, runArgs } from './containers.ts';

const [verb = '', ...rest] = process.argv.slice(2);
if (verb === 'build') {
  const [option, tag = '', ...more] = rest;
  if (option !== '--tag') throw new Error(`cannot build: expected --tag, got ${String(option)}`);
  await buildImage(tag, more.at(-1) ?? '', more.slice(0, -1));
} else if (verb === 'buildx') {
  const { values } = parseArgs({
    args: rest,
    allowPositionals: true,
    options: {
      platform: { type: 'string', default: '' },
      output: { type: 'string', default: '' },
      'build-arg': { type: 'string', multiple: true, default: [] },
    },
  });
  const settings = values['build-arg'].flatMap(value => ['--build-arg', value]);
  const [, archive = ''] = values.output.split('type=oci,dest=');
  await buildArchive(archive, values.platform.split(','), settings);
} else {
  const more = verb === 'run' ? runArgs : [];
  const { status } = spawnSync('podman', [...podmanArgs, verb, ...more, ...rest], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}
