import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { verb as check } from '../../src/cli/check.ts';
import { verb as logs } from '../../src/cli/logs.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import type { SimulatedService } from '../../src/simulator/world.ts';
import { startHttpServer } from '../support/http-server.ts';
import { tempDirectory } from '../support/program.ts';
import { callVerb, type Printed } from '../support/verb-context.ts';

const KEY = 'key-that-is-not-shown';
const TODAY = new Date().toISOString().slice(0, 10);

let simulator: Simulator;
let files: ReturnType<typeof tempDirectory>;

beforeAll(async () => {
  simulator = await startSimulator({ clock: systemClock, key: KEY });
  files = tempDirectory();
});
afterAll(async () => {
  await simulator.close();
  files[Symbol.dispose]();
});

/** By address, with the key in the environment. */
async function call(...args: string[]): Promise<Printed> {
  const [action = '', ...rest] = args;
  const printed = await callVerb(logs, [action, '--base-url', simulator.url, ...rest], {
    environment: { PROM2OTLP_API_KEY: KEY },
  });
  expect(printed.out + printed.err).not.toContain(KEY);
  return printed;
}

function configFile(changes: object = {}): string {
  const config = {
    api: { base_url: simulator.url, key: KEY },
    services: [{ id: 'dbpgf10000001' }, { id: 'dbpgf10000004' }],
    metrics: { enabled: false },
    logs: { enabled: true },
    otlp: { endpoint: 'http://127.0.0.1:1' },
    queue: { directory: null },
    ...changes,
  };
  return files.write('c.yaml', JSON.stringify(config));
}

describe('logs list', () => {
  test('shows the archives that match, as a table or as JSON', async () => {
    const { code, out } = await call('list', '--type', 'proxy-log', '--from', '2d');
    expect(code).toBe(0);
    const lines = out.trim().split('\n');
    expect(lines[0]).toMatch(/^ID +TYPE +SERVER +SERVICE +SIZE +START$/);
    expect(lines.at(-1)).toContain(`${TODAY}.orders-proxy-0.proxy-log`);
    expect(lines).toHaveLength(4);
    const json = await call('list', '--service-id', 'dbpgf10000004', '--json', '--from', '1h');
    const found: { server: string; sizeBytes: number }[] = JSON.parse(json.out);
    expect(new Set(found.map(one => one.server))).toEqual(new Set(['sessions-0']));
    expect(found.every(({ sizeBytes }) => sizeBytes > 0)).toBe(true);
  });

  test('filters even if the service does not', async () => {
    simulator.setFaults({ ignoredParameters: ['logType', 'serverContext'] });
    const { out } = await call('list', '--type', 'audit-log', '--server', 'ledger-1', '--json');
    simulator.resetFaults();
    const found = JSON.parse(out).map((one: { type: string; server: string }) => [
      one.type,
      one.server,
    ]);
    expect(new Set(found.map(String))).toEqual(new Set(['audit-log,ledger-1']));
  });

  test('reports a refusal of the service, and exits with 1', async () => {
    simulator.setFaults({ path: '/observability/v2/logs', status: 403 });
    const { code, err } = await call('list');
    simulator.resetFaults();
    expect([code, err]).toEqual([1, expect.stringContaining('the service refused the key')]);
  });
});

test('logs types and logs servers list everything', async () => {
  expect((await call('types')).out).toContain('slow-query-log');
  const { out } = await call('servers', '--json');
  expect(JSON.parse(out)).toHaveLength(10);
});

test.each([
  ['tail', '--lines', '1'],
  ['download', '--output', '-', `${TODAY}.orders-0.error-log`],
])('logs %s says that there is no temporary directory', async (...args) => {
  vi.stubEnv('TMPDIR', '/no/such/place');
  const { err } = await call(...args);
  vi.unstubAllEnvs();
  expect(err).toMatch(/^cannot write "\/no\/such\/place": .*; set TMPDIR to a directory where/);
});

describe('logs download', () => {
  test('writes archives to a new file, and never overwrites one', async () => {
    const output = join(files.path, 'a.zip');
    const id = `${TODAY}.sessions-0.error-log`;
    expect((await call('download', id, '--output', output)).code).toBe(0);
    expect(readFileSync(output).subarray(0, 2).toString()).toBe('PK');
    writeFileSync(output, 'mine');
    const again = await call('download', id, '--output', output);
    expect([again.code, again.err]).toEqual([null, expect.stringContaining('cannot write')]);
    expect(readFileSync(output, 'utf8')).toBe('mine');
  });

  test('writes archives to stdout, but not to a terminal', async () => {
    const id = `${TODAY}.sessions-0.error-log`;
    const piped = await call('download', id, '-o', '-');
    expect([piped.code, piped.err, piped.out.slice(0, 2)]).toEqual([0, '', 'PK']);
  });

  test('leaves no incomplete file', async () => {
    const output = join(files.path, 'none.zip');
    expect((await call('download', 'unknown', '--output', output)).code).toBe(1);
    expect(() => readFileSync(output)).toThrow('ENOENT');
  });
});

test('logs tail shows the last lines as the server wrote them', async () => {
  const narrowed = ['--type', 'audit-log', '--server', 'sessions-0', '--from', '3d'];
  const { code, out } = await call('tail', ...narrowed, '--lines', '3');
  expect(code).toBe(0);
  const lines = out.trim().split('\n');
  // Three of each day that the span touches; just after midnight the last day has fewer.
  expect([9, 10, 11, 12]).toContain(lines.length);
  const format = /^sessions-0 audit-log \d{8} \d\d:\d\d:\d\d,sessions-0,/;
  expect(lines.filter(line => !format.test(line))).toEqual([]);
  const json = await call('tail', ...narrowed, '--lines', '3', '--json');
  const objects = json.out
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  expect(objects.map(({ server, type, line }) => `${server} ${type} ${line}`)).toEqual(lines);
});

