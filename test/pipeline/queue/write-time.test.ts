import { expect, test } from 'vitest';
import { systemClock as clock } from '../../../src/lib/clock.ts';
import { Counters } from '../../../src/lib/counters.ts';
import { Queue } from '../../../src/pipeline/queue/queue.ts';
import { tempDirectory } from '../../support/program.ts';
import { put, queueOptions } from './queue-behaviour.ts';

test('each transaction counts, with its time', async () => {
  using directory = tempDirectory();
  const counters = new Counters();
  const queue = Queue.open({ ...queueOptions({ counters }), clock }, directory.path);
  const get = (name: string): number =>
    counters
      .list()
      .find(counter => counter.name === name)
      ?.get() ?? expect.fail(name);
  const before = get('prom2otlp_queue_writes_total');
  const startedMs = clock.monotonicMs();
  const secondsBefore = get('prom2otlp_queue_write_seconds_total');
  for (let i = 0; i < 3; i++) await put(queue, { a: 1 }, clock.nowMs());
  expect(get('prom2otlp_queue_writes_total') - before).toBe(3);
  const seconds = get('prom2otlp_queue_write_seconds_total') - secondsBefore;
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThan((clock.monotonicMs() - startedMs) / 1000);
  await queue.close();
});
