// Two builds of one commit are equal, byte for byte: the second has another folder, user, home, umask and time zone, and
// its files have other modes and times. The first is the one that the other tests use.

import { globSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkoutFolder } from '../real/support/folder.ts';
import { reasonToSkip } from '../real/support/part.ts';
import { findProgram, run } from '../real/support/process.ts';
import { archiveDifferences, sha256Of } from '../support/archive-differences.ts';
import { type Clone, sharedClone } from './support/clone.ts';
import { containers, dockerScript, podman } from './support/containers.ts';
import { cloneInto, commandsOf, releaseCommand } from './support/install-document.ts';

const noContainers = await reasonToSkip([containers]);
const noRpm = findProgram('rpmbuild') === null;
if (noRpm) console.warn('skipped: rpmbuild is not installed');

/** The id of the user and of the group `nobody`. */
const NOBODY = 65_534;
const PACK = 'npm pack';
const LIST = releaseCommand('npm run -s sbom');
const CHART = 'sh deploy/packages/build.sh chart';
const [, DEB = ''] = commandsOf('Debian package');
const [, RPM = ''] = commandsOf('RPM');
const BUILD_MAX_MS = 600_000;

let clone: Clone;
let place = '';
/** The folder of the second build. */
let second = '';

beforeAll(async () => {
  clone = await sharedClone();
  await clone.once('npm ci');
  place = await mkdtemp(join(tmpdir(), 'prom2otlp-again-'));
  await chmod(place, 0o755);
  second = join(place, 'another folder/clone');
  await cloneInto(second);
  for (const name of ['home', 'tmp']) await mkdir(join(place, name));
  // What a clone with umask 077 has.
  await run('chmod', ['--recursive', 'u+rwX,go-rwx', second]);
  await run('bash', ['-c', 'find "$1" -exec touch --date 2011-11-11 {} +', '', second]);
  await run('chown', ['--recursive', `${NOBODY}:${NOBODY}`, place]);
  await run('cp', ['--archive', '--link', join(clone.folder, 'node_modules'), second]);
});
afterAll(async () => {
  await rm(place, { recursive: true, force: true });
});

const git = async (...args: readonly string[]): Promise<string> =>
  (await run('git', args, { folder: checkoutFolder })).trim();

/** Runs a command in the second folder under the other conditions. Its user cannot read the repository. */
async function again(command: string): Promise<string> {
  const variables = {
    PATH: process.env['PATH'] ?? '',
    HOME: join(place, 'home'),
    TMPDIR: join(place, 'tmp'),
    USER: 'somebody',
    TZ: 'Asia/Tokyo',
    SOURCE_DATE_EPOCH: await git('log', '-1', '--format=%ct'),
    PROM2OTLP_COMMIT: await git('rev-parse', 'HEAD'),
  };
  const environment = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const user = ['--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups'];
  const shell = ['env', '--ignore-environment', ...environment, 'bash', '-ec'];
  return run('setpriv', [...user, ...shell, `umask 077\n${command}`], {
    folder: second,
    timeoutMs: BUILD_MAX_MS,
  });
}

/** Builds twice, and compares the file that fits the pattern. */
async function expectEqualFiles(command: string, pattern: string): Promise<void> {
  await clone.once(command);
  await again(command);
  const [file = ''] = globSync(pattern, { cwd: second });
  const one = join(clone.folder, file);
  expect(await archiveDifferences(one, join(second, file))).toEqual([]);
  console.log(`${await sha256Of(one)}  ${file}`);
}

test('a user builds all of these again', () => {
  const commands = commandsOf('Build it again yourself', 'release');
  const builds = [PACK, LIST, CHART, DEB, RPM];
  expect(commands).toEqual(['npm ci', ...builds, 'sha256sum prom2otlp*']);
});

test('the npm package and the bundle in it', async () => {
  await expectEqualFiles(PACK, 'prom2otlp-[0-9]*.tgz');
});

test('the list of components', async () => {
  const [print = ''] = LIST.split(' > ');
  expect(await again(print)).toBe(await clone.once(print));
});

test('the chart', async () => {
  await expectEqualFiles(CHART, 'prom2otlp-chart-*.tgz');
});

test('the .deb', async () => {
  await expectEqualFiles(DEB, '*.deb');
});

test.skipIf(noRpm)('the .rpm', async () => {
  await expectEqualFiles(RPM, '*.rpm');
});

test.skipIf(noContainers !== null)('the image', async () => {
  clone.provide('docker', dockerScript);
  const command = releaseCommand('docker buildx build');
  await clone.once(command);
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const other = command
    .replace(/--platform \S+/, `--platform linux/${architecture}`)
    .replace(/--tag \S+/, '--tag localhost/again');
  await run('bash', ['-ec', `umask 077\n${other}`], {
    folder: second,
    env: { ...clone.environment, TZ: 'Asia/Tokyo' },
    timeoutMs: BUILD_MAX_MS,
  });
  const [, tag = ''] = /--tag (\S+)/.exec(command) ?? [];
  const images = [`${tag}-${architecture}`, `localhost/again-${architecture}`];
  const [first = '', last = ''] = await Promise.all(images.map(filesOf));
  expect(await archiveDifferences(first, last)).toEqual([]);
  // The checksum of all that an image is: its layers, their history and times, and its settings.
  const idOf = (image: string): Promise<string> =>
    podman(['image', 'inspect', '--format', '{{.Id}}', image]);
  const [id = '', otherId] = await Promise.all(images.map(idOf));
  expect(otherId).toBe(id);
  console.log(`${id}  image`);
  await podman(['rmi', `localhost/again-${architecture}`]);
});

/** Packs the files of an image, and returns the path of the archive. */
async function filesOf(image: string): Promise<string> {
  const archive = join(place, `${image.replaceAll('/', '-')}.tar`);
  const root = await podman(['image', 'mount', image]);
  await run('tar', ['--sort=name', '-C', root, '-cf', archive, '.']);
  await podman(['image', 'unmount', image]);
  return archive;
}
