import { expect, test } from 'vitest';
import { TokenBucket } from '../../src/lib/token-bucket.ts';
import { FakeClock } from '../support/fake-clock.ts';

const METRICS = 0;
const LOGS = 2;

/** A bucket of two tokens, refilled every 100 ms, and the list of takers in order. */
function setUp(): {
  clock: FakeClock;
  bucket: TokenBucket;
  served: string[];
  take: (name: string, priority: number, maxWaitMs?: number, signal?: AbortSignal) => Promise<void>;
} {
  const clock = new FakeClock();
  const bucket = new TokenBucket({ clock, ratePerSecond: 10, burst: 2 });
  const served: string[] = [];
  const take = async (
    name: string,
    priority: number,
    maxWaitMs = 60_000,
    signal?: AbortSignal,
  ): Promise<void> => {
    const grant = await bucket.take({ priority, maxWaitMs, signal });
    served.push(grant.isGranted ? name : `${name} refused for ${grant.retryAfterMs} ms`);
  };
  return { clock, bucket, served, take };
}

test('the burst is granted at once, the rest at the rate', async () => {
  const { clock, served, take } = setUp();
  for (const name of ['a', 'b', 'c', 'd']) void take(name, METRICS);
  await clock.advance(0);
  expect(served).toEqual(['a', 'b']);
  await clock.advance(99);
  expect(served).toEqual(['a', 'b']);
  await clock.advance(1);
  expect(served).toEqual(['a', 'b', 'c']);
  await clock.advance(100);
  expect(served).toEqual(['a', 'b', 'c', 'd']);
  expect(clock.sleeps()).toEqual([]);
});

test('tokens accumulate up to the burst and no further', async () => {
  const { clock, served, take } = setUp();
  await clock.advance(60_000);
  for (const name of ['a', 'b', 'c']) void take(name, METRICS);
  await clock.advance(0);
  expect(served).toEqual(['a', 'b']);
});

test('later metrics overtake waiting logs', async () => {
  const { clock, served, take } = setUp();
  for (const name of ['log 1', 'log 2', 'log 3', 'log 4']) void take(name, LOGS);
  await clock.advance(50);
  void take('metrics', METRICS);
  await clock.advance(50);
  expect(served).toEqual(['log 1', 'log 2', 'metrics']);
  await clock.advance(200);
  expect(served).toEqual(['log 1', 'log 2', 'metrics', 'log 3', 'log 4']);
});

test('a held class waits with the less important ones; more important ones continue', async () => {
  const { clock, bucket, served, take } = setUp();
  bucket.hold(1, 5000);
  void take('logs', LOGS);
  void take('command', 1);
  void take('metrics', METRICS);
  await clock.advance(4999);
  expect(served).toEqual(['metrics']);
  await clock.advance(1);
  expect(served).toEqual(['metrics', 'command', 'logs']);
});

test('a shorter hold does not end a longer one', async () => {
  const { clock, bucket, served, take } = setUp();
  bucket.hold(METRICS, 1000);
  bucket.hold(METRICS, 10);
  void take('metrics', METRICS);
  await clock.advance(999);
  expect(served).toEqual([]);
  await clock.advance(1);
  expect(served).toEqual(['metrics']);
});

test('a request that cannot be served in time is refused at once, with the remaining time', async () => {
  const { clock, bucket, served, take } = setUp();
  bucket.hold(METRICS, 5000);
  void take('metrics', METRICS, 1000);
  await clock.advance(0);
  expect(served).toEqual(['metrics refused for 5000 ms']);
  expect(clock.sleeps()).toEqual([]);
});

test('a request that is overtaken until its deadline is refused', async () => {
  const { clock, served, take } = setUp();
  void take('a', METRICS);
  void take('b', METRICS);
  void take('log', LOGS, 150);
  void take('c', METRICS);
  void take('d', METRICS);
  await clock.advance(150);
  expect(served).toEqual(['a', 'b', 'c', 'log refused for 50 ms']);
  await clock.advance(50);
  expect(served.at(-1)).toBe('d');
});

test('an aborted taker leaves the queue and takes no token', async () => {
  const { clock, served, take } = setUp();
  const stop = new AbortController();
  void take('a', METRICS);
  void take('b', METRICS);
  void take('gone', METRICS, 60_000, stop.signal);
  void take('next', METRICS);
  stop.abort();
  await clock.advance(100);
  expect(served).toEqual(['a', 'b', 'gone refused for 0 ms', 'next']);
  void take('late', METRICS, 60_000, stop.signal);
  await clock.advance(1000);
  expect(served.at(-1)).toMatch(/^late refused/);
});

test('the queue is bounded', async () => {
  const { clock, served, take } = setUp();
  const waiting = Array.from({ length: 1024 }, () => 'waits');
  for (const name of ['a', 'b', ...waiting, 'too many']) void take(name, METRICS, 1e9);
  await clock.advance(0);
  expect(served).toEqual(['a', 'b', 'too many refused for 100 ms']);
});

test('a jump of the wall clock changes nothing', async () => {
  const { clock, served, take } = setUp();
  for (const name of ['a', 'b', 'c']) void take(name, METRICS);
  clock.wallOffsetMs += 86_400_000;
  await clock.advance(99);
  expect(served).toEqual(['a', 'b']);
  clock.wallOffsetMs -= 2 * 86_400_000;
  await clock.advance(1);
  expect(served).toEqual(['a', 'b', 'c']);
});
