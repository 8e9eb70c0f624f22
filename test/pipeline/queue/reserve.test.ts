import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { freeBytes, Reserve } from '../../../src/pipeline/queue/queue-directory.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const BYTES = 100_000;

test('the space is filled with bytes that no file system can compress, and nobody else can read', () => {
  const path = join(temporaryDirectory(), 'reserve');
  const reserve = new Reserve(path, BYTES);
  expect(reserve.isHeld).toBe(false);
  expect(reserve.hold()).toBe(true);
  expect(reserve.isHeld).toBe(true);
  expect(statSync(path).size).toBe(BYTES);
  expect(statSync(path).mode & 0o077).toBe(0);
  expect(gzipSync(readFileSync(path)).length).toBeGreaterThan(BYTES);
});

test('it is released once, and can be taken again', () => {
  const path = join(temporaryDirectory(), 'reserve');
  const reserve = new Reserve(path, BYTES);
  reserve.hold();
  expect(reserve.giveUp()).toBe(true);
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
  expect(reserve.giveUp()).toBe(false);
  expect(reserve.hold()).toBe(true);
});

test('the reserve of an earlier process is reused, unless it has another size', () => {
  const path = join(temporaryDirectory(), 'reserve');
  new Reserve(path, BYTES).hold();
  const before = readFileSync(path);
  const reserve = new Reserve(path, BYTES);
  expect(reserve.isHeld).toBe(true);
  reserve.hold();
  expect(readFileSync(path)).toEqual(before);
  writeFileSync(path, 'torn');
  expect(new Reserve(path, BYTES).isHeld).toBe(false);
});

test('a reserve larger than the disk is not taken, and leaves nothing behind', () => {
  const directory = temporaryDirectory();
  const reserve = new Reserve(join(directory, 'reserve'), freeBytes(directory));
  expect(reserve.hold()).toBe(false);
  expect(statSync(join(directory, 'reserve'), { throwIfNoEntry: false })).toBeUndefined();
});

test('a missing directory does not count as short of space', () => {
  expect(freeBytes('/no/such/directory')).toBe(Infinity);
});
