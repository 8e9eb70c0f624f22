import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Counters, type Counter } from '../../../src/lib/counters.ts';
import type { Logger } from '../../../src/lib/log.ts';
import { OWN_SERVICE } from '../../../src/model/batch.ts';
import { Queue } from '../../../src/pipeline/queue/queue.ts';
import { OtlpHttp } from '../../../src/pipeline/send/otlp-http.ts';
import { backOffMs, type EndpointPause, Sender } from '../../../src/pipeline/send/sender.ts';
import { BackEnd, type Answer, type ReceivedRequest } from '../../support/back-end.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { flatPoints, hasValue } from '../../support/otlp-requests.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import {
  expectBalance,
  expectPoints,
  HOUR_MS,
  limitsOf,
  put as putMetrics,
  queueOptions,
} from '../queue/queue-behaviour.ts';
import { testEndpoint } from '../../support/test-api.ts';

const SECOND_MS = 1000;
const STUCK_MS = 900_000;

let clock: FakeClock;
let counters: Counters;
let queue: Queue;
let backEnd: BackEnd;
let sender: Sender;
let log: Record<string, unknown>[];
let logger: Logger;
let endpointPause: EndpointPause;

beforeEach(async () => {
  clock = new FakeClock();
  counters = new Counters();
  const config = limitsOf({ metrics: 10_000_000 });
  const limits = {
    metrics: { bytes: 1_000_000, points: Infinity },
    logs: { bytes: 1_000_000, points: Infinity },
  };
  queue = Queue.open(queueOptions({ clock, counters, config, limits }), null);
  backEnd = await BackEnd.start();
  ({ log, logger } = recordingLogger(clock));
  endpointPause = { untilMs: -Infinity };
  sender = createSender();
});

afterEach(async () => {
  await sender.close();
  expectBalance(queue);
  await queue.close();
  await backEnd.stop();
});

function createSender(changes: { concurrency?: number; random?: () => number } = {}): Sender {
  const endpoint = `${backEnd.url}/v1/metrics`;
  const concurrency = changes.concurrency ?? 1;
  const config = { compression: 'none', timeoutMs: 3_600_000 } as const;
  const transport = new OtlpHttp({ ...testEndpoint(endpoint, config, clock), concurrency });
  return new Sender({
    limit: { bytes: Infinity, points: Infinity },
    signal: 'metrics',
    queue,
    transport,
    endpoint,
    counters,
    logger,
    concurrency,
    stuckAfterMs: STUCK_MS,
    endpointPause,
    clock,
    random: changes.random ?? (() => 0.5),
  });
}

async function put(points: Readonly<Record<string, number>>, ageMs = 0): Promise<void> {
  await putMetrics(queue, points, clock.nowMs() - ageMs);
}

/** Puts rows, and starts to send. */
async function send(...rows: readonly Readonly<Record<string, number>>[]): Promise<void> {
  for (const row of rows) await put(row);
  sender.start();
}

/** The same, and waits until all rows are settled. */
async function sendAll(...rows: readonly Readonly<Record<string, number>>[]): Promise<void> {
  await send(...rows);
  await until(isSettled);
}

/** A row of this age is too old after AGEING_MS, which is less than a pause. */
const NEARLY_OLD_MS = HOUR_MS - 100;
const AGEING_MS = 200;

/** Waits for an event on a real socket. */
async function until(condition: () => boolean): Promise<void> {
  await vi.waitFor(() => expect(condition()).toBe(true), { timeout: 5000, interval: 2 });
}

/** Waits until the sender waits for its next attempt. Returns for how long it waits. */
async function pauseMs(): Promise<number> {
  await until(() => sender.status().nextAttemptAtMs !== null);
  return (sender.status().nextAttemptAtMs ?? 0) - clock.nowMs();
}

/** Advances to the end of the current pause, and waits for the next one or for the end of the work. */
async function passPause(): Promise<void> {
  const before = backEnd.requests.length;
  await clock.advance(await pauseMs());
  await until(() => backEnd.requests.length > before);
}

/** Passes this many pauses. Returns how long the next one is. */
async function passPauses(count: number): Promise<number> {
  for (let i = 0; i < count; i++) await passPause();
  return await pauseMs();
}

