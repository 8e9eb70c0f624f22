// The process is killed again and again, at random times and at every failpoint, while it scrapes, stores and sends.
// Every stored point arrives once, with its value, its time and its start.

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { FAILPOINTS } from '../../src/lib/failpoint.ts';
import { randomNumbers } from '../support/random.ts';
import type { Behaviour } from './support/sink.ts';
import { Stage, type StageOptions } from './support/stage.ts';

/** The number of kills in all tests together. */
const KILLS = Number(process.env['KILLS'] ?? 10);

/** Failpoints that these tests never pass: they need a full queue, or a damaged file. */
const ELSEWHERE: readonly string[] = ['evict-removed', 'salvage-done', 'salvage-aside'];
const PLACES = FAILPOINTS.filter(name => !ELSEWHERE.includes(name));

interface Scene extends StageOptions {
  /** The share of all kills. */
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
      const { sink, bridge } = stage;
      sink.choose = () => someBehaviour(random());
      for (let i = 0; i < kills; i++)
        await liveAndDie(stage, random, i % 3 === 2 ? undefined : nextPlace());
      sink.choose = () => ({ kind: 'accept' });
      await bridge.finish();
      stage.judge({ kills });
    });
});

/** Goes through the failpoints in turn, over all scenes together. */
let placeCount = 0;
function nextPlace(): string | undefined {
  return PLACES[placeCount++ % PLACES.length];
}

/** A back end that mostly accepts, but sometimes refuses, cuts a request off, or loses an answer. */
function someBehaviour(chance: number): Behaviour {
  if (chance < 0.8) return { kind: 'accept' };
  if (chance < 0.88) return { kind: 'refuse', status: 503, retryAfter: '1' };
  if (chance < 0.94) return { kind: 'cut', bytes: 500 };
  return { kind: 'accept-cut' };
}

async function liveAndDie(
  stage: Stage,
  random: () => number,
  place: string | undefined,
): Promise<void> {
  const pass = 1 + Math.floor(random() * 3);
  const armed = place === undefined ? {} : { failpoint: `${place}@${String(pass)}` };
  const life = stage.bridge.start(armed);
  // A random time may also be while the process is still starting.
  const time =
    place === undefined ? sleep(200 + random() * 3000) : life.ready().then(() => sleep(8000));
  await Promise.race([life.finished, time.catch(() => undefined)]);
  await stage.kill(life);
}
