// buildah and podman on a machine without container engine and image registry. Their storage is in the folder of the
// real parts. The base image of the Dockerfile is made of Debian and the Node.js that runs these tests; for the other
// architecture it has only the files that the Dockerfile copies. The Dockerfile is the one that users build.

import { existsSync } from 'node:fs';
import { appendFile, cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { unpackDebian } from '../../real/support/debian.ts';
import { cached, realFolder } from '../../real/support/folder.ts';
import type { Prepared } from '../../real/support/part.ts';
import { findProgram, run, runAny } from '../../real/support/process.ts';
import { debianRoot, RELEASE } from './debian-root.ts';

/** Its name tells the version, like that of the official image. */
const BASE = `localhost/node:${process.versions.node}-slim`;
/** The architecture's name in images and in Debian. */
const ownArchitecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
const otherArchitecture: 'amd64' | 'arm64' = ownArchitecture === 'amd64' ? 'arm64' : 'amd64';
const BUILD_MAX_MS = 600_000;
const folder = join(realFolder, 'containers');
const policy = join(folder, 'policy.json');

const storage: readonly string[] = [
  ['--root', join(folder, 'store')],
  ['--runroot', join(folder, 'run')],
  ['--storage-driver', 'overlay'],
].flat();

export const containers: { readonly name: string; prepare(): Promise<Prepared> } = {
  name: 'buildah and podman',
  prepare: prepareContainers,
};

async function prepareContainers(): Promise<Prepared> {
  const missing = ['buildah', 'podman', 'runc'].filter(name => findProgram(name) === null);
  if (missing.length > 0) return { absent: `${missing.join(', ')} not installed` };
  const root = await baseRoot();
  if ('absent' in root) return root;
  await mkdir(folder, { recursive: true });
  await writeFile(policy, '{"default":[{"type":"insecureAcceptAnything"}]}');
  const other = await otherRoot();
  if ('absent' in other) return other;
  const { code } = await runAny('buildah', [...storage, 'manifest', 'inspect', BASE]);
  if (code !== 0)
    await importBases({ [ownArchitecture]: root.path, [otherArchitecture]: other.path });
  return { ...root, path: folder };
}

/** Makes a root like the official image's: Debian, node and npm, and the user `node` with id 1000. */
async function baseRoot(): Promise<Prepared> {
  const debian = await debianRoot('base', ['ca-certificates']);
  if ('absent' in debian) return debian;
  const key = `node-slim-${process.version}`;
  const { folder: made, seconds } = await cached(key, async draft => {
    const root = join(draft, 'root');
    await run('cp', ['-a', debian.path, root]);
    await cp(process.execPath, join(root, 'usr/local/bin/node'));
    await run('cp', ['-aL', await npmFolder(), join(root, 'usr/local/lib/npm')]);
    const npm = '#!/bin/sh\nexec node /usr/local/lib/npm/bin/npm-cli.js "$@"\n';
    await writeFile(join(root, 'usr/local/bin/npm'), npm, { mode: 0o755 });
    await appendFile(join(root, 'etc/passwd'), 'node:x:1000:1000::/home/node:/bin/sh\n');
    await appendFile(join(root, 'etc/group'), 'node:x:1000:\n');
  });
  return { version: process.version, path: join(made, 'root'), seconds };
}

/** Makes a root of the other architecture with the files that the Dockerfile copies: Node.js and its libraries. */
async function otherRoot(): Promise<Prepared> {
  const folders: string[] = [];
  let status = '';
  for (const name of ['libc6', 'libgcc-s1', 'libstdc++6']) {
    const library = await unpackDebian(name, [RELEASE], otherArchitecture);
    if ('absent' in library) return library;
    folders.push(join(library.path, 'lib'), join(library.path, 'usr/lib'));
    status += `Package: ${name}\nArchitecture: ${otherArchitecture}\nVersion: ${library.version}\n\n`;
  }
  const nodeArchitecture = otherArchitecture === 'arm64' ? 'arm64' : 'x64';
  const node = `node-linux-${nodeArchitecture}@${process.versions.node}`;
  const key = `node-slim-${otherArchitecture}-${process.version}`;
  const { folder: made, seconds } = await cached(key, async draft => {
    const root = join(draft, 'root');
    for (const part of ['usr/lib', 'usr/local', 'var/lib/dpkg'])
      await mkdir(join(root, part), { recursive: true });
    await writeFile(join(root, 'var/lib/dpkg/status'), status);
    for (const libraries of folders.filter(existsSync))
      await run('cp', ['-a', `${libraries}/.`, join(root, 'usr/lib')]);
    await run('npm', ['pack', '--silent', '--pack-destination', draft, node]);
    const [archive = ''] = (await readdir(draft)).filter(name => name.endsWith('.tgz'));
    const what = ['--strip-components=1', 'package/bin/node'];
    await run('tar', ['-xzf', join(draft, archive), '-C', join(root, 'usr/local'), ...what]);
  });
  return { version: process.version, path: join(made, 'root'), seconds };
}

/** The folder of the npm that runs these tests, or else of the npm on the PATH. */
async function npmFolder(): Promise<string> {
  const own = process.env['npm_execpath'];
  if (own !== undefined && existsSync(own)) return dirname(dirname(own));
  const npm = findProgram('npm');
  if (npm === null) throw new Error('cannot find npm: run the tests by it');
  return dirname(dirname(await run('readlink', ['-f', npm])));
}

async function importBases(roots: Readonly<Record<string, string>>): Promise<void> {
  for (const [architecture, root] of Object.entries(roots)) await importBase(architecture, root);
  const images = Object.keys(roots).map(imageFor);
  await run('buildah', [...storage, 'manifest', 'create', BASE, ...images]);
}

const imageFor = (architecture: string): string => `${BASE}-${architecture}`;

async function importBase(architecture: string, root: string): Promise<void> {
  const signature = ['--signature-policy', policy];
  const container = (await run('buildah', [...storage, 'from', ...signature, 'scratch'])).trim();
  const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  await run('buildah', [...storage, 'add', container, root, '/'], { timeoutMs: BUILD_MAX_MS });
  const settings = ['--arch', architecture, '--env', `PATH=${PATH}`, '--cmd', 'node'];
  await run('buildah', [...storage, 'config', ...settings, container]);
  const commit = [...storage, 'commit', ...signature, '--rm', container, imageFor(architecture)];
  await run('buildah', commit, { timeoutMs: BUILD_MAX_MS });
}

/**
 * Builds an image like `docker build -t TAG FOLDER`, but without network namespaces and image registry. Mounts this
 * machine's certificates and the address of its package registry during the build; the image has nothing of them.
 */
export async function buildImage(
  tag: string,
  source: string,
  settings: readonly string[],
): Promise<void> {
  await runAny('buildah', [...storage, 'rmi', '--force', tag]);
  const certificates = '/etc/ssl/certs/ca-certificates.crt';
  const registry = (await run('npm', ['config', 'get', 'registry'])).trim();
  const npmrc = join(folder, 'npmrc');
  await writeFile(npmrc, `registry=${registry}\ncafile=/etc/ssl/certs/host.crt\n`);
  const mounts = [`${certificates}:/etc/ssl/certs/host.crt:ro`, `${npmrc}:/usr/local/etc/npmrc:ro`];
  const where = ['--isolation', 'chroot', '--pull-never', '--signature-policy', policy];
  const base = ['--build-arg', `NODE_IMAGE=${BASE}`];
  const own = ['--build-arg', `BUILDPLATFORM=linux/${ownArchitecture}`];
  const what = ['--format', 'docker', '--layers=false', '-t', tag, ...base, ...own, ...settings];
  const volumes = mounts.flatMap(mount => ['--volume', mount]);
  const args = [...storage, 'bud', ...where, ...what, ...volumes, source];
  await run('buildah', args, { timeoutMs: BUILD_MAX_MS });
}

/** The tag of an image of `buildArchive`. */
export const archivedTag = (architecture: string): string => `localhost/release:${architecture}`;

/** Builds an image for each platform (`linux/amd64`), and writes them to one OCI archive. */
export async function buildArchive(
  file: string,
  platforms: readonly string[],
  settings: readonly string[],
): Promise<void> {
  const list = 'localhost/release';
  const tags: string[] = [];
  for (const platform of platforms) {
    const tag = archivedTag(platform.split('/')[1] ?? '');
    await buildImage(tag, '.', ['--platform', platform, ...settings]);
    tags.push(tag);
  }
  await runAny('buildah', [...storage, 'manifest', 'rm', list]);
  await run('buildah', [...storage, 'manifest', 'create', list, ...tags]);
  const how = ['--all', '--format', 'oci', '--signature-policy', policy];
  const push = [...storage, 'manifest', 'push', ...how, list, `oci-archive:${file}`];
  await run('buildah', push, { timeoutMs: BUILD_MAX_MS });
}

/** The script that replaces `docker` for the commands in a clone: it runs docker-command.ts. */
export const dockerScript: string = [
  'exec',
  `'${process.execPath}'`,
  `'${join(import.meta.dirname, 'docker-command.ts')}'`,
  '"$@"',
].join(' ');

/** Arguments with which podman works without systemd and without the right to raise limits. */
export const podmanArgs: readonly string[] = [
  ...storage,
  '--cgroup-manager=cgroupfs',
  '--events-backend=file',
  `--runtime=${findProgram('runc') ?? 'runc'}`,
];

/**
 * The same for `podman run`. The container has the host's network, since the servers of a test listen on loopback.
 * `--read-only-tmpfs=false`, since podman alone adds a /tmp to a --read-only container.
 */
export const runArgs: readonly string[] = [
  '--read-only-tmpfs=false',
  '--ulimit=nofile=1024:1024',
  '--ulimit=nproc=1024:1024',
  '--no-healthcheck',
  '--network=host',
  '--pull=never',
];

/** All that a container has printed. */
export async function logsOf(container: string): Promise<string> {
  const { stdout, stderr } = await runAny('podman', [...podmanArgs, 'logs', container]);
  return stdout + stderr;
}

export async function podman(args: readonly string[]): Promise<string> {
  return (await run('podman', [...podmanArgs, ...args])).trim();
}
