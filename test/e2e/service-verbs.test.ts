// `services`, `backups` and `restores` as a user types them: one story through the program itself. What each of them
// makes of bad input is in test/cli/.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  openServiceShell,
  SERVICE,
  SHELL_KEY,
  type ServiceShell,
} from '../support/service-shell.ts';

let shell: ServiceShell;
beforeAll(async () => {
  shell = await openServiceShell({ isProcess: true });
});
afterAll(() => shell[Symbol.asyncDispose]());

test('services lists what the key can see', async () => {
  const { code, stdout, stderr } = await shell.type('services');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^ID .*\ndbpgf10000001 +orders .*\n(?:dbpgf1000000\d .*\n){3}$/);
});

test('backups creates a schedule that writes to a bucket, and lists it', async () => {
  const plan = ['--service-id', SERVICE, '--type', 'full', '--schedule', '0 3 * * *'];
  const bucket = ['--bucket', 's3://my-backups', '--credentials-file', shell.s3];
  const made = await shell.type('backups', 'schedules', 'create', ...plan, ...bucket, '--json');
  expect([made.code, made.stderr]).toEqual([0, '']);
  const { stdout } = await shell.type('backups', 'schedules', 'list', '--json');
  expect(JSON.parse(stdout)).toContainEqual(JSON.parse(made.stdout));
  await shell.mistype(
    ['backups', 'schedules', 'create', ...plan, '--schedule', 'daily', ...bucket],
    'cannot run backups schedules create: --schedule: expected a cron expression',
  );
  const help = await shell.type('backups', 'schedules', 'create', '--help');
  expect([help.code, help.stdout]).toEqual([0, expect.stringContaining('Examples:')]);
});

const restore = (): string[] =>
  `restores create --service-id ${SERVICE} --key nightly/2026-03-04.gz --bucket gs://my-backups
   --method enginebackup --credentials-file ${shell.gs}`.split(/\s+/);

test('restores begins a confirmed restore, and shows its progress', async () => {
  const encrypted = [...restore(), '--encryption-key-file', shell.encryptionKey];
  await shell.mistype(encrypted, `confirm it with --yes-erase ${SERVICE}`);
  const begun = await shell.type(...encrypted, '--yes-erase', SERVICE, '--json');
  expect([begun.code, begun.stderr]).toEqual([0, '']);
  const { id } = JSON.parse(begun.stdout) as { id: number };
  const shown = await shell.type('restores', 'show', String(id), '--config', shell.config);
  expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('Running')]);
});

test('restores asks at a terminal', async context => {
  const pty = '/usr/bin/script';
  context.skip(!existsSync(pty), `there is no ${pty} to make a terminal with`);
  const words = [
    process.execPath,
    'bin/prom2otlp.js',
    ...restore(),
    '--base-url',
    shell.simulator.url,
  ];
  const command = words.map(word => `'${word}'`).join(' ');
  const env = { ...process.env, PROM2OTLP_API_KEY: SHELL_KEY };
  const child = spawn(pty, ['-qec', command, '/dev/null'], { env });
  let seen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const wasAsked = seen.includes('to go on:');
    seen += text;
    if (!wasAsked && seen.includes('to go on:')) child.stdin.write(`${SERVICE}\r`);
  });
  const code = await new Promise(resolve => child.on('close', resolve));
  expect(seen).toContain(`this erases all data of the database service ${SERVICE}`);
  expect([code, seen]).toEqual([0, expect.stringContaining('Running')]);
});
