// A deployment whose words differ from the specification's in every place: the path of the backup API, the types of
// backups, the methods of restores, the types of logs, and the slash after a bucket. All of it works with keys alone.

import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readBackups } from '../../src/backups/known-backups.ts';
import { backupGauges } from '../../src/backups/service-backups.ts';
import { verb as backups } from '../../src/cli/backups.ts';
import { verb as check } from '../../src/cli/check.ts';
import { verb as restores } from '../../src/cli/restores.ts';
import type { Terminal } from '../../src/cli/verb.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createLineReader } from '../../src/logs/formats/reader.ts';
import { ServiceClient } from '../../src/service/client.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { ERRORS, LogSite } from '../support/log-site.ts';
import { tempDirectory } from '../support/program.ts';
import { type ScriptedService, scriptedService } from '../support/service-client.ts';
import { HASTY_CLOCK } from '../support/service-shell.ts';
import { callVerb, type Printed } from '../support/verb-context.ts';

const NOW = Date.UTC(2026, 2, 4, 9);
const KEY = 'canary-of-the-api-key';
const ACCESS = '[default]\naws_access_key_id=AKIA\naws_secret_access_key=secret\nregion=eu-1\n';
const WORDS = {
  enabled: true,
  restorable: ['whole'],
  methods: ['enginevault'],
  endpoints: {
    schedules: '/vault/v3/plans',
    backups: '/vault/v3/copies',
    restores: '/vault/v3/returns',
    lookup: '/vault/v3/window',
  },
};

const files = tempDirectory();
const credentials = files.write('access.ini', ACCESS);
let service: ScriptedService;
let config: string;

beforeAll(async () => {
  service = await scriptedService(({ method, path }) => {
    if (method === 'POST') return { status: 201, body: { id: 7, status: 'Running' } };
    const end_time = '2026-03-04T08:00:00Z';
    if (path.startsWith('/vault/v3/plans'))
      return { body: [{ id: 1, type: 'Whole', schedule: '0 2 * * *' }] };
    if (path.startsWith('/vault/v3/copies')) return { body: [{ type: 'whole', end_time }] };
    if (path.startsWith('/vault/v3/window'))
      return { body: { start_time: '2026-03-01T00:00:00Z', end_time: '2026-03-04T08:59:00Z' } };
    return path.startsWith('/vault/v3/returns') ? { body: [] } : { status: 404 };
  });
  config = files.write('words.yaml', JSON.stringify(settings()));
});
beforeEach(() => void service.server.requests.splice(0));
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

function settings(): object {
  return {
    api: { base_url: service.server.origin, key: KEY },
    services: [{ id: 'db1' }],
    backups: WORDS,
    logs: { types: ['db-errors'], formats: { 'db-errors': 'error-log' } },
    otlp: { endpoint: 'http://127.0.0.1:1' },
    queue: { directory: null },
  };
}

/** The bodies of the requests that create something, with their paths. */
function created(): readonly (readonly [path: string, body: unknown])[] {
  const posts = service.server.requests.filter(({ method }) => method === 'POST');
  return posts.map(({ path, body }) => [path, JSON.parse(body)]);
}

function schedule(type: string, more: readonly string[] = [], terminal?: Terminal) {
  const words = ['schedules', 'create', '-c', config, '--service-id', 'db1', '--type', type];
  const bucket = ['--bucket', 's3://copies/', '--credentials-file', credentials];
  const options = { clock: HASTY_CLOCK, ...(terminal && { terminal }) };
  return callVerb(backups, [...words, '--schedule', '0 3 * * *', ...bucket, ...more], options);
}

function restore(method: string, bucket: string, more: readonly string[] = []): Promise<Printed> {
  const words = ['create', '-c', config, '--service-id', 'db1', '--key', 'a/b', '--method', method];
  const access = ['--bucket', bucket, '--credentials-file', credentials, '--yes-erase', 'db1'];
  return callVerb(restores, [...words, ...access, ...more], { clock: HASTY_CLOCK });
}

test('a schedule has the type, the path and the bucket of the deployment', async () => {
  expect(await schedule('whole')).toMatchObject({ code: 0, err: '' });
  const bucket = expect.objectContaining({ path: 's3://copies/' });
  const body = expect.objectContaining({ backup_type: 'whole', external_storage: { bucket } });
  expect(created()).toEqual([['/vault/v3/plans', body]]);
});

