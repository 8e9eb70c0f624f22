// What the transports of both protocols share.

import { describe, expect, test } from 'vitest';
import { ConfigSecret } from '../../../src/config/secrets.ts';
import { openTransport } from '../../../src/pipeline/send/open-senders.ts';
import type { SendRequest, SendResult } from '../../../src/pipeline/send/transport.ts';
import { BackEnd } from '../../support/back-end.ts';
import { GrpcBackEnd } from '../../support/grpc-back-end.ts';
import { testEndpoint } from '../../support/test-api.ts';

const EMPTY = { signal: 'metrics', encoding: 'none', body: Buffer.alloc(0), rawBytes: 0 } as const;

test.each([
  ['http/protobuf', 401],
  ['http/protobuf', 403],
  ['grpc', 7],
  ['grpc', 16],
] as const)(
  'over %s, a key that is refused with %i is read again, and a new one is tried at once',
  async (protocol, status) => {
    let source = 'old';
    const key = new ConfigSecret(source, () => source);
    const isGrpc = protocol === 'grpc';
    const backEnd = isGrpc
      ? await GrpcBackEnd.start()
      : await BackEnd.start(({ headers }) => ({
          status: headers['x-api-key'] === 'new' ? 200 : status,
        }));
    if (backEnd instanceof GrpcBackEnd)
      backEnd.answer = ({ metadata }) => (metadata['x-api-key'] === 'new' ? {} : { code: status });
    const settings = {
      protocol,
      headers: { 'x-api-key': key },
      names: { 'otlp.headers': 'HEADERS' },
    };
    const { endpoint, config, ...parts } = testEndpoint(backEnd.url, settings);
    const transport = await openTransport(endpoint, config, parts);
    let sendCount = 0;
    const send = () => transport.send(EMPTY, new AbortController().signal, () => sendCount++);
    expect(await send()).toMatchObject({
      kind: 'hold',
      status,
      reason: expect.stringContaining('check HEADERS'),
    });
    expect(sendCount).toBe(1);
    source = 'new';
    expect(await send()).toMatchObject({ kind: 'accepted' });
    expect([sendCount, backEnd.requests.length]).toEqual([3, 3]);
    await transport.close();
    await backEnd.stop();
  },
);

describe.each(['http/json', 'grpc'] as const)('over %s, bytes of the queue', protocol => {
  /** The result for a row whose body is read in this way. */
  async function resultOf(readBody: () => Buffer): Promise<SendResult> {
    const { endpoint, config, ...parts } = testEndpoint('http://127.0.0.1:1', { protocol });
    const transport = await openTransport(endpoint, config, parts);
    const row: SendRequest = {
      signal: 'metrics',
      encoding: 'gzip',
      rawBytes: 100,
      get body() {
        return readBody();
      },
    };
    const onSend = (): never => expect.fail('it was sent');
    const result = await transport.send(row, new AbortController().signal, onSend);
    await transport.close();
    return result;
  }

  test('that cannot be unpacked are refused without sending', async () => {
    const reason = expect.stringMatching(/^cannot (?:encode|unpack)/);
    const want = { kind: 'split', status: 0, reason };
    expect(await resultOf(() => Buffer.from('not gzip'))).toMatchObject(want);
  });

  test.each([
    Object.assign(new Error('Zlib error'), { code: 'Z_MEM_ERROR' }),
    new RangeError('Array buffer allocation failed'),
  ])('are retried if memory is too short: %s', async error => {
    const result = await resultOf(() => {
      throw error;
    });
    expect(result).toMatchObject({ kind: 'retry', reason: expect.stringContaining(error.message) });
  });
});
