// `restores` with good and bad input. What it must never do: erase data that was not meant, erase it twice, show a secret.

import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Terminal } from '../../src/cli/verb.ts';
import type { Restore } from '../../src/service/restores-api.ts';
import { openServiceShell, SERVICE, type ServiceShell } from '../support/service-shell.ts';

let shell: ServiceShell;
beforeAll(async () => {
  shell = await openServiceShell();
});
afterAll(() => shell[Symbol.asyncDispose]());
beforeEach(() => shell.simulator.resetFaults());

/** `--key` and the like with what is good for them. */
function goodOptions(changes: Readonly<Record<string, string | null>> = {}): string[] {
  const options = {
    'service-id': SERVICE,
    key: 'nightly/2026-03-04.gz',
    bucket: 'gs://my-backups',
    method: 'enginebackup',
    'credentials-file': shell.gs,
    'yes-erase': SERVICE,
    ...changes,
  };
  return Object.entries(options).flatMap(([name, value]) =>
    value === null ? [] : [`--${name}`, value],
  );
}

/** A terminal at which this is typed. */
function fakeTerminal(typed: string): { terminal: Terminal; seen: () => string } {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const screen = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  let text = '';
  screen.setEncoding('utf8').on('data', (piece: string) => {
    if (text === '') input.write(typed);
    text += piece;
  });
  return { terminal: { input, screen }, seen: () => text };
}

const create = (changes?: Readonly<Record<string, string | null>>): string[] => [
  'restores',
  'create',
  ...goodOptions(changes),
];

