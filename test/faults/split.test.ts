// The back end takes only small requests, so every batch is sent in pieces, and the program ends between them. Pieces live
// in memory: the batch comes again, whole, and nothing is lost.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { FAILPOINTS } from '../../src/lib/failpoint.ts';
import type { Behaviour } from './support/sink.ts';
import { Stage } from './support/stage.ts';

/** The most points that the back end takes in one request. */
const PIECE_POINTS_MAX = 20;
/** The failpoints at which processes are killed. */
const PLACES: readonly (typeof FAILPOINTS)[number][] = [
  'send-answered',
  'settle-begun',
  'settle-removed',
  'settle-done',
];
/** The number of kills: at least one at each failpoint, otherwise a quarter of the kills in other tests. */
const KILLS = Math.max(PLACES.length, Math.round(Number(process.env['KILLS'] ?? 10) / 4));
const TOO_LARGE: Behaviour = { kind: 'refuse', status: 413 };

test('killed in the middle of a batch', async () => {
  await using stage = await Stage.create({ name: 'split, killed' });
  const { sink, bridge, ledger } = stage;
  sink.inspect = points => (points.length > PIECE_POINTS_MAX ? TOO_LARGE : null);
  for (let i = 0; i < KILLS; i++) {
    const place = PLACES[i % PLACES.length] ?? 'settle-done';
    // Kills at an early, a middle or a late piece; a batch is settled once.
    const nth = place === 'send-answered' ? 2 + 3 * (i % 4) : 1;
    const life = bridge.start({ failpoint: `${place}@${String(nth)}` });
    await Promise.race([life.finished, sleep(30_000)]);
    await stage.kill(life);
    expect(ledger.received - bridge.account().accepted, place).toBeGreaterThanOrEqual(0);
  }
  await bridge.finish();
  const { duplicates } = stage.judge({ kills: KILLS });
  expect(duplicates).toBeLessThanOrEqual(KILLS * stage.pagePoints);
});

test('stopped in the middle of a batch', async () => {
  await using stage = await Stage.create({ name: 'split, stopped' });
  const { sink, bridge } = stage;
  let takenCount = 0;
  sink.inspect = points => {
    if (takenCount >= 3) return { kind: 'refuse', status: 401 };
    if (points.length > PIECE_POINTS_MAX) return TOO_LARGE;
    takenCount++;
    return null;
  };
  const life = bridge.start();
  await stage.until('some pieces are taken', () => takenCount >= 3);
  await stage.stop(life);
  sink.inspect = points => (points.length > PIECE_POINTS_MAX ? TOO_LARGE : null);
  await bridge.finish();
  expect(stage.judge({ kills: 1 }).duplicates).toBeLessThanOrEqual(stage.pagePoints);
});

test('a lower otlp.max_request: larger requests arrive in pieces', async () => {
  const otlp = { compression: 'none' };
  await using stage = await Stage.create({
    name: 'lower max_request',
    source: { width: 200 },
    otlp,
  });
  const { bridge, sink, pagePoints } = stage;
  // The back end requires another key: a program that is being stopped does not wait for such a back end.
  sink.choose = () => ({ kind: 'refuse', status: 401 });
  const first = bridge.start();
  await stage.scrapes(6);
  await first.stop();
  expect(bridge.account().stored).toBeGreaterThan(3 * pagePoints);
  const most = Math.floor(pagePoints / 4);
  sink.inspect = points => (points.length > most ? { kind: 'refuse', status: 413 } : null);
  const life = bridge.start({}, { otlp: { endpoint: sink.url, max_request: '16KiB' } });
  await stage.stored();
  sink.choose = () => ({ kind: 'accept' });
  await stage.end(life);
  stage.judge();
});
