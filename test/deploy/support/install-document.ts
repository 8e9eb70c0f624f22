// Reads docs/operate/install.md as its readers do: the commands of a section, and the configuration with their own
// values. Reads the commands of docs/operate/release.md, too.

import { readFileSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkoutFolder } from '../../real/support/folder.ts';
import { run } from '../../real/support/process.ts';

const document = readFileSync(join(checkoutFolder, 'docs/operate/install.md'), 'utf8');
const release = readFileSync(join(checkoutFolder, 'docs/operate/release.md'), 'utf8');

const readme = readFileSync(join(checkoutFolder, 'README.md'), 'utf8');

const packageJson = readFileSync(join(checkoutFolder, 'package.json'), 'utf8');
/** The version of the program, which the documents name. */
export const { version } = JSON.parse(packageJson) as { readonly version: string };

/** The shell commands of a section of install.md or release.md, one each, in their order. */
export function commandsOf(section: string, page: 'install' | 'release' = 'install'): string[] {
  const [, text = ''] = (page === 'install' ? document : release).split(`\n## ${section}\n`);
  const blocks = [...(text.split('\n## ')[0] ?? '').matchAll(/^```sh\n(.*?)^```$/gms)];
  const commands = blocks.flatMap(([, block = '']) =>
    block.replaceAll('\\\n', ' ').trim().split('\n'),
  );
  if (commands.length === 0) throw new Error(`cannot find commands under ## ${section}`);
  return commands;
}

/** The same installation from a clone, as the section "Build it yourself" changes it. The first two commands install and build. */
export function builtCommandsOf(section: string): string[] {
  const row = document.split('\n').find(line => line.startsWith(`| ${section} | \``)) ?? '';
  const [build = '', instead = ''] = [...row.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
  if (build === '') throw new Error(`cannot find how to build for ${section}`);
  const [program = '', verb = ''] = instead.split(' ');
  const isReplaced = (command: string): boolean =>
    instead !== '' && command.startsWith(`${program} ${verb} `);
  const rest = commandsOf(section).filter(command => !command.startsWith('curl '));
  return ['npm ci', build, ...rest.map(command => (isReplaced(command) ? instead : command))];
}

/** The command of README.md that installs a release by this means. */
export function readmeCommand(means: 'npm' | 'Docker' | 'Helm' | 'Debian'): string {
  const [, command = ''] =
    new RegExp(`^\\| ${means}[^|]*\\| \`(.*)\` \\|$`, 'm').exec(readme) ?? [];
  if (command === '') throw new Error(`cannot find ${means} under ## Install in README.md`);
  return command;
}

/** The command that upgrades an installation, or takes it back: a column of the table in install.md. */
export function changeOf(installedBy: string, step: 'upgrade' | 'go back'): string {
  const [, table = ''] = document.split('| installed by | upgrade | go back |');
  const row = table.split('\n').find(line => line.startsWith(`| ${installedBy} |`)) ?? '';
  const [upgrade = '', back = ''] = [...row.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
  if (back === '')
    throw new Error(`cannot find the row of ${installedBy} in docs/operate/install.md`);
  return step === 'upgrade' ? upgrade : back;
}

/** The commands of the rehearsal in docs/operate/release.md, in their order. */
export function rehearsal(): string[] {
  const [, commands = ''] = /^```sh\n(npm ci\n.*?)\n```$/ms.exec(release) ?? [];
  if (commands === '') throw new Error('cannot find the rehearsal in docs/operate/release.md');
  return commands.split('\n');
}

/** The block of YAML that contains this text. */
export function yamlWith(part: string): string {
  const blocks = [...document.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, yaml = '']) => yaml);
  const found = blocks.find(yaml => yaml.includes(part));
  if (found === undefined) throw new Error(`cannot find ${part} in a block of YAML`);
  return found;
}

export interface Place {
  readonly serviceUrl: string;
  readonly otlpUrl: string;
  readonly serviceId: string;
}

/** The configuration of the document, with the values of a test. */
export function configurationFor({ serviceUrl, otlpUrl, serviceId }: Place): string {
  const [, yaml = ''] = /^```yaml\n(.*?)^```$/ms.exec(document) ?? [];
  return yaml
    .replace('https://api.example.com', serviceUrl)
    .replace('http://localhost:4318', otlpUrl)
    .replace('dbpgf12345678', serviceId)
    .concat('metrics: {interval: 1s}\n');
}

/** Copies every file that git tracks or would add, as the clone in which the document begins. */
export async function cloneInto(folder: string): Promise<void> {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  const gone = await run('git', ['ls-files', '-z', '--deleted'], { folder: checkoutFolder });
  const deleted = new Set(gone.split('\0'));
  const files = (await run('git', list, { folder: checkoutFolder })).split('\0');
  for (const file of files.filter(name => name !== '' && !deleted.has(name))) {
    await mkdir(join(folder, dirname(file)), { recursive: true });
    await cp(join(checkoutFolder, file), join(folder, file));
  }
}
