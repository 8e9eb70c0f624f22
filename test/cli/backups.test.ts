// `backups` with good and bad input.

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openServiceShell, SERVICE, type ServiceShell } from '../support/service-shell.ts';
import { verb as backups } from '../../src/cli/backups.ts';
import { callVerb } from '../support/verb-context.ts';

let shell: ServiceShell;
beforeAll(async () => {
  shell = await openServiceShell();
});
afterAll(() => shell[Symbol.asyncDispose]());

async function schedulesOf(...args: string[]): Promise<readonly unknown[]> {
  const { code, stdout } = await shell.type('backups', 'schedules', 'list', '--json', ...args);
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

describe('backups schedules list', () => {
  test('shows the schedules of all services or of one', async () => {
    const { code, stdout } = await shell.type('backups', 'schedules', 'list');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ID +SERVICE +NAME +TYPE +SCHEDULE +NEXT +STATUS +MESSAGE\n/);
    expect(stdout).toMatch(/\n *4 +dbpgf10000004 +sessions +full +0 2 \* \* \* +20\S+T02:00/);
    expect(await schedulesOf()).toHaveLength(4);
    expect(await schedulesOf('--service-id', SERVICE)).toMatchObject([
      { serviceId: SERVICE, serviceName: 'orders', suspended: false },
    ]);
    expect(await schedulesOf('--config', shell.config)).toHaveLength(4);
  });

  test('also reads a bare list', async () => {
    shell.simulator.setFaults({ listShape: 'bare' });
    expect(await schedulesOf()).toHaveLength(4);
    shell.simulator.resetFaults();
  });

  test('asks for each configured service if the API demands an id', async () => {
    shell.simulator.setFaults({ isServiceIdRequired: true });
    const own = await schedulesOf('--config', shell.config);
    const unnamed = await shell.type('backups', 'schedules', 'list');
    shell.simulator.resetFaults();
    expect(own).toMatchObject([{ serviceId: SERVICE }, { serviceId: 'dbpgf10000002' }]);
    expect([unnamed.code, unnamed.stderr]).toEqual([
      1,
      expect.stringContaining('name a service with --service-id'),
    ]);
  });

  test('reports each failure with the trace id of the service', async () => {
    const cases = [
      [401, 'the service refused the key'],
      [404, 'there is nothing at this address'],
      [429, 'too many requests'],
      [500, 'the service failed'],
    ] as const;
    for (const [status, message] of cases) {
      shell.simulator.setFaults({ path: '/backup/v1', status });
      const { code, stderr } = await shell.type('backups', 'schedules', 'list');
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
      expect(stderr).toMatch(/\(trace id [\da-f]{32}\)\n$/);
    }
    shell.simulator.resetFaults();
  });
});

describe('backups schedules create', () => {
  const create = ['backups', 'schedules', 'create'];
  const plan = [...create, '--service-id', SERVICE, '--type', 'full', '--schedule', '0 3 * * *'];

  test('creates a schedule, and one that writes to a bucket', async () => {
    const { code, stdout, stderr } = await shell.type(...plan);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/dbpgf10000001 +orders +full +0 3 \* \* \* /);
    for (const [bucket, file] of [
      ['s3://my-backups', shell.s3],
      ['gs://my-backups', shell.gs],
    ] as const) {
      const storage = ['--bucket', bucket, '--credentials-file', file, '--json'];
      const made = await shell.type(...plan, ...storage);
      expect([made.code, made.stderr]).toEqual([0, '']);
      expect(await schedulesOf('--service-id', SERVICE)).toContainEqual(JSON.parse(made.stdout));
    }
  });

  test('sends another type with a warning', async () => {
    const { code, stderr } = await shell.type(...plan, '--type', 'incremental');
    expect([code, stderr]).toEqual([0, expect.stringContaining('warning: "incremental" is no')]);
  });

  test('reports an empty answer, and an unknown outcome', async () => {
    shell.simulator.setFaults({ createdBody: 'text' });
    const silent = await shell.type(...plan);
    expect([silent.code, silent.stderr]).toEqual([
      0,
      'created; the service says nothing about it\n',
    ]);
    shell.simulator.resetFaults();
    const before = (await schedulesOf()).length;
    shell.simulator.setFaults({ path: '/backup/v1', cut: 'length' });
    const lost = await shell.type(...plan);
    shell.simulator.resetFaults();
    expect([lost.code, lost.stderr]).toEqual([
      1,
      expect.stringContaining('whether the schedule was created is not known'),
    ]);
    expect(await schedulesOf()).toHaveLength(before + 1);
  });

  test('refuses each mistake in its own words, and sends nothing', async () => {
    const bad = (options: readonly string[], ...messages: string[]): Promise<void> =>
      shell.mistype([...create, ...options], ...messages);
    const full = plan.slice(create.length);
    await bad(full.slice(2), 'expected --service-id ID');
    await bad([...full.slice(0, 2), ...full.slice(4)], 'expected --type full');
    await bad(full.slice(0, 4), 'expected --schedule CRON');
    await bad([...full, '--schedule', 'daily'], '--schedule: expected a cron expression');
    await bad([...full, '--schedule', '0 3 30 2 *'], 'it matches no future time');
    await bad([...full, '--type', ''], '--type: expected a text');
    await bad([...full, '--bucket', 's3://b-b'], '--bucket and --credentials-file go together');
    await bad([...full, '--credentials-file', shell.s3], '--bucket and --credentials-file');
    await bad(
      [...full, '--bucket', 'b-b', '--credentials-file', shell.s3],
      '--bucket: expected s3://NAME or gs://NAME, got "b-b"',
    );
    await bad(
      [...full, '--bucket', 's3://b-b/x', '--credentials-file', shell.s3],
      '--bucket: expected the bucket alone',
    );
    await bad(
      [...full, '--bucket', 's3://b-b', '--credentials-file', shell.gs],
      'account.json": expected a section [default], got JSON, as for gs',
    );
    await bad(
      [...full, '--bucket', 's3://b-b', '--credentials-file', 'no-such-file'],
      'cannot read "no-such-file": there is no such file',
    );
    await bad([...full, '--service-id', 'a b', '--schedule', 'x'], '--service-id:', '--schedule:');
    await bad([...full, '--config', shell.config, '--service-id', 'x'], 'there is no service "x"');
  });
});

