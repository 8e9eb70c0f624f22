import { expect, test } from 'vitest';
import type { ApiConfig } from '../../src/config/config.ts';
import { createConnection } from '../../src/service/connection.ts';
import {
  redirectOf,
  type ServiceAnswer,
  type ServiceResult,
} from '../../src/service/http-client.ts';
import { ServiceClient } from '../../src/service/client.ts';
import { startHttpServer } from '../support/http-server.ts';
import { openHttp, openService } from '../support/service-client.ts';
import { testApi } from '../support/test-api.ts';

async function get(baseUrl: string): Promise<ServiceResult<ServiceAnswer>> {
  await using opened = openHttp(baseUrl);
  return await opened.http.get('/metrics', { accept: 'text/plain' });
}

test('a redirect to another host is reported, and nothing is sent there', async () => {
  await using other = await startHttpServer((_request, response) => void response.end('got it'));
  for (const status of [301, 302, 303, 307, 308]) {
    await using server = await startHttpServer((_request, response) => {
      response.writeHead(status, { location: `${other.origin}/test-key?key=test-key` }).end();
    });
    const result = await get(server.origin);
    if (result.ok) throw new Error('unexpected success');
    expect(result.error.reason).toBe('redirect');
    expect(result.error.message).toMatch(
      new RegExp(`the key must not follow \\(${status} to ${other.origin}\\)$`),
    );
    expect(JSON.stringify(result.error)).not.toContain('test-key');
    expect(server.requests.length).toBe(1);
  }
  expect(other.requests).toEqual([]);
});

test('one redirect within the origin is followed, with the key', async () => {
  await using server = await startHttpServer(({ path }, response) => {
    if (path === '/metrics') response.writeHead(307, { location: '/metrics/?all=1' });
    response.end('engine_up 1\n');
  });
  const result = await get(server.origin);
  expect(result.ok && result.body.toString()).toBe('engine_up 1\n');
  expect(server.requests.map(({ path, headers }) => [path, headers['x-api-key']])).toEqual([
    ['/metrics', 'test-key'],
    ['/metrics/?all=1', 'test-key'],
  ]);
});

test('a loop ends after the second answer', async () => {
  await using server = await startHttpServer((_request, response) => {
    response.writeHead(302, { location: '/metrics' }).end();
  });
  const result = await get(server.origin);
  expect(result.ok || result.error.reason).toBe('redirect');
  expect(result.ok || result.error.message).toMatch(/\(more than one\)$/);
  expect(server.requests.length).toBe(2);
});

/** The result of a redirect from https://api.example.com/a/b, as one line. */
function check(location: string, want: string, differently: object = {}): void {
  const { status, ...options } = { status: 307, ...differently };
  const redirect = redirectOf(
    {
      kind: 'answer',
      status,
      headers: { location },
      body: Buffer.alloc(0),
      wireBytes: 0,
      isWhole: true,
    },
    { method: 'GET', origin: 'https://api.example.com', path: '/a/b', isSafe: true, ...options },
  );
  const got =
    typeof redirect === 'string' ? redirect : redirect.kind === 'fault' && redirect.fault.detail;
  expect(got, location).toBe(want);
}

test('the same origin in any spelling is followed', () => {
  check('c', '/a/c');
  check('/c?d=e#f', '/c?d=e');
  check('https://api.example.com/c', '/c');
  check('https://API.example.com:443/c', '/c');
  check('//api.example.com/c', '/c');
  check('https://user:password@api.example.com/c', '/c');
});

test('the same host with http, as a service behind a proxy names it, is followed over https', () => {
  check('http://api.example.com/c', '/c');
  check('http://api.example.com:8443/c', '/c', { origin: 'https://api.example.com:8443' });
});

test('an origin that only looks the same is not', () => {
  check('http://api.example.com:8080/c', '307 to http://api.example.com:8080');
  check('http://b.example.com/c', '307 to http://b.example.com');
  check('https://api.example.com:8443/c', '307 to https://api.example.com:8443');
  check('https://api.example.com.evil.example/c', '307 to https://api.example.com.evil.example');
  check('https://api.example.com@evil.example/c', '307 to https://evil.example');
  check('//evil.example', '307 to https://evil.example');
  check('\\\\evil.example', '307 to https://evil.example');
  check('javascript:alert(1)', '307 to an address that is not http');
  check('file:///etc/passwd', '307 to an address that is not http');
  check('', '307 without a readable Location');
  check('https://[', '307 without a readable Location');
});

test('an operation is redirected only if its method and body are kept', () => {
  const post = { method: 'POST' };
  check('/c', '/c', { ...post, status: 307 });
  check('/c', '/c', { ...post, status: 308 });
  check('/c', '301 to a POST', { ...post, status: 301 });
  check('/c', '302 to a POST', { ...post, status: 302 });
  check('https://b.example.com/', '303 to https://b.example.com', { ...post, status: 303 });
});

const DONE = { ok: true, schedule: null };
const UNKNOWN = { ok: false, error: { isOutcomeUnknown: true } };
const NOT_DONE = { ok: false, error: { isOutcomeUnknown: false } };

/** Each answer is a status, and perhaps a Location. */
test.each<[what: string, outcome: object, ...answers: string[]]>([
  ['303 to the result', DONE, '303 /backup/v1/x'],
  ['303 to nowhere', DONE, '303'],
  ['303 after another path', DONE, '307 /c', '303 /d'],
  ['303 to another origin', UNKNOWN, '303 http://127.0.0.1:9/'],
  ['303 to a page to log in', UNKNOWN, '303 /console/login?next=x'],
  ['302', UNKNOWN, '302 /c'],
  ['302 after another path', UNKNOWN, '308 /c', '302 /d'],
  ['408', UNKNOWN, '408'],
  ['307 to another origin', NOT_DONE, '307 http://127.0.0.1:9/'],
  ['a third path', NOT_DONE, '307 /c', '307 /d'],
])('what is known after a POST: %s', async (_, outcome, ...answers) => {
  await using service = await openService((_request, response) => {
    const [status, location] = answers[service.server.requests.length - 1]?.split(' ') ?? [];
    response.writeHead(Number(status), location === undefined ? {} : { location }).end('<html>');
  });
  const { schedules } = new ServiceClient({ http: service.http });
  const request = { backup_type: 'full', schedule: 'once', service_id: 'a' };
  expect(await schedules.create(request)).toMatchObject(outcome);
  expect(service.server.requests.map(({ method }) => method)).toEqual(answers.map(() => 'POST'));
});

test('a POST that never left has had no effect', async () => {
  const request = { backup_type: 'full', schedule: 'once', service_id: 'a' };
  await using client = new ServiceClient({ baseUrl: 'http://127.0.0.1:1', key: 'test-key' });
  expect(await client.schedules.create(request)).toMatchObject(NOT_DONE);
  const signal = AbortSignal.abort();
  expect(await client.schedules.create(request, { signal })).toMatchObject(NOT_DONE);
});

test('over plain http to another machine none is followed', async () => {
  check('/c', '307 over plain http', { isSafe: false });
  const isFollowed = async (baseUrl: string, settings?: Partial<ApiConfig>): Promise<boolean> => {
    const { isRedirectSafe, dispatcher } = createConnection(testApi(baseUrl, settings));
    await dispatcher.close();
    return isRedirectSafe;
  };
  expect(await isFollowed('https://api.example.com')).toBe(true);
  expect(await isFollowed('http://127.0.0.1:8080')).toBe(true);
  expect(await isFollowed('http://api.example.com', { isInsecureAllowed: true })).toBe(false);
});
