import { describe, expect, test } from 'vitest';
import { createBackupEndpoint } from '../../src/simulator/backup-endpoint.ts';
import { demoServices } from '../../src/simulator/topology.ts';

const NOW = Date.UTC(2026, 2, 4, 9);

function open() {
  const endpoint = createBackupEndpoint(demoServices());
  return (method: string, url: string, json?: unknown, nowMs = NOW) => {
    const { pathname: path, searchParams: query } = new URL(url, 'http://localhost');
    const answer = endpoint({ method, path, query, headers: {}, json, nowMs });
    const text = answer?.body.toString() ?? '';
    return { status: answer?.status ?? 404, value: text === '' ? null : JSON.parse(text) };
  };
}

describe('schedules', () => {
  test('exist for every service at first, and come in pages', () => {
    const call = open();
    const { value } = call('GET', '/backups/schedules?page_size=3&page=2');
    expect(value).toMatchObject({ schedules_count: 4, pages_count: 2 });
    expect(value.schedules).toEqual([
      {
        id: 4,
        service_id: 'dbpgf10000004',
        service_name: 'sessions',
        type: 'full',
        status: 'Scheduled',
        message: '',
        schedule: '0 2 * * *',
        scheduled_at: '2026-03-04T09:00:00.000Z',
        suspended: false,
        created_at: '2026-03-04T09:00:00.000Z',
        updated_at: '2026-03-04T09:00:00.000Z',
      },
    ]);
    const own = call('GET', '/backups/schedules?service_id=dbpgf10000002').value;
    expect([own.schedules_count, own.schedules[0].service_name]).toEqual([1, 'ledger']);
  });

  test('are created, read, changed and deleted', () => {
    const call = open();
    const wanted = { backup_type: 'full', schedule: 'once', service_id: 'dbpgf10000001' };
    const created = call('POST', '/backups/schedules', wanted);
    expect([created.status, created.value.schedule]).toEqual([201, 'once']);
    const path = `/backups/schedules/${created.value.id}`;
    const later = NOW + 60_000;
    expect(call('PATCH', path, { suspended: true }, later).value).toMatchObject({
      suspended: true,
      schedule: 'once',
      updated_at: new Date(later).toISOString(),
    });
    expect(call('GET', path).value).toMatchObject({ suspended: true });
    expect(call('DELETE', path).status).toBe(204);
    expect(call('GET', path).status).toBe(404);
  });

  test('need a service that exists and all that is required', () => {
    const call = open();
    const wanted = { backup_type: 'full', schedule: 'once', service_id: 'dbpgf10000001' };
    expect(call('POST', '/backups/schedules', { ...wanted, service_id: 'x' }).status).toBe(404);
    for (const member of Object.keys(wanted)) {
      const { status, value } = call('POST', '/backups/schedules', { ...wanted, [member]: '' });
      expect([status, value.errors[0].message]).toEqual([400, `${member} is required`]);
    }
  });
});

test('backups are those of a week that are done, by service and status', () => {
  const call = open();
  const { value } = call('GET', '/backups?service_id=dbpgf10000003');
  expect(value.backups_count).toBe(7);
  expect(value.backups[0]).toMatchObject({
    id: 'dbpgf10000003:full:2026-03-04T02:00:00.000Z',
    status: 'Succeeded',
    storage_bytes: expect.any(Number),
  });
  const early = Date.UTC(2026, 2, 4, 1);
  expect(call('GET', '/backups?service_id=dbpgf10000003', undefined, early).value).toMatchObject({
    backups_count: 6,
  });
  expect(call('GET', '/backups?status=Failed').value).toMatchObject({
    backups_count: 0,
    pages_count: 0,
  });
});

test('a restore runs for a minute', () => {
  const call = open();
  const { status, value } = call('POST', '/restores', { service_id: 'dbpgf10000001', key: 'a/b' });
  expect([status, value.status]).toEqual([201, 'Running']);
  const path = `/restores/${value.id}`;
  expect(call('GET', path, undefined, NOW + 59_999).value.status).toBe('Running');
  expect(call('GET', path, undefined, NOW + 60_000).value.status).toBe('Succeeded');
  expect(call('GET', '/restores').value.restores).toHaveLength(1);
  expect(call('GET', '/restores/999').status).toBe(404);
  expect(call('POST', '/restores', { service_id: 'dbpgf10000001' }).status).toBe(400);
  expect(call('POST', '/restores', { service_id: 'dbpgf10000001', id: 'x:y' }).status).toBe(201);
});
