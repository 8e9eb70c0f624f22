// OTLP over HTTP with TLS, against real https servers. otlp-grpc.test.ts does the same over gRPC.

import type { ServerOptions } from 'node:https';
import { afterEach, expect, test } from 'vitest';
import type { OtlpSignalConfig } from '../../../src/config/config.ts';
import { ConfigSecret } from '../../../src/config/secrets.ts';
import { OperatorError } from '../../../src/errors.ts';
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
import { NO_TLS, testEndpoint } from '../../support/test-api.ts';

type Tls = OtlpSignalConfig['tls'];

const servers: BackEnd[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function start(tls?: ServerOptions): Promise<BackEnd> {
  const server = await BackEnd.start(undefined, tls);
  servers.push(server);
  return server;
}

function connect(server: BackEnd, tls: Partial<Tls>): OtlpHttp {
  const config = { compression: 'none', tls: { ...NO_TLS, ...tls } } as const;
  return new OtlpHttp(testEndpoint(`https://localhost:${String(server.port)}/v1/metrics`, config));
}

async function send(server: BackEnd, tls: Partial<Tls>): Promise<SendResult> {
  const transport = connect(server, tls);
  const body = Buffer.alloc(0);
  const request = { signal: 'metrics', encoding: 'none', body, rawBytes: 0 } as const;
  const result = await transport.send(request, new AbortController().signal);
  await transport.close();
  return result;
}

async function expectNoAnswer(server: BackEnd, tls: Partial<Tls>, words: RegExp): Promise<void> {
  const result = await send(server, tls);
  expect(result).toMatchObject({ kind: 'retry', reason: expect.stringMatching(words) });
  expect(server.requests).toEqual([]);
}

test('a configured authority is trusted', async () => {
  const server = await start(TEST_TLS);
  expect(await send(server, { ca: TEST_TLS.ca })).toMatchObject({ kind: 'accepted' });
  // Several in one file, as for a change of authorities.
  const both = `${SECOND_CA}${TEST_TLS.ca}`;
  expect(await send(server, { ca: both })).toMatchObject({ kind: 'accepted' });
});

test('an unknown authority is reported', async () => {
  const server = await start(TEST_TLS);
  const words =
    /^no answer: (?:unable to verify|self-signed) .*; otlp.tls.ca must hold the authority/;
  await expectNoAnswer(server, {}, words);
  await expectNoAnswer(server, { ca: SECOND_CA }, words);
});

test('an expired certificate is reported', async () => {
  const words = /^no answer: certificate has expired; the back end needs a new certificate$/;
  await expectNoAnswer(await start(EXPIRED_SERVER), { ca: SECOND_CA }, words);
});

test('a certificate for another host is reported', async () => {
  const words = /^no answer: Hostname\/IP does not match .*elsewhere.*; otlp.endpoint must name/;
  await expectNoAnswer(await start(ELSEWHERE_SERVER), { ca: SECOND_CA }, words);
});

test('a client sends its certificate, and learns if one is required', async () => {
  const mutual = { ...TEST_TLS, ca: SECOND_CA, requestCert: true, rejectUnauthorized: true };
  const server = await start(mutual);
  const { ca } = TEST_TLS;
  const words = /^no answer: .*; .*otlp.tls.cert/;
  await expectNoAnswer(server, { ca }, words);
  const older = await start({ ...mutual, maxVersion: 'TLSv1.2' });
  const alert = /alert handshake failure.*; the back end ended the handshake: check otlp.tls.cert/;
  await expectNoAnswer(older, { ca }, alert);
  const stranger = { ca, cert: TEST_TLS.cert, key: new ConfigSecret(TEST_TLS.key) };
  await expectNoAnswer(server, stranger, words);
  const { cert, key } = TEST_CLIENT;
  const known = await send(server, { ca, cert, key: new ConfigSecret(key) });
  expect(known).toMatchObject({ kind: 'accepted' });
  expect(server.requests.map(({ isCertified }) => isCertified)).toEqual([true]);
});

test('a server without TLS is distinguished from one with it', async () => {
  await expectNoAnswer(await start(), { ca: TEST_TLS.ca }, /^no answer: .*; it does not use TLS/);
});

test('certificates that cannot be used are a mistake found at the start', async () => {
  const server = await start(TEST_TLS);
  const check = (tls: Partial<Tls>, words: RegExp): void => {
    expect(() => connect(server, tls)).toThrow(OperatorError);
    expect(() => connect(server, tls)).toThrow(words);
  };
  check({ ca: 'none' }, /^otlp.tls.ca: cannot use otlp.tls.ca: there is no certificate in it/);
  const garbage = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  check({ ca: `${SECOND_CA}${garbage}` }, /a certificate in it cannot be read/);
  const { cert } = TEST_CLIENT;
  const words = /^otlp.tls.cert: .*key values mismatch; check that key is the private key of cert$/;
  check({ cert, key: new ConfigSecret(TEST_TLS.key) }, words);
  check({ cert: garbage, key: new ConfigSecret(TEST_TLS.key) }, /^otlp.tls.cert: cannot use/);
});
