import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { ServiceClient } from '../../src/service/client.ts';
import {
  restoreOnce,
  restoreProblems,
  type RestoreRequest,
} from '../../src/service/restores-api.ts';
import {
  type ScriptedAnswer,
  scriptedService,
  type ScriptedService,
} from '../support/service-client.ts';

const REQUEST: RestoreRequest = {
  service_id: 'dbpgf10000001',
  key: 'nightly/2026-03-04.gz',
  external_source: { bucket: 'gs://backups', method: 'enginebackup', credentials: 'e30=' },
};

describe('create', () => {
  test('sends the fields under the names of the specification', async () => {
    const encrypted = {
      ...REQUEST,
      external_source: { ...REQUEST.external_source, encryption_key: 'k' },
    };
    await using service = await scriptedService(() => ({ status: 201, body: { id: 9 } }));
    expect(await service.client.restores.create(encrypted)).toEqual({
      ok: true,
      restore: { id: 9 },
    });
    const [sent] = service.server.requests;
    expect([sent?.method, sent?.path]).toEqual(['POST', '/backup/v1/restores']);
    expect(JSON.parse(sent?.body ?? '')).toEqual(encrypted);
  });

  test('uses the path and key of the deployment', async () => {
    await using service = await scriptedService(() => ({}));
    const paths = { restores: '/v9/restore', restoreKey: 'id' } as const;
    const client = new ServiceClient({ http: service.http, paths });
    await client.restores.create(REQUEST);
    const [sent] = service.server.requests;
    expect(sent?.path).toBe('/v9/restore');
    const { key: id, ...others } = REQUEST;
    expect(JSON.parse(sent?.body ?? '')).toEqual({ ...others, id });
  });
});

test('one restore is read by its id, wrapped or not', async () => {
  const bodies = [{ id: 'a:b', status: 'Running' }, { restore: { id: 'a:b' } }, 'nothing'];
  await using service = await scriptedService((_, index) => ({ body: bodies[index] }));
  const { restores } = service.client;
  expect(await restores.show('a:b')).toMatchObject({ ok: true, restore: { status: 'Running' } });
  expect(await restores.show('a:b')).toMatchObject({ ok: true, restore: { id: 'a:b' } });
  expect(await restores.show('a:b')).toMatchObject({ error: { kind: 'unreadable' } });
  expect(service.server.requests[0]?.path).toBe('/backup/v1/restores/a%3Ab');
});

test('a restore is read below a path with a query, and its long id is exact', async () => {
  const body = Buffer.from('{"id": 9007199254740993, "status": "Running"}');
  await using service = await scriptedService(() => ({ body }));
  const paths = { restores: '/v9/restore?tenant=1' } as const;
  const { restores } = new ServiceClient({ http: service.http, paths });
  expect(await restores.show('7')).toMatchObject({ restore: { id: '9007199254740993' } });
  expect(service.server.requests[0]?.path).toBe('/v9/restore/7?tenant=1');
});

test('a request is refused for each field that the specification forbids', () => {
  const check = (changes: object, path: string, why: string): void =>
    expect(restoreProblems({ ...REQUEST, ...changes })).toEqual([
      { path, message: expect.stringContaining(why) },
    ]);
  const source = (changes: object): object => ({
    external_source: { ...REQUEST.external_source, ...changes },
  });
  expect(restoreProblems(REQUEST)).toBeNull();
  check({ service_id: '' }, 'service_id', 'expected the id of a database service');
  check({ key: '' }, 'key', 'got an empty text');
  check({ key: 'gs://backups/x' }, 'key', 'without scheme and bucket');
  check({ key: 'a\nb' }, 'key', 'without control characters');
  check({ key: 'x'.repeat(1025) }, 'key', 'at most 1024 characters');
  check(source({ bucket: 'backups' }), 'external_source.bucket', 'expected s3://NAME or gs://');
  check(source({ method: ' ' }), 'external_source.method', 'got an empty one');
  expect(restoreProblems({ ...REQUEST, ...source({ method: 'rsync' }) })).toBeNull();
  check(source({ credentials: '{}' }), 'external_source.credentials', 'standard base64');
  check(source({ encryption_key: '' }), 'external_source.encryption_key', 'one line of text');
  check(source({ encryption_key: 'a\nb' }), 'external_source.encryption_key', 'one line of text');
});

