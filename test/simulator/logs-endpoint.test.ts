import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { GeneratedLogs } from '../../src/simulator/log-source.ts';
import { createLogsEndpoint } from '../../src/simulator/logs-endpoint.ts';
import { demoServices } from '../../src/simulator/world.ts';
import { callerOf, NOW } from './call.ts';

const LOGS = new GeneratedLogs(demoServices(), 1);
const open = callerOf.bind(null, createLogsEndpoint.bind(null, LOGS));
const call = open();

interface Descriptor {
  readonly id: string;
  readonly size: number;
  readonly [member: string]: unknown;
}

function list(url: string): { count: number; logs: Descriptor[] } {
  return call('GET', url).value;
}

async function entries(url: string, nowMs = NOW): Promise<Record<string, string>> {
  const { headers, body } = call('GET', url, undefined, { nowMs });
  expect(headers['content-type']).toBe('application/zip');
  const archive = await fromBufferPromise(body);
  const found: Record<string, string> = {};
  for await (const entry of archive.eachEntry()) {
    found[entry.fileName] = (await buffer(await archive.openReadStreamPromise(entry))).toString();
  }
  return found;
}

const TODAY = '/?fromDate=2026-03-04T00:00:00Z';

describe('the list', () => {
  test('describes archives by day, service, server and type', () => {
    const { count, logs } = list(`${TODAY}&logType=proxy-log`);
    expect(count).toBe(1);
    expect(logs).toEqual([
      {
        id: '2026-03-04.orders-proxy-0.proxy-log',
        name: 'orders-proxy-0_proxy-log_2026-03-04',
        logType: 'proxy-log',
        server: 'orders-proxy-0',
        service: 'orders',
        serverDataSourceId: 'dbpgf10000001/orders-proxy-0',
        size: expect.any(Number),
        startTime: '2026-03-04T00:00:00.000Z',
      },
    ]);
  });

  test('is filtered by dates, types and servers, and ignores unknown parameters', () => {
    const check = (query: string, count: number): void =>
      expect(list(`/?${query}`).count, query).toBe(count);
    // For a week: nine servers with three logs each, and one server with one log.
    check('', 28 * 7);
    check('colour=red', 28 * 7);
    check('fromDate=2026-03-03T12:00:00Z', 28 * 2);
    check('fromDate=2026-03-03T12:00:00Z&toDate=2026-03-04T00:00:00Z', 28);
    check('logType=error-log,audit-log', 18 * 7);
    check('logType=error-log&logType=proxy-log', 10 * 7);
    check('serverContext=dbpgf10000002/ledger-1', 3 * 7);
    check('logType=proxy-log&serverContext=dbpgf10000002/ledger-1', 0);
    expect(call('GET', '/?fromDate=yesterday').status).toBe(400);
  });

  test('comes in pages, in either order, by GET or POST', () => {
    const all = list('/?limit=1000').logs.map(log => log.id);
    const second = list('/?limit=5&offset=5');
    expect([second.count, second.logs.map(log => log.id)]).toEqual([28 * 7, all.slice(5, 10)]);
    expect(list('/').logs).toHaveLength(100);
    expect(list('/?orderBy=-startTime&limit=1').logs[0]?.id).toBe(all.at(-1));
    const json = { limit: 2, orderByDirection: 'desc', logType: ['error-log', 'audit-log'] };
    const posted = call('POST', '/query', json).value;
    expect([posted.count, posted.logs.length, posted.logs[0].logType]).toEqual([
      18 * 7,
      2,
      'audit-log',
    ]);
  });
});

