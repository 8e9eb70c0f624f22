// Scrapes the targets of a tick in turns, so that not all of their pages wait in memory to be translated: as many at once as
// keep the program busy. One that is slow gives up its turn, though not its scrape: it delays nobody for longer.

import type { Clock } from '../../lib/clock.ts';

/** So many at once. */
const AT_ONCE = 16;
/** Who takes longer than this, or up to twice as long, counts no more. */
const SLOW_MS = 25;

/** Runs `scrape` for each target; ends when all have ended, and rejects when one does. */
export async function inTurns(
  indexes: readonly number[],
  clock: Pick<Clock, 'sleep'>,
  scrape: (index: number) => Promise<void>,
): Promise<void> {
  const all: Promise<void>[] = [];
  const running = new Set<Promise<void>>();
  const ended = new AbortController();
  let isSlow: Promise<void> | null = null;
  for (const index of indexes) {
    while (running.size >= AT_ONCE) {
      isSlow ??= clock.sleep(SLOW_MS, ended.signal).then(() => {
        isSlow = null;
        running.clear();
      });
      await Promise.race([isSlow, ...running]);
    }
    const run = scrape(index);
    const turn = run.then(
      () => void running.delete(turn),
      () => void running.delete(turn),
    );
    running.add(turn);
    all.push(run);
  }
  ended.abort();
  await Promise.all(all);
}
