// A back end answers 500 for SICK_SECONDS. The program asks it rarely, and once it is well everything arrives, whole and
// in order. test/pipeline/send/simulation.test.ts plays an hour of each failure on a virtual clock.

import { expect, test } from 'vitest';
import { Stage } from './support/stage.ts';

const SICK_SECONDS = Number(process.env['SICK_SECONDS'] ?? 20);
/** The most requests in an hour (J3), and the ones of the first minute, whose waits are short. */
const HOURLY_MAX = 125;
const FIRST_MAX = 7;
/** The longest wait between two requests, and time for a busy machine. */
const RESUME_MS_MAX = 35_000 + 5000;

test(
  `a back end that answers 500 for ${String(SICK_SECONDS)} s gets few requests, and then everything`,
  async () => {
    await using stage = await Stage.create({ name: 'sick back end' });
    const { sink, bridge } = stage;
    let refusedCount = 0;
    sink.choose = () => {
      refusedCount++;
      return { kind: 'refuse', status: 500 };
    };
    const life = await stage.started();
    await new Promise(resolve => setTimeout(resolve, SICK_SECONDS * 1000));
    expect(refusedCount).toBeGreaterThan(1);
    expect(refusedCount).toBeLessThanOrEqual(
      FIRST_MAX + Math.ceil((SICK_SECONDS / 3600) * HOURLY_MAX),
    );
    sink.choose = () => ({ kind: 'accept' });
    const wellMs = performance.now();
    await stage.until('the first batch', () => sink.requests.some(({ isTaken }) => isTaken));
    expect(performance.now() - wellMs).toBeLessThan(RESUME_MS_MAX);
    await stage.end(life);
    stage.judge();
    expect(bridge.account().setAside).toBe(0);
  },
  (SICK_SECONDS + 120) * 1000,
);
