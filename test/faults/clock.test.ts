// The clock of the machine is set a month ahead or back while points wait in the queue. The age of a row goes by that
// clock: after a step ahead, what waited is too old, and is counted as evicted; after a step back, nothing is. Points
// scraped meanwhile have the service's times.

import { describe, expect, test } from 'vitest';
import { drained } from './support/bridge.ts';
import { Stage } from './support/stage.ts';
import { WallClock } from './support/wall-clock.ts';

const noClock = WallClock.reasonToSkip();
if (noClock !== null) console.log(`faults: clocks that are set are skipped: ${noClock}`);

/** Far more than the age at which points are given up. */
const DAYS = 30;

const PAGES = [
  { what: 'stamped pages', source: { isStamped: true }, isTimeUnknown: false },
  { what: 'pages without times', source: { isStamped: false }, isTimeUnknown: true },
] as const;

describe.skipIf(noClock !== null).concurrent('the wall clock is set', () => {
  for (const days of [DAYS, -DAYS])
    for (const { what, source, isTimeUnknown } of PAGES)
      test(`by ${String(days)} days, with ${what}`, async () => {
        using clock = new WallClock();
        const name = `clock set by ${String(days)} days, ${what}`;
        await using stage = await Stage.create({ name, source, isTimeUnknown });
        const { bridge, sink } = stage;
        const { environment } = clock;
        sink.choose = () => ({ kind: 'refuse', status: 503, retryAfter: '1' });
        const first = bridge.start({ environment });
        await stage.stored();
        clock.set(days);
        await stage.stored();
        // Checks that the program really uses the wrong clock.
        const { reportedAt } = await first.status();
        const aheadMs = Date.parse(reportedAt) - Date.now();
        expect(Math.round(aheadMs / 86_400_000)).toBe(days);
        await stage.kill(first);
        sink.choose = () => ({ kind: 'accept' });
        // The second process only delivers, with the same clock.
        const second = bridge.start({ environment }, { metrics: { enabled: false } });
        await second.ready();
        await drained(second);
        await stage.end(second);
        // Ahead: what was stored before the step is too old.
        stage.judge({ kills: 1, isLossAllowed: days > 0 });
      });

  test('wrong from the start: it is reported, and stamped samples keep their times', async () => {
    using clock = new WallClock();
    clock.set(-DAYS);
    await using stage = await Stage.create({ name: 'clock wrong from the start' });
    const life = stage.bridge.start({ environment: clock.environment });
    await life.ready();
    await stage.deliveries(2);
    const words = (await life.status()).problems.map(({ message }) => message).join();
    expect(words).toContain(`ours is ${String(DAYS)} d behind`);
    expect(life.stderr()).toContain('the clock of this machine and the one of the service differ');
    await stage.end(life);
    stage.judge();
  });
});
