import { expect, test } from 'vitest';
import { isLoopbackHost } from '../../src/lib/loopback.ts';

function check(url: string, want: boolean): void {
  expect(isLoopbackHost(new URL(url).hostname), url).toBe(want);
}

test('addresses of this machine are loopback', () => {
  check('http://localhost:8080', true);
  check('http://LOCALHOST.', true);
  check('http://db.localhost', true);
  check('http://127.0.0.1', true);
  check('http://127.8.9.10', true);
  check('http://2130706433', true);
  check('http://[::1]:80', true);
});

test('similar addresses are not', () => {
  check('http://localhost.example.com', false);
  check('http://notlocalhost', false);
  check('http://127.0.0.1.example.com', false);
  check('http://128.0.0.1', false);
  check('http://0.0.0.0', false);
  check('http://[::2]', false);
  check('http://[::ffff:127.0.0.1]', false);
  check('http://10.0.0.1', false);
});
