import { describe, expect, test } from 'vitest';
import { ConfigSecret } from '../../src/config/secrets.ts';
import { refusalOf } from '../../src/status/status-server.ts';

const TOKEN = 'correct-horse-battery';

describe('with a token', () => {
  const check = (authorization: string | undefined, want: number | null): void => {
    const rules = { token: () => new ConfigSecret(TOKEN), host: '0.0.0.0' };
    const headers = authorization === undefined ? {} : { authorization };
    expect(refusalOf(headers, rules)?.status ?? null).toBe(want);
  };
  const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`;

  test('it is accepted as a bearer token, or as the password in a browser', () => {
    check(`Bearer ${TOKEN}`, null);
    check(`bearer  ${TOKEN} `, null);
    check(basic(`anybody:${TOKEN}`), null);
    check(basic(`:${TOKEN}`), null);
  });

  test('nothing else opens', () => {
    check(undefined, 401);
    check('', 401);
    check('Bearer', 401);
    check('Bearer ', 401);
    check(`Bearer ${TOKEN}x`, 401);
    check(`Bearer ${TOKEN.slice(0, -1)}`, 401);
    check(`Bearer ${TOKEN} ${TOKEN}`, 401);
    check(TOKEN, 401);
    check(`Digest ${TOKEN}`, 401);
    check(basic(TOKEN), 401);
    check(basic(`${TOKEN}:`), 401);
    check('Basic %%%', 401);
  });

  test('the host name of the request does not matter', () => {
    const rules = { token: () => new ConfigSecret(TOKEN), host: '127.0.0.1' };
    const headers = { authorization: `Bearer ${TOKEN}`, host: 'bridge.example.com' };
    expect(refusalOf(headers, rules)).toBe(null);
  });
});

describe('without a token', () => {
  const check = (host: string, asked: string, want: number | null): void =>
    expect(refusalOf({ host: asked }, { token: () => null, host })?.status ?? null).toBe(want);

  test('on loopback, requests that name this machine', () => {
    check('127.0.0.1', '127.0.0.1:9464', null);
    check('127.0.0.1', 'localhost', null);
    check('127.0.0.1', 'LocalHost:9464', null);
    check('::1', '[::1]:9464', null);
    check('localhost', 'bridge.localhost:80', null);
  });

  test('no other host name that resolves to this machine', () => {
    check('127.0.0.1', 'evil.example.com', 403);
    check('127.0.0.1', 'evil.example.com:9464', 403);
    check('127.0.0.1', '127.0.0.1.evil.example.com', 403);
    check('127.0.0.1', 'localhost.evil.example.com', 403);
    check('127.0.0.1', '10.0.0.1:9464', 403);
    check('127.0.0.1', '', 403);
    check('::1', '[::2]', 403);
  });

  test('beyond loopback, if the configuration allows it', () => {
    check('10.0.0.1', 'bridge.example.com', null);
  });
});
