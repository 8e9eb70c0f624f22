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
import { archivedTag, containers, dockerScript, podman } from './support/containers.ts';
import { builtCommandsOf, cloneInto, commandsOf } from './support/install-document.ts';

const noContainers = await reasonToSkip([containers]);
const noRpm = findProgram('rpmbuild') === null;
if (noRpm) console.warn('skipped: rpmbuild is not installed');

/** The id of the user and of the group `nobody`. */
const NOBODY = 65_534;
const PACK = 'npm pack';
const IMAGE = 'tools/release/image.sh';
const CHART = 'sh deploy/packages/build.sh chart';
const [, DEB = ''] = builtCommandsOf('Debian package');
const [, RPM = ''] = builtCommandsOf('RPM');
const LIST =
  commandsOf('Build it again yourself', 'release').find(command => command.includes(' sbom ')) ??
  '';
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
  await clone.once(IMAGE);
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const image = archivedTag(architecture);
  // The checksum of all that an image is: its layers, their history and times, and its settings.
  const idOf = (): Promise<string> => podman(['image', 'inspect', '--format', '{{.Id}}', image]);
  const [first, id] = [await filesOf(image, 'first'), await idOf()];
  // The stand-in for docker takes the last platform; the image of the other one was built by the same commands.
  await run('bash', ['-ec', `umask 077\n${IMAGE} --platform linux/${architecture}`], {
    folder: second,
    env: { ...clone.environment, TZ: 'Asia/Tokyo' },
    timeoutMs: BUILD_MAX_MS,
  });
  expect(await archiveDifferences(first, await filesOf(image, 'second'))).toEqual([]);
  expect(await idOf()).toBe(id);
  console.log(`${id}  image`);
});

/** Packs the files of an image, and returns the path of the archive. */
async function filesOf(image: string, name: string): Promise<string> {
  const archive = join(place, `${name}.tar`);
  const root = await podman(['image', 'mount', image]);
  // Without the root itself, whose time is that of the mount.
  const pack = ['-ec', 'cd "$1" && tar --sort=name -cf "$2" *', '', root, archive];
  await run('bash', pack);
  await podman(['image', 'unmount', image]);
  return archive;
}
