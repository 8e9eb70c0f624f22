import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { listen, readBody } from '../../src/simulator/loopback-server.ts';
import { Receiver } from '../../src/simulator/receiver.ts';
import { oracleEncodeMetrics } from '../reference/oracle.ts';
import { ask } from '../support/ask.ts';
import { logsBytes } from '../support/otlp-requests.ts';

const dataPoints = [{ asDouble: 1 }, { asDouble: 2 }];
const BODY = oracleEncodeMetrics({
  resourceMetrics: [
    {
      scopeMetrics: [
        {
          metrics: [
            { name: 'a', sum: { isMonotonic: true, aggregationTemporality: 2, dataPoints } },
            { name: 'b', sum: { isMonotonic: true, aggregationTemporality: 2, dataPoints } },
            { name: 'c', sum: { aggregationTemporality: 2, dataPoints } },
            { name: 'd', gauge: { dataPoints } },
            { name: 'e', summary: { dataPoints: [{ count: '1' }] } },
          ],
        },
      ],
    },
  ],
});

test('points and log records are counted, whatever their compression', async () => {
  const receiver = await Receiver.start();
  const send = async (path: string, body: Buffer, encoding?: string): Promise<number> => {
    const headers = encoding === undefined ? {} : { 'content-encoding': encoding };
    return (await ask(receiver.url + path, { method: 'POST', body, headers })).status;
  };
  expect(await send('/v1/metrics', BODY)).toBe(200);
  expect(await send('/v1/metrics', gzipSync(BODY), 'gzip')).toBe(200);
  expect(await send('/v1/metrics', zstdCompressSync(BODY), 'zstd')).toBe(200);
  expect(await send('/v1/logs', logsBytes('s', ['one', 'two']))).toBe(200);
  expect(await send('/v1/metrics', Buffer.from('no protobuf'))).toBe(400);
  expect(await send('/v1/metrics', BODY, 'gzip')).toBe(400);
  expect(await send('/v1/metrics', BODY, 'br')).toBe(400);
  expect(await send('/v1/traces', BODY)).toBe(404);
  expect(receiver.points).toEqual({ sum: 12, updown: 6, gauge: 6, other: 3 });
  expect(receiver.names).toMatchObject({ sum: new Set(['a', 'b']), updown: new Set(['c']) });
  expect(receiver.logRecords).toBe(2);
  await receiver.close();
});

test('a body may be as long as the limit, and is refused when it is longer', async () => {
  await using server = await listen({}, async (request, response) => {
    const body = await readBody(request, 4);
    response.end(body.kind === 'whole' ? body.bytes : body.kind);
  });
  const answerTo = async (text: string): Promise<string> => {
    const { body } = await ask(server.url, { method: 'POST', body: Buffer.from(text) });
    return body.toString();
  };
  expect(await answerTo('four')).toBe('four');
  expect(await answerTo('fifth')).toBe('too-long');
});
