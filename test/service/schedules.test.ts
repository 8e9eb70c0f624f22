import { describe, expect, test } from 'vitest';
import {
  type ScheduleQuery,
  type ScheduleRequest,
  scheduleProblems,
} from '../../src/service/backups-api.ts';
import { type ScriptedAnswer, scriptedService } from '../support/service-client.ts';

const REQUEST: ScheduleRequest = {
  backup_type: 'full',
  schedule: '0 3 * * *',
  service_id: 'dbpgf10000001',
};

/** The list from a service that gives these answers. The last answer is repeated. */
async function listed(answers: readonly ScriptedAnswer[], query?: ScheduleQuery) {
  await using service = await scriptedService(
    (_request, index) => answers[Math.min(index, answers.length - 1)] ?? {},
  );
  const result = await service.client.schedules.list(query);
  return { result, paths: service.server.requests.map(({ path }) => path) };
}

describe('list', () => {
  const [one, two] = [{ id: 1 }, { id: 2 }];

  test('reads a bare list and a wrapped one, and keeps unknown fields', async () => {
    const full = { id: 7, service_id: 'a', type: 'full', suspended: false, colour: 'blue' };
    for (const body of [
      [full],
      { schedules: [full], schedules_count: 1, pages_count: 1 },
      { items: [full] },
    ]) {
      const { result, paths } = await listed([{ body }]);
      expect(result).toEqual({ ok: true, schedules: [full], isComplete: true });
      expect(paths).toEqual(['/backup/v1/backups/schedules']);
    }
  });

  test('counts fields of another type as absent, and reports invalid items', async () => {
    const body = [{ id: '7', schedule: null, suspended: 'no' }, 'nothing'];
    const want = { ok: true, schedules: [{ id: '7' }], isComplete: false };
    expect((await listed([{ body }])).result).toEqual(want);
  });

  test('reads page after page', async () => {
    const pages = [0, 1, 2].map(id => ({ body: { schedules: [{ id }], pages_count: 3 } }));
    const { result, paths } = await listed(pages, { service_id: 'a' });
    expect(result).toMatchObject({
      schedules: [{ id: 0 }, { id: 1 }, { id: 2 }],
      isComplete: true,
    });
    expect(paths.map(path => path.split('?')[1])).toEqual([
      'service_id=a',
      'service_id=a&page=2',
      'service_id=a&page=3',
    ]);
  });

  test('ends if the service returns the same page again and again', async () => {
    const { result, paths } = await listed([{ body: { schedules: [one], pages_count: 1e9 } }]);
    expect(result).toMatchObject({ schedules: [one], isComplete: false });
    expect(paths).toHaveLength(2);
  });

  test.each<[what: string, pages: readonly ScriptedAnswer[], ids: readonly number[]]>([
    [
      'a page of a promised list is empty',
      [{ body: { schedules: [one], pages_count: 3 } }, { body: { schedules: [], pages_count: 3 } }],
      [1],
    ],
    [
      'the first page is empty, and others are promised',
      [{ body: { schedules: [], pages_count: 2 } }, { body: { schedules: [] } }],
      [],
    ],
    ['fewer come than are counted', [{ body: { schedules: [one], schedules_count: 2 } }], [1]],
    ['there is a next page that does not come', [{ body: { schedules: [one], next: '/x' } }], [1]],
    [
      'the number of pages is no number, and there is a next page',
      [{ body: { schedules: [one], pages_count: 'many', next: '/x' } }],
      [1],
    ],
    [
      'the service could read a part only',
      [{ body: { schedules: [one], errors: [{ message: 'x' }] } }],
      [1],
    ],
    ['the status says so', [{ status: 207, body: [one] }], [1]],
  ])('is not whole if %s', async (_, pages, ids) => {
    const want = { ok: true, schedules: ids.map(id => ({ id })), isComplete: false };
    expect((await listed(pages)).result).toMatchObject(want);
  });

  test.each<[what: string, ...bodies: unknown[]]>([
    [
      'without a number of pages',
      { schedules: [one], schedules_count: 2 },
      { schedules: [two], schedules_count: 2 },
    ],
    [
      'that became shorter meanwhile',
      { schedules: [one, two], pages_count: 2 },
      { schedules: [], pages_count: 1 },
    ],
    ['with a count of all services', { schedules: [one, two], schedules_count: 9, pages_count: 1 }],
    ['with an empty list of errors', { schedules: [one, two], errors: [] }],
    ['with no errors by name', { schedules: [one, two], errors: {} }],
    ['with an error of the number 0', { schedules: [one, two], error: 0 }],
    ['with links to nothing', { schedules: [one, two], next: {}, has_more: 0 }],
  ])('reads a list %s', async (_, ...bodies) => {
    const { result, paths } = await listed(bodies.map(body => ({ body })));
    expect(result).toEqual({ ok: true, schedules: [one, two], isComplete: true });
    expect(paths).toHaveLength(bodies.length);
  });

  test('leaves out schedules of other services if the parameter is ignored', async () => {
    const body = [{ id: 1, service_id: 'a' }, { id: 2, service_id: 'b' }, { id: 3 }];
    const { result } = await listed([{ body }], { service_id: 'a' });
    expect(result).toMatchObject({ schedules: [{ id: 1 }, { id: 3 }] });
  });

  test.each([
    { ok: true },
    { errors: [{ message: 'x' }] },
    { detail: [{ msg: 'x' }] },
    { schedules: null, ids: [] },
  ])('reports an answer without a list of schedules as unreadable: %j', async body => {
    expect((await listed([{ body }])).result).toEqual({
      ok: false,
      error: {
        kind: 'unreadable',
        reason: 'unreadable',
        message: 'cannot read the schedules: the answer holds no list',
        hint: 'check that api.base_url and the path are those of the service',
        status: 200,
        isOutcomeUnknown: false,
      },
    });
  });
});