describe('an archive', () => {
  const id = '2026-03-04.sessions-0.error-log';
  const url = `/archive?logIds=${id}&logFormat=raw`;

  test('is as long as listed, and holds lines up to now', async () => {
    const found = await entries(url);
    expect(Object.keys(found)).toEqual(['sessions-0/error-log/2026-03-04.log']);
    const [text = ''] = Object.values(found);
    const { logs } = list(`${TODAY}&serverContext=dbpgf10000004/sessions-0&logType=error-log`);
    expect(logs[0]).toMatchObject({ id, size: Buffer.byteLength(text) });
    const lines = text.trimEnd().split('\n');
    // One record in ten minutes; some have a second line.
    expect(lines.filter(line => line.startsWith('2026-03-04  ')).length).toBe(9 * 6);
    expect(lines[0]).toMatch(/^2026-03-04 {2}0:0\d:\d\d \d+ \[(Note|Warning|ERROR)\] /u);
  });

  test('only grows while its day lasts, and not after it', async () => {
    const at = async (nowMs: number): Promise<string> =>
      Object.values(await entries(url, nowMs))[0] ?? '';
    const [noon, evening] = [await at(NOW), await at(NOW + 9 * 3_600_000)];
    expect(evening.startsWith(noon)).toBe(true);
    expect(evening.length).toBeGreaterThan(noon.length);
    const midnight = Date.UTC(2026, 2, 5);
    expect(await at(midnight + 3_600_000)).toBe(await at(midnight));
  });

  test('wraps each physical line in JSON on request', async () => {
    const [raw = ''] = Object.values(await entries(url));
    const [json = ''] = Object.values(await entries(`/archive?logIds=${id}&logFormat=json`));
    const lines = json
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line));
    expect(lines.map(line => `${line.log}\n`).join('')).toBe(raw);
    expect(lines[0]).toEqual({
      log: raw.split('\n')[0],
      offset: 0,
      time: expect.stringMatching(/^2026-03-04T00:0\d:/u),
      stream: 'stderr',
    });
  });

  test('may hold several logs, each in its own entry', async () => {
    const ids = ['slow-query-log', 'audit-log'].map(type => `2026-03-03.sessions-0.${type}`);
    const found = await entries(`/archive?logIds=${ids.join(',')}&logFormat=raw`);
    expect(Object.keys(found)).toHaveLength(2);
    const [slow = '', audit = ''] = Object.values(found);
    expect(slow.match(/^# User@Host: .*$/gmu)).toHaveLength(288);
    const lines = audit.trimEnd().split('\n');
    expect(lines).toHaveLength(1440);
    const format = /^20260303 \d\d:\d\d:\d\d,sessions-0,(app|bad),10\.0\.0\.9,\d+,\d+,[A-Z_]+,/u;
    expect(lines.filter(line => !format.test(line))).toEqual([]);
  });

  test('that does not exist is answered with 404', () => {
    for (const ids of [`?logIds=${id},nothing`, '?logIds=2026-03-05.sessions-0.error-log', ''])
      expect(call('GET', `/archive${ids}`).status).toBe(404);
  });
});

test('types and servers are listed', () => {
  const { logTypes } = call('GET', '/types').value;
  expect(logTypes).toHaveLength(4);
  expect(logTypes[0]).toEqual({ id: 1, name: 'error-log', type: 'error-log' });
  const { servers } = call('GET', '/servers').value;
  expect(servers).toHaveLength(10);
  expect(servers[0]).toEqual({
    server: 'orders-0',
    serverDataSourceId: 'dbpgf10000001/orders-0',
    service: 'orders',
  });
});

test('the retention can be read and set, and decides how far back the list goes', () => {
  const call = open();
  expect(call('GET', '/retention').value).toMatchObject({ retention_policy_days: 7 });
  const json = { bucket_name: 'logs', provider: 'simulated', retention_policy_days: 2 };
  expect(call('POST', '/retention', json).status).toBe(200);
  expect(call('GET', '/').value).toMatchObject({ count: 28 * 2 });
  expect(call('POST', '/retention', { ...json, retention_policy_days: 0 }).status).toBe(400);
  for (const empty of [{}, [], null, 'logs', undefined])
    expect(call('POST', '/retention', empty).status).toBe(400);
  expect(call('DELETE', '/retention').status).toBe(404);
});
