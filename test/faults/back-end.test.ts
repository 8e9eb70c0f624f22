// A real program before a back end that is down, flaps, refuses, breaks off, never answers, or answers too late. The
// program continues to scrape, and the back end gets everything that it takes, whole and in order. Only points that it
// always refuses are lost. test/pipeline/send/simulation.test.ts plays an hour of each status on a virtual clock.

import { describe, expect, test } from 'vitest';
import type { OtlpPoint } from '../support/otlp-points.ts';
import type { Running } from '../support/program.ts';
import { drained } from './support/bridge.ts';
import type { Behaviour } from './support/sink.ts';
import { Stage, type StageOptions } from './support/stage.ts';

/** The number of scrapes, one a second, during which a back end is bad. */
const BAD_SCRAPES = Number(process.env['OUTAGE_SECONDS'] ?? 5);

/** How long a back end answers 500. */
const SICK_SECONDS = Number(process.env['SICK_SECONDS'] ?? 20);
/** The most requests in an hour (J3), and the ones of the first minute, whose waits are short. */
const HOURLY_MAX = 125;
const FIRST_MAX = 7;
/** The longest wait between two requests, and time for a busy machine. */
const RESUME_MS_MAX = 35_000 + 5000;

/** A short timeout, for tests in which the sender waits in vain. */
const IMPATIENT = { timeout: '1s' };

/** The most requests that a batch may cost, however much of it is refused. */
const REQUESTS_MAX = 64;

const ACCEPT: Behaviour = { kind: 'accept' };
const refuse = (status: number, retryAfter?: string): Behaviour =>
  retryAfter === undefined ? { kind: 'refuse', status } : { kind: 'refuse', status, retryAfter };

/** Runs the program against a back end that is bad for some time, then good; stops it and judges. */
async function endure(options: StageOptions, bad: (index: number) => Behaviour): Promise<void> {
  await using stage = await Stage.create(options);
  const { sink } = stage;
  sink.choose = bad;
  const life = await stage.started();
  // The bad back end does not delay scrapes.
  await stage.scrapes(BAD_SCRAPES);
  sink.choose = () => ACCEPT;
  // A program that is being stopped tries again at once.
  await stage.end(life);
  stage.judge();
}

describe.concurrent('a back end that takes nothing for a while', () => {
  test('is down', async () => {
    await using stage = await Stage.create({ name: 'back end down' });
    const { sink, bridge } = stage;
    const life = bridge.start();
    await stage.deliveries(1);
    // Goes down between two requests, so that no answer is lost.
    sink.choose = () => refuse(503);
    await stage.deliveries(1);
    await sink.close();
    await stage.scrapes(BAD_SCRAPES);
    sink.choose = () => ACCEPT;
    await sink.reopen();
    // The program finds by itself that the back end is up again.
    await drained(life);
    await stage.end(life);
    stage.judge();
  });

  test('flaps', () =>
    endure({ name: 'back end flapping' }, index => (index % 3 === 1 ? ACCEPT : refuse(503))));

  test('answers 401, as with a rotated key', () =>
    endure({ name: 'back end answers 401' }, () => refuse(401)));

  test('answers 429 with Retry-After, in seconds and as a date', () =>
    endure({ name: 'back end answers 429' }, index =>
      refuse(429, index % 2 === 0 ? '1' : new Date(Date.now() + 1000).toUTCString()),
    ));

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

  test('accepts connections and never answers', () =>
    endure({ name: 'back end silent', otlp: IMPATIENT }, () => ({ kind: 'silent' })));

  test('closes the connection after some bytes', () =>
    endure({ name: 'back end cuts off' }, index => ({
      kind: 'cut',
      bytes: [0, 1, 300][index % 3] ?? 0,
    })));
});

describe.concurrent('a back end whose answers get lost', () => {
  test('takes a request and closes the connection', () =>
    endure({ name: 'answers cut off' }, index =>
      index % 2 === 0 ? { kind: 'accept-cut' } : ACCEPT,
    ));

  test('answers after the sender has given up', () =>
    endure({ name: 'answers too late', otlp: IMPATIENT }, index =>
      index % 2 === 0 ? { kind: 'accept', afterMs: 1500 } : ACCEPT,
    ));

  test('is slow, but answers in time', () =>
    endure({ name: 'answers slow' }, () => ({ kind: 'accept', afterMs: 800 })));
});

