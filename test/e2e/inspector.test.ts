// Without more ado, SIGUSR1 makes Node listen for a debugger, to which every user of the machine may connect.

import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { BIN, start, tempDirectory, until } from '../support/program.ts';
import { shippedFlags } from '../support/shipped.ts';

const root = join(BIN, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const FLAG = '--disable-sigusr1';

test('a program that was started without flags, as npx and npm start do, opens no inspector', async () => {
  const running = start(['simulate', '--port', '0']);
  await until('it has started', () => running.stdout() !== '');
  running.child.kill('SIGUSR1');
  // The signal after it arrives later.
  const { code, stderr } = await running.stop();
  expect(code).toBe(0);
  expect(stderr).not.toMatch(/debugger|inspector/i);
});

test('the launcher starts the Node.js that was brought along with the flag', () => {
  using files = tempDirectory();
  const script = files.write('flags.mjs', 'console.log(process.execArgv.join())');
  const brought = JSON.stringify(join(root, 'bin/brought-node.js'));
  const code = `import { goOnIn } from ${brought}; goOnIn(process.execPath, process.argv[2]);`;
  // In a file: goOnIn passes on flags such as --eval.
  const launcher = files.write('launcher.mjs', code);
  const options = { encoding: 'utf8', timeout: 60_000 } as const;
  expect(execFileSync(process.execPath, [launcher, script], options)).toBe(`${FLAG}\n`);
});

test('the image and its health check have the flag', () => {
  expect(shippedFlags()).toContain(FLAG);
  const lines = read('Dockerfile').split('\n');
  const commands = lines.filter(line => line.includes('["node"'));
  expect(commands.filter(line => !line.includes(`"${FLAG}"`))).toEqual([]);
  expect(commands).toHaveLength(2);
});

test('the unit and the command of the packages have the flag', () => {
  expect(read('deploy/systemd/prom2otlp.service')).toMatch(
    /^ExecStart=\/usr\/bin\/node --disable-sigusr1 /m,
  );
  expect(read('deploy/packages/build.sh')).toContain(
    '/usr/lib/prom2otlp/node --disable-sigusr1 /usr/',
  );
});

describe('the containers of the program have no command, so that the line of the image holds', () => {
  const plain = globSync('deploy/{kubernetes,compose}/**/*.yaml', { cwd: root });

  test('in the manifests and in compose.yaml', () => {
    const containers = plain.flatMap(file =>
      parseAllDocuments(read(file)).flatMap(document => containersIn(document.toJS())),
    );
    expect(containers.length).toBeGreaterThan(2);
    expect(containers.filter(container => 'command' in container)).toEqual([]);
    expect(containers.filter(container => 'entrypoint' in container)).toEqual([]);
  });

  test('in the chart', () => {
    const templates = globSync('deploy/helm/templates/*', { cwd: root }).map(read).join('\n');
    expect(templates).toContain('image: {{ include "prom2otlp.image" . }}');
    expect(templates).not.toMatch(/^\s*(?:- )?command:/m);
  });
});

/** All maps whose `image` is that of the program. */
function containersIn(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return [];
  const image = 'image' in value && typeof value.image === 'string' ? value.image : '';
  const own = /(?:^|\/)prom2otlp(?::|$)/.test(image) ? [value] : [];
  return [...own, ...Object.values(value).flatMap(containersIn)];
}
