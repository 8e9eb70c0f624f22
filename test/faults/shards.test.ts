// The number of shards changes while they run: which pages of which services are lost, and which come twice.
// docs/operate/scale.md tells the figures.

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Cover, ShardStage } from './support/shard-stage.ts';

const SERVICES = 50;
/** Longer than an interval and a restart, so that a restarted shard misses no page. */
const PAGE_MS = 3000;
/** How long before or after a change a shard may read a page, on a busy machine. */
const SLACK_MS = 2000;
/** The time between two restarts of a rollout. */
const PAUSE_MS = 1000;
/** Only their starts may differ where two shards send a page: nothing on the page tells how old they are. */
const WITHOUT_UPTIME = ['app_jobs_total', 'app_wait_seconds'];

const idOf = (place: string): string => place.split(' ')[0] ?? '';
const pageOf = (place: string): number => Number(place.split(' ')[1]);

/**
 * Does `change`. Services that stay come once; they may lose pages while their own shard restarts. Those that move lose or
 * repeat only pages of the change.
 */
async function changed(
  name: string,
  stage: ShardStage,
  change: () => Promise<void>,
): Promise<Cover> {
  const first = await stage.pages(1);
  const beganMs = Date.now();
  await change();
  const endedMs = Date.now();
  const last = await stage.pages(2);
  const cover = stage.cover(first, last);
  const { moved, lost, doubled, partial, otherStarts, otherValues } = cover;
  console.log(
    `${name}: ${endedMs - beganMs} ms, ${moved.length} of ${SERVICES} services moved; of ${last - first + 1} pages each,`,
    `${lost.length} lost, ${doubled.length} twice`,
  );
  expect(partial).toEqual([]);
  expect([...otherValues]).toEqual([]);
  expect(WITHOUT_UPTIME).toEqual(expect.arrayContaining([...otherStarts]));
  expect(moved.length).toBeGreaterThan(SERVICES / 4);
  expect(moved.length).toBeLessThan(SERVICES / 2);
  expect(moved).toEqual(expect.arrayContaining(doubled.map(idOf)));
  const meanwhile = stage.pagesAt(beganMs - SLACK_MS, endedMs + SLACK_MS);
  expect(meanwhile).toEqual(expect.arrayContaining([...lost, ...doubled].map(pageOf)));
  return cover;
}

/** Ends all shards; none has sent a point twice. */
async function end(stage: ShardStage, indexes: readonly number[]): Promise<void> {
  await Promise.all(indexes.map(index => stage.stop(index)));
  for (const index of [0, 1, 2]) expect(stage.repeated(index)).toBe(0);
}

describe('shards', () => {
  test('two, three, two by reload: a shard is there before others give up services', async () => {
    await using stage = await ShardStage.create(3, SERVICES, PAGE_MS);
    await Promise.all([stage.start(0, 2), stage.start(1, 2)]);
    const grown = await changed('2 to 3, reloads', stage, async () => {
      await stage.start(2, 3);
      await Promise.all([stage.reload(0, 3), stage.reload(1, 3)]);
    });
    expect(grown.lost).toEqual([]);
    const shrunk = await changed('3 to 2, reloads', stage, async () => {
      await Promise.all([stage.reload(0, 2), stage.reload(1, 2)]);
      await stage.stop(2);
    });
    expect(shrunk.lost).toEqual([]);
    await end(stage, [0, 1]);
  });

  test('two, three, two as a StatefulSet does it: the last pod first', async () => {
    await using stage = await ShardStage.create(3, SERVICES, PAGE_MS);
    await Promise.all([stage.start(0, 2), stage.start(1, 2)]);
    const rollOut = async (count: number): Promise<void> => {
      for (const index of [1, 0]) {
        await sleep(PAUSE_MS);
        await stage.stop(index);
        await stage.start(index, count);
      }
    };
    const grown = await changed('2 to 3, restarts', stage, async () => {
      await stage.start(2, 3);
      await rollOut(3);
    });
    expect(grown.lost.filter(place => grown.moved.includes(idOf(place)))).toEqual([]);
    expect(grown.doubled).not.toEqual([]);
    const shrunk = await changed('3 to 2, restarts', stage, async () => {
      await stage.stop(2);
      await rollOut(2);
    });
    // Who takes a service while the page is the same sends it again; who takes it later has missed the page.
    const twice = new Set(shrunk.doubled.map(idOf));
    expect(shrunk.lost.map(idOf).filter(id => twice.has(id))).toEqual([]);
    await end(stage, [0, 1]);
  });
});
