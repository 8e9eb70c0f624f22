// `logs` where it takes a full disk or a hostile server; all else is in test/transcripts/logs.

import { existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { SpoolFile } from '../../src/lib/spool-file.ts';
import { startFaultySimulator } from '../support/faulty-simulator.ts';
import { startHttpServer } from '../support/http-server.ts';
import { LogBook } from '../support/log-book.ts';
import { ServiceShell, SHELL_KEY, useShell } from '../support/service-shell.ts';

const TODAY = new Date().toISOString().slice(0, 10);

const shell = await useShell();
const { files } = shell;

function configFile(changes: object = {}): string {
  return shell.configWith({
    services: [{ id: 'dbpgf10000001' }, { id: 'dbpgf10000004' }],
    metrics: { enabled: false },
    logs: { enabled: true },
    otlp: { endpoint: 'http://127.0.0.1:1' },
    ...changes,
  });
}

test.each([`tail --lines 1`, `download --output - ${TODAY}.orders-0.error-log`])(
  'logs %s says that there is no temporary directory',
  async words => {
    vi.stubEnv('TMPDIR', '/no/such/place');
    const { err } = await shell.type(`logs ${words}`);
    vi.unstubAllEnvs();
    expect(err).toMatch(/^cannot write "\/no\/such\/place": .*; set TMPDIR to a directory where/);
  },
);

describe('logs download', () => {
  const id = `${TODAY}.sessions-0.error-log`;

  test('writes archives to stdout', async () => {
    expect((await shell.shows(`logs download ${id} -o -`)).slice(0, 2)).toBe('PK');
  });

  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  const remedy = 'no space left on device; free space on its disk, or';

  test('leaves no file, and says so, when its disk fills', async () => {
    const output = join(files.path, 'full.zip');
    const handle = await open(join(files.path, 'other'), 'w');
    const write = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'writeFile');
    onTestFinished(() => write.mockRestore());
    await handle.close();
    write.mockImplementationOnce(() => {
      expect(existsSync(output)).toBe(true);
      return Promise.reject(full);
    });
    const { code, err } = await shell.type(`logs download ${id} --output ${output}`);
    expect([code, err]).toEqual([2, expect.stringContaining(`"${output}": ${remedy} name a file`)]);
    expect(existsSync(output)).toBe(false);
  });

  test.each([
    ['-', tmpdir(), 'set TMPDIR'],
    [join(files.path, 'spool.zip'), join(files.path, 'spool.zip'), 'name a file'],
  ])('the disk may fill before the copy to %s begins', async (output, place, words) => {
    const write = vi.spyOn(SpoolFile.prototype, 'write');
    onTestFinished(() => write.mockRestore());
    write.mockImplementation(function (this: SpoolFile) {
      this.failure = full;
      return true;
    });
    const { code, err } = await shell.type(`logs download ${id} --output ${output}`);
    expect([code, err]).toEqual([2, expect.stringContaining(`"${place}": ${remedy} ${words}`)]);
  });
});

test('logs tail shows a line of a hostile user without control characters', async () => {
  const server = 'orders-0';
  const services = [
    { id: 'db1', name: 'orders', topology: 'single', servers: [{ name: server, role: 'single' }] },
  ] as const;
  const logs = new LogBook(services);
  const text = 'Access denied \u001b]0;owned\u0007\u001b[2J\rorders-0';
  logs.write({ serviceId: 'db1', server, type: 'error-log' }, { text, atMs: Date.now() - 60_000 });
  await using hostile = await startFaultySimulator({
    clock: systemClock,
    key: SHELL_KEY,
    services,
    logs,
  });
  using own = new ServiceShell(hostile);
  const line = 'orders-0 error-log Access denied ?]0;owned??[2J?orders-0\n';
  expect(await own.shows('logs tail --from 2d')).toBe(line);
});

test('check --probe shows the first five archives of the logs, and counts the others', async () => {
  let count = 0;
  const archive = (_: unknown, index: number): object => ({
    id: `archive-${index}`,
    logType: 'error-log',
    server: 'orders-0',
    serverDataSourceId: 'dbpgf10000001/orders-0',
    size: 7,
    startTime: `${TODAY}T00:00:00.000Z`,
  });
  await using server = await startHttpServer((_request, response) => {
    const logs = Array.from({ length: count }, archive);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ count, logs }));
  });
  const file = configFile({ api: { base_url: server.origin, key: SHELL_KEY } });
  const shownFor = async (archives: number): Promise<readonly string[]> => {
    count = archives;
    const { out } = await shell.type(`check --config ${file} --probe`);
    return [...out.matchAll(/^ *(archive-\d|… .*)/gm)].map(([, text = '']) => text);
  };
  const five = ['archive-0', 'archive-1', 'archive-2', 'archive-3', 'archive-4'];
  expect(await shownFor(5)).toEqual(five);
  expect(await shownFor(7)).toEqual([...five, '… and 2 more']);
});