/** Expects successive pauses of these lengths, in seconds. */
async function expectPauses(...seconds: readonly number[]): Promise<void> {
  for (const wait of seconds) {
    expect(await pauseMs()).toBe(wait * SECOND_MS);
    await passPause();
  }
}

/** Lets the back end accept everything, and waits until all rows are settled. */
async function recover(): Promise<void> {
  backEnd.answer = () => ({ status: 200 });
  await passPause();
  await until(isSettled);
}

/** The services of each request, as `a+b`. */
function received(requests: readonly ReceivedRequest[] = backEnd.requests): readonly string[] {
  return requests.map(({ raw }) => {
    const points = flatPoints('metrics', raw);
    const names = points.map(point => /"stringValue":"(.*?)"/.exec(point)?.[1] ?? '');
    return [...new Set(names)].join('+');
  });
}

const counter = (name: string): Counter =>
  counters.list().find(some => some.name === name) ?? expect.fail(name);

const isSettled = (): boolean => queue.stats('metrics').rows === 0;

/** Gives requests that contain a poisonous point this answer, and all others 200. */
function poison(isPoison: (point: string) => boolean, answer: Answer = { status: 400 }): void {
  backEnd.answer = ({ raw }) =>
    flatPoints('metrics', raw).some(isPoison) ? answer : { status: 200 };
}

test('points are counted from 0 on: an alert on the growth would miss the first of them', () => {
  const series = ['accepted', 'rejected', 'set_aside'].map(outcome => ({
    labelValues: ['metrics', outcome],
    value: 0,
  }));
  expect(counter('prom2otlp_send_points_total').series).toEqual(series);
});