describe('backups credentials encode', () => {
  const encode = ['backups', 'credentials', 'encode', '--storage'];

  test('writes a new file that nobody else may read', async () => {
    for (const [storage, file] of [
      ['s3', shell.s3],
      ['gs', shell.gs],
    ] as const) {
      const { code, stdout, stderr } = await shell.type(...encode, storage, '--file', file);
      expect([code, stdout]).toEqual([0, '']);
      expect(stderr).toBe(
        `${file}.base64: the credentials, encoded; keep it as secret as they are\n`,
      );
      const encoded = readFileSync(`${file}.base64`, 'utf8').trim();
      expect(Buffer.from(encoded, 'base64').toString()).toBe(readFileSync(file, 'utf8'));
      expect(statSync(`${file}.base64`).mode & 0o777).toBe(0o600);
      await shell.mistype([...encode, storage, '--file', file], 'cannot write');
    }
  });

  test('writes what the other verbs take', async () => {
    const output = join(shell.files.path, 'encoded');
    await shell.type(...encode, 's3', '--file', shell.s3, '--output', output);
    const schedule = ['backups', 'schedules', 'create', '--service-id', SERVICE, '--type', 'full'];
    const bucket = ['--schedule', 'once', '--bucket', 's3://b-b', '--credentials-file', output];
    expect((await shell.type(...schedule, ...bucket)).code).toBe(0);
  });

  test('prints them only on request', async () => {
    const args = [...encode, 's3', '--file', shell.s3, '--output', '-'].slice(1);
    const { out: stdout } = await callVerb(backups, args);
    expect(Buffer.from(stdout, 'base64').toString()).toBe(readFileSync(shell.s3, 'utf8'));
  });

  test('names every missing member, and no value', async () => {
    const { private_key: _, ...account } = JSON.parse(readFileSync(shell.gs, 'utf8'));
    const file = shell.files.write('bad.json', JSON.stringify({ ...account, client_id: 7 }));
    await shell.mistype(
      [...encode, 'gs', '--file', file],
      'the member private_key is missing',
      'the member client_id is not a text',
    );
    const ini = readFileSync(shell.s3, 'utf8').replace('region', 'zone');
    await shell.mistype(
      [...encode, 's3', '--file', shell.files.write('bad.ini', ini)],
      'line 4: expected aws_access_key_id, aws_secret_access_key, region',
      'the key region is missing',
    );
    await shell.mistype([...encode, 'ftp', '--file', shell.s3], '--storage: expected s3 or gs');
    await shell.mistype([...encode, 's3'], 'expected --file FILE');
    await shell.mistype([...encode, 's3', '--file', '/'], 'cannot read "/": it is a directory');
  });
});

test('an unknown word shows the possible ones', async () => {
  await shell.mistype(
    ['backups', 'schedule'],
    'only schedules list, schedules create, credentials encode',
  );
});
