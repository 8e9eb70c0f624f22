// The workflows of .github: a step runs one script that can be run by hand, no job has a right without need, and each
// action is pinned. What the scripts do is rehearsed by test/deploy/release.test.ts.

import { execFileSync } from 'node:child_process';
import { accessSync, constants, globSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { tempDirectory } from '../support/program.ts';

const root = join(import.meta.dirname, '../..');

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly run?: string; readonly uses?: string }[];
}

interface Workflow {
  readonly permissions: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

const files = globSync('.github/workflows/*.yml', { cwd: root }).sort();
const workflows = files.map(
  file => [file, parse(readFileSync(join(root, file), 'utf8')) as Workflow] as const,
);

function script(name: string, folder: string, ...args: readonly string[]): string {
  const path = join(root, 'tools/release', name);
  return execFileSync('sh', [path, ...args], { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
}

test.each(workflows)('%s runs only scripts, and reads only', (_file, { permissions, jobs }) => {
  expect(permissions).toEqual({ contents: 'read' });
  const commands = Object.values(jobs).flatMap(({ steps }) =>
    steps.flatMap(({ run }) => (run === undefined ? [] : [run])),
  );
  expect(commands).not.toEqual([]);
  for (const command of commands.filter(command => command !== 'npm ci')) {
    // The name of a script, and arguments that are addresses or variables.
    expect(command).toMatch(
      /^(?:\.ci\/run|tools\/release\/[a-z-]+\.sh)(?: (?:"\$[A-Z_]+"|[\w:/.]+))*$/,
    );
    accessSync(join(root, command.split(' ')[0] ?? ''), constants.X_OK);
  }
});

test('a job of a release has the rights that its scripts need, and no others', () => {
  const [, release] = workflows.find(([file]) => file.endsWith('release.yml')) ?? [];
  const read = { contents: 'read' };
  const identity = { 'id-token': 'write' };
  expect(Object.entries(release?.jobs ?? {}).map(([name, job]) => [name, job.permissions])).toEqual(
    [
      ['build', undefined],
      ['images', { ...read, ...identity, packages: 'write' }],
      ['npm', { ...read, ...identity }],
      ['files', { ...identity, contents: 'write' }],
    ],
  );
});

test('every script of a release is run by a workflow, by another script, or by a user', () => {
  const scripts = globSync('tools/release/*.sh', { cwd: root });
  const callers = [...files, ...scripts, 'docs/operate/release.md'].map(
    file => [file, readFileSync(join(root, file), 'utf8')] as const,
  );
  const unused = scripts.filter(
    name =>
      !callers.some(([file, text]) => file !== name && text.includes(name.slice('tools/'.length))),
  );
  expect(unused).toEqual([]);
});

describe('check-pins.sh', () => {
  const withUses = (uses: string) => {
    const folder = tempDirectory();
    mkdirSync(join(folder.path, '.github/workflows'), { recursive: true });
    folder.write('.github/workflows/a.yml', `      - uses: ${uses}\n`);
    return folder;
  };

  test('accepts the workflows', () => {
    expect(script('check-pins.sh', root)).toBe('');
  });

  test.each(['actions/checkout@PIN_ME # v4', 'actions/checkout@v4', 'actions/checkout'])(
    'refuses %s',
    uses => {
      using folder = withUses(uses);
      expect(() => script('check-pins.sh', folder.path)).toThrow(/a\.yml|actions are not pinned/);
    },
  );
});

describe('notes.sh', () => {
  test('prints what the changelog says of a version', () => {
    using folder = tempDirectory();
    const changelog =
      '# Changelog\n\n## 1.1.0 (2026-02-01)\n\n- B\n\n## 1.0.0 (2026-01-01)\n\n- A\n';
    folder.write('CHANGELOG.md', changelog);
    expect(script('notes.sh', folder.path, '1.1.0')).toBe('- B\n\n');
    expect(script('notes.sh', folder.path, '1.0.0')).toBe('- A\n');
    expect(() => script('notes.sh', folder.path, '1.0')).toThrow(/has no lines for it/);
  });
});
