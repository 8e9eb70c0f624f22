import { isIPv4 } from 'node:net';
import { expect, test } from 'vitest';
import { loopbackHost } from '../../bench/page-server.ts';

test('a thousand pages have a loopback address each', () => {
  const hosts = Array.from({ length: 1000 }, (_, index) => loopbackHost(index));
  expect(hosts.filter(host => !isIPv4(host))).toEqual([]);
  expect(new Set(hosts).size).toBe(1000);
});