async function restoresThere(...args: string[]): Promise<readonly Restore[]> {
  const { code, stdout } = await shell.type('restores', 'list', '--json', ...args);
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

describe('restores create', () => {
  test('begins a restore, from either storage, of an encrypted backup, too', async () => {
    const { code, stdout, stderr } = await shell.type(...create());
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^ID +SERVICE +TYPE +STATUS +CREATED +MESSAGE\n/);
    expect(stdout).toContain('Running');
    const encrypted = create({
      bucket: 's3://my-backups',
      method: 'enginedump',
      'credentials-file': shell.s3,
      'encryption-key-file': shell.encryptionKey,
    });
    const second = await shell.type(...encrypted, '--config', shell.config, '--json');
    expect([second.code, second.stderr]).toEqual([0, '']);
    expect(await restoresThere()).toContainEqual(JSON.parse(second.stdout));
  });

  test('requires the id of the service a second time', async () => {
    const erases = `this erases all data of the database service ${SERVICE}`;
    await shell.mistype(create({ 'yes-erase': null }), `${erases}: confirm it with --yes-erase`);
    await shell.mistype(
      create({ 'yes-erase': 'dbpgf10000002' }),
      `--yes-erase dbpgf10000002 is not the service that is restored: ${erases}`,
    );
  });

  test('asks for the id at a terminal, and accepts nothing else', async () => {
    const before = (await restoresThere()).length;
    const answer = async (typed: string): Promise<readonly [code: number | null, seen: string]> => {
      const { terminal, seen } = fakeTerminal(typed);
      const { code, stderr } = await shell.typeAt(terminal, ...create({ 'yes-erase': null }));
      return [code, stderr + seen()];
    };
    const [code, seen] = await answer(`${SERVICE}\n`);
    expect([code, seen]).toEqual([0, expect.stringContaining(`Type ${SERVICE} to go on: `)]);
    expect(await restoresThere()).toHaveLength(before + 1);
    for (const typed of ['yes\n', '\n', '\u0003', '\u0004']) {
      const [refused, why] = await answer(typed);
      expect([refused, why]).toEqual([2, expect.stringContaining('nothing was sent')]);
      // What the shell prints next begins on a line of its own.
      expect(why.endsWith('\n')).toBe(['\u0003', '\u0004'].includes(typed));
    }
    expect(await restoresThere()).toHaveLength(before + 1);
  });

  test('refuses each mistake in its own words, and sends nothing', async () => {
    const bad = (changes: Readonly<Record<string, string | null>>, message: string) =>
      shell.mistype(create(changes), message);
    await bad({ 'service-id': null }, 'expected --service-id ID');
    await bad({ key: null }, 'expected --key PATH');
    await bad({ bucket: null }, 'expected --bucket ADDRESS');
    await bad({ method: null }, 'expected --method enginebackup or enginedump');
    await bad({ 'credentials-file': null }, 'expected --credentials-file FILE');
    await bad({ 'service-id': 'a b', 'yes-erase': 'a b' }, '--service-id: expected the id');
    await bad({ key: '' }, '--key: expected the path of the backup');
    await bad({ key: 'gs://my-backups/x' }, '--key: expected the path in the bucket, without');
    await bad({ bucket: 'my-backups' }, '--bucket: expected s3://NAME or gs://NAME');
    await bad({ bucket: 'gs://my-backups/nightly' }, '--bucket: expected the bucket alone');
    await bad({ method: 'rsync' }, '--method: expected enginebackup or enginedump, got "rsync"');
    await bad({ 'credentials-file': shell.s3 }, 'got a file with sections, as for s3');
    await bad({ 'credentials-file': 'no-such-file' }, 'there is no such file');
    await bad({ 'encryption-key-file': 'no-such-file' }, 'there is no such file');
    const lines = shell.files.write('two-lines', 'canary\nlines\n');
    await bad({ 'encryption-key-file': lines }, '--encryption-key-file: expected one line of text');
    await shell.mistype([...create(), '--credentials', 'x'], 'unknown option "--credentials"');
    await shell.mistype([...create(), 'extra'], 'unexpected "extra"');
    await shell.mistype(['restores'], 'expected one of create, list, show');
  });

  test('reports a refusal of the service', async () => {
    const unknown = 'dbpgf99999999';
    const { code, stderr } = await shell.type(
      ...create({ 'service-id': unknown, 'yes-erase': unknown }),
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining('(404: No such service)')]);
  });

  test('finds the restore whose answer was lost, and does not start it twice', async () => {
    const before = await restoresThere();
    // The list before is answered, then the answer to the POST is cut off.
    shell.simulator.setFaults({ path: '/backup/v1/restores', cut: 'length', method: 'POST' });
    const { code, stdout, stderr } = await shell.type(...create(), '--json');
    expect(stderr).toContain('the restore may have begun anyway');
    expect(stderr).toContain('it has begun: it is in the list of restores, and was not before');
    expect(code).toBe(0);
    const after = await restoresThere();
    expect(after).toHaveLength(before.length + 1);
    expect(after).toContainEqual(JSON.parse(stdout));
  });

  test('does not retry if it cannot read the list', async () => {
    const before = await restoresThere();
    shell.simulator.setFaults({ path: '/backup/v1/restores', cut: 'length' });
    const { code, stderr } = await shell.type(...create());
    shell.simulator.resetFaults();
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('it is not known whether it has begun'),
    ]);
    expect(await restoresThere()).toHaveLength(before.length + 1);
  });

  test('accepts an empty answer', async () => {
    shell.simulator.setFaults({ createdBody: 'empty' });
    const { code, stderr } = await shell.type(...create());
    expect([code, stderr]).toEqual([0, 'begun; the service says nothing about it\n']);
  });
});

describe('restores list and show', () => {
  test('show the progress of restores', async () => {
    const [first] = await restoresThere();
    const { code, stdout } = await shell.type('restores', 'show', String(first?.id));
    expect([code, stdout]).toEqual([0, expect.stringContaining(SERVICE)]);
    const named = await shell.type('restores', 'list', '--config', shell.config);
    expect(named.stdout).toMatch(new RegExp(`^ *\\d+ +${SERVICE} \\(orders\\) `, 'm'));
    const shown = await shell.type('restores', 'show', String(first?.id), '--json');
    expect(JSON.parse(shown.stdout)).toEqual(first);
    expect(await restoresThere('--service-id', 'dbpgf10000002')).toEqual([]);
    const none = await shell.type('restores', 'list', '--service-id', 'dbpgf10000002');
    expect([none.code, none.stdout]).toEqual([0, 'no restores\n']);
  });

  test('report an unknown restore, and a mistake', async () => {
    const { code, stderr } = await shell.type('restores', 'show', '999');
    expect([code, stderr]).toEqual([1, expect.stringContaining('(404: No such restore)')]);
    await shell.mistype(['restores', 'show'], 'expected RESTORE: the id of a restore');
    await shell.mistype(['restores', 'list', 'x'], 'unexpected "x"');
  });
});
