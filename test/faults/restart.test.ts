// What the next process finds: a directory that another one holds, and limits that were lowered meanwhile.

import { describe, expect, test } from 'vitest';
import { Stage } from './support/stage.ts';

const ACCEPT = { kind: 'accept' } as const;
/** A back end that wants another key: a program that is told to stop does not wait for it. */
const REFUSE = { kind: 'refuse', status: 401 } as const;

test('a second process on the directory is refused, and the first continues undisturbed', async () => {
  await using stage = await Stage.create({ name: 'two on one directory' });
  const first = stage.bridge.start();
  await stage.deliveries(1);
  const { code, stderr } = await stage.bridge.start().finished;
  expect(code).toBe(75);
  expect(stderr).toMatch(/queue\.directory: .*another process is using it; stop that process/);
  await stage.deliveries(2);
  await stage.end(first);
  stage.judge();
});

describe.concurrent('limits that are lower than what waits', () => {
  /** Lets points wait that only the next process can deliver. */
  async function createStage(name: string): Promise<Stage> {
    const otlp = { compression: 'none' };
    const stage = await Stage.create({ name, source: { width: 200 }, otlp });
    stage.sink.choose = () => REFUSE;
    const life = stage.bridge.start();
    await stage.scrapes(6);
    await life.stop();
    expect(stage.bridge.account().stored).toBeGreaterThan(3 * stage.pagePoints);
    return stage;
  }

  /** Delivers with another configuration. */
  async function deliver(stage: Stage, changes: Readonly<Record<string, unknown>>): Promise<void> {
    const life = stage.bridge.start({}, changes);
    await stage.stored();
    stage.sink.choose = () => ACCEPT;
    await stage.end(life);
  }

  test('queue.metrics.max_bytes: the oldest are dropped and counted', async () => {
    await using stage = await createStage('lower max_bytes');
    const { directory } = stage.bridge;
    await deliver(stage, { queue: { directory, metrics: { max_bytes: '400KiB' } } });
    const { givenUp } = stage.judge({ isLossAllowed: true });
    expect(givenUp).toBeGreaterThan(0);
  });

  test('queue.metrics.max_age: older metrics are dropped and counted', async () => {
    await using stage = await createStage('lower max_age');
    const { directory } = stage.bridge;
    await deliver(stage, { queue: { directory, metrics: { max_age: '2s' } } });
    const { givenUp } = stage.judge({ isLossAllowed: true });
    expect(givenUp).toBeGreaterThan(0);
  });

  test('otlp.max_request: larger requests arrive in pieces', async () => {
    await using stage = await createStage('lower max_request');
    const { sink, pagePoints } = stage;
    const most = Math.floor(pagePoints / 4);
    sink.inspect = points => (points.length > most ? { kind: 'refuse', status: 413 } : null);
    await deliver(stage, { otlp: { endpoint: sink.url, max_request: '16KiB' } });
    stage.judge();
  });
});