describe('create', () => {
  test('sends the fields under the names of the specification', async () => {
    const request = {
      ...REQUEST,
      external_storage: { bucket: { path: 's3://backups', credentials: 'W2RlZmF1bHRd' } },
    };
    await using service = await scriptedService(() => ({ status: 201, body: { id: 4 } }));
    const result = await service.client.schedules.create(request);
    expect(result).toEqual({ ok: true, schedule: { id: 4 } });
    const [sent] = service.server.requests;
    expect([sent?.method, sent?.path]).toEqual(['POST', '/backup/v1/backups/schedules']);
    expect(sent?.headers).toMatchObject({
      accept: 'application/json',
      'content-type': 'application/json',
      'x-api-key': 'test-key',
    });
    expect(JSON.parse(sent?.body ?? '')).toEqual(request);
  });

  test('accepts any success, whatever the body', async () => {
    const bodies: unknown[] = [undefined, Buffer.from('OK'), { schedule: { id: 4 } }];
    await using service = await scriptedService((_, index) => ({ body: bodies[index] }));
    const results = [];
    for (const _ of bodies) results.push(await service.client.schedules.create(REQUEST));
    expect(results).toEqual([
      { ok: true, schedule: null },
      { ok: true, schedule: null },
      { ok: true, schedule: { id: 4 } },
    ]);
  });

  test('sends no request that the specification forbids', async () => {
    await using service = await scriptedService(() => ({}));
    const result = await service.client.schedules.create({ ...REQUEST, schedule: 'daily' });
    expect(result).toMatchObject({
      ok: false,
      error: { kind: 'bad_request', problems: [{ path: 'schedule' }], isOutcomeUnknown: false },
    });
    expect(service.server.requests).toEqual([]);
  });

  test('is never repeated, and reports that it may have been carried out', async () => {
    await using service = await scriptedService(() => ({ isLost: true }));
    const result = await service.client.schedules.create(REQUEST);
    expect(result).toMatchObject({ ok: false, error: { kind: 'network', isOutcomeUnknown: true } });
    expect(service.server.requests).toHaveLength(1);
  });
});

describe('a request is refused for', () => {
  const check = (changes: object, path: string, why: string): void =>
    expect(scheduleProblems({ ...REQUEST, ...changes })).toEqual([
      { path, message: expect.stringContaining(why) },
    ]);
  const storage = (path: string, credentials = 'YQ=='): object => ({
    external_storage: { bucket: { path, credentials } },
  });

  test('its schedule', () => {
    check({ schedule: '' }, 'schedule', 'it does not have five fields');
    check({ schedule: '0 3 * *' }, 'schedule', 'it does not have five fields');
    check({ schedule: '0 0 3 * * *' }, 'schedule', 'it does not have five fields');
    check({ schedule: '0  3 * * *' }, 'schedule', 'one blank between them');
    check({ schedule: '@daily' }, 'schedule', 'it does not have five fields');
    check({ schedule: '60 3 * * *' }, 'schedule', 'invalid value for minute: 60');
    check({ schedule: '0 3 L * *' }, 'schedule', 'the field "L" is not a number');
    check({ schedule: '0 3 31 2 *' }, 'schedule', 'it matches no future time');
    expect(scheduleProblems({ ...REQUEST, schedule: 'once' })).toBeNull();
    expect(scheduleProblems({ ...REQUEST, schedule: '*/15 1-5 * jan MON,fri' })).toBeNull();
  });

  test('its service, its type and what it does not know', () => {
    check({ service_id: '' }, 'service_id', 'expected the id of a database service');
    check({ service_id: 'a b' }, 'service_id', 'expected the id of a database service');
    check({ service_id: 7 }, 'service_id', 'expected a text');
    check({ backup_type: ' ' }, 'backup_type', 'expected a text, got an empty one');
    check({ bakcup: 1 }, '', 'Unrecognized key: "bakcup"');
  });

  test('its bucket', () => {
    const path = 'external_storage.bucket.path';
    check(storage('backups'), path, 'expected s3://NAME or gs://NAME, got "backups"');
    check(storage('S3://backups'), path, 'the scheme is in lower case');
    check(storage('https://backups'), path, 'expected s3://NAME or gs://NAME');
    check(storage('s3://'), path, '"" is not a bucket name');
    check(storage('gs://Big Bucket'), path, '"Big Bucket" is not a bucket name');
    check(storage('s3://b'), path, '"b" is not a bucket name: it has at least three lower-case');
    check(storage('gs://backups/daily'), path, 'expected the bucket alone, as gs://backups');
    check(storage('gs://backups//'), path, 'expected the bucket alone, as gs://backups');
    for (const bucket of ['gs://my_backups.eu', 's3://backups/'])
      expect(scheduleProblems({ ...REQUEST, ...storage(bucket) })).toBeNull();
  });

  test('its credentials, which are not repeated', () => {
    const path = 'external_storage.bucket.credentials';
    check(storage('s3://backups', ''), path, 'expected credentials in standard base64');
    check(storage('s3://backups', 'url-safe_'), path, 'expected credentials in standard base64');
    const [problem] = scheduleProblems({ ...REQUEST, ...storage('s3://b-b', 'se cret') }) ?? [];
    expect(JSON.stringify(problem)).not.toContain('cret');
  });

  test('not a type of backup: the service decides which it takes', () => {
    expect(scheduleProblems({ ...REQUEST, backup_type: 'whole' })).toBeNull();
  });
});
