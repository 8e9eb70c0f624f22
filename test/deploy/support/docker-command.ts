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
  // BuildKit takes the time of the image from this argument, and the option gives it to the files.
  const [EPOCH, rewrite] = ['SOURCE_DATE_EPOCH=', 'rewrite-timestamp=true'];
  const settings = values['build-arg'].flatMap(value => {
    if (!value.startsWith(EPOCH)) return ['--build-arg', value];
    return values.output.includes(rewrite) ? ['--timestamp', value.slice(EPOCH.length)] : [];
  });
  const [, archive = ''] = /dest=([^,]+)/.exec(values.output) ?? [];
  // In its other format, buildah writes the random name of its container into the image.
  await buildArchive(archive, values.platform.split(','), ['--format', 'oci', ...settings]);
} else {
  const more = verb === 'run' ? runArgs : [];
  const { status } = spawnSync('podman', [...podmanArgs, verb, ...more, ...rest], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}
