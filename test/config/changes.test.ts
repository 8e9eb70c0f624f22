import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isSame, keysForRestart } from '../../src/config/changes.ts';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

function parse(blocks: string, key = 'k'): Config {
  const text = `api: {base_url: "https://a", key: "\${env:KEY}"}\nservices: [{id: x}]\n${blocks}`;
  const file = join(temporaryDirectory(), 'c.yaml');
  return parseConfig(text, { file, environment: { KEY: key } });
}

test('secrets are compared by their text, expressions by their source', () => {
  expect(isSame(parse('').services, parse('').services)).toBe(true);
  expect(isSame(parse('').services, parse('', 'other').services)).toBe(false);
  const metrics = (include: string): unknown => parse(`metrics: {include: [${include}]}`).metrics;
  expect(isSame(metrics('a.*'), metrics('a.*'))).toBe(true);
  expect(isSame(metrics('a.*'), metrics('b.*'))).toBe(false);
  const map = (value: number): unknown => ({ configured: new Map([['a', value]]) });
  expect(isSame(map(1), map(1))).toBe(true);
  expect(isSame(map(1), map(2))).toBe(false);
});

test('keys that a process is built around need a restart, and are named', () => {
  const plain = parse('');
  expect(keysForRestart(plain, parse('', 'other'))).toEqual([]);
  expect(
    keysForRestart(plain, parse('metrics: {interval: 5s}\notlp: {endpoint: "https://b"}')),
  ).toEqual([]);
  const wanted = [
    'log: {level: debug}',
    'shard: {count: 2}',
    'status: {listen: 127.0.0.1:1}',
    'queue: {directory: null}',
    'otlp: {compression: zstd, protocol: http/json, max_request: 1MiB, temporality: delta}',
  ];
  expect(keysForRestart(plain, parse(wanted.join('\n')))).toEqual(
    'otlp.protocol otlp.compression otlp.max_request otlp.temporality queue status shard log'.split(
      ' ',
    ),
  );
});
