import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Batch } from '../../../src/model/batch.ts';
import type { QueueRow, RequestLimit } from '../../../src/pipeline/queue/commit.ts';
import { SAMPLE_BYTES_MAX } from '../../../src/pipeline/queue/transactions.ts';
import { Delivery, type Refused, REQUESTS_MAX } from '../../../src/pipeline/send/delivery.ts';
import {
  batchOf,
  flatPoints,
  hasValue,
  logsBatch,
  logsBytes,
  metricsBatch,
  metricsBytes,
} from '../../support/otlp-requests.ts';

function rowOf(batch: Batch): QueueRow {
  const { signal, payload: body, parts, madeAtMs } = batch;
  return { id: 1, signal, encoding: 'none', body, rawBytes: body.length, parts, madeAtMs };
}

interface Run {
  readonly delivery: Delivery;
  readonly requestCount: number;
  /** Points that the back end accepted, as text. */
  readonly taken: readonly string[];
  /** How often the row was parked or had to wait, and a later row was accepted meanwhile. */
  readonly parkedCount: number;
}

type Answer = 'accept' | 'refuse' | 'too large';

const refused = (acceptances: number, status = 400): Refused => {
  return { reason: 'bad point', status, atMs: 99, acceptances };
};

/** Plays a back end that refuses every request in which `isRefused` finds a point. */
function run(batch: Batch, isRefused: (point: string) => boolean): Promise<Run> {
  return play(batch, points => (points.some(isRefused) ? 'refuse' : 'accept'));
}

/** Plays a back end that gives these answers, and accepts other rows whenever the row has to wait. */
async function play(
  batch: Batch,
  answerTo: (points: readonly string[]) => Answer,
  { limit = null as RequestLimit | null } = {},
): Promise<Run> {
  const delivery = new Delivery(rowOf(batch));
  if (limit !== null) await delivery.fit(limit);
  const taken: string[] = [];
  let [requestCount, parkedCount, acceptances] = [0, 0, 0];
  while (!delivery.isDone) {
    const piece = delivery.next(acceptances);
    if (piece === null) {
      parkedCount++;
      acceptances++;
      continue;
    }
    requestCount++;
    const { body } = await delivery.request(piece);
    const points = flatPoints(batch.signal, body);
    const answer = answerTo(points);
    if (answer === 'accept') {
      acceptances++;
      await delivery.accept(0, piece);
      taken.push(...points);
      continue;
    }
    const isDecided =
      answer === 'refuse'
        ? await delivery.refuse(piece, refused(acceptances))
        : await delivery.cut(piece, refused(acceptances, 413));
    if (isDecided) continue;
    parkedCount++;
    acceptances++;
    await delivery.prove(delivery.next(acceptances) ?? expect.fail(), refused(acceptances));
  }
  return { delivery, requestCount, taken, parkedCount };
}

test('a row that is accepted costs one request', async () => {
  const { delivery, requestCount } = await run(metricsBatch({ a: 3, b: 4 }, 0), () => false);
  expect(requestCount).toBe(1);
  expect(delivery.isDone).toBe(true);
  expect(delivery.outcome()).toEqual({
    settlements: [
      { service: 'a', accepted: 3, rejected: 0, setAside: 0 },
      { service: 'b', accepted: 4, rejected: 0, setAside: 0 },
    ],
    aside: [],
  });
});

test('one poisonous point of a thousand costs that point alone', async () => {
  for (const value of [1, 500, 777, 1000]) {
    const batch = metricsBatch({ a: 1000 }, 0);
    const { delivery, requestCount, taken } = await run(batch, hasValue(value));
    expect(requestCount).toBeLessThanOrEqual(REQUESTS_MAX);
    expect(taken).toHaveLength(999);
    const { settlements, aside } = delivery.outcome();
    expect(settlements).toEqual([{ service: 'a', accepted: 999, rejected: 0, setAside: 1 }]);
    expect(aside).toMatchObject([
      { signal: 'metrics', service: 'a', points: 1, reason: 'bad point', atMs: 99 },
    ]);
    expect(
      flatPoints('metrics', aside[0]?.sample ?? Buffer.alloc(0)).filter(hasValue(value)),
    ).toHaveLength(1);
  }
});

