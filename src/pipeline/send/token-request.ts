// Asks a token endpoint for a token: OAuth 2.0 client credentials (RFC 6749, section 4.4), or the signed assertion of a
// service account (RFC 7523). The libraries make and read the messages; the connection is ours: a proxy, one deadline, no
// redirects, an answer of at most 64 KiB. Nothing of an answer is shown but its status and a code of the RFC.

import { type AuthConfig, type Secret, tokenUrlOf } from '../../config/config.ts';
import { readServiceAccount, type ServiceAccount } from '../../config/service-account.ts';
import { bug } from '../../errors.ts';
import { BodyBuffer } from '../../lib/body-buffer.ts';
import type { Clock } from '../../lib/clock.ts';
import { membersOf, parseJson } from '../../lib/json.ts';
import { printableUrl } from '../../lib/printable.ts';
import { parseRetryAfter } from '../../lib/retry-after.ts';
import { USER_AGENT } from '../../lib/version.ts';
import { openLink } from '../../service/connection.ts';
import { exchange, firstHeader, type Outcome } from '../../service/exchange.ts';
import { createRedactor, proxySecrets, secretWords } from '../../service/redact.ts';
import { contextFor } from '../../service/trust.ts';
import type { NewToken, TokenRequests } from './tokens.ts';
import { type SendResult, retryLater } from './transport.ts';

const ANSWER_BYTES_MAX = 64 * 1024;
/** A longer lifetime is hardly meant: the token is renewed once a day. */
const LIFETIME_S_MAX = 86_400;
/** The most that Google allows. */
const ASSERTION_S = 3600;
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** The codes of RFC 6749, section 5.2. Any other text of an answer is not shown. */
const CODES: ReadonlySet<unknown> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]);

/** Statuses of an endpoint that is busy or away; all others but 200 are about our settings. */
const BUSY: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** Ends a request for a token early. */
class NoToken extends Error {
  readonly result: SendResult;

  constructor(result: SendResult) {
    super('no token');
    this.result = result;
  }
}

/** `config` names `oauth2` or `google`. Opens no connection yet. */
export function tokenRequests(config: AuthConfig, clock: Clock, timeoutMs: number): TokenRequests {
  const url = tokenUrlOf(config) ?? bug('auth needs no token');
  const secret = config.oauth2?.clientSecret ?? config.google?.credentialsFile ?? bug('no secret');
  const options = { config, url, clock, timeoutMs, secret };
  return {
    async fetch(abort) {
      const first = await fetchOnce(options, abort);
      const isRefused = 'kind' in first && first.kind === 'settings';
      return isRefused && secret.refresh() ? await fetchOnce(options, abort) : first;
    },
    secrets: () => secretsOf(config),
  };
}

interface Options {
  readonly config: AuthConfig;
  readonly url: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly secret: Secret;
}

async function fetchOnce(options: Options, abort: AbortSignal): Promise<NewToken | SendResult> {
  try {
    return await ask(options, abort);
  } catch (error) {
    if (error instanceof NoToken) return error.result;
    // The libraries' own messages may repeat a part of the answer or of the key.
    return wrongSettings(options, 'its answer is no token');
  }
}

async function ask(options: Options, abort: AbortSignal): Promise<NewToken> {
  const { config, url } = options;
  const oauth = await import('oauth4webapi');
  const server = { issuer: new URL(url).origin, token_endpoint: url };
  const network = {
    [oauth.customFetch]: (_: string, { headers, body }: { headers: object; body?: unknown }) =>
      post(options, { headers: headers as Record<string, string>, body: String(body), abort }),
    // The configuration takes plain http on this machine only.
    [oauth.allowInsecureRequests]: true,
  };
  if (config.oauth2 !== null) {
    const { clientId, clientSecret, scopes } = config.oauth2;
    const client = { client_id: clientId };
    const secret = oauth.ClientSecretBasic(clientSecret.reveal());
    const asked = scopes.length === 0 ? {} : { scope: scopes.join(' ') };
    const answer = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      secret,
      asked,
      network,
    );
    return tokenOf(await oauth.processClientCredentialsResponse(server, client, answer));
  }
  const account = accountOf(options);
  const client = { client_id: account.email };
  const asked = { assertion: await assertionOf(account, options) };
  const nothing = (): void => undefined;
  const answer = await oauth.genericTokenEndpointRequest(
    server,
    client,
    // The assertion names the client.
    nothing,
    JWT_BEARER,
    asked,
    network,
  );
  return tokenOf(await oauth.processGenericTokenEndpointResponse(server, client, answer));
}

function accountOf(options: Options): ServiceAccount {
  const account = readServiceAccount(options.secret.reveal());
  if (typeof account === 'string') throw new NoToken(wrongSettings(options, account));
  return account;
}

