// A flush of a queue whose file fails ends as soon as nothing is left to send, since nothing else ends `queue drain`.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, type Mock, test, vi } from 'vitest';
import type { QueueRow } from '../../../src/pipeline/queue/commit.ts';
import { Queue } from '../../../src/pipeline/queue/queue.ts';
import { Counters } from '../../../src/lib/counters.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { Sender } from '../../../src/pipeline/send/sender.ts';
import type { Transport } from '../../../src/pipeline/send/transport.ts';
import type { FakeClock } from '../../support/fake-clock.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { expectPoints, limitsOf, put, queueOptions } from '../queue/queue-behaviour.ts';

interface Stage {
  readonly clock: FakeClock;
  readonly queue: Queue;
  readonly sender: Sender;
  readonly send: Mock<Transport['send']>;
  /** A connection of another program. */
  readonly other: DatabaseSync;
}

/** A queue with two rows, and a sender whose requests are all accepted. */
async function createStage(): Promise<Stage> {
  const directory = temporaryDirectory();
  const options = queueOptions({ config: limitsOf({}, directory) });
  const queue = Queue.open(options, directory);
  await put(queue, { a: 5 });
  await put(queue, { b: 10 });
  const other = new DatabaseSync(join(directory, 'queue.sqlite'));
  const send = vi.fn<Transport['send']>(() =>
    Promise.resolve({ kind: 'accepted', rejected: 0, message: '' }),
  );
  const transport: Transport = { send, close: () => Promise.resolve() };
  const { clock } = options;
  const shared = { clock, counters: new Counters(), logger: silentLogger };
  const sender = new Sender({
    limit: { bytes: Infinity, points: Infinity },
    ...shared,
    signal: 'metrics',
    endpoint: '',
    queue,
    transport,
    concurrency: 1,
    stuckAfterMs: 900_000,
    endpointPause: { untilMs: -Infinity },
    random: () => 0.5,
  });
  onTestFinished(async () => {
    await sender.close();
    await queue.close();
    other.close();
  });
  return { clock, queue, sender, send, other };
}

const TURN_MS = 1000;

/** Flushes without a time limit while the clock advances. Returns the result. */
async function flushed({ clock, sender }: Stage): Promise<boolean> {
  let isDone: boolean | null = null;
  sender.start();
  void sender.flush(Infinity).then(done => (isDone = done));
  const turn = async (): Promise<boolean | null> => {
    await clock.advance(TURN_MS);
    return isDone;
  };
  return await vi.waitUntil(turn, { timeout: 10_000, interval: 5 });
}

test('the last row is damaged', async () => {
  const stage = await createStage();
  stage.other.exec("UPDATE batch SET body = zeroblob(length(body)) WHERE parts LIKE '%b%'");
  expect(await flushed(stage)).toBe(true);
  expect(stage.send).toHaveBeenCalledTimes(1);
  expectPoints(stage.queue, 'b', { evicted: 10 });
});

test('the last acknowledgement cannot be stored at once', async () => {
  const stage = await createStage();
  const { clock, queue, send, other } = stage;
  send.mockImplementation(({ parts }: Partial<QueueRow>) => {
    if (parts?.[0]?.service === 'b') {
      other.exec('BEGIN IMMEDIATE');
      clock.after(5 * TURN_MS, () => other.exec('ROLLBACK'));
    }
    return Promise.resolve({ kind: 'accepted', rejected: 0, message: '' });
  });
  const done = flushed(stage);
  await vi.waitUntil(() => queue.trouble());
  expect(queue.trouble()).toMatch(/cannot store/);
  expect(await done).toBe(true);
  expect(queue.trouble()).toBeNull();
  expect(send).toHaveBeenCalledTimes(2);
  expectPoints(queue, 'b', { accepted: 10 });
});
