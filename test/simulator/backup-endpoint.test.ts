// The rules of the specification for schedules and restores, one by one; then the behaviour observed beyond it.

import { describe, expect, test } from 'vitest';
import { ACCOUNT_MEMBERS } from '../../src/service/credentials-file.ts';
import { createBackupEndpoint } from '../../src/simulator/backup-endpoint.ts';
import { demoServices } from '../../src/simulator/world.ts';
import { callerOf, JSON_TYPE, NOW } from './call.ts';

const open = callerOf.bind(null, createBackupEndpoint.bind(null, demoServices()));

const base64 = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64');

const ACCOUNT = Object.fromEntries(ACCOUNT_MEMBERS.map(name => [name, name]));
const ACCESS = '[default]\naws_access_key_id=a\naws_secret_access_key=s\nregion=r\n';

const SCHEDULE = { backup_type: 'full', schedule: '0 3 * * *', service_id: 'dbpgf10000001' };
const SOURCE = { bucket: 'gs://b', method: 'enginebackup', credentials: base64(ACCOUNT) };
const RESTORE = { service_id: 'dbpgf10000001', key: 'a/b.gz', external_source: SOURCE };

/** Returns a function that sends the good body with changes, and gives the status and the message. */
function asks(path: string, good: object) {
  return (changes: object, headers: Readonly<Record<string, string>> = JSON_TYPE) => {
    const { status, value } = open()('POST', path, { ...good, ...changes }, { headers });
    return status === 201 ? '201' : `${status} ${value.errors[0].message}`;
  };
}

describe('section 4: POST schedules', () => {
  const ask = asks('/backups/schedules', SCHEDULE);
  const storage = (path: string, credentials: string): object => ({
    external_storage: { bucket: { path, credentials } },
  });

  test('takes the body of section 2.4, without or with external storage', () => {
    expect(ask({})).toBe('201');
    expect(ask(storage('gs://backups', base64(ACCOUNT)))).toBe('201');
    expect(ask(storage('s3://backups', base64(ACCESS)))).toBe('201');
  });

  test('requires backup_type, schedule and service_id', () => {
    for (const member of Object.keys(SCHEDULE))
      for (const nothing of ['', undefined])
        expect(ask({ [member]: nothing })).toBe(`400 ${member} is required`);
  });

  test('requires a cron expression of five space-separated fields', () => {
    for (const schedule of ['0 3 * *', '0 0 3 * * *', 'daily', '0  3 * * *'])
      expect(ask({ schedule })).toMatch(/^400 schedule must be a cron expression of five/);
    expect(ask({ schedule: 'once' })).toBe('201');
  });

  test('requires a bucket with a scheme, and credentials', () => {
    const bucket = 'external_storage.bucket';
    for (const path of ['backups', 'https://backups', 's3://', 's3://backups/more'])
      expect(ask(storage(path, base64(ACCESS)))).toContain(`400 ${bucket}.path must be s3://`);
    expect(ask(storage('s3://backups', ''))).toBe(`400 ${bucket}.credentials is required`);
    expect(ask({ external_storage: {} })).toMatch(/^400 external_storage\.bucket /);
  });

  test('requires credentials in base64, in the format of section 2.6 for the kind of bucket', () => {
    const why = '400 external_storage.bucket.credentials must be the base64 of credentials';
    for (const [path, credentials] of [
      ['s3://backups', ACCESS],
      ['s3://backups', `${base64(ACCESS)} `],
      ['s3://backups', base64(ACCOUNT)],
      ['s3://backups', base64(ACCESS.replace('region', 'zone'))],
      ['s3://backups', base64(ACCESS.replace('[default]', '[other]'))],
      ['gs://backups', base64(ACCESS)],
      ['gs://backups', base64({ ...ACCOUNT, universe_domain: undefined })],
    ] as const)
      expect(ask(storage(path, credentials))).toContain(why);
  });

  test('accepts types other than full, which the specification leaves open', () => {
    expect(ask({ backup_type: 'incremental' })).toBe('201');
  });

  test('requires Content-Type application/json, and an Accept that allows JSON', () => {
    expect(ask({}, {})).toBe('400 Content-Type must be application/json');
    expect(ask({}, { 'content-type': 'text/plain' })).toMatch(/^400 Content-Type/);
    expect(ask({}, { ...JSON_TYPE, accept: 'text/html' })).toBe(
      '406 Accept must be application/json',
    );
    for (const accept of ['*/*', 'text/html, application/json;q=0.9', 'application/*'])
      expect(ask({}, { ...JSON_TYPE, accept })).toBe('201');
  });

  test('requires an existing service', () => {
    expect(ask({ service_id: 'x' })).toBe('404 No such service');
  });
});