/**
 * A back end like Prometheus without an out-of-order window: it refuses a request with a point older than the newest of
 * the same service. Every service starts at time 40.
 */
function runStrict(
  services: Readonly<Record<string, readonly (readonly [points: number, time: number])[]>>,
): Promise<Run> {
  const slices = Object.entries(services).map(([service, groups]) => ({
    service,
    points: groups.reduce((sum, [points]) => sum + points, 0),
    bytes: Buffer.concat(groups.map(([points, time]) => timedBytes(service, points, time))),
  }));
  const newest = new Map<string, number>();
  const newestOf = (service: string): number => newest.get(service) ?? 40;
  return play(batchOf('metrics', slices, 0), points => {
    const dated = points.map(point => [serviceOf(point), timeOf(point)] as const);
    if (dated.some(([service, time]) => time < newestOf(service))) return 'refuse';
    for (const [service, time] of dated) newest.set(service, Math.max(newestOf(service), time));
    return 'accept';
  });
}

function timedBytes(service: string, pointCount: number, time: number): Buffer {
  return metricsBytes(service, pointCount, 'g', String(time));
}

const serviceOf = (point: string): string => /"stringValue":"(.*?)"/.exec(point)?.[1] ?? '';
const timeOf = (point: string): number => Number(/"timeUnixNano":"(\d+)"/.exec(point)?.[1]);

test('only late samples are set aside', async () => {
  const names = Array.from({ length: 10 }, (_, i) => `s${i}`);
  const groups = (i: number) => [[30, 10 + i] as const, [96, 50 + i] as const];
  const services = Object.fromEntries(names.map((name, i) => [name, groups(i)]));
  const { delivery, requestCount } = await runStrict(services);
  expect(requestCount).toBeLessThanOrEqual(REQUESTS_MAX);
  for (const { accepted, setAside } of delivery.outcome().settlements)
    expect([accepted, setAside]).toEqual([96, 30]);
});

test('one poisonous log record of five hundred costs that record alone', async () => {
  const batch = logsBatch(
    'a',
    Array.from({ length: 500 }, (_, i) => `line ${i}`),
    0,
  );
  const { taken, delivery } = await run(batch, point => point.includes('"line 123"'));
  expect(taken).toHaveLength(499);
  expect(delivery.outcome().settlements).toEqual([
    { service: 'a', accepted: 499, rejected: 0, setAside: 1 },
  ]);
});

test('the poison of one service costs the others nothing', async () => {
  const batch = metricsBatch({ a: 50, b: 50, c: 1, d: 50 }, 0);
  const { delivery } = await run(batch, point => point.includes('"stringValue":"c"'));
  expect(delivery.outcome().settlements.filter(({ setAside }) => setAside > 0)).toEqual([
    { service: 'c', accepted: 0, rejected: 0, setAside: 1 },
  ]);
});

test('with several poisonous points the largest pieces go first, so that few points are lost', async () => {
  const poison = [17, 222, 391, 640, 913];
  const { delivery } = await run(metricsBatch({ a: 1000 }, 0), point =>
    poison.some(value => hasValue(value)(point)),
  );
  const [settlement] = delivery.outcome().settlements;
  expect(settlement?.accepted).toBeGreaterThan(950);
});

