// `check --fix` replaces the file at once: a link, the owner and permissions stay, and a failure leaves the file as it was.
// What it prints is in test/transcripts/check/fix.txt.

import * as fs from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { verb } from '../../src/cli/check.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { callVerb } from '../support/verb-context.ts';

const OLD = `api: {base_url: "https://api.example.com", key: canary-key}
services: [{id: dbpgf12345678}]
logs: {window: {day_close_grace: 1h}, shape: canary-shape}
`;

function configuration(): { readonly directory: string; readonly file: string } {
  const directory = temporaryDirectory();
  const file = join(directory, 'prom2otlp.yaml');
  fs.writeFileSync(file, OLD);
  fs.chmodSync(file, 0o640);
  return { directory, file };
}

test('keeps a link, the permissions and the owner, and prints no value', async () => {
  const { directory, file } = configuration();
  if (process.geteuid?.() === 0) fs.chownSync(file, 12, 34);
  const { uid, gid, ino } = fs.statSync(file);
  const link = join(directory, 'link.yaml');
  fs.symlinkSync('prom2otlp.yaml', link);
  const { code, out, err } = await callVerb(verb, ['--config', link, '--fix']);
  expect(code).toBe(0);
  expect(out + err).not.toContain('canary');
  expect(fs.readFileSync(file, 'utf8')).toBe(
    OLD.replace(/^logs:.*$/m, 'logs: {day_close_grace: 1h}'),
  );
  expect(fs.lstatSync(link).isSymbolicLink()).toBe(true);
  const found = fs.statSync(file);
  expect(found).toMatchObject({ uid, gid });
  expect(found.mode & 0o7777).toBe(0o640);
  expect(found.ino).not.toBe(ino);
  expect(fs.readdirSync(directory).sort()).toEqual(['link.yaml', 'prom2otlp.yaml']);
});

test('leaves the file if the write fails, and does not tell to remove it', async () => {
  const { directory, file } = configuration();
  const handle = await fs.promises.open(file);
  const sync = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'sync');
  await handle.close();
  sync.mockRejectedValue(new Error('the disk is ill'));
  onTestFinished(() => sync.mockRestore());
  const { code, err } = await callVerb(verb, ['--config', file, '--fix']);
  expect(code).toBeNull();
  expect(err).toMatch(
    /^cannot write ".*prom2otlp\.yaml": the disk is ill; run this as the owner of the file, or /,
  );
  expect(fs.readFileSync(file, 'utf8')).toBe(OLD);
  expect(fs.readdirSync(directory)).toEqual(['prom2otlp.yaml']);
});

test('leaves the file alone if it cannot write beside it', async () => {
  const { directory, file } = configuration();
  // A former attempt was cut off, or another one runs.
  fs.writeFileSync(`${file}.new`, 'x');
  const { code, err } = await callVerb(verb, ['--config', file, '--fix']);
  expect(code).toBeNull();
  expect(err).toMatch(/^cannot write ".*prom2otlp\.yaml\.new": it exists; remove it /);
  expect(fs.readFileSync(file, 'utf8')).toBe(OLD);
  expect(fs.readdirSync(directory).sort()).toEqual(['prom2otlp.yaml', 'prom2otlp.yaml.new']);
});
