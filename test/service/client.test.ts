import { describe, expect, test } from 'vitest';
import { DAY_MS, systemClock } from '../../src/lib/clock.ts';
import { ServiceClient } from '../../src/service/client.ts';
import { startFaultySimulator } from '../support/faulty-simulator.ts';
import { scriptedService } from '../support/service-client.ts';

const KEY = 'client-key';

describe('with an address and a key', () => {
  test('every area reaches the service', async () => {
    await using simulator = await startFaultySimulator({ clock: systemClock, key: KEY });
    await using client = new ServiceClient({ baseUrl: `${simulator.url}/`, key: KEY });
    const page = await client.metrics.read({ service: 'orders' });
    expect(page).toMatchObject({
      ok: true,
      text: expect.stringContaining('namespace="dbpgf10000001"'),
      contentType: expect.stringContaining('text/plain'),
    });
    const now = Date.now();
    const span = { from: new Date(now - DAY_MS), to: new Date(now) };
    const logs = await client.logs.list({ ...span, type: 'error-log' });
    if (!logs.ok) throw new Error(logs.error.message);
    expect(logs.items[0]).toMatchObject({ logType: 'error-log' });
    expect(logs.count).toBeGreaterThanOrEqual(logs.items.length);
    const id = String(logs.items[0]?.['id']);
    const archive = await client.logs.archive([id], { format: 'json' });
    if (!archive.ok) throw new Error(archive.error.message);
    expect(archive.bytes.subarray(0, 2).toString()).toBe('PK');
    expect(await client.logs.types()).toMatchObject({ ok: true, items: { length: 4 } });
    expect(await client.logs.servers(span)).toMatchObject({ ok: true, items: { length: 10 } });
    const asked = { bucket_name: 'logs', provider: 'x' };
    expect(await client.logs.retention(asked)).toMatchObject({ ok: true });
    const kept = await client.logs.setRetention({ ...asked, retention_policy_days: 9 });
    expect(kept).toMatchObject({ ok: true, retention: { retention_policy_days: 9 } });
    expect(await client.schedules.list()).toMatchObject({ ok: true, schedules: { length: 4 } });
    const backups = await client.backups.list({ service_id: 'dbpgf10000001', status: 'Succeeded' });
    if (!backups.ok) throw new Error(backups.error.message);
    expect(new Set(backups.backups.map(one => one.service_id))).toEqual(new Set(['dbpgf10000001']));
    expect(await client.restores.list()).toMatchObject({ ok: true, restores: [] });
  });

  test('a key from a function is read again when the service refuses it', async () => {
    await using simulator = await startFaultySimulator({ clock: systemClock, key: KEY });
    let key = 'old';
    await using client = new ServiceClient({ baseUrl: simulator.url, key: () => key });
    key = KEY;
    expect(await client.schedules.list()).toMatchObject({ ok: true });
  });

  test('the key is never sent in plain text', () => {
    const open = (): unknown => new ServiceClient({ baseUrl: 'http://api.example.com', key: KEY });
    expect(open).toThrow('the key would travel in plain text');
  });
});

describe('a failure is one of a few kinds', () => {
  test.each([
    [400, 'key', 'auth'],
    [401, 'key', 'auth'],
    [403, 'key', 'auth'],
    [404, 'not_found', 'not_found'],
    [407, 'network', 'proxy'],
    [409, 'conflict', 'conflict'],
    [422, 'bad_request', 'bad_request'],
    [429, 'rate', 'rate_limited'],
    [500, 'server', 'server_error'],
    [503, 'server', 'server_error'],
    [206, 'unreadable', 'http_status'],
    [302, 'unreadable', 'redirect'],
    [304, 'unreadable', 'http_status'],
    [410, 'unreadable', 'http_status'],
  ])('status %i is %s', async (status, kind, reason) => {
    const body = { errors: [{ message: 'why not' }], trace_id: 'trace-1' };
    await using service = await scriptedService(() => ({ status, body }));
    const result = await service.client.schedules.list();
    expect(result).toMatchObject({ ok: false, error: { kind, reason, isOutcomeUnknown: false } });
    // Answers with these statuses have no body.
    if (status === 302 || status === 304) return;
    const message = expect.stringContaining(`${status}: why not`);
    expect(result).toMatchObject({ error: { status, traceId: 'trace-1', message } });
  });

  test('a refused key, with the option that gave it', async () => {
    await using service = await scriptedService(() => ({ status: 401 }));
    await using client = new ServiceClient({ baseUrl: service.server.origin, key: KEY });
    expect(await client.schedules.list()).toMatchObject({
      error: { kind: 'key', hint: expect.stringContaining('check the option `key`') },
    });
  });

  test('a timeout that leaves the outcome of a new schedule unknown', async () => {
    await using simulator = await startFaultySimulator({ clock: systemClock, key: KEY });
    simulator.setFaults({ path: '/backup/v1', method: 'POST', isSilent: true });
    await using client = new ServiceClient({ baseUrl: simulator.url, key: KEY, timeoutMs: 100 });
    const request = { backup_type: 'full', schedule: 'once', service_id: 'dbpgf10000001' };
    expect(await client.schedules.create(request)).toMatchObject({
      error: { kind: 'timeout', isOutcomeUnknown: true },
    });
  });
});