test('rejected points are distributed among the services, and never more than there are', async () => {
  const check = async (
    points: Record<string, number>,
    rejected: number,
    want: readonly number[],
  ): Promise<void> => {
    const delivery = new Delivery(rowOf(metricsBatch(points, 0)));
    await delivery.accept(rejected, delivery.next(0) ?? expect.fail());
    const { settlements } = delivery.outcome();
    expect(settlements.map(settlement => settlement.rejected)).toEqual(want);
    for (const { service, accepted, rejected } of settlements)
      expect(accepted + rejected).toBe(points[service]);
  };
  await check({ a: 10 }, 3, [3]);
  await check({ a: 10 }, 99, [10]);
  await check({ a: 10, b: 10 }, 10, [5, 5]);
  await check({ a: 1, b: 1, c: 1 }, 1, [0, 1, 0]);
  await check({ a: 1, b: 98, c: 1 }, 50, [1, 49, 0]);
  await check({ a: 3, b: 5 }, 8, [3, 5]);
});

test('a row whose payload cannot be read is set aside whole, once others were accepted', async () => {
  const row = { ...rowOf(metricsBatch({ a: 3, b: 4 }, 0)), encoding: 'gzip' } as const;
  const delivery = new Delivery(row);
  const piece = delivery.next(0) ?? expect.fail();
  expect(await delivery.refuse(piece, refused(0, 0))).toBe(false);
  expect(delivery.next(0)).toBe(piece);
  await delivery.prove(piece, refused(1, 0));
  expect(delivery.isDone).toBe(true);
  const { settlements, aside } = delivery.outcome();
  expect(settlements.map(({ setAside }) => setAside)).toEqual([3, 4]);
  expect(aside.map(({ sample }) => sample.length)).toEqual([0, 0]);
});

describe('a row of which nothing is accepted', () => {
  test('is sent whole, in halves and in quarters, and then waits whole', async () => {
    const delivery = new Delivery(rowOf(metricsBatch({ a: 8 }, 0)));
    const sizes: number[] = [];
    for (let isDecided = true; isDecided; ) {
      const piece = delivery.next(0) ?? expect.fail();
      sizes.push(piece.points);
      isDecided = await delivery.refuse(piece, refused(0));
    }
    expect(sizes).toEqual([8, 4, 2, 2, 4, 2, 2]);
    // The trial is made once for each status.
    const whole = delivery.next(0) ?? expect.fail();
    expect(whole.points).toBe(8);
    expect(await delivery.refuse(whole, refused(0))).toBe(false);
    expect(await delivery.refuse(whole, refused(0, 403))).toBe(true);
    expect(delivery.next(0)?.points).toBe(4);
    expect(delivery.outcome()).toEqual({ settlements: [], aside: [] });
  });

  test('for its size waits whole, after a way down to single points', async () => {
    const delivery = new Delivery(rowOf(metricsBatch({ a: 1000 }, 0)));
    let requestCount = 1;
    while (await delivery.cut(delivery.next(0) ?? expect.fail(), refused(0, 413))) requestCount++;
    expect(requestCount).toBeLessThan(20);
    expect(delivery.next(0)?.points).toBe(1000);
    expect(delivery.isBegun).toBe(false);
  });
});

test('what is refused alone is sent once more after an acceptance, and may be accepted then', async () => {
  const delivery = new Delivery(rowOf(metricsBatch({ a: 2 }, 0)));
  const next = (acceptances: number) => delivery.next(acceptances) ?? expect.fail();
  await delivery.refuse(next(0), refused(0));
  await delivery.accept(0, next(0));
  await delivery.refuse(next(1), refused(1));
  // The acceptance came before the refusal.
  expect([delivery.next(1), delivery.isDone]).toEqual([null, false]);
  const piece = next(2);
  // With another status, the refusal says nothing about the content.
  expect(await delivery.refuse(piece, refused(2, 403))).toBe(false);
  await delivery.accept(0, next(2));
  expect(delivery.outcome()).toEqual({
    settlements: [{ service: 'a', accepted: 2, rejected: 0, setAside: 0 }],
    aside: [],
  });
});

