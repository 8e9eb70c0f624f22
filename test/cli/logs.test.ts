import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { verb } from '../../src/cli/logs.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { SpoolFile } from '../../src/lib/spool-file.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import type { SimulatedService } from '../../src/simulator/world.ts';
import { startHttpServer } from '../support/http-server.ts';
import { LogBook } from '../support/log-book.ts';
import { ServiceShell, SHELL_KEY, useShell } from '../support/service-shell.ts';
import { callVerb } from '../support/verb-context.ts';

const TODAY = new Date().toISOString().slice(0, 10);

const shell = await useShell();
const { files, simulator } = shell;

function configFile(changes: object = {}): string {
  return shell.configWith({
    services: [{ id: 'dbpgf10000001' }, { id: 'dbpgf10000004' }],
    metrics: { enabled: false },
    logs: { enabled: true },
    otlp: { endpoint: 'http://127.0.0.1:1' },
    ...changes,
  });
}

describe('logs list', () => {
  test('shows the archives that match, as a table or as JSON', async () => {
    const out = await shell.shows('logs list --type proxy-log --from 2d');
    const lines = out.trim().split('\n');
    expect(lines[0]).toMatch(/^ID +TYPE +SERVER +SERVICE +SIZE +START$/);
    expect(lines.at(-1)).toContain(`${TODAY}.orders-proxy-0.proxy-log`);
    expect(lines).toHaveLength(4);
    const found = await shell.json<{ server: string; sizeBytes: number }[]>(
      'logs list --service-id dbpgf10000004 --from 1h',
    );
    expect(new Set(found.map(one => one.server))).toEqual(new Set(['sessions-0']));
    expect(found.every(({ sizeBytes }) => sizeBytes > 0)).toBe(true);
  });

  test('filters even if the service does not', async () => {
    simulator.setFaults({ ignoredParameters: ['logType', 'serverContext'] });
    const found = await shell.json<{ type: string; server: string }[]>(
      'logs list --type audit-log --server ledger-1',
    );
    const kinds = new Set(found.map(({ type, server }) => `${type} ${server}`));
    expect(kinds).toEqual(new Set(['audit-log ledger-1']));
  });

  test('an empty list is reported as empty, an unreadable one is not', async () => {
    expect(await shell.shows('logs list --type no-such-log')).toBe('no archives\n');
    simulator.setFaults({ path: '/observability/v2/logs', status: 403 });
    expect((await shell.fails('logs list', 'the service refused the key')).out).toBe('');
  });

  test('takes a time, or a duration back from now', async () => {
    await shell.shows('logs list --from 2026-01-01T00:00:00Z --to 1h');
  });
});

