import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Counters, type Counter } from '../../../src/lib/counters.ts';
import type { Logger } from '../../../src/lib/log.ts';
import { Queue } from '../../../src/pipeline/queue/queue.ts';
import { OtlpHttp } from '../../../src/pipeline/send/otlp-http.ts';
import { FLUSH_PAUSE_MS, ROUND_MS, Sender } from '../../../src/pipeline/send/sender.ts';
import { noAnswer, type SendResult, type Transport } from '../../../src/pipeline/send/transport.ts';
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
const ACCEPTED: SendResult = { kind: 'accepted', rejected: 0, message: '' };

let clock: FakeClock;
let counters: Counters;
let queue: Queue;
let backEnd: BackEnd;
let sender: Sender;
let log: Record<string, unknown>[];
let logger: Logger;
/** The result of empty requests, which do not reach the back end, and their number. */
let empty: SendResult | (() => SendResult);
let emptyCount: number;

beforeEach(async () => {
  clock = new FakeClock();
  counters = new Counters();
  const config = limitsOf({ metrics: 10_000_000 });
  const maxRequestBytes = { metrics: 1_000_000, logs: 1_000_000 };
  queue = Queue.open(queueOptions({ clock, counters, config, maxRequestBytes }), null);
  backEnd = await BackEnd.start();
  ({ log, logger } = recordingLogger(clock));
  empty = noAnswer('down');
  emptyCount = 0;
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
  const http = new OtlpHttp({ ...testEndpoint(endpoint, config, clock), concurrency });
  const transport: Transport = {
    send: (request, abort, onSend) => {
      if (request.rawBytes > 0) return http.send(request, abort, onSend);
      emptyCount++;
      return Promise.resolve(typeof empty === 'function' ? empty() : empty);
    },
    close: () => http.close(),
  };
  return new Sender({
    signal: 'metrics',
    queue,
    transport,
    endpoint,
    counters,
    logger,
    concurrency,
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

/** The same, but waits for this state of the sender. */
async function dueInMs(state: 'retrying' | 'holding' = 'retrying'): Promise<number> {
  const { nextAttemptAtMs } = await vi.waitUntil(() => {
    const status = sender.status();
    return status.state === state && status;
  });
  return (nextAttemptAtMs ?? 0) - clock.nowMs();
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

/** Gives requests that contain a service one answer, and all others 200. */
function refuse(service: string, answer: Answer): void {
  backEnd.answer = ({ raw }) => (raw.includes(service) ? answer : { status: 200 });
}

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
    });
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

  test('the wait doubles from one second up to a minute, with full jitter', async () => {
    await sender.close();
    const jitter = [0.5, 0.25, 1, 1, 1, 1, 1, 1, 0.1];
    sender = createSender({ random: () => jitter[backEnd.requests.length - 1] ?? 0 });
    backEnd.answer = () => ({ status: 503 });
    await send({ a: 1 });
    await expectPauses(0.5, 0.5, 4, 8, 16, 32, 60, 60, 6);
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

  test('a back end that accepts an empty request again gets the row at once', async () => {
    backEnd.answer = () => ({ status: 503 });
    await send({ a: 1 }, { b: 1 });
    expect(await passPauses(6)).toBe(30 * SECOND_MS);
    const before = emptyCount;
    await clock.advance(5 * SECOND_MS);
    // In the first minute of an outage, an empty request goes out every second.
    expect(emptyCount - before).toBe(5);
    backEnd.answer = () => ({ status: 200 });
    empty = ACCEPTED;
    await clock.advance(SECOND_MS);
    await until(isSettled);
    expect(received().slice(-2)).toEqual(['a', 'b']);
    expect(counter('prom2otlp_send_empty_requests_total').get('metrics', 'accepted')).toBe(1);
  });

  test('after the first minute of an outage, empty requests go out every ten seconds', async () => {
    backEnd.answer = () => ({ status: 503 });
    await send({ a: 1 });
    await passPauses(10);
    const before = emptyCount;
    await clock.advance(25 * SECOND_MS);
    expect(emptyCount - before).toBe(2);
  });

  test('empty requests go on for a lane that waits again after one was asked for a pause', async () => {
    await sender.close();
    sender = createSender({ concurrency: 2 });
    backEnd.answer = () => ({ status: 503 });
    await send({ a: 1 });
    expect(await passPauses(6)).toBe(30 * SECOND_MS);
    empty = { ...noAnswer('busy'), status: 429, isThrottled: true } as SendResult;
    await clock.advance(2 * SECOND_MS);
    empty = noAnswer('down');
    const before = emptyCount;
    await put({ b: 1 });
    await until(() => received().includes('b'));
    await until(() => (sender.status().nextAttemptAtMs ?? Infinity) - clock.nowMs() < SECOND_MS);
    for (let i = 0; i < 6; i++) await passPause();
    expect(emptyCount).toBeGreaterThan(before);
  });

  test('after an empty request that did not help, one back-off has none', async () => {
    backEnd.answer = () => ({ status: 503 });
    empty = ACCEPTED;
    await send({ a: 1 });
    for (let i = 0; i < 3; i++) await passPause();
    const told = emptyCount;
    expect(told).toBeGreaterThan(0);
    await clock.advance(SECOND_MS);
    await until(() => sender.status().state === 'retrying');
    for (let i = 0; i < 20; i++) await passPause();
    // If each accepted empty request were believed, there would be as many as attempts.
    expect(emptyCount - told).toBeLessThanOrEqual(11);
  });

  test.each([
    { status: 429, headers: {} },
    { status: 503, headers: { 'retry-after': '20' } },
  ])('a back end that asks for a pause ($status) gets no empty requests', async answer => {
    backEnd.answer = () => answer;
    await send({ a: 1 });
    await passPauses(3);
    expect(emptyCount).toBe(0);
  });
});

describe('hold', () => {
  test('a back end that refuses the settings is retried after one second, then less often, up to a minute', async () => {
    backEnd.answer = () => ({ status: 401, body: 'no such key' });
    await send({ a: 1 }, { b: 1 });
    const seconds = [1, 2, 4, 8, 16, 32, 60, 60, 60];
    await expectPauses(...seconds);
    await pauseMs();
    // No row passes, however long it lasts: the status says nothing about content.
    expect(received()).toEqual(['a', ...seconds.map(() => 'a')]);
    expect(emptyCount).toBe(0);
    expect(sender.status()).toMatchObject({
      state: 'holding',
      lastError: 'the back end answered 401: no such key; check otlp.headers',
    });
    await recover();
    expectPoints(queue, 'a', { accepted: 1 });
  });

  test('retries and holds have separate counts', async () => {
    backEnd.answer = (_, i) => ({ status: [503, 503, 503, 500, 503, 500][i] ?? 200 });
    await send({ a: 1 });
    await expectPauses(0.5, 1, 2, 1, 4, 2);
    await until(isSettled);
  });

  test('a row that is refused for a minute is split, and waits until all of it is settled', async () => {
    refuse('odd', { status: 500, body: 'panic' });
    await send({ good: 5, odd: 1 }, { b: 1 });
    for (let i = 0; i < 6; i++) await passPause();
    await until(() => received().includes('odd'));
    expect(await pauseMs()).toBe(ROUND_MS);
    expect(received().join()).toBe(`${'good+odd,'.repeat(7)}good,odd`);
    expectPoints(queue, 'good', { accepted: 0 });
    expect(queue.stats('metrics')).toMatchObject({ rows: 2, points: 7 });
  });

  test('while nothing is accepted, a row stays whole and nothing passes it', async () => {
    backEnd.answer = () => ({ status: 500 });
    await send({ a: 2, c: 2 }, { b: 1 });
    await passPauses(8);
    expect(received()).not.toContain('b');
    expect(counter('prom2otlp_send_last_accepted_timestamp_seconds').series).toEqual([]);
    await recover();
    expect(received().slice(-2)).toEqual(['a+c', 'b']);
  });
});

describe('split', () => {
  beforeEach(() => {
    empty = ACCEPTED;
  });

  test.each([400, 413, 422])(
    'one poisonous point of a thousand costs that point alone, with the back end’s words (%i)',
    async status => {
      const isPoison = hasValue(777);
      poison(isPoison, { status, body: 'a bad point' });
      await sendAll({ a: 1000 });
      expect(backEnd.requests.length).toBeLessThanOrEqual(64);
      // Only the first refusal of a row costs an empty request.
      expect(emptyCount).toBe(1);
      const [aside] = await queue.readSetAside(1);
      const reason = `the back end answered ${status}: a bad point`;
      expect(aside).toMatchObject({ points: 1, reason });
      expect(flatPoints('metrics', aside?.sample ?? Buffer.alloc(0)).some(isPoison)).toBe(true);
      expectPoints(queue, 'a', { accepted: 999, set_aside: 1 });
      expect(log[0]).toMatchObject({ level: 'error', points: 1, service: 'a' });
    },
  );

  test.each<[SendResult['kind'], SendResult]>([
    ['accepted', ACCEPTED],
    // Another status shows that content is refused, even without words.
    ['split', { kind: 'split', status: 400, reason: 'the back end answered 400' }],
  ])(
    'a back end with a smaller limit gets everything in pieces, if an empty request is %s',
    async (_, result) => {
      empty = result;
      backEnd.answer = ({ raw }) => ({ status: raw.length > 2000 ? 413 : 200 });
      await sendAll({ a: 300, b: 3, c: 3 });
      expectPoints(queue, null, { accepted: 306 });
    },
  );

  test('a back end that refuses everything ends the row after 64 requests', async () => {
    backEnd.answer = () => ({ status: 400, body: 'never' });
    await sendAll({ a: 500, b: 500 });
    expect(backEnd.requests).toHaveLength(64);
    expect(await queue.readSetAside(1)).toMatchObject([
      { reason: 'not sent, 64 requests were spent: the back end answered 400: never' },
    ]);
    expectPoints(queue, null, { set_aside: 1000 });
  });

  test('a refusal that an empty request gets as well is not about content: nothing is lost', async () => {
    // The two answers differ in numbers and ids.
    const words = (port: number, id: string): string =>
      `remoteAddr: "127.0.0.1:${port}"; unsupported path requested; request ${id}`;
    const reason = `the back end answered 400: ${words(40_124, '9b1c7a52-0c1f')}`;
    empty = { kind: 'split', status: 400, reason };
    const body = words(40_122, 'de305d54-75b4');
    backEnd.answer = () => ({ status: 400, body });
    await send({ a: 500 }, { b: 1 });
    expect(await passPauses(2)).toBe(4 * SECOND_MS);
    expect(sender.status()).toMatchObject({
      state: 'holding',
      lastError: `the back end answered 400: ${body}; an empty request gets the same answer: check otlp.endpoint`,
    });
    // Nothing is lost when the row is searched for poison, either.
    await clock.advance(10 * ROUND_MS);
    await pauseMs();
    expect(queue.stats('metrics')).toMatchObject({ rows: 2, points: 501 });
    await recover();
    expectPoints(queue, null, { accepted: 501 });
  });

  test('without an answer to the empty request a refused row waits', async () => {
    empty = noAnswer('down');
    backEnd.answer = () => ({ status: 400 });
    await send({ a: 2 });
    await until(() => emptyCount === 1);
    await clock.advance(SECOND_MS);
    await pauseMs();
    expect(sender.status()).toMatchObject({ state: 'retrying', lastError: 'no answer: down' });
    await recover();
    expectPoints(queue, null, { accepted: 2 });
  });

  test('a gateway that allows one request at a time does not hold a refused point for ever', async () => {
    const isPoison = hasValue(7);
    let lastMs = -SECOND_MS;
    const isTooSoon = (): boolean => {
      const before = lastMs;
      lastMs = clock.nowMs();
      return lastMs - before < 100;
    };
    for (const isThrottled of [true, false]) {
      empty = () =>
        isTooSoon()
          ? { kind: 'retry', reason: 'too many', status: 429, retryAfterMs: null, isThrottled }
          : ACCEPTED;
      backEnd.answer = ({ raw }) => {
        if (isTooSoon()) return { status: isThrottled ? 429 : 503 };
        return { status: flatPoints('metrics', raw).some(isPoison) ? 400 : 200 };
      };
      await send({ a: 20 });
      for (let i = 0; i < 200 && !isSettled(); i++) {
        await new Promise(resolve => setTimeout(resolve, 5));
        await clock.advance(SECOND_MS);
      }
      expect(isSettled()).toBe(true);
    }
    expectPoints(queue, 'a', { accepted: 38, set_aside: 2 });
  });

  const badGateway = { status: 502, retryAfterMs: null, isThrottled: false } as const;
  test.each<SendResult>([
    { kind: 'hold', status: 411, reason: 'length required', mayBeContent: false },
    { kind: 'retry', reason: 'the back end answered 502', ...badGateway },
  ])(
    'a gateway that answers $status to every empty request does not hold a refused point for ever',
    async answer => {
      empty = answer;
      poison(hasValue(7));
      await send({ a: 20 });
      await until(() => emptyCount === 1);
      for (let i = 0; i < 100 && !isSettled(); i++) {
        await new Promise(resolve => setTimeout(resolve, 20));
        await clock.advance(ROUND_MS);
      }
      await until(isSettled);
      expectPoints(queue, 'a', { accepted: 19, set_aside: 1 });
    },
  );

  test.each([
    ['that disappears', 503],
    ['whose key expires', 401],
  ])('a back end %s during a split is waited for, and nothing is sent twice', async (_, status) => {
    const isPoison = hasValue(7);
    const taken: string[] = [];
    backEnd.answer = ({ raw }, i) => {
      if (i === 3) return { status };
      const points = flatPoints('metrics', raw);
      if (points.some(isPoison)) return { status: 400 };
      taken.push(...points);
      return { status: 200 };
    };
    await send({ a: 100 }, { b: 1 });
    await pauseMs();
    await passPause();
    await until(isSettled);
    expect(new Set(taken).size).toBe(taken.length);
    expectPoints(queue, 'a', { accepted: 99, set_aside: 1 });
  });

  test('a row that gets too old during a split is dropped', async () => {
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
    expectPoints(queue, 'a', { accepted: 0, evicted: 100 });
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

  test.each([
    { timeoutMs: 5 * SECOND_MS, wantMs: FLUSH_PAUSE_MS },
    { timeoutMs: 200 * SECOND_MS, wantMs: 20 * SECOND_MS },
    { timeoutMs: Infinity, wantMs: 30 * SECOND_MS },
  ])(
    'a flush of $timeoutMs ms tries again every $wantMs ms, after an outage of any length',
    async ({ timeoutMs, wantMs }) => {
      backEnd.answer = () => ({ status: 503 });
      await send({ a: 1 });
      expect(await passPauses(8)).toBe(30 * SECOND_MS);
      const flushed = sender.flush(timeoutMs);
      for (const status of [503, 200]) {
        expect(await dueInMs()).toBe(wantMs);
        backEnd.answer = () => ({ status });
        const before = backEnd.requests.length;
        await clock.advance(wantMs);
        await until(() => backEnd.requests.length > before);
      }
      expect(await flushed).toBe(true);
    },
  );

  test.each([429, 503])('a flush waits as long as the back end demands with a %i', async status => {
    backEnd.answer = (_, i) =>
      i === 0 ? { status, headers: { 'retry-after': '7' } } : { status: 200 };
    await put({ a: 1 });
    // One flush begins before the pause, and another during it.
    const flushed = sender.flush(10 * SECOND_MS);
    sender.start();
    expect(await dueInMs()).toBe(7 * SECOND_MS);
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

  test('a flush lets nothing pass, and does not wait for a row refused for a minute', async () => {
    refuse('odd', { status: 500 });
    await send({ odd: 1 }, { b: 1 });
    await passPauses(5);
    await clock.advance(31 * SECOND_MS);
    const flushed = sender.flush(100 * SECOND_MS);
    expect(await dueInMs('holding')).toBeLessThanOrEqual(15 * SECOND_MS);
    await clock.advance(15 * SECOND_MS);
    expect(await flushed).toBe(false);
    expect(received()).not.toContain('b');
    expect(queue.stats('metrics').rows).toBe(2);
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
