import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { BOMB_BYTES, gzipBomb } from '../../src/simulator/gzip-bomb.ts';

test('the bomb is a true gzip file of zeros, a thousandth of its size', () => {
  const bytes = 5 * 2 ** 20;
  const file = Buffer.concat([...gzipBomb(bytes)]);
  // gunzip checks the length and the checksum.
  expect(gunzipSync(file).equals(Buffer.alloc(bytes))).toBe(true);
  expect(file.length).toBeLessThan(bytes / 900);
});

test('the whole bomb would be 2 GiB, and its first part costs nothing', () => {
  expect(BOMB_BYTES).toBe(2_147_483_648);
  const parts = gzipBomb();
  const first = Array.from({ length: 3 }, () => parts.next().value?.length ?? 0);
  expect(first.reduce((sum, length) => sum + length)).toBeLessThan(4_096);
});
