// `backups` with good and bad input.

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SERVICE, useShell } from '../support/service-shell.ts';

const shell = await useShell();
const LIST = 'backups schedules list';
const PLAN = `backups schedules create --service-id ${SERVICE} --type full --schedule '0 3 * * *'`;
const schedulesOf = (options = ''): Promise<readonly unknown[]> => shell.json(`${LIST} ${options}`);

describe('backups schedules list', () => {
  test('shows the schedules of all services or of one', async () => {
    const out = await shell.shows(LIST);
    expect(out).toMatch(/^ID +SERVICE +NAME +TYPE +SCHEDULE +NEXT +STATUS +MESSAGE\n/);
    expect(out).toMatch(/\n *4 +dbpgf10000004 +sessions +full +0 2 \* \* \* +20\S+T02:00/);
    expect(await schedulesOf()).toHaveLength(4);
    expect(await schedulesOf(`--service-id ${SERVICE}`)).toMatchObject([
      { serviceId: SERVICE, serviceName: 'orders', suspended: false },
    ]);
    expect(await schedulesOf(`--config ${shell.config}`)).toHaveLength(4);
  });

  test('also reads a bare list', async () => {
    shell.simulator.setFaults({ listShape: 'bare' });
    expect(await schedulesOf()).toHaveLength(4);
  });

  test('asks for each configured service if the API demands an id', async () => {
    shell.simulator.setFaults({ isServiceIdRequired: true });
    const own = await schedulesOf(`--config ${shell.config}`);
    expect(own).toMatchObject([{ serviceId: SERVICE }, { serviceId: 'dbpgf10000002' }]);
    await shell.fails(LIST, 'name a service with --service-id');
  });

  test.each([
    [401, 'the service refused the key'],
    [404, 'there is nothing at this address'],
    [429, 'too many requests'],
    [500, 'the service failed'],
  ])('reports each failure with the trace id of the service: %i', async (status, message) => {
    shell.simulator.setFaults({ path: '/backup/v1', status });
    const { err } = await shell.fails(LIST, message);
    expect(err).toMatch(/\(trace id [\da-f]{32}\)\n$/);
  });
});

describe('backups schedules create', () => {
  test('creates a schedule, and one that writes to a bucket', async () => {
    expect(await shell.shows(PLAN)).toMatch(/dbpgf10000001 +orders +full +0 3 \* \* \* /);
    for (const [storage, file] of [
      ['s3', shell.s3],
      ['gs', shell.gs],
    ] as const) {
      const bucket = `--bucket ${storage}://my-backups --credentials-file ${file}`;
      const made = await shell.json(`${PLAN} ${bucket}`);
      expect(await schedulesOf(`--service-id ${SERVICE}`)).toContainEqual(made);
    }
  });

  test('sends another type with a warning', async () => {
    const { code, err } = await shell.type(`${PLAN} --type incremental`);
    expect([code, err]).toEqual([0, expect.stringContaining('warning: "incremental" is no')]);
  });

  test('reports an empty answer, and an unknown outcome', async () => {
    shell.simulator.setFaults({ createdBody: 'text' });
    const silent = await shell.type(PLAN);
    expect(silent).toMatchObject({ code: 0, err: 'created; the service says nothing about it\n' });
    shell.simulator.resetFaults();
    const before = (await schedulesOf()).length;
    shell.simulator.setFaults({ path: '/backup/v1', cut: 'length' });
    await shell.fails(PLAN, 'whether the schedule was created is not known');
    shell.simulator.resetFaults();
    expect(await schedulesOf()).toHaveLength(before + 1);
  });
});

describe('backups credentials encode', () => {
  test('writes a new file that nobody else may read', async () => {
    for (const [storage, file] of [
      ['s3', shell.s3],
      ['gs', shell.gs],
    ] as const) {
      const command = `backups credentials encode --storage ${storage} --file ${file}`;
      expect(await shell.type(command)).toEqual({
        code: 0,
        out: '',
        err: `${file}.base64: the credentials, encoded; keep it as secret as they are\n`,
      });
      const encoded = readFileSync(`${file}.base64`, 'utf8').trim();
      expect(Buffer.from(encoded, 'base64').toString()).toBe(readFileSync(file, 'utf8'));
      expect(statSync(`${file}.base64`).mode & 0o777).toBe(0o600);
      await shell.mistypes(command, 'cannot write');
    }
  });

  test('writes what the other verbs take', async () => {
    const output = join(shell.files.path, 'encoded');
    await shell.type(`backups credentials encode --storage s3 --file ${shell.s3} -o ${output}`);
    await shell.shows(`${PLAN} --bucket s3://b-b --credentials-file ${output}`);
  });

  test('prints them only on request', async () => {
    const { s3, files } = shell;
    // The shell of the tests fails if a verb prints one of its secrets.
    const other = files.write('other.ini', readFileSync(s3, 'utf8').replaceAll(/canary/gi, 'some'));
    const out = await shell.shows(`backups credentials encode --storage s3 --file ${other} -o -`);
    expect(Buffer.from(out, 'base64').toString()).toBe(readFileSync(other, 'utf8'));
  });

  test('names every missing member, and no value', async () => {
    const encode = 'backups credentials encode --storage';
    const { private_key: _, ...account } = JSON.parse(readFileSync(shell.gs, 'utf8'));
    const file = shell.files.write('bad.json', JSON.stringify({ ...account, client_id: 7 }));
    await shell.mistypes(
      `${encode} gs --file ${file}`,
      'the member private_key is missing',
      'the member client_id is not a text',
    );
    const ini = readFileSync(shell.s3, 'utf8').replace('region', 'zone');
    await shell.mistypes(
      `${encode} s3 --file ${shell.files.write('bad.ini', ini)}`,
      'line 4: expected aws_access_key_id, aws_secret_access_key, region',
      'the key region is missing',
    );
  });
});
