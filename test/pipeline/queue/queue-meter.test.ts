import { expect, test } from 'vitest';
import { QUEUE_COUNTERS, QueueMeter } from '../../../src/pipeline/queue/queue-meter.ts';
import type { QueueStats } from '../../../src/pipeline/queue/queue.ts';
import { queueOptions } from './queue-behaviour.ts';

test('the gauges show the queue at the time they are read', async () => {
  const options = queueOptions();
  const { clock } = options;
  const oldestAtMs = clock.nowMs() - 90_000;
  const stats: QueueStats = {
    rows: 1,
    bytes: 20,
    points: 3,
    maxBytes: 400,
    oldestAtMs,
    newestAtMs: oldestAtMs,
  };
  let trouble: string | null = null;
  const empty: QueueStats = { ...stats, rows: 0, oldestAtMs: null, newestAtMs: null };
  new QueueMeter(options).follow({
    stats: signal => (signal === 'metrics' ? stats : empty),
    trouble: () => trouble,
  });
  const gauges = options.counters.of(QUEUE_COUNTERS);
  const shown = [gauges.rows, gauges.bytes, gauges.points, gauges.maxBytes, gauges.oldestAge];
  expect(shown.map(gauge => gauge.get('metrics'))).toEqual([1, 20, 3, 400, 90]);
  expect(gauges.oldestAge.get('logs')).toBe(0);
  expect(gauges.trouble.get()).toBe(0);
  await clock.advance(10_000);
  trouble = 'its disk is full';
  expect(gauges.oldestAge.get('metrics')).toBe(100);
  expect(gauges.trouble.get()).toBe(1);
});
