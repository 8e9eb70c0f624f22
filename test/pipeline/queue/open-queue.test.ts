import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Config, OtlpSignalConfig } from '../../../src/config/config.ts';
import { OperatorError } from '../../../src/errors.ts';
import { Counters } from '../../../src/lib/counters.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { openQueue, type Queue } from '../../../src/pipeline/queue/queue.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { limitsOf, put } from './queue-behaviour.ts';

const SIGNAL: Pick<OtlpSignalConfig, 'protocol' | 'compression'> = {
  protocol: 'http/protobuf',
  compression: 'zstd',
};

function open(directory: string | null, changes: Partial<typeof SIGNAL> = {}): Queue {
  const config = {
    queue: limitsOf({ metrics: 1_000_000, logs: 1_000_000 }, directory),
    otlp: { maxRequestBytes: 8000, metrics: { ...SIGNAL, ...changes }, logs: SIGNAL },
  };
  return openQueue(config as unknown as Config, {
    clock: new FakeClock(),
    counters: new Counters(),
    logger: silentLogger,
  });
}

test('a directory makes the queue durable, null keeps it in memory', async () => {
  const directory = join(temporaryDirectory(), 'queue');
  const durable = open(directory);
  expect(existsSync(join(directory, 'queue.sqlite'))).toBe(true);
  await durable.close();
  const memory = open(null);
  expect(memory.stats('metrics').maxBytes).toBe(1_000_000);
  await memory.close();
});

test('a directory that another queue holds is an operator’s mistake', async () => {
  const directory = temporaryDirectory();
  const queue = open(directory);
  expect(() => open(directory)).toThrow(OperatorError);
  await queue.close();
});

test('rows use the compression of their signal, and are smaller if they are sent as JSON', async () => {
  const rowsFor = async (changes: Partial<typeof SIGNAL>): Promise<readonly number[]> => {
    const queue = open(null, changes);
    const now = new FakeClock().nowMs();
    await put(queue, { a: 300 }, now);
    const rows = await queue.oldest('metrics', 100, new Set());
    for (const { encoding } of rows) expect(encoding).toBe('zstd');
    await queue.close();
    return rows.map(row => row.rawBytes);
  };
  const protobuf = await rowsFor({});
  expect(protobuf).toHaveLength(1);
  const json = await rowsFor({ protocol: 'http/json' });
  expect(json.length).toBeGreaterThan(5);
  expect(Math.max(...json)).toBeLessThanOrEqual(1000);
});
