import { describe, expect, test } from 'vitest';
import { ConfigSecret } from '../../src/config/secrets.ts';
import { checkAccess, type Access } from '../../src/status/status-server.ts';

const TOKEN = 'correct-horse-battery';

describe('with a token', () => {
  const check = (authorization: string | undefined, want: Access): void => {
    const rules = { token: new ConfigSecret(TOKEN), host: '0.0.0.0' };
    const headers = authorization === undefined ? {} : { authorization };
    expect(checkAccess(headers, rules)).toBe(want);
  };
  const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`;

  test('it is accepted as a bearer token, or as the password in a browser', () => {
    check(`Bearer ${TOKEN}`, 'granted');
    check(`bearer  ${TOKEN} `, 'granted');
    check(basic(`anybody:${TOKEN}`), 'granted');
    check(basic(`:${TOKEN}`), 'granted');
  });

  test('nothing else opens', () => {
    check(undefined, 'token_needed');
    check('', 'token_needed');
    check('Bearer', 'token_needed');
    check('Bearer ', 'token_needed');
    check(`Bearer ${TOKEN}x`, 'token_needed');
    check(`Bearer ${TOKEN.slice(0, -1)}`, 'token_needed');
    check(`Bearer ${TOKEN} ${TOKEN}`, 'token_needed');
    check(TOKEN, 'token_needed');
    check(`Digest ${TOKEN}`, 'token_needed');
    check(basic(TOKEN), 'token_needed');
    check(basic(`${TOKEN}:`), 'token_needed');
    check('Basic %%%', 'token_needed');
  });

  test('the host name of the request does not matter', () => {
    const rules = { token: new ConfigSecret(TOKEN), host: '127.0.0.1' };
    const headers = { authorization: `Bearer ${TOKEN}`, host: 'bridge.example.com' };
    expect(checkAccess(headers, rules)).toBe('granted');
  });
});

describe('without a token', () => {
  const check = (host: string, asked: string, want: Access): void =>
    expect(checkAccess({ host: asked }, { token: null, host })).toBe(want);

  test('on loopback, requests that name this machine', () => {
    check('127.0.0.1', '127.0.0.1:9464', 'granted');
    check('127.0.0.1', 'localhost', 'granted');
    check('127.0.0.1', 'LocalHost:9464', 'granted');
    check('::1', '[::1]:9464', 'granted');
    check('localhost', 'bridge.localhost:80', 'granted');
  });

  test('no other host name that resolves to this machine', () => {
    check('127.0.0.1', 'evil.example.com', 'foreign_host');
    check('127.0.0.1', 'evil.example.com:9464', 'foreign_host');
    check('127.0.0.1', '127.0.0.1.evil.example.com', 'foreign_host');
    check('127.0.0.1', 'localhost.evil.example.com', 'foreign_host');
    check('127.0.0.1', '10.0.0.1:9464', 'foreign_host');
    check('127.0.0.1', '', 'foreign_host');
    check('::1', '[::2]', 'foreign_host');
  });

  test('beyond loopback, if the configuration allows it', () => {
    check('10.0.0.1', 'bridge.example.com', 'granted');
  });
});
