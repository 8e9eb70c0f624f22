// What the transports of both protocols share.

import { expect, test } from 'vitest';
import { ConfigSecret } from '../../../src/config/secrets.ts';
import { openTransport } from '../../../src/pipeline/send/open-senders.ts';
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
