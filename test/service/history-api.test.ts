// The answers of the service's history: only raw samples inside the span, and only numbers, get in.

import { expect, test } from 'vitest';
import { HistoryApi } from '../../src/service/history-api.ts';
import { startHttpServer } from '../support/http-server.ts';
import { openHttp } from '../support/service-client.ts';

async function read(body: unknown) {
  const asked: string[] = [];
  await using server = await startHttpServer(({ path }, response) => {
    asked.push(path);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await using service = openHttp(server.origin);
  const api = new HistoryApi(service.http, '/q');
  const span = { fromMs: 1_000, toMs: 4_000 };
  const found = await api.read({ label: 'service_name', value: 'a"b', ...span });
  return { asked, found };
}

function matrix(...result: unknown[]) {
  return { status: 'success', data: { resultType: 'matrix', result } };
}

test('a range selector asks for raw samples; both ends are excluded', async () => {
  const values = [1, 1.5, 3.999, 4].map(seconds => [seconds, '7']);
  const { asked, found } = await read(matrix({ metric: { __name__: 'x', server: 's' }, values }));
  const query = new URLSearchParams(asked[0]?.split('?')[1]);
  expect([query.get('query'), query.get('time')]).toEqual(['{service_name="a\\"b"}[3000ms]', '4']);
  const samples = [1500, 3999].map(timeMs => ({ timeMs, value: '7' }));
  expect(found).toEqual({ ok: true, series: [{ name: 'x', labels: { server: 's' }, samples }] });
});

test('what is no number is left out: it would become a line of a page', async () => {
  const values = [
    [2, '1\nx 2'],
    [2.5, '+Inf'],
    ['3', '1'],
    [3, 1],
    [3.5, '1e5'],
  ];
  const { found } = await read(matrix({ metric: { __name__: 'x', odd: 1 }, values }, { values }));
  const samples = [
    { timeMs: 2500, value: '+Inf' },
    { timeMs: 3500, value: '1e5' },
  ];
  expect(found).toEqual({ ok: true, series: [{ name: 'x', labels: {}, samples }] });
});

test('an answer of another shape is an error', async () => {
  const { found } = await read({ data: { resultType: 'vector', result: [] } });
  expect(found).toMatchObject({ ok: false, error: { reason: 'unreadable' } });
});