describe('section 4: GET schedules', () => {
  test('lists those of every service, in pages, and those of one', () => {
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
        scheduled_at: '2026-03-05T02:00:00.000Z',
        suspended: false,
        created_at: '2026-03-04T09:00:00.000Z',
        updated_at: '2026-03-04T09:00:00.000Z',
      },
    ]);
    const own = call('GET', '/backups/schedules?service_id=dbpgf10000002').value;
    expect([own.schedules_count, own.schedules[0].service_name]).toEqual([1, 'ledger']);
  });

  test('shows what was created', () => {
    const call = open();
    const created = call('POST', '/backups/schedules', { ...SCHEDULE, schedule: 'once' });
    expect(created.value).toMatchObject({ type: 'full', schedule: 'once' });
    expect(created.value.scheduled_at).toBe('2026-03-04T09:00:00.000Z');
    expect(call('GET', '/backups/schedules').value.schedules).toContainEqual(created.value);
  });
});

describe('section 2.5: a restore', () => {
  const ask = asks('/restores', RESTORE);

  test('accepts both tools, both storages, and the key of an encrypted backup', () => {
    expect(ask({})).toBe('201');
    expect(ask({ external_source: { ...SOURCE, method: 'enginedump' } })).toBe('201');
    const s3 = { bucket: 's3://b', credentials: base64(ACCESS) };
    expect(ask({ external_source: { ...SOURCE, ...s3, encryption_key: 'k' } })).toBe('201');
  });

  test('needs each required member', () => {
    for (const member of Object.keys(RESTORE))
      expect(ask({ [member]: undefined })).toBe(`400 ${member} is required`);
    for (const member of ['bucket', 'credentials'])
      expect(ask({ external_source: { ...SOURCE, [member]: undefined } })).toBe(
        `400 external_source.${member} is required`,
      );
  });

  test('requires a bucket with a scheme, a known tool and matching credentials', () => {
    const source = (changes: object): string => ask({ external_source: { ...SOURCE, ...changes } });
    expect(source({ bucket: 'b' })).toMatch(/^400 external_source\.bucket must be s3:/);
    expect(source({ method: 'rsync' })).toBe(
      '400 external_source.method must be enginebackup or enginedump',
    );
    expect(source({ credentials: base64(ACCESS) })).toMatch(/credentials must be the base64/);
    expect(source({ encryption_key: '' })).toMatch(/encryption_key must not be empty/);
  });

  test('requires Content-Type and Accept, and an existing service', () => {
    expect(ask({}, {})).toBe('400 Content-Type must be application/json');
    expect(ask({}, { ...JSON_TYPE, accept: 'text/html' })).toMatch(/^406/);
    expect(ask({ service_id: 'x' })).toBe('404 No such service');
  });
});

test('schedules are read, changed and deleted', () => {
  const call = open();
  const later = { nowMs: NOW + 60_000 };
  expect(call('PATCH', '/backups/schedules/1', { suspended: true }, later).value).toMatchObject({
    suspended: true,
    updated_at: new Date(later.nowMs).toISOString(),
  });
  expect(call('GET', '/backups/schedules/1').value).toMatchObject({ suspended: true });
  expect(call('DELETE', '/backups/schedules/1').status).toBe(204);
  expect(call('GET', '/backups/schedules/1').status).toBe(404);
});

test('backups are the finished ones of a week, by service and status', () => {
  const call = open();
  const { value } = call('GET', '/backups?service_id=dbpgf10000003');
  expect(value.backups_count).toBe(7);
  expect(value.backups[0]).toMatchObject({
    id: 'dbpgf10000003:full:2026-03-04T02:00:00.000Z',
    status: 'Succeeded',
    storage_bytes: expect.any(Number),
  });
  const early = { nowMs: Date.UTC(2026, 2, 4, 1) };
  expect(call('GET', '/backups?service_id=dbpgf10000003', undefined, early).value).toMatchObject({
    backups_count: 6,
  });
  expect(call('GET', '/backups?status=Failed').value).toMatchObject({
    backups_count: 0,
    pages_count: 0,
  });
});

test('a restore runs for a minute, and then has succeeded', () => {
  const call = open();
  const { status, value } = call('POST', '/restores', RESTORE);
  expect([status, value.status]).toEqual([201, 'Running']);
  const statusAt = (nowMs: number): string =>
    call('GET', `/restores/${value.id}`, undefined, { nowMs }).value.status;
  expect([statusAt(NOW + 59_999), statusAt(NOW + 60_000)]).toEqual(['Running', 'Succeeded']);
  expect(call('GET', '/restores?service_id=dbpgf10000001').value.restores).toHaveLength(1);
  expect(call('GET', '/restores?service_id=dbpgf10000002').value.restores).toHaveLength(0);
  expect(call('GET', '/restores/999').status).toBe(404);
});
