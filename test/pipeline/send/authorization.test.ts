// Credentials on real requests over loopback: what the back end and the token endpoint get, and what messages show.

import { generateKeyPairSync } from 'node:crypto';
import { decodeJwt, jwtVerify } from 'jose';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { AuthConfig, OtlpSignalConfig } from '../../../src/config/config.ts';
import { ConfigSecret } from '../../../src/config/secrets.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { openAuthorization } from '../../../src/pipeline/send/authorization.ts';
import { openTransport } from '../../../src/pipeline/send/open-senders.ts';
import type { SendResult } from '../../../src/pipeline/send/transport.ts';
import { BackEnd, type Answer } from '../../support/back-end.ts';
import { GrpcBackEnd } from '../../support/grpc-back-end.ts';
import {
  findClosedPort,
  type Handler,
  type HttpTestServer,
  startHttpServer,
} from '../../support/http-server.ts';
import { testEndpoint } from '../../support/test-api.ts';

const ROW = { signal: 'metrics', encoding: 'none', body: Buffer.alloc(9), rawBytes: 9 } as const;
const NOTHING: AuthConfig = { basic: null, oauth2: null, google: null, tokenProxy: null };
const CLIENT_SECRET = 'canary-0c11e47';

let tokenCount: number;
/** The newest token, the only one that the back end takes. */
let good: string;

beforeEach(() => {
  tokenCount = 0;
  good = '';
});

function newToken(): string {
  good = `canary-70ce${++tokenCount}.canary-7a11${tokenCount}`;
  return good;
}

