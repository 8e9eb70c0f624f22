// `restores create` at a terminal. All else is in test/transcripts/restores.

import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { Terminal } from '../../src/cli/verb.ts';
import type { Restore } from '../../src/service/restores-api.ts';
import { SERVICE, useShell } from '../support/service-shell.ts';

const shell = await useShell();
const UNCONFIRMED = `restores create --service-id ${SERVICE} --key nightly/2026-03-04.gz --bucket gs://my-backups --method enginebackup --credentials-file ${shell.gs}`;

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

const restoresThere = (): Promise<readonly Restore[]> => shell.json('restores list');

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
