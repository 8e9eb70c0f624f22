import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import type { ApiConfig } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { ConfigSecret } from '../../src/config/secrets.ts';
import { OperatorError } from '../../src/errors.ts';
import { TEST_TLS } from '../support/certificates.ts';
import { startHttpServer, startTcpServer } from '../support/http-server.ts';
import { openHttp } from '../support/service-client.ts';

/** The mistake's line, or 'accepted'. */
function verdictOf(baseUrl: string, settings: Partial<ApiConfig>): string {
  try {
    void openHttp(baseUrl, settings).http.close();
    return 'accepted';
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return error.message;
  }
}

function check(baseUrl: string, want: RegExp, settings: Partial<ApiConfig> = {}): void {
  expect(verdictOf(baseUrl, settings), baseUrl).toMatch(want);
}

test('plain http beyond this machine needs explicit consent', () => {
  const refused =
    /^api\.base_url: cannot use http:\/\/.*: the key would travel in plain text; use https/;
  check('http://api.example.com', refused);
  check('http://10.0.0.7:8080', refused);
  check('http://localhost.example.com', refused);
  check('http://api.example.com', /^accepted$/, { isInsecureAllowed: true });
  check('http://localhost:8080', /^accepted$/);
  check('http://[::1]:8080', /^accepted$/);
  check('https://api.example.com', /^accepted$/);
});

test('no proxy gets the key in plain text, not even on this machine', () => {
  const proxy = new ConfigSecret('http://proxy.example.com:3128');
  check('http://localhost', /^api\.proxy: .*the proxy would see the key; use https/, { proxy });
  const insecure = { proxy: new ConfigSecret('http://127.0.0.1:3128'), isInsecureAllowed: true };
  check('http://api.example.com', /^api\.proxy: /, insecure);
  check('https://api.example.com', /^accepted$/, { proxy });
});

test('an invalid address of a service is refused', () => {
  check('api.example.com', /^api\.base_url: .*not an http or https URL; write it as https:/);
  check('ftp://api.example.com', /not an http or https URL/);
  check('https://', /not an http or https URL/);
  check('https://api.example.com?x=1', /^api\.base_url: .*it has a query/);
  check('https://me:pw@api.example.com', /^api\.base_url: cannot use api\.base_url: it has a user/);
  check('https://a.example', /^api\.proxy: .*not an http/, {
    proxy: new ConfigSecret('socks5://x'),
  });
});

test('headers that cannot be sent are refused, without showing their values', () => {
  const header = (name: string, value = 'canary'): Partial<ApiConfig> => ({
    headers: { [name]: new ConfigSecret(value) },
  });
  check('https://a.example', /^api\.headers: .*"X-Api-Key": the client sets/, header('X-Api-Key'));
  check('https://a.example', /"Host": the client sets/, header('Host'));
  check('https://a.example', /"x y": a character is not allowed/, header('x y'));
  check('https://a.example', /"x-a": a character is not allowed/, header('x-a', 'canary\r\nb: c'));
  expect(verdictOf('https://a.example', header('x-a', 'canary\n'))).not.toContain('canary');
  check('https://a.example', /^accepted$/, header('x-a', 'north 1'));
});

test('the configuration refuses the same headers', () => {
  const names = 'X-API-Key Accept Accept-Encoding Connection Content-Encoding Content-Length';
  const others = 'Content-Type Expect Host Keep-Alive Proxy-Authorization TE Trailer';
  for (const name of `${names} ${others} Transfer-Encoding Upgrade`.split(' ')) {
    const headers = { [name]: new ConfigSecret('x') };
    expect(verdictOf('https://a.example', { headers }), name).toMatch(/the client sets it itself/);
    const api = { base_url: 'https://a.example', key: 'k', headers: { [name]: 'x' } };
    const text = JSON.stringify({ api, services: [{ id: 'x' }] });
    const parse = (): unknown => parseConfig(text, { file: 'c.yaml', environment: {} });
    expect(parse, name).toThrow(/api\.headers\..*cannot be set here/);
  }
});

test('an authority that is not a certificate is refused', () => {
  const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  check('https://a.example', /^api\.ca: .*no certificate in it/, { ca: 'not PEM' });
  check('https://a.example', /^api\.ca: .*cannot be read/, { ca: pem });
  check('https://a.example', /^api\.ca: .*cannot be read/, { ca: `${TEST_TLS.ca}${pem}` });
  check('https://a.example', /^accepted$/, { ca: TEST_TLS.ca });
});

/** Answers a CONNECT, and forwards the connection to this port. */
function tunnel(socket: Socket, port: number): void {
  const onward = connect(port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    socket.pipe(onward).pipe(socket);
  });
  onward.on('error', () => socket.destroy());
}

test('through a proxy only the service sees the key', async () => {
  await using server = await startHttpServer((_request, response) => void response.end('ok'), {
    isTls: true,
  });
  const seen: string[] = [];
  await using proxyServer = await startTcpServer(socket => {
    socket.once('data', head => {
      seen.push(head.toString('latin1'));
      socket.on('data', chunk => seen.push(chunk.toString('latin1')));
      tunnel(socket, server.port);
    });
  });
  await using opened = openHttp(server.origin, {
    ca: TEST_TLS.ca,
    proxy: new ConfigSecret(`http://me:pw@127.0.0.1:${proxyServer.port}`),
  });
  const result = await opened.http.get('/metrics', { accept: 'text/plain' });
  expect(result.ok, JSON.stringify(result)).toBe(true);
  expect(server.requests[0]?.headers['x-api-key']).toBe('test-key');
  expect(seen[0]).toMatch(/^CONNECT localhost:\d+ HTTP\/1\.1\r\n/);
  expect(seen[0]).toMatch(/proxy-authorization: Basic bWU6cHc=/i);
  expect(seen.join('')).not.toContain('test-key');
});

test('a proxy that once did not answer is used again as soon as it does', async () => {
  await using server = await startHttpServer((_request, response) => void response.end('ok'), {
    isTls: true,
  });
  let isSilent = true;
  await using proxyServer = await startTcpServer(socket => {
    socket.once('data', () => void (isSilent || tunnel(socket, server.port)));
  });
  await using opened = openHttp(server.origin, {
    ca: TEST_TLS.ca,
    proxy: new ConfigSecret(`http://127.0.0.1:${proxyServer.port}`),
    timeoutMs: 500,
  });
  const ask = async (): Promise<string> => {
    const result = await opened.http.get('/metrics', { accept: 'text/plain' });
    return result.ok ? 'ok' : result.error.reason;
  };
  // As many requests as there may be connections.
  const reasons = await Promise.all(Array.from({ length: 8 }, ask));
  expect(new Set(reasons)).toStrictEqual(new Set(['connect_timeout']));
  isSilent = false;
  await expect.poll(ask, { timeout: 10_000 }).toBe('ok');
});