test('a restore has its method and its path, and the bucket as it is written', async () => {
  for (const bucket of ['s3://copies', 's3://copies/']) {
    service.server.requests.splice(0);
    expect(await restore('enginevault', bucket)).toMatchObject({ code: 0, err: '' });
    const source = expect.objectContaining({ method: 'enginevault', bucket });
    const body = expect.objectContaining({ external_source: source });
    expect(created()).toEqual([['/vault/v3/returns', body]]);
  }
});

test('a word that is near to no known one is sent without a question', async () => {
  expect(await schedule('quarterly')).toMatchObject({ code: 0, err: '' });
  expect(await restore('rsync', 's3://copies/')).toMatchObject({ code: 0, err: '' });
  expect(created()).toHaveLength(2);
});

test('a word that is near to one of the deployment needs --force in a script', async () => {
  expect((await schedule('whoel')).code).toBeNull();
  expect((await restore('enginevalut', 's3://copies/')).code).toBeNull();
  expect(service.server.requests).toEqual([]);
  expect(await schedule('whoel', ['--force'])).toMatchObject({ code: 0 });
  expect(await restore('enginevalut', 's3://copies/', ['--force'])).toMatchObject({ code: 0 });
  expect(created()).toHaveLength(2);
});

test('a terminal asks about such a word', async () => {
  const answered = async (typed: string): Promise<number | null> => {
    const input = Object.assign(new PassThrough(), { isTTY: true });
    const screen = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
    screen.once('data', () => input.write(typed));
    return (await schedule('whoel', [], { input, screen })).code;
  };
  for (const typed of ['whole\n', 'yes\n', '\n', '\u0003'])
    expect(await answered(typed)).toBeNull();
  expect(created()).toEqual([]);
  expect(await answered('whoel\n')).toBe(0);
  expect(created()).toHaveLength(1);
});

test('the gauges are about what restores in the words of the deployment', async () => {
  const { backups: own } = loadConfig({ file: config, environment: {} });
  const client = new ServiceClient({ http: service.http, paths: own.endpoints });
  const read = await readBackups({
    client,
    serviceId: 'db1',
    restorable: own.restorable,
    before: null,
    clock: new FakeClock(NOW),
    signal: new AbortController().signal,
  });
  if (!read.ok) throw new Error(read.error.message);
  const gauges = backupGauges(read.known, true, NOW);
  const valueOf = (name: string) =>
    gauges.find(one => one.name === `prom2otlp_backup_${name}`)?.points.map(({ value }) => value);
  expect(valueOf('restorable_scheduled')).toEqual([1]);
  expect(valueOf('last_finished_age_seconds')).toEqual([3600]);
  expect(valueOf('restorable_age_seconds')).toEqual([60]);
  expect(read.known.types).toEqual(['whole']);
});

test('logs of its types are pulled, and read in the format that a key names', async () => {
  const place = { ...ERRORS, type: 'db-errors' };
  const line = '2026-03-04  8:59:00 0 [Warning] a page was torn';
  const severities = async (formats: object): Promise<readonly string[]> => {
    const logs = { types: ['db-errors'], formats };
    await using site = await LogSite.open({ logs, createReader: createLineReader });
    site.write(place, line);
    // The end of a record is known once no line follows it.
    await site.pulls(4);
    return site.delivered.filter(one => one.eventName === '').map(({ severity }) => severity);
  };
  expect(await severities({ 'db-errors': 'error-log' })).toEqual(['Warning']);
  expect(await severities({})).toEqual(['']);
});

test('check takes these words, and warns of one that is near to a usual one', async () => {
  const own = await callVerb(check, ['-c', config]);
  expect([own.code, own.out + own.err]).toEqual([0, expect.not.stringContaining('near to')]);
  const near = { backups: { ...WORDS, restorable: ['dmup'] }, logs: { types: ['eror-log'] } };
  const file = files.write('near.yaml', JSON.stringify({ ...settings(), ...near }));
  const { code, out, err } = await callVerb(check, ['-c', file]);
  expect(code).toBe(0);
  for (const word of ['"dmup"', '"eror-log"']) expect(out + err).toContain(word);
});