describe('size', () => {
  const atMost =
    (count: number) =>
    (points: readonly string[]): Answer =>
      points.length > count ? 'too large' : 'accept';

  test('a row goes out in halves until they are accepted', async () => {
    const { taken, delivery, requestCount } = await play(metricsBatch({ a: 64 }, 0), atMost(20));
    expect([taken.length, requestCount, delivery.learned?.points]).toEqual([64, 7, 16]);
  });

  test('a row that is larger than the learned limit goes out in fitting pieces at once', async () => {
    const limit = { bytes: Infinity, points: 20 };
    const { taken, requestCount } = await play(metricsBatch({ a: 64 }, 0), atMost(20), { limit });
    expect([taken.length, requestCount]).toEqual([64, 4]);
  });

  test('a row that is too large may begin with a point that is refused for its content', async () => {
    const isPoison = hasValue(9);
    const { delivery, taken, parkedCount } = await play(metricsBatch({ a: 400 }, 0), points =>
      points.length <= 300 && points.some(isPoison) ? 'refuse' : atMost(300)(points),
    );
    expect(taken).toHaveLength(399);
    expect(delivery.outcome().aside).toMatchObject([{ points: 1 }]);
    expect(parkedCount, 'only for the proof that the point is bad').toBe(1);
  });

  test('a single point that is too large is set aside alone', async () => {
    const isHuge = hasValue(9);
    const { taken, delivery } = await play(metricsBatch({ a: 64 }, 0), points =>
      points.some(isHuge) ? 'too large' : 'accept',
    );
    expect(taken).toHaveLength(63);
    expect(delivery.outcome().aside).toMatchObject([{ points: 1 }]);
  });
});

test('no point is lost or taken twice, whatever the answers', async () => {
  const counts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 4 });
  const anyValue = fc.integer({ min: 1, max: 30 });
  const verdicts = fc.oneof(
    fc.array(anyValue, { maxLength: 3 }).map(
      poison =>
        (points: readonly string[]): Answer =>
          points.some(point => poison.some(value => hasValue(value)(point))) ? 'refuse' : 'accept',
    ),
    fc
      .infiniteStream(fc.constantFrom<Answer>('accept', 'refuse', 'too large'))
      .map(answers => () => answers.next().value ?? 'accept'),
  );
  const property = fc.asyncProperty(counts, verdicts, async (points, answerTo) => {
    const services = Object.fromEntries(points.map((count, i) => [`s${i}`, count]));
    const batch = metricsBatch(services, 0);
    const { delivery, taken } = await play(batch, answerTo);
    const { settlements, aside } = delivery.outcome();
    // The set-aside samples are small enough to be complete.
    const gone = [...taken, ...aside.flatMap(({ sample }) => flatPoints('metrics', sample))];
    expect(gone.sort()).toEqual([...flatPoints('metrics', batch.payload)].sort());
    for (const { service, accepted, setAside } of settlements)
      services[service] = (services[service] ?? 0) - accepted - setAside;
    expect(new Set(Object.values(services))).toEqual(new Set([0]));
  });
  await fc.assert(property, { numRuns: 100 });
});

test('a sample is bounded: the first point if the piece is too large, nothing if that is, too', async () => {
  const check = async (lineBytes: number, count: number, want: number): Promise<void> => {
    const bodies = Array.from({ length: count }, () => 'x'.repeat(lineBytes));
    const batch = batchOf(
      'logs',
      [{ service: 'a', points: count, bytes: logsBytes('a', bodies) }],
      0,
    );
    const { delivery } = await play(batch, () => 'refuse');
    const { aside } = delivery.outcome();
    for (const { sample } of aside) {
      expect(sample.length).toBeLessThanOrEqual(SAMPLE_BYTES_MAX);
      expect(flatPoints('logs', sample)).toHaveLength(want);
    }
  };
  await check(1000, 1, 1);
  await check(40_000, 80, 1);
  await check(80_000, 1, 0);
});
