import { expect, test } from 'vitest';
import { QueueForecast } from '../../src/daemon/queue-forecast.ts';
import { Counters, renderCounters } from '../../src/lib/counters.ts';
import type { Signal } from '../../src/model/batch.ts';
import type { QueueSize } from '../../src/pipeline/queue/commit.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** A queue of 1000 bytes for each signal, with a forecast that looks at it every ten seconds. Logs grow by `logGrowth`. */
function setUp({ freeBytes = Infinity, logGrowth = 0 } = {}) {
  const clock = new FakeClock();
  const counters = new Counters();
  let bytes = 0;
  let logBytes = 0;
  const size = (signal: Signal): QueueSize => ({
    rows: 1,
    bytes: signal === 'metrics' ? bytes : logBytes,
    points: 1,
    maxBytes: 1000,
  });
  const forecast = new QueueForecast({ size, freeBytes: () => freeBytes }, clock, counters);
  const grow = async (...sizes: readonly number[]): Promise<number | null> => {
    for (const size of sizes) {
      bytes = size;
      logBytes += logGrowth;
      forecast.look();
      await clock.advance(10_000);
    }
    return forecast.fullInMs('metrics');
  };
  const gauge = (): string | undefined =>
    renderCounters(counters)
      .split('\n')
      .find(line => line.startsWith('prom2otlp_queue_full_seconds{signal="metrics"'));
  return { grow, gauge };
}

test('a queue that grows steadily is full in time', async () => {
  const { grow, gauge } = setUp();
  expect(await grow(0, 10, 20)).toBe(null);
  expect(await grow(30)).toBe(970_000);
  expect(gauge()).toBe('prom2otlp_queue_full_seconds{signal="metrics"} 970');
});

test('a queue that does not grow has no end', async () => {
  const { grow, gauge } = setUp();
  expect(await grow(50, 50, 50, 50, 50)).toBe(null);
  expect(gauge()).toBe(undefined);
});

test('an acceptance begins the count anew', async () => {
  const { grow } = setUp();
  expect(await grow(0, 300, 600, 900)).toBe((100 * 30_000) / 900);
  expect(await grow(0)).toBe(null);
  expect(await grow(10, 20, 30)).toBe(970_000);
});

test('a full queue is full now', async () => {
  const { grow } = setUp();
  expect(await grow(100, 400, 700, 1000)).toBe(0);
});

test('a disk with less room than the limit is full first, and both signals fill it', async () => {
  expect(await setUp({ freeBytes: 200 }).grow(0, 10, 20, 30)).toBe(200_000);
  expect(await setUp({ freeBytes: 200, logGrowth: 10 }).grow(0, 10, 20, 30)).toBe(100_000);
  expect(await setUp({ freeBytes: 100_000 }).grow(0, 10, 20, 30)).toBe(970_000);
});