async function assertionOf(
  { email, privateKey, keyId, tokenUrl }: ServiceAccount,
  options: Options,
): Promise<string> {
  const { importPKCS8, SignJWT } = await import('jose');
  const nowS = Math.floor(options.clock.nowMs() / 1000);
  const key = await importPKCS8(privateKey, 'RS256').catch(() => {
    throw new NoToken(wrongSettings(options, 'the private key of the account cannot be read'));
  });
  return new SignJWT({ scope: options.config.google?.scopes.join(' ') ?? '' })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId !== null && { kid: keyId }) })
    .setIssuer(email)
    .setAudience(tokenUrl)
    .setIssuedAt(nowS)
    .setExpirationTime(nowS + ASSERTION_S)
    .sign(key);
}

function tokenOf(answer: {
  readonly access_token: string;
  readonly expires_in?: number | undefined;
}): NewToken {
  const { access_token: token, expires_in: seconds } = answer;
  if (!/^[!-~]+$/.test(token)) throw new Error('no header can carry the token');
  if (seconds === undefined) return { token, lifetimeMs: null };
  return { token, lifetimeMs: Math.min(seconds, LIFETIME_S_MAX) * 1000 };
}

/** Sends one request over a connection of its own: tokens are rare. Answers only with a status of 200. */
async function post(
  options: Options,
  request: {
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly abort: AbortSignal;
  },
): Promise<Response> {
  const { config, url, clock, timeoutMs } = options;
  const { origin, pathname, search } = new URL(url);
  const link = openLink(origin, {
    connections: 1,
    timeoutMs,
    secureContext: () => contextFor({ ca: null }),
    proxy: config.tokenProxy,
  });
  const call = {
    method: 'POST',
    path: `${pathname}${search}`,
    accept: 'application/json',
    body: request.body,
    timeoutMs,
    deadlineMs: clock.monotonicMs() + timeoutMs,
    idleTimeoutMs: 0,
    maxBodyBytes: ANSWER_BYTES_MAX,
    signal: request.abort,
    into: new BodyBuffer(),
    sink: null,
    isStatusEnough: false,
  } as const;
  const headers = { ...request.headers, 'user-agent': USER_AGENT };
  try {
    const outcome = await exchange(call, { ...link, headers, clock });
    return judge(outcome, options);
  } finally {
    await link.dispatcher.destroy();
  }
}

function judge(outcome: Outcome, options: Options): Response {
  if (outcome.kind === 'fault') {
    const redact = createRedactor(() => secretsOf(options.config));
    const { detail = 'given up', isDeadline = false } = outcome.fault;
    const cause = isDeadline ? `no answer within ${options.timeoutMs} ms` : redact(detail);
    throw new NoToken(retryLater(`${prefixOf(options)}: ${cause}; check ${nameOf(options)}`));
  }
  const { status, headers, body } = outcome;
  if (status === 200)
    return new Response(new Uint8Array(body), {
      headers: { 'content-type': firstHeader(headers, 'content-type') },
    });
  const code = membersOf(parseJson(body.toString('utf8')))['error'];
  const shown = CODES.has(code) ? ` (${String(code)})` : '';
  const isRedirect = status >= 300 && status < 400;
  const answered = `it answered ${status}${shown}${isRedirect ? ': redirects are not followed' : ''}`;
  if (!BUSY.has(status)) throw new NoToken(wrongSettings(options, answered));
  const retryAfterMs = parseRetryAfter(firstHeader(headers, 'retry-after'), options.clock.nowMs());
  const reason = `${prefixOf(options)}: ${answered}`;
  throw new NoToken({ kind: 'retry', reason, status: 0, retryAfterMs, pauses: 'signal' });
}

/** The status is 0, because it is not the back end's. */
function wrongSettings(options: Options, cause: string): SendResult {
  const reason = `${prefixOf(options)}: ${cause}; check ${nameOf(options)}`;
  return { kind: 'settings', reason, status: 0 };
}

function prefixOf({ url }: Options): string {
  return `cannot get a token from ${printableUrl(url)}`;
}

function nameOf({ config }: Options): string {
  return config.oauth2 === null ? 'otlp.auth.google' : 'otlp.auth.oauth2';
}

function secretsOf({ oauth2, google, tokenProxy }: AuthConfig): readonly string[] {
  const own = oauth2 === null ? secretWords([keyOf(google)]) : [oauth2.clientSecret.reveal()];
  return [...own.filter(text => text !== ''), ...proxySecrets(tokenProxy)];
}

function keyOf(google: AuthConfig['google']): string {
  const account = readServiceAccount(google?.credentialsFile.reveal() ?? '');
  return typeof account === 'string' ? '' : account.privateKey;
}