describe('accepted', () => {
  test('rows go out in order, old and new ones', async () => {
    await sendAll({ a: 1 }, { b: 2 });
    await put({ c: 3, d: 4 });
    await until(isSettled);
    expect(received()).toEqual(['a', 'b', 'c+d']);
    expectPoints(queue, null, { made: 10, accepted: 10, rejected: 0, set_aside: 0, evicted: 0 });
    const sent = (name: string, ...labels: readonly string[]): number =>
      counter(`prom2otlp_send_${name}`).get('metrics', ...labels);
    expect(sent('requests_total', 'accepted')).toBe(3);
    expect(sent('points_total', 'accepted')).toBe(10);
    expect(sent('last_accepted_timestamp_seconds')).toBe(clock.nowMs() / 1000);
    const bytes = backEnd.requests.reduce((sum, { body }) => sum + body.length, 0);
    expect(sent('bytes_total')).toBe(bytes);
    expect(sender.status()).toEqual({
      state: 'idle',
      lastError: null,
      lastErrorAtMs: null,
      failingSinceAtMs: null,
      lastAcceptedAtMs: clock.nowMs(),
      nextAttemptAtMs: null,
      learned: null,
    });
  });

  test('a success that rejects every point is no acceptance: it is counted, and a problem', async () => {
    const partialSuccess = { rejectedDataPoints: '5', errorMessage: 'no such metric' };
    const headers = { 'content-type': 'application/json' };
    backEnd.answer = () => ({ status: 200, headers, body: JSON.stringify({ partialSuccess }) });
    await sendAll({ a: 5 });
    expectPoints(queue, 'a', { accepted: 0, rejected: 5 });
    expect(sender.status()).toMatchObject({
      state: 'holding',
      lastError: 'the back end rejected all 5 points: no such metric',
      lastAcceptedAtMs: null,
    });
    backEnd.answer = () => ({ status: 200 });
    await put({ a: 1 });
    await until(isSettled);
    expect(sender.status()).toMatchObject({ state: 'idle', failingSinceAtMs: null });
  });

  test.each([
    ['2', 'too old'],
    ['0', 'use /v2'],
  ])(
    'points that the back end rejects are not sent again, a message is a warning: %s',
    async (count, reason) => {
      const partialSuccess = { rejectedDataPoints: count, errorMessage: reason };
      const body = JSON.stringify({ partialSuccess });
      const headers = { 'content-type': 'application/json' };
      backEnd.answer = () => ({ status: 200, headers, body });
      await sendAll({ a: 5 });
      expect(backEnd.requests).toHaveLength(1);
      const rejected = Number(count);
      expectPoints(queue, 'a', { accepted: 5 - rejected, rejected });
      expect(log).toMatchObject([{ level: 'warn', rejected, reason }]);
    },
  );

  test('a slow back end does not delay a commit', async () => {
    backEnd.answer = () => () => undefined;
    sender.start();
    await put({ a: 1 });
    await until(() => backEnd.requests.length === 1);
    await put({ b: 1 });
    await put({ c: 1 });
    expect(queue.stats('metrics').rows).toBe(3);
    expect(backEnd.requests).toHaveLength(1);
    expect(sender.status().state).toBe('sending');
  });

  test('with concurrency several rows are in flight, and each is settled once', async () => {
    await sender.close();
    sender = createSender({ concurrency: 3 });
    const waiting: (() => void)[] = [];
    backEnd.answer = () => response => void waiting.push(() => response.end());
    for (const id of ['a', 'b', 'c', 'd', 'e']) await put({ [id]: 1 });
    sender.start();
    await until(() => waiting.length === 3);
    expect([...received()].sort()).toEqual(['a', 'b', 'c']);
    waiting.splice(0).forEach(answer => answer());
    await until(() => waiting.length === 2);
    waiting.splice(0).forEach(answer => answer());
    await until(isSettled);
    expect([...received()].sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});

describe('retry', () => {
  test('a busy or unreachable back end gets the same bytes again, and nothing overtakes', async () => {
    // The first of two closed connections is an old one, which costs no pause.
    backEnd.answer = (_, i) =>
      i === 4 || i === 5
        ? response => void response.socket?.destroy()
        : { status: [429, 502, 503, 504][i] ?? 200 };
    await send({ a: 1 }, { b: 1 });
    for (let i = 0; i < 5; i++) await passPause();
    await until(isSettled);
    expect(received()).toEqual(['a', 'a', 'a', 'a', 'a', 'a', 'a', 'b']);
    const bodies = backEnd.requests.slice(0, 7).map(({ body }) => body.toString('hex'));
    expect(new Set(bodies).size).toBe(1);
    expect(counter('prom2otlp_send_requests_total').get('metrics', 'retry')).toBe(5);
    // The request that was sent again at once counts, too.
    expect(counter('prom2otlp_send_resent_points_total').get('metrics')).toBe(6);
    expectPoints(queue, 'a', { accepted: 1 });
  });

  test('the wait doubles up to 16 s with full jitter, then is half a minute and up to 5 s', async () => {
    for (const random of [0, 0.5, 0.999]) {
      const waits = [1, 2, 3, 4, 5, 6, 7, 99].map(n => backOffMs(n, () => random));
      const early = [1000, 2000, 4000, 8000, 16_000].map(ms => ms * random);
      expect(waits).toEqual([...early, ...[30_000, 30_000, 30_000].map(ms => ms + 5000 * random)]);
    }
    backEnd.answer = () => ({ status: 503 });
    await send({ a: 1 });
    await expectPauses(0.5, 1, 2, 4, 8, 32.5, 32.5);
  });

  test('all kinds of failures share one back-off, and an acceptance ends it', async () => {
    backEnd.answer = (_, i) => ({ status: [503, 401, 500, 404, 200, 503][i] ?? 200 });
    await send({ a: 1 }, { b: 1 });
    await expectPauses(0.5, 1, 2, 4, 0.5);
    await until(isSettled);
  });

  test('with concurrency one lane tries, and the others wait', async () => {
    await sender.close();
    sender = createSender({ concurrency: 3 });
    backEnd.answer = () => ({ status: 500 });
    await send({ a: 1 }, { b: 1 }, { c: 1 });
    await until(() => backEnd.requests.length === 3);
    for (let i = 0; i < 3; i++) await passPause();
    await pauseMs();
    expect(received()).toHaveLength(6);
    expect(new Set(received().slice(3)).size).toBe(1);
    backEnd.answer = () => ({ status: 200 });
    await passPause();
    await until(isSettled);
  });

  test('the Retry-After of a 503 is for both signals of the endpoint, that of a 429 for its own', async () => {
    backEnd.answer = (_, i) => ({ status: i === 0 ? 429 : 503, headers: { 'retry-after': '50' } });
    await send({ a: 1 });
    expect(await pauseMs()).toBe(50 * SECOND_MS);
    expect(endpointPause.untilMs).toBe(-Infinity);
    await passPause();
    await pauseMs();
    expect(endpointPause.untilMs).toBe(100 * SECOND_MS);
  });

  test('Retry-After is obeyed, up to a quarter of an hour', async () => {
    const headers = ['100', '999999', '0'].map(value => ({ 'retry-after': value }));
    backEnd.answer = (_, i) => ({ status: 429, headers: headers[i] ?? {} });
    await send({ a: 1 });
    await expectPauses(100, 900, 2);
  });

  test('the status shows the problem and the time of the next attempt', async () => {
    backEnd.answer = () => ({ status: 503, body: 'starting' });
    await send({ a: 1 });
    await pauseMs();
    expect(sender.status()).toEqual({
      state: 'retrying',
      lastError: 'the back end answered 503: starting',
      lastErrorAtMs: clock.nowMs(),
      failingSinceAtMs: clock.nowMs(),
      lastAcceptedAtMs: null,
      nextAttemptAtMs: clock.nowMs() + 500,
      learned: null,
    });
    await recover();
    expect(log.map(({ msg }) => msg)).toEqual([
      'cannot send to the back end; the points wait',
      'the back end accepts again',
    ]);
  });

  test.each([503, 404])(
    'a row that gets too old while it waits after a %i is not sent again',
    async status => {
      backEnd.answer = () => ({ status });
      await put({ a: 1 }, NEARLY_OLD_MS);
      sender.start();
      await pauseMs();
      await clock.advance(AGEING_MS);
      await put({ b: 1 });
      await recover();
      expect(received()).toEqual(['a', 'b']);
      expectPoints(queue, 'a', { evicted: 1 });
    },
  );
});

describe('settings', () => {
  test('a back end that refuses the settings is asked again, for as long as it takes', async () => {
    backEnd.answer = () => ({ status: 401, body: 'no such key' });
    await send({ a: 1 }, { b: 1 });
    const seconds = [0.5, 1, 2, 4, 8, ...Array.from({ length: 60 }, () => 32.5)];
    await expectPauses(...seconds);
    await pauseMs();
    // No row passes, however long it lasts: the status says nothing about content.
    expect(received()).toEqual(['a', ...seconds.map(() => 'a')]);
    expect(sender.status()).toMatchObject({
      state: 'holding',
      lastError: 'the back end answered 401: no such key; check otlp.headers',
    });
    await recover();
    expectPoints(queue, 'a', { accepted: 1 });
  });
});

describe('too large', () => {
  test('a row goes out in pieces, and the largest is the limit of later rows', async () => {
    backEnd.answer = ({ raw }) => ({
      status: flatPoints('metrics', raw).length > 200 ? 413 : 200,
    });
    await sendAll({ a: 300 });
    expectPoints(queue, null, { accepted: 300 });
    expect(backEnd.requests).toHaveLength(3);
    expect(sender.status().learned).toMatchObject({ points: 200, bytes: 64 * 1024 });
    await put({ a: 300 });
    await until(isSettled);
    // No request of the second row is refused.
    expect(backEnd.requests).toHaveLength(5);
    expect(log.map(({ msg }) => msg)).toEqual([
      'the back end takes smaller requests only; larger ones are cut',
    ]);
  });

  test('a learned limit is never below 100 points', async () => {
    backEnd.answer = ({ raw }) => ({
      status: flatPoints('metrics', raw).length > 20 ? 413 : 200,
    });
    await sendAll({ a: 64 });
    expect(sender.status().learned).toEqual({ points: 100, bytes: 64 * 1024 });
  });
});

describe('refused', () => {
  test.each([400, 403, 422])(
    'one bad point of a thousand costs that point alone, with the back end’s words (%i)',
    async status => {
      const isPoison = hasValue(777);
      poison(isPoison, { status, body: 'a bad point' });
      await sendAll({ a: 1000 }, { b: 1 });
      expect(backEnd.requests.length).toBeLessThanOrEqual(64);
      const [aside] = await queue.readSetAside(1);
      expect(aside).toMatchObject({ points: 1 });
      expect(aside?.reason).toContain(`the back end answered ${status}: a bad point`);
      expect(flatPoints('metrics', aside?.sample ?? Buffer.alloc(0)).some(isPoison)).toBe(true);
      expectPoints(queue, 'a', { accepted: 999, set_aside: 1 });
      expect(log.find(({ level }) => level === 'error')).toMatchObject({ points: 1, service: 'a' });
    },
  );

  test('what is refused last waits for the acceptance of a later row, which goes on at once', async () => {
    poison(hasValue(10));
    await send({ a: 10 });
    await until(() => backEnd.requests.length > 4);
    await until(() => sender.status().state === 'idle');
    // The back end has accepted nothing since that refusal.
    expect(queue.stats('metrics')).toMatchObject({ rows: 1, points: 10 });
    expect(await sender.flush(3600 * SECOND_MS)).toBe(false);
    await put({ b: 1 });
    await until(isSettled);
    expect(received().slice(-2)).toEqual(['b', 'a']);
    expectPoints(queue, 'a', { accepted: 9, set_aside: 1 });
  });

  test('own telemetry that is accepted proves nothing about a database', async () => {
    poison(hasValue(10));
    await send({ a: 10 });
    await until(() => sender.status().state === 'idle' && backEnd.requests.length > 4);
    await put({ [OWN_SERVICE]: 1 });
    await until(() => received().at(-1) === OWN_SERVICE);
    await until(() => sender.status().state === 'idle');
    expect(queue.stats('metrics').rows).toBe(1);
    await put({ b: 1 });
    await until(isSettled);
    expectPoints(queue, 'a', { accepted: 9, set_aside: 1 });
  });

  test('own telemetry that is accepted proves what is wrong with own rows: they do not pile up', async () => {
    poison(hasValue(10));
    await send({ [OWN_SERVICE]: 10 });
    for (let row = 1; row < 4; row++) {
      await until(() => sender.status().state === 'idle' && queue.stats('metrics').rows === 1);
      await put({ [OWN_SERVICE]: 10 });
      await until(() => queue.account.get(OWN_SERVICE, 'point/set_aside') === row);
    }
    await until(() => sender.status().state === 'idle');
    expect(queue.stats('metrics')).toMatchObject({ rows: 1, points: 10 });
    expectPoints(queue, OWN_SERVICE, { accepted: 27, set_aside: 3 });
  });

  test('with all pieces refused, the row waits; a quarter of an hour later the newest row tells the cause', async () => {
    backEnd.answer = ({ raw }) => ({ status: raw.includes('odd') ? 400 : 200 });
    await send({ odd: 8 }, { b: 1 }, { c: 1 });
    await pauseMs();
    expect(received()).toEqual(Array.from({ length: 7 }, () => 'odd'));
    while (clock.monotonicMs() < STUCK_MS) await passPause();
    await until(isSettled);
    const after = received().filter(services => services !== 'odd');
    expect(after).toEqual(['c', 'b']);
    expectPoints(queue, 'odd', { set_aside: 8 });
  });

  test('a row that was refused in a test may prove the cause in a later one', async () => {
    backEnd.answer = () => ({ status: 403 });
    await send({ odd: 8 }, { b: 1 });
    while (clock.monotonicMs() < STUCK_MS || !received().includes('b')) await passPause();
    backEnd.answer = ({ raw }) => ({ status: raw.includes('odd') ? 403 : 200 });
    // No later row comes.
    while (clock.monotonicMs() < 2 * STUCK_MS && queue.stats('metrics').rows > 1) await passPause();
    await until(() => queue.stats('metrics').rows === 1);
    expectPoints(queue, 'b', { accepted: 1 });
    await put({ c: 1 });
    await until(isSettled);
    expectPoints(queue, 'odd', { set_aside: 8 });
  });

  test('a back end that refuses everything gets no more than its share, and nothing is lost', async () => {
    backEnd.answer = () => ({ status: 400, body: 'never' });
    await send({ a: 500, b: 500 }, { c: 1 });
    while (clock.monotonicMs() < 3 * STUCK_MS) await passPause();
    await pauseMs();
    expect(backEnd.requests.length).toBeLessThanOrEqual(100);
    expect(sender.status()).toMatchObject({ state: 'holding' });
    await recover();
    expectPoints(queue, null, { accepted: 1001 });
  });

  test('points that get too old while they wait are dropped, unless the row is begun', async () => {
    backEnd.answer = ({ raw }, i) => {
      if (i === 2) return { status: 503 };
      return { status: flatPoints('metrics', raw).length > 50 ? 413 : 200 };
    };
    await put({ a: 100 }, NEARLY_OLD_MS);
    sender.start();
    await pauseMs();
    await clock.advance(AGEING_MS);
    await put({ b: 1 });
    await passPause();
    await until(isSettled);
    expectPoints(queue, 'a', { accepted: 100 });
  });

  test('a stop in the middle leaves the row whole', async () => {
    let isDown = false;
    backEnd.answer = ({ raw }, i) => {
      if (isDown) return { status: 503 };
      isDown = i === 2;
      return { status: flatPoints('metrics', raw).length > 50 ? 413 : 200 };
    };
    await send({ a: 200 }, { b: 1 });
    await pauseMs();
    await sender.close();
    expect(queue.stats('metrics')).toMatchObject({ rows: 2, points: 201 });
    backEnd.answer = () => ({ status: 200 });
    sender = createSender();
    sender.start();
    await until(isSettled);
    expectPoints(queue, 'a', { accepted: 200 });
  });
});

describe('unknown', () => {
  test('after a quarter of an hour of failures the next row tells the cause', async () => {
    poison(hasValue(3), { status: 500, body: 'panic' });
    await send({ a: 8 }, { b: 1 }, { c: 1 });
    while (clock.monotonicMs() < STUCK_MS) await passPause();
    await until(isSettled);
    const first = received().findIndex(services => services !== 'a');
    // The row, the next one, and the row again.
    expect(received().slice(first - 1, first + 2)).toEqual(['a', 'b', 'a']);
    expect(received().at(-1)).toBe('c');
    expectPoints(queue, 'a', { accepted: 7, set_aside: 1 });
    expectPoints(queue, 'b', { accepted: 1 });
  });

  test('while the other row fails as well, nothing is decided', async () => {
    backEnd.answer = () => ({ status: 500 });
    await send({ a: 2 }, { b: 1 });
    while (clock.monotonicMs() < 3 * STUCK_MS) await passPause();
    await pauseMs();
    expect(received().filter(services => services === 'b').length).toBeLessThanOrEqual(4);
    await recover();
    expectPoints(queue, null, { accepted: 3 });
  });
});

describe('flush and close', () => {
  test('a flush ends after everything is accepted', async () => {
    await send({ a: 1 }, { b: 1 });
    expect(await sender.flush(SECOND_MS)).toBe(true);
    expect(received()).toEqual(['a', 'b']);
    expect(await sender.flush(0)).toBe(true);
  });

  test('a flush does not wait out a pause', async () => {
    backEnd.answer = (_, i) => ({ status: i === 0 ? 503 : 200 });
    await send({ a: 1 });
    await pauseMs();
    expect(await sender.flush(SECOND_MS)).toBe(true);
  });

  test('a flush begins the back-off anew', async () => {
    backEnd.answer = () => ({ status: 503 });
    await send({ a: 1 });
    expect(await passPauses(8)).toBe(32.5 * SECOND_MS);
    const flushed = sender.flush(10 * SECOND_MS);
    await until(() => (sender.status().nextAttemptAtMs ?? Infinity) - clock.nowMs() === 500);
    backEnd.answer = () => ({ status: 200 });
    await clock.advance(500);
    expect(await flushed).toBe(true);
  });

  test.each([429, 503])('a flush waits as long as the back end demands with a %i', async status => {
    backEnd.answer = (_, i) =>
      i === 0 ? { status, headers: { 'retry-after': '7' } } : { status: 200 };
    await put({ a: 1 });
    // One flush begins before the pause, and another during it.
    const flushed = sender.flush(10 * SECOND_MS);
    sender.start();
    expect(await pauseMs()).toBe(7 * SECOND_MS);
    const second = sender.flush(10 * SECOND_MS);
    await clock.advance(6 * SECOND_MS);
    expect(backEnd.requests).toHaveLength(1);
    await clock.advance(SECOND_MS);
    expect(await Promise.all([flushed, second])).toEqual([true, true]);
    expect(backEnd.requests).toHaveLength(2);
  });

  test('a flush ends at its deadline', async () => {
    backEnd.answer = () => () => undefined;
    await send({ a: 1 });
    await until(() => backEnd.requests.length === 1);
    const flushed = sender.flush(5 * SECOND_MS);
    await clock.advance(5 * SECOND_MS);
    expect(await flushed).toBe(false);
    expect(queue.stats('metrics').rows).toBe(1);
  });

  test('a flush ends at once if the back end refuses the settings', async () => {
    backEnd.answer = () => ({ status: 401 });
    await send({ a: 1 }, { b: 1 });
    expect(await sender.flush(3600 * SECOND_MS)).toBe(false);
    expect(queue.stats('metrics').rows).toBe(2);
  });

  test('a flush tries a row again whose settings were refused before', async () => {
    backEnd.answer = (_, i) => ({ status: i === 0 ? 401 : 200 });
    await send({ a: 1 });
    await pauseMs();
    expect(await sender.flush(SECOND_MS)).toBe(true);
  });

  test('a flush waits for a back end that answers 500 for a moment', async () => {
    backEnd.answer = (_, i) => ({ status: i === 0 ? 500 : 200 });
    await put({ a: 1 });
    await put({ b: 1 });
    const flushed = sender.flush(10 * SECOND_MS);
    sender.start();
    await pauseMs();
    await clock.advance(SECOND_MS);
    expect(await flushed).toBe(true);
    expect(received()).toEqual(['a', 'a', 'b']);
  });

  test('a flush lets nothing pass', async () => {
    poison(hasValue(1), { status: 500 });
    await send({ a: 1 }, { b: 3 });
    await clock.advance(2 * STUCK_MS);
    const flushed = sender.flush(5 * SECOND_MS);
    await clock.advance(5 * SECOND_MS);
    expect(await flushed).toBe(false);
    expect(received()).not.toContain('b');
  });

  test('closing aborts a request, and its row stays', async () => {
    backEnd.answer = () => () => undefined;
    await send({ a: 1 });
    await until(() => backEnd.requests.length === 1);
    await sender.close();
    expect(queue.stats('metrics').rows).toBe(1);
    expect(sender.status().state).toBe('idle');
    expect(queue.account.total().get('point/accepted')).toBeUndefined();
    await put({ b: 1 });
    expect(backEnd.requests).toHaveLength(1);
  });

  test('closing with a grace period waits for the answer to a request, and starts nothing more', async () => {
    let answer = (): void => undefined;
    backEnd.answer = () => response => void (answer = () => void response.end());
    await send({ a: 1 }, { b: 1 });
    await until(() => backEnd.requests.length === 1);
    const closed = sender.close(SECOND_MS);
    answer();
    await closed;
    expectPoints(queue, 'a', { accepted: 1 });
    expect(queue.stats('metrics').rows).toBe(1);
    expect(received()).toEqual(['a']);
  });

  test('closing with a grace period ends at once with the second signal', async () => {
    backEnd.answer = () => () => undefined;
    await send({ a: 1 });
    await until(() => backEnd.requests.length === 1);
    const now = new AbortController();
    const closed = sender.close(SECOND_MS, now.signal);
    now.abort();
    await closed;
    expect(queue.stats('metrics').rows).toBe(1);
  });

  test('closing ends a pause, works twice, and without a start', async () => {
    backEnd.answer = () => ({ status: 401 });
    await send({ a: 1 });
    await pauseMs();
    for (const one of [sender, sender, createSender()]) await one.close();
  });
});
