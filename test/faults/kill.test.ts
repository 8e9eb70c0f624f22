// The process is killed again and again, at random moments and at every named place, while it scrapes, stores and
// sends. Whatever was stored arrives, once, with its value, its time and its start.

import { describe, expect, test } from 'vitest';
import { FAILPOINTS } from '../../src/lib/failpoint.ts';
import { until } from '../support/program.ts';
import type { Bridge } from './support/bridge.ts';
import { randomNumbers } from './support/random.ts';
import type { Behaviour, Sink } from './support/sink.ts';
import { Stage, type StageOptions } from './support/stage.ts';

/** How often processes are killed in all. */
const KILLS = Number(process.env['KILLS'] ?? 10);

/** Places that nothing in these tests passes: they need a full queue, or a damaged file. */
const ELSEWHERE: readonly string[] = ['evict-removed', 'salvage-done', 'salvage-aside'];
const PLACES = FAILPOINTS.filter(name => !ELSEWHERE.includes(name));

interface Scene extends StageOptions {
  /** Of all kills. */
  readonly share: number;
}

const SCENES: readonly Scene[] = [
  { name: 'kill, stamped pages', source: { isStamped: true, refreshMs: 1400 }, share: 0.3 },
  { name: 'kill, pages without times', source: { isStamped: false, refreshMs: 0 }, share: 0.3 },
  {
    name: 'kill, deltas',
    source: { isStamped: true, refreshMs: 700 },
    otlp: { temporality: 'delta', compression: 'zstd' },
    isDelta: true,
    share: 0.2,
  },
  {
    name: 'kill, JSON',
    source: { isStamped: true, refreshMs: 300 },
    otlp: { protocol: 'http/json', concurrency: 1 },
    share: 0.2,
  },
];

describe.concurrent('killed at random moments and at every named place', () => {
  for (const scene of SCENES)
    test(scene.name, async () => {
      const kills = Math.max(1, Math.round(KILLS * scene.share));
      const random = randomNumbers(scene.name);
      await using stage = await Stage.create(scene);
      const { sink, ledger, bridge } = stage;
      sink.choose = () => someBehaviour(random());
      let lostAnswers = 0;
      for (let i = 0; i < kills; i++) {
        await liveAndDie(bridge, random, i % 3 === 2 ? undefined : nextPlace());
        // What has arrived and does not count as accepted will come again.
        const unsettled = ledger.received - bridge.account().accepted;
        expect(unsettled, 'points that may come twice').toBeLessThanOrEqual(batchPoints(sink));
        if (unsettled > 0) lostAnswers++;
      }
      sink.choose = () => ({ kind: 'accept' });
      await bridge.finish();
      lostAnswers += sink.lostAnswers;
      stage.judge({ lostAnswers, kills });
    });
});

/** Points of the largest batch so far. */
function batchPoints({ requests }: Sink): number {
  return Math.max(0, ...requests.map(({ points }) => points.length));
}

/** One place after the other, all scenes together. */
let placeCount = 0;
function nextPlace(): string | undefined {
  return PLACES[placeCount++ % PLACES.length];
}

/** Mostly good, at times not there, at times one whose answers get lost. */
function someBehaviour(chance: number): Behaviour {
  if (chance < 0.8) return { kind: 'accept' };
  if (chance < 0.88) return { kind: 'refuse', status: 503, retryAfter: '1' };
  if (chance < 0.94) return { kind: 'cut', bytes: 500 };
  return { kind: 'accept-cut' };
}

async function liveAndDie(
  bridge: Bridge,
  random: () => number,
  place: string | undefined,
): Promise<void> {
  const pass = 1 + Math.floor(random() * 3);
  const life = bridge.start(place === undefined ? {} : { failpoint: `${place}@${String(pass)}` });
  // Also while it is still starting.
  const waitMs = place === undefined ? 200 + random() * 3000 : 8000;
  await Promise.race([life.finished, new Promise(resolve => setTimeout(resolve, waitMs))]);
  await life.kill();
  await until('the process is gone', () => life.child.signalCode === 'SIGKILL');
}