test('an empty list is reported as empty, an unreadable one is not', async () => {
  expect((await call('list', '--type', 'no-such-log')).out).toBe('no archives\n');
  simulator.setFaults({ path: '/observability/v2/logs', status: 403 });
  const failed = await call('list');
  simulator.resetFaults();
  expect([failed.code, failed.out]).toEqual([1, expect.not.stringContaining('no archives')]);
});

test('JSON is printed without control characters, even those that JSON allows', async () => {
  const name = 'orders\u009b31m';
  const services = [{ id: 'db1', name, topology: 'single', servers: [{ name, role: 'single' }] }];
  const hostile = await startSimulator({
    clock: systemClock,
    key: KEY,
    services: services as readonly SimulatedService[],
  });
  for (const action of ['list', 'servers']) {
    const args = [action, '--base-url', hostile.url, '--json'];
    const { out } = await callVerb(logs, args, { environment: { PROM2OTLP_API_KEY: KEY } });
    expect(out).toContain('orders\\u009b31m');
    expect(out).not.toContain('\u009b');
  }
  await hostile.close();
});

test('logs retention is shown, and changed only when it is confirmed', async () => {
  expect((await call('retention')).out).toMatch(/RETENTION_POLICY_DAYS\n.* 7$/m);
  const json = await call('retention', '--json');
  expect(JSON.parse(json.out)).toMatchObject({ bucketName: 'logs', retentionPolicyDays: 7 });
  const change = ['--set-days', '3', '--bucket', 'logs', '--provider', 'simulated'];
  const refused = await call('retention', ...change);
  expect([refused.code, refused.err]).toEqual([null, expect.stringContaining('--confirm logs')]);
  expect((await call('retention', ...change, '--confirm', 'other')).code).toBeNull();
  expect((await call('retention')).out).toContain(' 7');
  expect((await call('retention', ...change, '--confirm', 'logs')).code).toBe(0);
  expect((await call('retention')).out).toContain(' 3');
});

describe('access to the service', () => {
  test('needs a configuration, or an address with a key that is not an argument', async () => {
    const file = configFile();
    const by = async (...args: string[]): Promise<Printed> => callVerb(logs, ['types', ...args]);
    expect((await by('--config', file)).code).toBe(0);
    const keyFile = files.write('key', `${KEY}\n`);
    for (const path of [keyFile, relative('.', keyFile)])
      expect((await by('--base-url', simulator.url, '--key-file', path)).code).toBe(0);
    const check = async (why: string, ...args: string[]): Promise<void> => {
      const { code, err } = await by(...args);
      expect([code, err]).toEqual([null, expect.stringContaining(why)]);
    };
    await check('expected --config FILE or --base-url URL: PROM2OTLP_CONFIG is not set');
    await check('--base-url URL, not both', '--config', file, '--base-url', simulator.url);
    await check('there is no key', '--base-url', simulator.url);
    await check('no service "x"', '--config', file, '--service-id', 'x');
    await check('--key-file goes with', '--config', file, '--key-file', keyFile);
    // No option allows it.
    await check(
      'use https, or set `insecure: true` in the configuration',
      '--base-url',
      'http://api.example.com',
      '--key-file',
      keyFile,
    );
    await check('unknown option "--key"', '--base-url', simulator.url, '--key', KEY);
  });

  test('times are dates or durations', async () => {
    const check = async (why: string, ...args: string[]): Promise<void> =>
      expect((await call('list', ...args)).err).toContain(why);
    // A number without a unit, a time without a zone, and a day that does not exist have no clear meaning.
    for (const text of ['yesterday', '5', '2026-01-01 00:00:00', '2026-02-30T00:00:00Z'])
      await check('--from: expected a time such as', '--from', text);
    await check('--from is later than --to', '--from', '1h', '--to', '2h');
    expect((await call('list', '--from', '2026-01-01T00:00:00Z', '--to', '1h')).code).toBe(0);
  });
});

test('check --probe shows the answers of the log endpoints and how they were read', async () => {
  const { out } = await callVerb(check, ['--config', configFile(), '--probe']);
  expect(out).toContain('types error-log, slow-query-log, audit-log, proxy-log');
  expect(out).toMatch(/list of the last day, error-log: \d+ archives/);
  expect(out).toMatch(/\d+ are left alone: not of a service that is configured/);
  expect(out).toMatch(
    /\.sessions-0\.error-log +dbpgf10000004 +dbpgf10000004\/sessions-0 +error-log +\d+/,
  );
  simulator.setFaults({ clockSkewMs: 3_600_000 });
  const skewed = await callVerb(check, ['--config', configFile(), '--probe']);
  simulator.resetFaults();
  expect(skewed.out).toMatch(/its clock is (1 h|59 min.*) ahead of ours/);
});

test('check --probe shows the first five archives, and counts the others', async () => {
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
  const file = configFile({ api: { base_url: server.origin, key: KEY } });
  const shownFor = async (archives: number): Promise<readonly string[]> => {
    count = archives;
    const { out } = await callVerb(check, ['--config', file, '--probe']);
    return [...out.matchAll(/^ *(archive-\d|… .*)/gm)].map(([, text = '']) => text);
  };
  const five = ['archive-0', 'archive-1', 'archive-2', 'archive-3', 'archive-4'];
  expect(await shownFor(5)).toEqual(five);
  expect(await shownFor(7)).toEqual([...five, '… and 2 more']);
});
