import { expect, test } from 'vitest';
import type { ApiConfig } from '../../src/config/config.ts';
import { ConfigSecret } from '../../src/config/secrets.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import { apiIdentity, ServiceClients } from '../../src/service/clients.ts';
import { startHttpServer } from '../support/http-server.ts';
import { testApi } from '../support/test-api.ts';

const API = testApi('https://api.example.com', {
  headers: { 'X-Region': new ConfigSecret('north') },
});

test('equal settings are one identity, in any objects', () => {
  const same = testApi('https://api.example.com', {
    headers: { 'x-region': new ConfigSecret('north') },
  });
  expect(apiIdentity(same)).toBe(apiIdentity(API));
  expect(apiIdentity(API)).toMatch(/^[0-9a-f]{64}$/);
});

test('every setting that changes how or whether a request arrives makes another identity', () => {
  const check = (changed: Partial<ApiConfig>): void => {
    expect(apiIdentity({ ...API, ...changed })).not.toBe(apiIdentity(API));
  };
  check({ baseUrl: 'https://api.example.com/v2' });
  check({ key: new ConfigSecret('other') });
  check({ headers: {} });
  check({ headers: { 'x-region': new ConfigSecret('south') } });
  check({ headers: { 'x-zone': new ConfigSecret('north') } });
  check({ timeoutMs: 1 });
  check({ ca: 'PEM' });
  check({ proxy: new ConfigSecret('http://proxy.example.com') });
});

test('equal settings share a client, and are served by a new one after closing', async () => {
  await using server = await startHttpServer((_request, response) => void response.end('ok'));
  const clients = new ServiceClients({ clock: systemClock, counters: new Counters() });
  const api = testApi(server.origin);
  const client = clients.get(api);
  expect(clients.get({ ...api })).toBe(client);
  expect(clients.get({ ...api, timeoutMs: 1234 })).not.toBe(client);
  await clients.close();
  expect((await client.get('/', { accept: '*/*' })).ok).toBe(false);
  expect((await clients.get(api).get('/', { accept: '*/*' })).ok).toBe(true);
  await clients.close();
});

test('clients of one key at one origin share the pause that the service asked for, another key does not', async () => {
  await using server = await startHttpServer(({ headers }, response) => {
    if (headers['x-region'] === 'north') response.writeHead(429, { 'retry-after': '60' });
    response.end('ok');
  });
  const clients = new ServiceClients({ clock: systemClock, counters: new Counters() });
  const north = testApi(server.origin, { headers: { 'x-region': new ConfigSecret('north') } });
  const south = testApi(`${server.origin}/path`, {
    headers: { 'x-region': new ConfigSecret('south') },
  });
  const options = { accept: '*/*', part: 'metrics' } as const;
  await clients.get(north).get('/', options);
  const held = await clients.get(south).get('/', options);
  expect(held.ok || held.error.reason).toBe('rate_limited');
  const free = await clients.get({ ...south, key: new ConfigSecret('other') }).get('/', options);
  expect(free.ok).toBe(true);
  expect(server.requests.length).toBe(2);
  await clients.close();
});
