// Unpacks Debian's packages into the cache, without touching the packages that the machine has installed. Uses the mirror
// of the machine's own apt sources. A package of another release is downloaded with separate package lists, and verified
// with the archive's keyring like any other.

import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, realFolder } from './folder.ts';
import type { Prepared } from './part.ts';
import { findProgram, run } from './process.ts';

/** The release that the machine itself runs. */
export const OWN_SUITE = 'own';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * Downloads one package, without its dependencies, from the first of the suites that has it, and unpacks
 * it. `path` of the result is the folder with usr/, etc/ and so on. An `architecture` other than the
 * machine's needs the name of a suite.
 */
export async function unpackDebian(
  name: string,
  suites: readonly string[],
  architecture = '',
): Promise<Prepared> {
  if (findProgram('apt-get') === null) return { absent: 'there is no apt-get here' };
  const failures: string[] = [];
  for (const suite of suites) {
    try {
      const key = [name, suite, architecture].filter(part => part !== '').join('-');
      const { folder, seconds } = await cached(key, draft =>
        fetch(name, suite, { architecture, folder: draft }),
      );
      const packages = (await readdir(folder)).filter(entry => entry.endsWith('.deb'));
      const version = await run('dpkg-deb', ['-f', join(folder, packages[0] ?? ''), 'Version']);
      return { version: version.trim(), path: join(folder, 'root'), seconds };
    } catch (error) {
      failures.push(`${suite}: ${(error as Error).message}`);
    }
  }
  return { absent: `cannot get Debian's ${name} (${failures.join('; ')})` };
}

export interface Programs {
  readonly programs: readonly string[];
  readonly packages: readonly string[];
  /** The arguments that make the first program print its version, and the pattern that finds it in the output. */
  readonly versionArgs: readonly string[];
  readonly version: RegExp;
}

/** Finds programs of the machine; as root, installs missing ones. `path` of the result is the path of the first. */
export async function installDebian(wanted: Programs): Promise<Prepared> {
  const { programs, packages, versionArgs, version } = wanted;
  const [first = ''] = programs;
  const startedAt = performance.now();
  let seconds = 0;
  if (programs.some(name => findProgram(name) === null)) {
    if (process.getuid?.() !== 0 || findProgram('apt-get') === null) {
      const remedy = `install ${packages.join(' and ')} of your distribution`;
      return { absent: `there is no ${first} here; ${remedy}` };
    }
    try {
      await updateOwnLists();
      await run('apt-get', ['-q', 'install', '-y', '--no-install-recommends', ...packages], {
        env: { DEBIAN_FRONTEND: 'noninteractive' },
        timeoutMs: 300_000,
      });
    } catch (error) {
      return { absent: (error as Error).message };
    }
    seconds = (performance.now() - startedAt) / 1000;
  }
  const path = findProgram(first) ?? first;
  const found = version.exec(await run(path, versionArgs))?.[1];
  return { version: found ?? 'unknown', path, seconds };
}

async function fetch(
  name: string,
  suite: string,
  { architecture, folder }: { readonly architecture: string; readonly folder: string },
): Promise<void> {
  const options = suite === OWN_SUITE ? [] : await suiteOptions(suite, architecture);
  if (suite === OWN_SUITE) await updateOwnLists();
  await run('apt-get', [...options, '-q', 'download', name], { folder });
  for (const entry of await readdir(folder)) {
    if (entry.endsWith('.deb')) await run('dpkg-deb', ['-x', entry, 'root'], { folder });
  }
}

/** The options that make apt see one suite of the machine's mirror and nothing else; '' means the machine's architecture. */
async function suiteOptions(suite: string, architecture: string): Promise<string[]> {
  const folder = join(realFolder, 'apt', `${suite}${architecture}`);
  const lists = join(folder, 'lists');
  const options = [
    ['Dir::Etc::sourcelist', join(folder, 'sources.list')],
    ['Dir::Etc::sourceparts', '-'],
    ['Dir::State::lists', lists],
    ['Dir::Cache::pkgcache', ''],
    ['Dir::Cache::srcpkgcache', ''],
    ['APT::Sandbox::User', process.getuid?.() === 0 ? 'root' : ''],
    ['Acquire::Languages', 'none'],
    ...(architecture === '' ? [] : [['APT::Architecture', architecture]]),
    ...(architecture === '' ? [] : [['APT::Architectures', architecture]]),
  ].flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  if (existsSync(join(folder, 'updated'))) return options;
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(lists, 'partial'), { recursive: true });
  const source = `deb [signed-by=${KEYRING}] ${await ownMirror()} ${suite} main\n`;
  await writeFile(join(folder, 'sources.list'), source);
  await run('apt-get', [...options, '-q', 'update']);
  await writeFile(join(folder, 'updated'), '');
  return options;
}

/** The mirror that this machine takes Debian's packages from. */
export async function ownMirror(): Promise<string> {
  await updateOwnLists();
  const format = '$(REPO_URI) $(ORIGIN) $(LABEL)';
  const targets = await run('apt-get', [
    'indextargets',
    '--format',
    format,
    'Created-By: Packages',
  ]);
  const mirror = targets.split('\n').find(line => line.endsWith(' Debian Debian'));
  if (mirror === undefined) throw new Error('no apt source of this machine is Debian');
  return mirror.split(' ', 1)[0] ?? '';
}

/** Downloads the machine's package lists if it has none, as on a fresh image; only root may. */
async function updateOwnLists(): Promise<void> {
  const lists = await readdir('/var/lib/apt/lists').catch(() => []);
  if (lists.some(entry => entry.endsWith('_InRelease'))) return;
  if (process.getuid?.() === 0) await run('apt-get', ['-q', 'update']);
}
