// `restores` with good and bad input. It must never erase data that was not meant, erase data twice, or show a secret.

import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { Terminal } from '../../src/cli/verb.ts';
import type { Restore } from '../../src/service/restores-api.ts';
import { SERVICE, useShell } from '../support/service-shell.ts';

const shell = await useShell();
const UNCONFIRMED = `restores create --service-id ${SERVICE} --key nightly/2026-03-04.gz --bucket gs://my-backups --method enginebackup --credentials-file ${shell.gs}`;
const CREATE = `${UNCONFIRMED} --yes-erase ${SERVICE}`;

/** A terminal at which a user types this text. */
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

const restoresThere = (options = ''): Promise<readonly Restore[]> =>
  shell.json(`restores list ${options}`);

describe('restores create', () => {
  test('begins a restore, from either storage, of an encrypted backup, too', async () => {
    const out = await shell.shows(CREATE);
    expect(out).toMatch(/^ID +SERVICE +TYPE +STATUS +CREATED +MESSAGE\n/);
    expect(out).toContain('Running');
    const source = `--bucket s3://my-backups --method enginedump --credentials-file ${shell.s3}`;
    const encrypted = `${source} --encryption-key-file ${shell.encryptionKey}`;
    const made = await shell.json(`${CREATE} ${encrypted} --config ${shell.config}`);
    expect(await restoresThere()).toContainEqual(made);
  });

  test('requires the id of the service a second time', async () => {
    const erases = `this erases all data of the database service ${SERVICE}`;
    await shell.mistypes(UNCONFIRMED, `${erases}: confirm it with --yes-erase`);
    await shell.mistypes(
      `${UNCONFIRMED} --yes-erase dbpgf10000002`,
      `--yes-erase dbpgf10000002 is not the service that is restored: ${erases}`,
    );
  });

  test('asks for the id at a terminal, and accepts nothing else', async () => {
    const before = (await restoresThere()).length;
    const answer = async (typed: string): Promise<readonly [code: number | null, seen: string]> => {
      const { terminal, seen } = fakeTerminal(typed);
      const { code, err } = await shell.type(UNCONFIRMED, { terminal });
      return [code, err + seen()];
    };
    const [code, seen] = await answer(`${SERVICE}\n`);
    expect([code, seen]).toEqual([0, expect.stringContaining(`Type ${SERVICE} to go on: `)]);
    expect(await restoresThere()).toHaveLength(before + 1);
    for (const typed of ['yes\n', '\n', '\u0003', '\u0004']) {
      const [refused, why] = await answer(typed);
      expect([refused, why]).toEqual([2, expect.stringContaining('nothing was sent')]);
      // After Ctrl-C or Ctrl-D, the next output of the shell begins on a new line.
      expect(why.endsWith('\n')).toBe(['\u0003', '\u0004'].includes(typed));
    }
    expect(await restoresThere()).toHaveLength(before + 1);
  });

  test('asks no longer once the program is stopped', async () => {
    const before = (await restoresThere()).length;
    const { terminal } = fakeTerminal('');
    const stop = AbortSignal.timeout(50);
    const { code, err } = await shell.type(UNCONFIRMED, { terminal, stop });
    expect([code, err]).toEqual([2, expect.stringContaining('it was stopped: nothing was sent')]);
    expect(await restoresThere()).toHaveLength(before);
  });

  test('reports a refusal of the service', async () => {
    const unknown = 'dbpgf99999999';
    const command = `${CREATE} --service-id ${unknown} --yes-erase ${unknown}`;
    await shell.fails(command, '(404: No such service)');
  });

  test('finds the restore whose answer was lost, and does not start it twice', async () => {
    const before = await restoresThere();
    // The first list is answered, then the answer to the POST is cut off.
    shell.simulator.setFaults({ path: '/backup/v1/restores', cut: 'length', method: 'POST' });
    const { code, out, err } = await shell.type(`${CREATE} --json`);
    expect(err).toContain('the restore may have begun anyway');
    expect(err).toContain('it has begun: it is in the list of restores, and was not before');
    expect(code).toBe(0);
    const after = await restoresThere();
    expect(after).toHaveLength(before.length + 1);
    expect(after).toContainEqual(JSON.parse(out));
  });

  test('does not retry if it cannot read the list', async () => {
    const before = await restoresThere();
    shell.simulator.setFaults({ path: '/backup/v1/restores', cut: 'length' });
    await shell.fails(CREATE, 'it is not known whether it has begun');
    shell.simulator.resetFaults();
    expect(await restoresThere()).toHaveLength(before.length + 1);
  });

  test('does not take a web page for an answer of the service', async () => {
    shell.simulator.setFaults({ path: '/backup/v1/restores', body: 'html', method: 'POST' });
    const { code, err } = await shell.type(CREATE);
    expect(err).toContain('the answer is a web page: the restore may have begun anyway');
    expect(err).toContain('it has begun: it is in the list of restores, and was not before');
    expect(code).toBe(0);
    shell.simulator.resetFaults();
    shell.simulator.setFaults({ path: '/backup/v1/restores', body: 'html' });
    await shell.fails(CREATE, 'it is not known whether it has begun');
  });

  test('accepts an empty answer', async () => {
    shell.simulator.setFaults({ createdBody: 'empty' });
    const { code, err } = await shell.type(CREATE);
    expect([code, err]).toEqual([0, 'begun; the service says nothing about it\n']);
  });
});

describe('restores list and show', () => {
  test('show the progress of restores', async () => {
    const [first] = await restoresThere();
    expect(await shell.shows(`restores show ${first?.id}`)).toContain(SERVICE);
    const named = await shell.shows(`restores list --config ${shell.config}`);
    expect(named).toMatch(new RegExp(`^ *\\d+ +${SERVICE} \\(orders\\) `, 'm'));
    expect(await shell.json(`restores show ${first?.id}`)).toEqual(first);
    expect(await restoresThere('--service-id dbpgf10000002')).toEqual([]);
    const none = await shell.shows('restores list --service-id dbpgf10000002');
    expect(none).toBe('no restores\n');
  });

  test('report an unknown restore', async () => {
    const { err } = await shell.fails('restores show 999', '(404: No such restore)');
    expect(err).toContain('; check the id: prom2otlp restores list shows');
  });
});
