// A process is killed while it commits or settles: everything acknowledged is stored, and each transaction is stored as
// a whole or not at all.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { QueueOptions, QueueRow } from '../../../src/pipeline/queue/commit.ts';
import { Queue } from '../../../src/pipeline/queue/queue.ts';
import { metricsBatch } from '../../support/otlp-requests.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import {
  commitOf,
  expectBalance,
  expectPoints,
  limitsOf,
  queueOptions,
} from './queue-behaviour.ts';

const VICTIM = join(import.meta.dirname, '../../support/queue-victim.ts');

/** Runs the victim, kills it after `count` lines of output, and returns its output. */
async function killed(mode: string, directory: string, count: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, [VICTIM, mode, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (text: string) => {
    output += text;
    if (output.split('\n').length > count) child.kill('SIGKILL');
  });
  const [, signal] = (await once(child, 'close')) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
  return output.trim().split('\n');
}

function optionsFor(directory: string): QueueOptions {
  const config = limitsOf({ metrics: 1e8, logs: 1e8 }, directory);
  return queueOptions({ config: { ...config, metrics: { maxBytes: 1e8, maxAgeMs: 1e15 } } });
}

async function look<T>(directory: string, work: (queue: Queue) => Promise<T>): Promise<T> {
  await using queue = Queue.open(optionsFor(directory), directory);
  expect(queue.corruptFiles()).toEqual([]);
  expectBalance(queue);
  const result = await work(queue);
  // Reads find damage that the opening did not.
  expectBalance(queue);
  return result;
}

function rowsOf(queue: Queue): Promise<readonly QueueRow[]> {
  return queue.oldest('metrics', 1e6, new Set());
}

/** When the process is killed, it may have done one operation more than its output shows. */
function expectTold(told: number, done: number): void {
  expect([told, told + 1]).toContain(done);
}

test('killed while committing: every acknowledged commit is there, whole', async () => {
  const directory = temporaryDirectory();
  for (const count of [1, 40]) {
    const told = await killed('commit', directory, count);
    const last = Number(told.at(-1));
    expect(last).toBeGreaterThan(0);
    await look(directory, async queue => {
      const stored = (await rowsOf(queue)).length;
      expectTold(last, stored);
      expect(Number(await queue.readState('cursor', 'a'))).toBe(stored);
      expect(Object.fromEntries(queue.account.total())).toEqual({
        'point/made': 30 * stored,
        'sample/used': 5 * stored,
      });
    });
  }
});

test('killed while settling: settled rows do not come back, and nothing else is lost', async () => {
  const directory = temporaryDirectory();
  const ids = await look(directory, async queue => {
    for (let i = 0; i < 800; i++) await queue.commit(commitOf(metricsBatch({ a: 2 }, 1e12)));
    return (await rowsOf(queue)).map(row => row.id);
  });
  let first = 0;
  for (const count of [1, 60]) {
    const told = await killed('settle', directory, count);
    await look(directory, async queue => {
      const left = (await rowsOf(queue)).map(row => row.id);
      expect(left).toEqual(ids.slice(ids.length - left.length));
      const gone = ids.length - left.length - first;
      expectTold(told.length, gone);
      first += gone;
      expectPoints(queue, 'a', { accepted: 2 * first });
    });
  }
});
