// TLS over both protocols, against real servers.

import { ServerCredentials } from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { OtlpSignalConfig } from '../../../src/config/config.ts';
import { ConfigSecret } from '../../../src/config/secrets.ts';
import { OtlpGrpc } from '../../../src/pipeline/send/otlp-grpc.ts';
import { OtlpHttp } from '../../../src/pipeline/send/otlp-http.ts';
import type { SendResult } from '../../../src/pipeline/send/transport.ts';
import { BackEnd } from '../../support/back-end.ts';
import {
  ELSEWHERE_SERVER,
  EXPIRED_SERVER,
  SECOND_CA,
  TEST_CLIENT,
  TEST_TLS,
} from '../../support/certificates.ts';
import { GrpcBackEnd } from '../../support/grpc-back-end.ts';
import { NO_TLS, testEndpoint } from '../../support/test-api.ts';

type Tls = OtlpSignalConfig['tls'];
type Server = BackEnd | GrpcBackEnd;

/** `clientCa`: the server requires a certificate of this authority. */
const STARTS = {
  'http/protobuf': (
    pair: typeof EXPIRED_SERVER | null,
    clientCa: string | null,
  ): Promise<Server> => {
    if (pair === null) return BackEnd.start();
    const mutual = { ca: clientCa ?? '', requestCert: true, rejectUnauthorized: true };
    return BackEnd.start(undefined, { ...pair, ...(clientCa === null ? {} : mutual) });
  },
  grpc: (pair: typeof EXPIRED_SERVER | null, clientCa: string | null): Promise<Server> => {
    if (pair === null) return GrpcBackEnd.start();
    const keys = [{ cert_chain: Buffer.from(pair.cert), private_key: Buffer.from(pair.key) }];
    const authority = clientCa === null ? null : Buffer.from(clientCa);
    return GrpcBackEnd.start(ServerCredentials.createSsl(authority, keys, authority !== null));
  },
};

async function send(
  protocol: keyof typeof STARTS,
  server: Server,
  tls: Partial<Tls>,
): Promise<SendResult> {
  const settings = { protocol, compression: 'none', tls: { ...NO_TLS, ...tls } } as const;
  const options = testEndpoint(`https://localhost:${String(server.port)}`, settings);
  const transport = protocol === 'grpc' ? new OtlpGrpc(options) : new OtlpHttp(options);
  const body = Buffer.alloc(0);
  const request = { signal: 'metrics', encoding: 'none', body, rawBytes: 0 } as const;
  const result = await transport.send(request, new AbortController().signal);
  await transport.close();
  return result;
}

describe.each(['http/protobuf', 'grpc'] as const)('over %s', protocol => {
  const start = async (
    pair: typeof EXPIRED_SERVER | null,
    clientCa: string | null = null,
  ): Promise<Server> => {
    const server = await STARTS[protocol](pair, clientCa);
    onTestFinished(() => server.stop());
    return server;
  };

  const expectNoAnswer = async (
    server: Server,
    tls: Partial<Tls>,
    words: RegExp,
  ): Promise<void> => {
    const result = await send(protocol, server, tls);
    expect(result).toMatchObject({ kind: 'retry', reason: expect.stringMatching(words) });
    expect(server.requests).toEqual([]);
  };

  test('a configured authority is trusted, and no other', async () => {
    const server = await start(TEST_TLS);
    const words =
      /^no answer: (?:unable to (?:verify|get)|self-signed) .*; otlp.tls.ca must hold the/;
    await expectNoAnswer(server, {}, words);
    await expectNoAnswer(server, { ca: SECOND_CA }, words);
    // One file may hold several authorities, as for a change from one to another.
    for (const ca of [TEST_TLS.ca, `${SECOND_CA}${TEST_TLS.ca}`])
      expect(await send(protocol, server, { ca })).toMatchObject({ kind: 'accepted' });
  });

  test.each([
    [
      'has expired',
      EXPIRED_SERVER,
      /certificate has expired; the back end needs a new certificate$/,
    ],
    ['is for another host', ELSEWHERE_SERVER, /Hostname.*altnames.*; otlp.endpoint must name/],
  ])('a certificate that %s is reported', async (_, pair, words) => {
    await expectNoAnswer(await start(pair), { ca: SECOND_CA }, words);
  });

  test('a client sends its certificate, and learns if one is required', async () => {
    const server = await start(TEST_TLS, SECOND_CA);
    const { ca } = TEST_TLS;
    const words = /^no answer: .*; .*otlp.tls.cert/;
    await expectNoAnswer(server, { ca }, words);
    const stranger = { ca, cert: TEST_TLS.cert, key: new ConfigSecret(TEST_TLS.key) };
    await expectNoAnswer(server, stranger, /^no answer: /);
    const { cert, key } = TEST_CLIENT;
    const known = await send(protocol, server, { ca, cert, key: new ConfigSecret(key) });
    expect(known).toMatchObject({ kind: 'accepted' });
    expect(server.requests).toHaveLength(1);
  });

  test('a server without TLS is distinguished from one with it', async () => {
    const words = /^no answer: .*; it speaks plain http: write http:\/\/ in otlp.endpoint/;
    await expectNoAnswer(await start(null), { ca: TEST_TLS.ca }, words);
  });
});

test('a handshake that an older server ends says so', async () => {
  const mutual = { ca: SECOND_CA, requestCert: true, rejectUnauthorized: true };
  const server = await BackEnd.start(undefined, { ...TEST_TLS, ...mutual, maxVersion: 'TLSv1.2' });
  onTestFinished(() => server.stop());
  expect(await send('http/protobuf', server, { ca: TEST_TLS.ca })).toMatchObject({
    reason: expect.stringMatching(
      /alert handshake failure.*; the back end ended the handshake: check/,
    ),
  });
});
