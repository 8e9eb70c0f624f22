// Requests to the back end, the token endpoint and the service through a real proxy.

import { ServerCredentials } from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { AuthConfig, OtlpSignalConfig } from '../../../src/config/config.ts';
import { ConfigSecret } from '../../../src/config/secrets.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { openAuthorization } from '../../../src/pipeline/send/authorization.ts';
import { openTransport } from '../../../src/pipeline/send/open-senders.ts';
import type { SendResult } from '../../../src/pipeline/send/transport.ts';
import { BackEnd } from '../../support/back-end.ts';
import { TEST_TLS } from '../../support/certificates.ts';
import { GrpcBackEnd } from '../../support/grpc-back-end.ts';
import { findClosedPort, startHttpServer } from '../../support/http-server.ts';
import { openHttp } from '../../support/service-client.ts';
import { NO_TLS, testEndpoint } from '../../support/test-api.ts';
import { noTinyproxy, Tinyproxy } from '../../support/tinyproxy.ts';

const ROW = { signal: 'metrics', encoding: 'none', body: Buffer.alloc(9), rawBytes: 9 } as const;
const TRUSTED = { ...NO_TLS, ca: TEST_TLS.ca };

if (noTinyproxy !== null) console.log(`proxies are skipped: ${noTinyproxy}`);

async function proxyWith(user: string, password: string): Promise<Tinyproxy> {
  const proxy = await Tinyproxy.start([user, password]);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return proxy;
}

/** The URL of a proxy, with the user and the password. */
function urlOf(
  proxy: { readonly port: number },
  user = 'me',
  password = 'canary-a55',
): ConfigSecret {
  return new ConfigSecret(`http://${user}:${password}@127.0.0.1:${proxy.port}`);
}

async function send(
  endpoint: string,
  settings: Partial<OtlpSignalConfig>,
  auth: AuthConfig | null = null,
): Promise<SendResult> {
  const { config, ...parts } = testEndpoint(endpoint, settings);
  const authorization = await openAuthorization(auth, systemClock, 8000);
  const transport = await openTransport(config, { ...parts, authorization });
  const result = await transport.send(ROW, new AbortController().signal);
  await transport.close();
  return result;
}

describe.skipIf(noTinyproxy !== null)('through tinyproxy with a password', () => {
  test.each([
    ['http/protobuf', 'http', 'POST http://127.0.0.1:PORT/ HTTP/1.1'],
    ['http/protobuf', 'https', 'CONNECT localhost:PORT HTTP/1.1'],
    ['grpc', 'http', 'CONNECT 127.0.0.1:PORT HTTP/1.1'],
    ['grpc', 'https', 'CONNECT localhost:PORT HTTP/1.1'],
  ] as const)('%s reaches an %s back end', async (protocol, scheme, line) => {
    const proxy = await proxyWith('me', 'canary-a55');
    const { cert, key } = TEST_TLS;
    const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
    const backEnd =
      protocol === 'grpc'
        ? await GrpcBackEnd.start(
            scheme === 'https' ? ServerCredentials.createSsl(null, [pair]) : undefined,
          )
        : await BackEnd.start(undefined, scheme === 'https' ? { cert, key } : undefined);
    onTestFinished(() => backEnd.stop());
    const host = scheme === 'https' ? 'localhost' : '127.0.0.1';
    const endpoint = `${scheme}://${host}:${backEnd.port}`;
    const settings = { protocol, tls: TRUSTED };
    expect(await send(endpoint, { ...settings, proxy: urlOf(proxy) })).toMatchObject({
      kind: 'accepted',
    });
    expect(backEnd.requests).toHaveLength(1);
    expect(JSON.stringify(backEnd.requests)).not.toContain('proxy-authorization');
    await expect.poll(() => proxy.requests).toEqual([line.replace('PORT', String(backEnd.port))]);
    const wrong = await send(endpoint, { ...settings, proxy: urlOf(proxy, 'me', 'canary-bad') });
    // Over plain http it is the proxy that answers, instead of the back end.
    const words = line.startsWith('CONNECT') ? 'check otlp.proxy' : 'answered 401';
    expect(wrong).toMatchObject({ reason: expect.stringContaining(words) as unknown });
    expect(JSON.stringify(wrong)).not.toContain('canary');
    expect(backEnd.requests).toHaveLength(1);
  });

  test('a token and the pages of the service arrive; the proxy sees only where they are', async () => {
    const proxy = await proxyWith('me', 'canary-a55');
    await using service = await startHttpServer((_request, response) => void response.end('ok'), {
      isTls: true,
    });
    await using opened = openHttp(service.origin, { ca: TEST_TLS.ca, proxy: urlOf(proxy) });
    expect(await opened.http.get('/metrics', { accept: '*/*' })).toMatchObject({ ok: true });
    await using login = await startHttpServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{"access_token": "canary-70", "token_type": "bearer"}');
    });
    const backEnd = await BackEnd.start(({ headers }) => ({
      status: headers.authorization === 'Bearer canary-70' ? 200 : 401,
    }));
    onTestFinished(() => backEnd.stop());
    const client = { clientId: 'c', clientSecret: new ConfigSecret('canary-5ec'), scopes: [] };
    const auth = {
      basic: null,
      oauth2: { tokenUrl: `${login.origin}/token`, ...client },
      google: null,
      tokenProxy: urlOf(proxy),
    };
    expect(await send(backEnd.url, {}, auth)).toMatchObject({ kind: 'accepted' });
    await expect
      .poll(() => proxy.requests)
      .toEqual([
        `CONNECT localhost:${service.port} HTTP/1.1`,
        `POST http://127.0.0.1:${login.port}/token HTTP/1.1`,
      ]);
  });
});

test.each(['http/protobuf', 'grpc'] as const)(
  'over %s, a proxy that is away is named, not the back end',
  async protocol => {
    const proxy = urlOf({ port: await findClosedPort() });
    const reason = expect.stringContaining('check otlp.proxy') as unknown;
    const result = await send('https://back.example', { protocol, proxy });
    expect(result).toMatchObject({ kind: 'retry', reason });
  },
);

test('gRPC takes no proxy over https', async () => {
  const proxy = new ConfigSecret('https://proxy.example');
  expect(await send('https://back.example', { protocol: 'grpc', proxy })).toMatchObject({
    kind: 'settings',
    reason: expect.stringContaining('gRPC needs a proxy over http://') as unknown,
  });
});