test('logs types and logs servers list everything', async () => {
  expect(await shell.shows('logs types')).toContain('slow-query-log');
  expect(await shell.json('logs servers')).toHaveLength(10);
});

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

  test('writes archives to a new file, and never overwrites one', async () => {
    const output = join(files.path, 'a.zip');
    const command = `logs download ${id} --output ${output}`;
    expect((await shell.type(command)).code).toBe(0);
    expect(readFileSync(output).subarray(0, 2).toString()).toBe('PK');
    writeFileSync(output, 'mine');
    const { code, err } = await shell.type(command);
    expect([code, err]).toEqual([2, expect.stringContaining('cannot write')]);
    expect(readFileSync(output, 'utf8')).toBe('mine');
  });

  test('writes archives to stdout, but not to a terminal', async () => {
    expect((await shell.shows(`logs download ${id} -o -`)).slice(0, 2)).toBe('PK');
    const { code, err } = await shell.type(`logs download ${id} -o -`, { columns: 80 });
    expect([code, err]).toEqual([2, expect.stringContaining('an archive is no text')]);
  });

  test('leaves no incomplete file', async () => {
    const output = join(files.path, 'none.zip');
    const what =
      'check each ID: prom2otlp logs list shows those that there are; else check --base-url';
    await shell.fails(`logs download unknown --output ${output}`, what);
    expect(() => readFileSync(output)).toThrow('ENOENT');
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

test('logs tail shows the last lines as the server wrote them', async () => {
  const command = 'logs tail --type audit-log --server sessions-0 --from 3d --lines 3';
  const lines = (await shell.shows(command)).trim().split('\n');
  // Three lines of each day that the span touches; just after midnight the last day has fewer.
  expect([9, 10, 11, 12]).toContain(lines.length);
  const format = /^sessions-0 audit-log \d{8} \d\d:\d\d:\d\d,sessions-0,/;
  expect(lines.filter(line => !format.test(line))).toEqual([]);
  const json = (await shell.shows(`${command} --json`)).trim().split('\n');
  const objects = json.map(line => JSON.parse(line));
  expect(objects.map(({ server, type, line }) => `${server} ${type} ${line}`)).toEqual(lines);
});

test('logs tail says that there are no archives', async () => {
  const { code, out, err } = await shell.type('logs tail --server orders-00');
  expect([code, out, err]).toEqual([0, '', 'no archives\n']);
});

test('JSON is printed without control characters, even those that JSON allows', async () => {
  const name = 'orders\u009b31m';
  const services = [{ id: 'db1', name, topology: 'single', servers: [{ name, role: 'single' }] }];
  const options = { clock: systemClock, key: SHELL_KEY };
  await using hostile = await startSimulator({
    ...options,
    services: services as readonly SimulatedService[],
  });
  using own = new ServiceShell(hostile);
  for (const action of ['list', 'servers']) {
    const out = await own.shows(`logs ${action} --json`);
    expect(out).toContain('orders\\u009b31m');
    expect(out).not.toContain('\u009b');
  }
});

test('logs tail shows a line of a hostile user without control characters', async () => {
  const server = 'orders-0';
  const services = [
    { id: 'db1', name: 'orders', topology: 'single', servers: [{ name: server, role: 'single' }] },
  ] as const;
  const logs = new LogBook(services);
  const text = 'Access denied \u001b]0;owned\u0007\u001b[2J\rorders-0';
  logs.write({ serviceId: 'db1', server, type: 'error-log' }, { text, atMs: Date.now() - 60_000 });
  await using hostile = await startSimulator({
    clock: systemClock,
    key: SHELL_KEY,
    services,
    logs,
  });
  using own = new ServiceShell(hostile);
  const line = 'orders-0 error-log Access denied ?]0;owned??[2J?orders-0\n';
  expect(await own.shows('logs tail --from 2d')).toBe(line);
});

test.each([
  [200, 'OK', 0, 'the service does not say how long it keeps logs now'],
  [500, '', 1, 'whether the retention was changed is not known'],
])('logs retention says what is known after the answer %d %j', async (status, body, code, says) => {
  await using server = await startHttpServer(
    (_, response) => void response.writeHead(status, { 'content-type': 'text/plain' }).end(body),
  );
  const change = '--set-days 3 --bucket logs --provider p --confirm logs';
  const told = await shell.type(`logs retention ${change} --base-url ${server.origin}`);
  expect([told.code, told.err]).toEqual([code, expect.stringContaining(says)]);
});

test('logs download asks for nothing if the file exists', async () => {
  const file = files.write('there.zip', 'mine');
  await shell.mistypes(`logs download any -o ${file}`, 'it exists');
});

test('a time ten years back is the oldest', async () => {
  await shell.mistypes('logs list --from 104000000d', 'a duration back from now');
});

test('logs retention is shown, and changed only when it is confirmed', async () => {
  expect(await shell.shows('logs retention')).toMatch(/RETENTION_POLICY_DAYS\n.* 7$/m);
  const shown = { bucketName: 'logs', retentionPolicyDays: 7 };
  expect(await shell.json('logs retention')).toMatchObject(shown);
  const change = 'logs retention --set-days 3 --bucket logs --provider simulated';
  await shell.mistypes(change, '--confirm logs');
  await shell.mistypes(`${change} --confirm other`, '--confirm logs');
  expect(await shell.shows('logs retention')).toContain(' 7');
  await shell.shows(`${change} --confirm logs`);
  expect(await shell.shows('logs retention')).toContain(' 3');
});

describe('access to the service', () => {
  test('needs a configuration, or an address with a key that is not an argument', async () => {
    const environment = {};
    await shell.shows(`logs types --config ${configFile()}`, { environment });
    const keyFile = files.write('key', `${SHELL_KEY}\n`);
    for (const path of [keyFile, relative('.', keyFile)])
      await shell.shows(`logs types --key-file ${path}`, { environment });
    const { err } = await shell.type('logs types', { environment });
    expect(err).toContain('there is no key');
    const { err: nowhere } = await callVerb(verb, ['types'], { environment });
    const either = 'expected --config FILE or --base-url URL: PROM2OTLP_CONFIG is not set';
    expect(nowhere).toContain(either);
  });
});

describe('check --probe', () => {
  test('shows the answers of the log endpoints and how they were read', async () => {
    const probe = async (): Promise<string> =>
      (await shell.type(`check --config ${configFile()} --probe`)).out;
    const out = await probe();
    expect(out).toContain('types error-log, slow-query-log, audit-log, proxy-log');
    expect(out).toMatch(/list of the last day, error-log: \d+ archives/);
    expect(out).toMatch(/\d+ are left alone: not of a service that is configured/);
    expect(out).toMatch(
      /\.sessions-0\.error-log +dbpgf10000004 +dbpgf10000004\/sessions-0 +error-log +\d+/,
    );
    simulator.setFaults({ clockSkewMs: 3_600_000 });
    expect(await probe()).toMatch(/its clock is (1 h|59 min.*) ahead of ours/);
  });

  test('shows the first five archives, and counts the others', async () => {
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
});
