import { describe, expect, test } from 'vitest';
import { listPages, type ListEnd } from '../../src/logs/list.ts';
import { ENDPOINTS, json, openLogApi, type OpenedApi } from '../support/log-api.ts';

const QUERY = {
  from: new Date('2026-03-03T00:00:00Z'),
  to: new Date('2026-03-04T09:00:00Z'),
  type: 'error-log',
};

async function readAll(
  { api }: OpenedApi,
  query = QUERY,
): Promise<{ items: unknown[]; end: ListEnd }> {
  const items: unknown[] = [];
  const end = await listPages(api, query, page => {
    items.push(...page);
    return null;
  });
  return { items, end };
}

const ids = (from: number, count: number): { id: number }[] =>
  Array.from({ length: count }, (_, i) => ({ id: from + i }));

/** A well-behaved list of this many items, by offset and limit, with at most `most` on a page. */
function paged(total: number, most = Infinity): Parameters<typeof openLogApi>[0] {
  return [
    (response, { path }) => {
      const query = new URL(path, 'http://x').searchParams;
      const offset = Number(query.get('offset'));
      const limit = Math.min(Number(query.get('limit')), most);
      const count = Math.max(0, Math.min(limit, total - offset));
      json({ count: total, logs: ids(offset, count) })(response);
    },
  ];
}

describe('a list', () => {
  test('is requested over a fixed span, in order, page by page', async () => {
    await using opened = await openLogApi(paged(5), { pageSize: 2 });
    const { items, end } = await readAll(opened);
    expect(items).toEqual(ids(0, 5));
    expect(end).toMatchObject({ ok: true });
    const asked = opened.requests.map(({ path }) => new URL(path, 'http://x'));
    expect(asked.map(({ searchParams }) => searchParams.get('offset'))).toEqual(['0', '2', '4']);
    expect(asked[0]?.pathname).toBe('/observability/v2/logs');
    expect(Object.fromEntries(asked[2]?.searchParams ?? [])).toEqual({
      fromDate: '2026-03-03T00:00:00.000Z',
      toDate: '2026-03-04T09:00:00.000Z',
      limit: '2',
      offset: '4',
      orderBy: 'startTime',
      logType: 'error-log',
    });
  });

  test('has each given parameter, also where an absent one has the same name', async () => {
    const parameters = { ...ENDPOINTS.parameters, server: 'logType', limit: 'orderBy' };
    await using opened = await openLogApi(paged(0), { parameters, pagination: 'none' });
    await readAll(opened);
    const asked = new URL(opened.requests[0]?.path ?? '', 'http://x').searchParams;
    expect([asked.get('logType'), asked.get('orderBy')]).toEqual(['error-log', 'startTime']);
  });

  test('is read whole from a service that sends fewer items per page than requested', async () => {
    await using opened = await openLogApi(paged(5, 2), { pageSize: 3 });
    const { items, end } = await readAll(opened);
    expect(opened.requests).toHaveLength(3);
    expect(items).toEqual(ids(0, 5));
    expect(end).toMatchObject({ ok: true });
  });

  test('ends at its actual end, whatever count the service gives', async () => {
    const check = async (answers: readonly unknown[], want: string): Promise<void> => {
      await using opened = await openLogApi(
        answers.map(answer => json(answer)),
        { pageSize: 3 },
      );
      const { items, end } = await readAll(opened);
      expect(end.ok).toBe(true);
      const found = `${items.length} items by ${opened.requests.length}`;
      expect(found, JSON.stringify(answers)).toBe(want);
    };
    await check([{ count: 0, logs: [] }], '0 items by 1');
    await check([{ count: 0, logs: null }], '0 items by 1');
    await check([ids(0, 2)], '2 items by 1');
    await check([{ logs: ids(0, 3) }, { logs: [] }], '3 items by 2');
    // `count` is that of the page, not of the list.
    await check(
      [
        { count: 3, logs: ids(0, 3) },
        { count: 1, logs: ids(3, 1) },
      ],
      '4 items by 2',
    );
    // All items at once, ignoring the limit.
    await check([{ count: 5, logs: ids(0, 5) }], '5 items by 1');
  });

  test('has ids as the service wrote them, also those that JavaScript would round', async () => {
    const answer = '{"count":1,"logs":[{"id":9007199254740993,"size":12}]}';
    await using opened = await openLogApi([response => void response.end(answer)]);
    expect((await readAll(opened)).items).toEqual([{ id: '9007199254740993', size: 12 }]);
  });

  test('returns the time of the service', async () => {
    await using opened = await openLogApi([
      response => {
        response.setHeader('date', 'Wed, 04 Mar 2026 09:00:00 GMT');
        json({ count: 0, logs: [] })(response);
      },
    ]);
    expect((await readAll(opened)).end).toMatchObject({ serverNowMs: Date.UTC(2026, 2, 4, 9) });
  });

  test('may come in numbered pages, or whole', async () => {
    await using numbered = await openLogApi([json({ logs: ids(0, 2) }), json({ logs: [] })], {
      pageSize: 2,
      pagination: 'page',
    });
    await readAll(numbered);
    const page = ({ path }: { path: string }): string | null =>
      new URL(path, 'http://x').searchParams.get('offset');
    expect(numbered.requests.map(page)).toEqual(['1', '2']);
    await using whole = await openLogApi([json({ logs: ids(0, 2) })], {
      pageSize: 2,
      pagination: 'none',
    });
    await readAll(whole);
    expect(whole.requests.map(page)).toEqual([null]);
    expect(whole.requests[0]?.path).not.toContain('limit');
  });
});

describe('a list that cannot be read', () => {
  const check = async (answers: Parameters<typeof openLogApi>[0], want: object): Promise<void> => {
    await using opened = await openLogApi(answers, { pageSize: 2 });
    expect((await readAll(opened)).end).toMatchObject({ ok: false, error: want });
  };

  test('is a failure of the service', async () => {
    await check([json({ message: 'no' }, 400)], {
      kind: 'bad_request',
      reason: 'bad_request',
      status: 400,
    });
    await check([json({ count: 9, logs: ids(0, 2) }), json({}, 403)], {
      kind: 'key',
      reason: 'auth',
    });
  });

  test('repeats a page, has too many, or contains no list', async () => {
    await check([json({ count: 9, logs: ids(0, 2) })], { kind: 'unreadable', reason: 'same_page' });
    await check([json({ entries: [] })], { kind: 'unreadable', reason: 'no_list' });
    await check([json({ logs: 'none' })], { kind: 'unreadable', reason: 'no_list' });
  });
});
