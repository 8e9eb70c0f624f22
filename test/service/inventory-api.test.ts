// The inventory as the client reads it: all pages by the token in the header, and whatever shape the fields have.

import { expect, test } from 'vitest';
import { DEFAULT_ENDPOINTS } from '../../src/config/endpoints.ts';
import { InventoryApi, type ServiceFacts } from '../../src/service/inventory-api.ts';
import { openService } from '../support/service-client.ts';

type Answer = { readonly body: unknown; readonly token?: string; readonly status?: number };

async function listFrom(answers: readonly Answer[]) {
  await using opened = await openService((_, response) => {
    const {
      body,
      token,
      status = 200,
    } = answers[opened.server.requests.length - 1] ?? { body: [] };
    if (token !== undefined) response.setHeader('X-Any-Page-Token-Next', token);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const list = await new InventoryApi(opened.http, DEFAULT_ENDPOINTS.inventoryPath).list();
  return { list, paths: opened.server.requests.map(({ path }) => path) };
}

/** The facts that are read from one item. */
async function factsOf(item: object): Promise<ServiceFacts> {
  const { list } = await listFrom([{ body: [{ id: 'db1', ...item }] }]);
  return (list.ok ? list.services[0] : undefined) ?? expect.fail('no service');
}

test('follows the token in the header through all pages', async () => {
  const { list, paths } = await listFrom([
    { body: { services: [{ id: 'a' }, { id: 'b' }] }, token: 'two=2' },
    { body: [{ id: 'c' }], token: '' },
  ]);
  expect(list).toMatchObject({ ok: true, isComplete: true });
  expect(list.ok && list.services.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  expect(paths).toEqual([
    '/provisioning/v1/services?page_size=100',
    '/provisioning/v1/services?page_size=100&page_token=two%3D2',
  ]);
});

test('a token that repeats, and items without an id, make the list incomplete', async () => {
  const again = { body: [{ id: 'a' }], token: 'same' };
  const { list, paths } = await listFrom([again, again, again, again]);
  expect(paths).toHaveLength(2);
  expect(list).toMatchObject({ ok: true, isComplete: false });
  const { list: odd } = await listFrom([{ body: [{ id: 'a' }, { name: 'b' }, 7] }]);
  expect(odd).toMatchObject({ ok: true, isComplete: false });
  expect(odd.ok && odd.services).toHaveLength(1);
});

test('at most 100 pages are read', async () => {
  const pages = Array.from({ length: 200 }, (_, i) => ({ body: [{ id: `s${i}` }], token: `${i}` }));
  const { list, paths } = await listFrom(pages);
  expect(paths).toHaveLength(100);
  expect(list).toMatchObject({ ok: true, isComplete: false });
});

test('a failure on a later page is the failure of the list', async () => {
  const { list } = await listFrom([
    { body: [{ id: 'a' }], token: '2' },
    { body: {}, status: 403 },
  ]);
  expect(list).toMatchObject({ ok: false, error: { status: 403 } });
  const { list: none } = await listFrom([{ body: { count: 0 } }]);
  expect(none).toMatchObject({ ok: false, error: { reason: 'unreadable' } });
});

test('fields are read whatever their type, and foreign text is made printable and cut', async () => {
  const facts = await factsOf({
    name: 'or\u001B[31mders\nx',
    provider: { id: 'p', name: 'cloud' },
    region: 'e'.repeat(1000),
    version: 11,
    tier: null,
    nodes: [{}, {}],
    tags: [{ key: 'team', value: 'a' }, 'blue', { key: 'bad key', value: 1 }],
  });
  expect(facts).toMatchObject({
    name: 'or?[31mders x',
    provider: 'cloud',
    version: '11',
    tier: '',
  });
  expect(facts.region).toHaveLength(256);
  expect(facts.nodes).toBe('2');
  expect(facts.tags).toEqual({ team: 'a', blue: 'true' });
});

test.each([
  [{ status: 'stopped' }, true],
  [{ status: 'STOPPING' }, true],
  [{ status: 'paused', is_active: true }, true],
  [{ is_active: false }, true],
  [{ status: 'ready', is_active: true }, false],
  [{ status: 'ready' }, false],
  // These are inactive because something is wrong, or not over.
  [{ status: 'failed', is_active: false }, false],
  [{ status: 'pending_create', is_active: false }, false],
  [{ status: 'maintenance', is_active: false }, false],
])('%j: stopped is %s', async (item, isStopped) => {
  expect((await factsOf(item)).isStopped).toBe(isStopped);
});

test('maintenance has a start and an end, or is the status', async () => {
  const [start, end] = ['2026-03-04T09:00:00Z', '2026-03-04T10:00:00Z'];
  const window = { fromMs: Date.parse(start), toMs: Date.parse(end) };
  const windowsOf = async (value: unknown) =>
    (await factsOf({ maintenance_window: value })).maintenance;
  expect(await windowsOf({ start, end })).toEqual([window]);
  expect(
    await windowsOf([
      { start_time: start, end_time: end },
      { from: end, to: start },
    ]),
  ).toEqual([window]);
  expect(await windowsOf({ start: window.fromMs / 1000, end: window.toMs / 1000 })).toEqual([
    window,
  ]);
  // A weekly window has no known form: it is not guessed.
  for (const odd of [null, 'sunday', { day: 'sunday', start: '02:00', end: '04:00' }, 7, []])
    expect(await windowsOf(odd)).toEqual([]);
  expect((await factsOf({ status: 'in_maintenance' })).isMaintained).toBe(true);
});