describe('restoreOnce', () => {
  const running = { id: 2, service_id: REQUEST.service_id, status: 'Running' };
  const old = { id: 1, service_id: REQUEST.service_id, status: 'Succeeded' };
  const slept: number[] = [];
  const clock: Clock = {
    ...systemClock,
    sleep: ms => {
      slept.push(ms);
      return Promise.resolve();
    },
  };

  /** Answers GET from `lists` and POST from `posts`. The last answer of each is repeated. */
  async function play(lists: ScriptedAnswer[], posts: ScriptedAnswer[]) {
    await using service: ScriptedService = await scriptedService(({ method }) => {
      const answers = method === 'GET' ? lists : posts;
      return (answers.length > 1 ? answers.shift() : answers[0]) ?? {};
    });
    const news: string[] = [];
    const onNews = (line: string): number => news.push(line);
    const result = await restoreOnce(service.client.restores, REQUEST, { clock, onNews });
    const methods = service.server.requests.map(({ method }) => method).join(' ');
    return { result, methods, news: news.join('\n') };
  }

  test('lists, sends, and returns', async () => {
    const { result, methods } = await play([{ body: [old] }], [{ body: running }]);
    expect([result, methods]).toEqual([{ ok: true, restore: running }, 'GET POST']);
  });

  test('finds the restore whose answer was lost, and does not send it again', async () => {
    const lists = [{ body: [old] }, { body: [old] }, { body: [old, running] }];
    const { result, methods, news } = await play(lists, [{ isLost: true }]);
    expect([result, methods]).toEqual([{ ok: true, restore: running }, 'GET POST GET GET']);
    expect(news).toContain('it has begun: it is in the list');
  });

  const entry = { service_id: REQUEST.service_id, status: 'Succeeded' };
  const timed = { ...entry, created_at: '2026-03-04T09:00:00Z' };

  const unsure: [why: string, lists: ScriptedAnswer[]][] = [
    ['it is not in the list', [{ body: [old] }]],
    [
      'it is not in the list',
      [{ body: [{ id: 1, created_at: null }] }, { body: [{ ...timed, id: 1 }] }],
    ],
    ['neither an id nor a time', [{ body: [entry] }]],
    ['neither an id nor a time', [{ body: [] }, { body: [{ ...entry, status: 'Running' }] }]],
    ['neither an id nor a time', [{ body: [entry] }, { body: [timed] }]],
    ['cannot be listed', [{ status: 404 }]],
    ['cannot be listed', [{ body: [old] }, { status: 500 }]],
    ['cannot be listed', [{ body: [old, 'unreadable'] }]],
  ];
  test.each(unsure)('never sends it again: %s', async (why, lists) => {
    for (const post of [{ isLost: true }, { status: 502 }]) {
      const { result, methods } = await play([...lists], [post, { body: running }]);
      expect(result).toMatchObject({
        ok: false,
        error: { isOutcomeUnknown: true, hint: expect.stringContaining(why) },
      });
      expect(result).toMatchObject({ error: { hint: expect.stringContaining('not known') } });
      expect(methods.match(/POST/g)).toHaveLength(1);
    }
    expect(slept.every(ms => ms >= 1000)).toBe(true);
  });

  test('finds it by its time where the list has no ids, and after a list that failed', async () => {
    const lists = [
      { body: [timed] },
      { status: 500 },
      { body: [timed, { ...timed, created_at: '2026-03-04T10:00:00Z' }] },
    ];
    const { result, methods } = await play(lists, [{ isLost: true }]);
    expect(result).toMatchObject({ ok: true, restore: { created_at: '2026-03-04T10:00:00Z' } });
    expect(methods).toBe('GET POST GET GET');
  });

  test('returns a refusal unchanged', async () => {
    const { result, methods } = await play([{ body: [] }], [{ status: 409 }]);
    expect([result, methods]).toMatchObject([{ error: { kind: 'conflict' } }, 'GET POST']);
  });
});
