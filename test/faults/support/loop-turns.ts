// Loaded into the program before it starts (`node --import`): notes how much processor time of its main thread goes by
// before the event loop looks at its timers again, and writes that into the file LOOP_TURNS when the process ends.
// Processor time, since other processes of a busy machine do not count in it; nor do times in which the machine stood
// still.

import { writeFileSync } from 'node:fs';
import { lookAtThread, workedMs } from '../../support/worked-time.ts';

/** One long turn: when it ended (wall clock), and how long it worked. */
export type LoopTurn = readonly [endedAtMs: number, cpuMs: number];

const LONG_MS = 5;
const turns: LoopTurn[] = [];

const file = process.env['LOOP_TURNS'];
if (file !== undefined) {
  let before = lookAtThread();
  const look = (): void => {
    const now = lookAtThread();
    const turnMs = workedMs(before, now);
    if (turnMs > LONG_MS) turns.push([Date.now(), turnMs]);
    before = now;
  };
  setInterval(look, 1).unref();
  process.on('exit', () => writeFileSync(file, JSON.stringify(turns)));
}
