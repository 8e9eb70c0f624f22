// Reading the past: windows that are too large, services that fail, and ends that are told.

import { expect, test } from 'vitest';
import { defaultConfig } from '../../src/config/load.ts';
import { History } from '../../src/daemon/history.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { startHttpServer } from '../support/http-server.ts';
import { openHttp } from '../support/service-client.ts';

const { backfill, limits } = defaultConfig().metrics;
const TODAY = ['orders', 'ledger']
  .map(name => `x{namespace="${name}",service_name="${name}"} 1\n`)
  .join('');

/** Reads two hours; `answer` gives the samples of a query, or the status of an error. */
async function read(answer: (name: string, rangeMs: number) => [number, string][] | number) {
  const ranges: number[] = [];
  await using server = await startHttpServer(({ path }, response) => {
    const query = new URL(path, 'http://x').searchParams.get('query') ?? '';
    const [, name = '', range = ''] = /"(\w+)"\}\[(\d+)ms/.exec(query) ?? [];
    ranges.push(Number(range) - 1);
    const values = answer(name, Number(range));
    if (typeof values === 'number') {
      response.writeHead(values).end('{}');
      return;
    }
    const result = [{ metric: { __name__: 'x', service_name: name }, values }];
    const body = JSON.stringify({ data: { resultType: 'matrix', result } });
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
  await using service = openHttp(server.origin);
  const page = { bytes: Buffer.from(TODAY), format: 'text' as const };
  const history = new History({ http: service.http, backfill, limits, page, takes: () => true });
  const texts: string[] = [];
  for await (const { bytes } of history.pages({ fromMs: 0, toMs: 2 * HOUR_MS }))
    texts.push(bytes.toString());
  return { texts, ranges, report: history.report };
}

test('a service that fails is named, is not asked again, and holds up no other', async () => {
  const { texts, ranges, report } = await read(name => (name === 'ledger' ? 500 : [[60, '7']]));
  expect(texts).toEqual(['x{namespace="orders",service_name="orders"} 7 60000\n']);
  expect(report.failure).toMatch(/^ledger: cannot get .*500/);
  expect([ranges.length, report.doneUntilMs]).toEqual([3, 2 * HOUR_MS]);
});

test('a window that the service finds too large is halved, down to five minutes', async () => {
  const { ranges, report } = await read((_, rangeMs) =>
    rangeMs > 20 * MINUTE_MS ? 422 : [[60, '7']],
  );
  expect(new Set(ranges.map(ms => Math.round(ms / MINUTE_MS)))).toEqual(new Set([60, 30, 15]));
  expect([report.failure, report.doneUntilMs]).toEqual(['', 2 * HOUR_MS]);
});

test('a history without a sample is no filled gap', async () => {
  const { report } = await read(() => []);
  expect(report.failure).toContain('no sample');
  expect(report.without).toHaveLength(2);
});
