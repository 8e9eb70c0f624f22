// `services`, `backups` and `restores` as a user types them, run with the real program. Their good and bad inputs are
// tested in test/transcripts/.

import { expect, test } from 'vitest';
import { run, until } from '../support/program.ts';
import { reasonForNoTerminal, startInTerminal } from '../support/pseudo-terminal.ts';
import { SERVICE, SHELL_ENVIRONMENT, useShell } from '../support/service-shell.ts';

const shell = await useShell();
const skip = reasonForNoTerminal();
const RESTORE = `restores create --service-id ${SERVICE} --key nightly/2026-03-04.gz --bucket gs://my-backups --method enginebackup --credentials-file ${shell.gs}`;

/** The output of a command, which must succeed without a message. */
async function shows(command: string): Promise<string> {
  const { code, stdout, stderr } = await run(shell.wordsOf(command), SHELL_ENVIRONMENT);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

test('services lists what the key can see', async () => {
  const listed = await shows('services');
  expect(listed).toMatch(/^ID .*\ndbpgf10000001 +orders .*\n(?:dbpgf1000000\d .*\n){3}$/);
});

test('backups creates a schedule that writes to a bucket, and lists it', async () => {
  const plan = `backups schedules create --service-id ${SERVICE} --type full --schedule '0 3 * * *'`;
  const bucket = `--bucket s3://my-backups --credentials-file ${shell.s3}`;
  const made = await shows(`${plan} ${bucket} --format json`);
  const listed = await shows('backups schedules list --format json');
  expect(JSON.parse(listed)).toContainEqual(JSON.parse(made));
});

test('restores begins a confirmed restore, and shows its progress', async () => {
  const encrypted = `--encryption-key-file ${shell.encryptionKey}`;
  const begun = await shows(`${RESTORE} ${encrypted} --yes-erase ${SERVICE} --format json`);
  const { id } = JSON.parse(begun) as { id: number };
  expect(await shows(`restores show ${id} --config ${shell.config}`)).toContain('Running');
});

test.skipIf(skip !== null)('restores asks at a terminal', async () => {
  const terminal = startInTerminal(shell.wordsOf(RESTORE), SHELL_ENVIRONMENT);
  await until('it asks', () => terminal.shown().includes('to go on:'));
  terminal.type(`${SERVICE}\r`);
  expect(await terminal.code).toBe(0);
  const shown = terminal.shown();
  expect(shown).toContain(`this erases all data of the database service ${SERVICE}`);
  expect(shown).toContain('Running');
});