describe.concurrent('a back end that refuses for good', () => {
  test('some points of each request: they are counted, and never sent again', async () => {
    await using stage = await Stage.create({ name: 'partial success' });
    const { sink, bridge } = stage;
    sink.choose = () => ({ kind: 'accept', rejected: 3 });
    const life = bridge.start();
    await stage.deliveries(3);
    await stage.end(life);
    stage.judge({ isLossAllowed: true });
    expect(bridge.account().rejected).toBe(3 * sink.requests.length);
  });

  test('everything, as for a wrong path: nothing is lost', async () => {
    await using stage = await Stage.create({ name: 'all refused' });
    const { sink, bridge } = stage;
    sink.choose = () => refuse(400);
    const life = bridge.start();
    await stage.scrapes(BAD_SCRAPES);
    sink.choose = () => ACCEPT;
    await stage.end(life);
    stage.judge();
    expect(bridge.account().setAside).toBe(0);
  });

  test('for a moment: the pieces are taken, and nothing is lost', () =>
    endure({ name: 'refused for a moment' }, index => (index % 20 < 2 ? refuse(400) : ACCEPT)));

  test('requests that are too large: they come in pieces', async () => {
    await using stage = await Stage.create({ name: 'too large' });
    const { sink, bridge } = stage;
    sink.inspect = points => (points.length > 20 ? refuse(413) : null);
    const life = bridge.start();
    const pieces = (): number => sink.requests.filter(({ isTaken }) => isTaken).length;
    await stage.until('some pieces', () => pieces() > 20);
    await stage.end(life);
    stage.judge();
    expect(
      sink.requests.filter(({ isTaken }) => isTaken).every(({ points }) => points.length <= 20),
    ).toBe(true);
  });

  /** Refuses all requests with one point of the second batch. Counts pieces and points sent after the first refusal. */
  function poison({ sink, pagePoints }: Stage, status: number) {
    const sent = { pieces: 0, taken: 0 };
    let [value, isRefused] = [Number.NaN, false];
    sink.inspect = points => {
      const suspect = points.find(isSuspect);
      if (sink.requests.length > 0 && Number.isNaN(value)) value = Number(suspect?.value);
      if (isRefused && points.length < pagePoints) sent.pieces++;
      const isPoison = suspect?.value === value;
      if (isRefused && !isPoison) sent.taken += points.length;
      isRefused ||= isPoison;
      return isPoison ? refuse(status) : null;
    };
    return sent;
  }

  for (const status of [400, 403, 422])
    test(`one point in a large batch, with ${String(status)}: it costs that point alone`, async () => {
      const name = `poison ${String(status)}`;
      await using stage = await Stage.create({ name, source: { width: 400 } });
      const { bridge, pagePoints } = stage;
      const sent = poison(stage, status);
      const life = bridge.start();
      await stage.until('it is set aside', () => hasSetAside(life));
      await stage.end(life);
      expect(stage.judge({ isLossAllowed: true }).givenUp).toBe(1);
      expect(bridge.account().setAside).toBe(1);
      // The whole batch is one more request, or several more after pauses.
      expect(sent.pieces).toBeLessThan(REQUESTS_MAX);
      console.log(
        `faults: ${name}: ${String(sent.pieces)} pieces of ${String(pagePoints)} points were sent`,
      );
    });

  test('one point in a large batch, with 500: nothing passes it, and nothing is lost', async () => {
    await using stage = await Stage.create({ name: 'poison 500', source: { width: 400 } });
    const { sink, bridge } = stage;
    const sent = poison(stage, 500);
    const life = bridge.start();
    await stage.scrapes(2 * BAD_SCRAPES);
    expect(sent.taken).toBe(0);
    // The back end no longer fails on this point.
    sink.inspect = () => null;
    await stage.end(life);
    stage.judge();
  });
});

/** True for points of the series in which one point is refused. */
function isSuspect({ serviceId, attributes }: OtlpPoint): boolean {
  return serviceId === 'dbfaults02' && attributes === 'n=77';
}

/** Whether the program has set points aside; false while its status address is not known. */
async function hasSetAside(life: Running): Promise<boolean> {
  if (life.statusUrl === undefined) return false;
  return (await life.status()).account.total.points.setAside > 0;
}