async function tokenEndpoint(
  answer: Handler = (_, response) => {
    const body = { access_token: newToken(), token_type: 'Bearer', expires_in: 3600 };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  },
): Promise<HttpTestServer> {
  const server = await startHttpServer(answer);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

function oauth2(tokenUrl: string, secret = new ConfigSecret(CLIENT_SECRET)): AuthConfig {
  const scopes = ['a', 'b'];
  return { ...NOTHING, oauth2: { tokenUrl, clientId: 'the client', clientSecret: secret, scopes } };
}

/** Opens a transport to a back end that takes only the newest token. */
async function open(
  auth: AuthConfig,
  protocol: OtlpSignalConfig['protocol'] = 'http/protobuf',
  isRight = (value: unknown): boolean => value === `Bearer ${good}`,
): Promise<() => Promise<SendResult>> {
  const refusal = (value: unknown): string => `no: ${String(value)} ${String(value).split(' ')[1]}`;
  let backEnd: BackEnd | GrpcBackEnd;
  if (protocol === 'grpc') {
    backEnd = await GrpcBackEnd.start();
    backEnd.answer = ({ metadata: { authorization } }) =>
      isRight(authorization) ? {} : { code: 16, message: refusal(authorization) };
  } else
    backEnd = await BackEnd.start(
      ({ headers: { authorization } }): Answer =>
        isRight(authorization) ? { status: 200 } : { status: 401, body: refusal(authorization) },
    );
  const { config, ...parts } = testEndpoint(backEnd.url, { protocol });
  const authorization = await openAuthorization(auth, systemClock, 8000);
  const transport = await openTransport(config, { ...parts, authorization });
  onTestFinished(async () => {
    await transport.close();
    await backEnd.stop();
  });
  return () => transport.send(ROW, new AbortController().signal);
}

describe.each(['http/protobuf', 'grpc'] as const)('over %s', protocol => {
  test('basic sends user and password, reads a rotated one, and no refusal shows a part of it', async () => {
    let source = 'canary-pä55';
    const password = new ConfigSecret(source, () => source);
    const right = `Basic ${Buffer.from('me:canary-new').toString('base64')}`;
    const auth = { ...NOTHING, basic: { user: 'me', password } };
    const send = await open(auth, protocol, value => value === right);
    const refused = await send();
    expect(refused).toMatchObject({ kind: 'settings' });
    expect(JSON.stringify(refused)).toContain('no: [secret] [secret]');
    source = 'canary-new';
    expect(await send()).toMatchObject({ kind: 'accepted' });
  });

  test('a token is fetched once, and again after a 401; no refusal shows a word of it', async () => {
    const server = await tokenEndpoint();
    const send = await open(oauth2(`${server.origin}/token`), protocol);
    for (let i = 0; i < 3; i++) expect(await send()).toMatchObject({ kind: 'accepted' });
    expect(tokenCount).toBe(1);
    good = 'revoked';
    expect(await send()).toMatchObject({ kind: 'accepted' });
    expect(tokenCount).toBe(2);
    const refused = await open(oauth2(`${server.origin}/token`), protocol, () => false);
    expect(await refused()).toMatchObject({
      kind: 'settings',
      reason: expect.stringContaining('no: [secret] [secret]') as unknown,
    });
  });
});

test('client credentials go to the token endpoint as the RFC says', async () => {
  const server = await tokenEndpoint();
  const send = await open(oauth2(`${server.origin}/token?tenant=1`));
  expect(await send()).toMatchObject({ kind: 'accepted' });
  const [request] = server.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/token?tenant=1' });
  expect(new URLSearchParams(request?.body).toString()).toBe(
    'scope=a+b&grant_type=client_credentials',
  );
  const pair = Buffer.from(request?.headers.authorization?.slice(6) ?? '', 'base64').toString();
  expect(pair).toBe(`the+client:${CLIENT_SECRET.replaceAll('-', '%2D')}`);
});

test('a service account signs an assertion, and reads a rotated key file after a refusal', async () => {
  const pairs = [1, 2].map(() => generateKeyPairSync('rsa', { modulusLength: 2048 }));
  const server = await tokenEndpoint(async ({ body }, response) => {
    const assertion = new URLSearchParams(body).get('assertion') ?? '';
    const key = pairs[1]?.publicKey;
    const isRight = key !== undefined && (await jwtVerify(assertion, key).catch(() => null));
    response.statusCode = isRight ? 200 : 400;
    const answer = isRight
      ? { access_token: newToken(), token_type: 'Bearer', expires_in: 3599 }
      : { error: 'invalid_grant', error_description: `bad ${assertion}` };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });
  const fileOf = (index: number): string =>
    JSON.stringify({
      client_email: 'me@project.example',
      private_key_id: 'key-1',
      private_key: pairs[index]?.privateKey.export({ type: 'pkcs8', format: 'pem' }),
      token_uri: `${server.origin}/token`,
    });
  let source = fileOf(0);
  const credentialsFile = new ConfigSecret(source, () => source);
  const send = await open({ ...NOTHING, google: { credentialsFile, scopes: ['s1', 's2'] } });
  expect(await send()).toEqual({
    kind: 'settings',
    status: 0,
    reason: `cannot get a token from ${server.origin}/token: it answered 400 (invalid_grant); check otlp.auth.google`,
  });
  source = fileOf(1);
  expect(await send()).toMatchObject({ kind: 'accepted' });
  const body = new URLSearchParams(server.requests.at(-1)?.body);
  expect(body.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
  const claims = decodeJwt(body.get('assertion') ?? '');
  expect(claims).toMatchObject({ iss: 'me@project.example', scope: 's1 s2' });
  expect(claims.aud).toBe(`${server.origin}/token`);
});

describe('a token endpoint', () => {
  const echo: Handler = ({ headers }, response) => {
    response.statusCode = 401;
    response.setHeader('www-authenticate', 'Basic realm="canary-realm"');
    response.end(JSON.stringify({ error: headers.authorization, canary: CLIENT_SECRET }));
  };
  const elsewhere: Handler = (_, response) => {
    response.writeHead(307, { location: 'http://127.0.0.2:1/canary' }).end();
  };
  const large: Handler = (_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ access_token: 'canary'.repeat(100_000), token_type: 'bearer' }));
  };
  const odd: Handler = (_, response) => {
    response.setHeader('content-type', 'application/json').end('{"access_token": "canary\\n"}');
  };
  const busy: Handler = (_, response) => {
    response.writeHead(429, { 'retry-after': '7' }).end('canary');
  };

  test.each([
    ['that echoes the secret', echo, 'settings', 'it answered 401; check otlp.auth.oauth2'],
    ['that redirects', elsewhere, 'settings', 'it answered 307: redirects are not followed; '],
    ['whose answer is too large', large, 'retry', ''],
    ['whose answer is no token', odd, 'settings', 'its answer is no token'],
    ['that is busy', busy, 'retry', 'it answered 429'],
  ] as const)('%s is told in our own words', async (_, handler, kind, words) => {
    const server = await tokenEndpoint(handler);
    const send = await open(oauth2(server.origin));
    const result = await send();
    expect(result).toMatchObject({ kind, reason: expect.stringContaining(words) as unknown });
    expect(JSON.stringify(result)).not.toContain('canary');
    expect(server.requests).toHaveLength(1);
    if (handler === busy) expect(result).toMatchObject({ retryAfterMs: 7000 });
  });

  test('that is away is asked again later', async () => {
    const send = await open(oauth2(`http://127.0.0.1:${await findClosedPort()}/`));
    const reason = expect.stringMatching(/cannot get a token from .*ECONNREFUSED/) as unknown;
    expect(await send()).toMatchObject({ kind: 'retry', reason });
  });
});
