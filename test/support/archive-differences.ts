// Compares two archives (.tgz, .tar, .deb or .rpm) by their entries, and names those that differ: a checksum of the
// whole says only that something does.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from '../real/support/process.ts';
import { tempDirectory } from './program.ts';

/** What must be equal, by the entry's path: mode, owner, time of change and content, in one line. */
type Entries = ReadonlyMap<string, string>;

const LANGUAGE = { TZ: 'UTC0', LC_ALL: 'C' };

/**
 * One line for each entry that differs, with what each archive has of it; none if the archives are equal. A .deb needs
 * `dpkg-deb`, an .rpm needs `rpm`.
 */
export async function archiveDifferences(one: string, other: string): Promise<string[]> {
  if ((await sha256Of(one)) === (await sha256Of(other))) return [];
  using files = tempDirectory();
  const first = await entriesOf(one, join(files.path, 'one'));
  const second = await entriesOf(other, join(files.path, 'other'));
  const lines = [...new Set([...first.keys(), ...second.keys()])]
    .filter(path => first.get(path) !== second.get(path))
    .map(path => `${path}: ${first.get(path) ?? 'absent'} | ${second.get(path) ?? 'absent'}`);
  return lines.length > 0 ? lines : ['all entries are equal: their order or compression differs'];
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

function entriesOf(archive: string, folder: string): Promise<Entries> {
  if (archive.endsWith('.rpm')) return rpmEntries(archive);
  return archive.endsWith('.deb') ? debEntries(archive, folder) : tarEntries(archive, folder);
}

async function debEntries(archive: string, folder: string): Promise<Entries> {
  const all: [string, string][] = [];
  for (const part of ['ctrl', 'fsys']) {
    const place = join(folder, part);
    await mkdir(place, { recursive: true });
    await run('bash', ['-ec', `dpkg-deb --${part}-tarfile "$1" > "$2.tar"`, '', archive, place]);
    for (const [path, entry] of await tarEntries(`${place}.tar`, place))
      all.push([part === 'ctrl' ? `DEBIAN: ${path}` : path, entry]);
  }
  return new Map(all);
}

async function tarEntries(archive: string, folder: string): Promise<Entries> {
  const entries = new Map<string, string>();
  await mkdir(folder, { recursive: true });
  await run('tar', ['-xf', archive, '-C', folder, '--no-same-owner']);
  const how = ['--full-time', '--utc', '--numeric-owner', '--quoting-style=literal'];
  const list = await run('tar', ['-tvf', archive, ...how], { env: LANGUAGE });
  for (const line of list.trimEnd().split('\n')) {
    // `-rw-r--r-- 0/0   15 2026-01-01 00:00:00 package/README.md`
    const [, mode = '', owner = '', time = '', name = ''] =
      /^(\S+) (\S+) +\S+ (\S+ \S+) (.*)$/.exec(line) ?? [];
    const [path = '', target = ''] = name.split(/ -> | link to /);
    const file = join(folder, path);
    const content = (await lstat(file)).isFile() ? await sha256Of(file) : target;
    entries.set(path, `${mode} ${owner} ${time} ${content}`);
  }
  return entries;
}

async function rpmEntries(archive: string): Promise<Entries> {
  const header = 'the header\t%{BUILDHOST} %{BUILDTIME} %{PAYLOADCOMPRESSOR} %{RPMVERSION}\n';
  const what = ['%{FILEMODES:perms}', '%{FILEUSERNAME}/%{FILEGROUPNAME}', '%{FILEMTIMES}'];
  const files = `[%{FILENAMES}\t${what.join(' ')} %{FILEDIGESTS}\n]`;
  const list = await run('rpm', ['-qp', '--nosignature', '--queryformat', header + files, archive]);
  const lines = list.trimEnd().split('\n');
  return new Map(lines.map(line => line.split('\t', 2) as [string, string]));
}
