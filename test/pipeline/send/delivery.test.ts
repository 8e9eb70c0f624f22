import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Batch } from '../../../src/model/batch.ts';
import type { QueueRow } from '../../../src/pipeline/queue/commit.ts';
import { SAMPLE_BYTES_MAX } from '../../../src/pipeline/queue/transactions.ts';
import { Delivery, type Piece, REQUESTS_MAX } from '../../../src/pipeline/send/delivery.ts';
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

const bytesOf = ({ slices }: Piece): Buffer => Buffer.concat(slices.map(({ bytes }) => bytes));

interface Run {
  readonly delivery: Delivery;
  readonly requestCount: number;
  /** Points that the back end accepted, as text. */
  readonly taken: readonly string[];
}

/** Plays a back end that refuses every request in which `isRefused` finds a point. */
function run(batch: Batch, isRefused: (point: string) => boolean): Promise<Run> {
  return play(batch, points => points.some(isRefused));
}

/** Plays a back end that `refuses` requests with these points. */
async function play(batch: Batch, refuses: (points: readonly string[]) => boolean): Promise<Run> {
  const delivery = new Delivery(rowOf(batch));
  const taken: string[] = [];
  let requestCount = 0;
  for (let piece = delivery.pieces()[0]; piece !== undefined; piece = delivery.pieces()[0]) {
    requestCount++;
    const bytes = delivery.isSplit ? bytesOf(piece) : batch.payload;
    const points = flatPoints(batch.signal, bytes);
    if (refuses(points)) await delivery.refuse('bad point', 99, piece);
    else {
      delivery.accept(0, piece);
      taken.push(...points);
    }
  }
  return { delivery, requestCount, taken };
}

test('a row that is accepted costs one request', async () => {
  const { delivery, requestCount } = await run(metricsBatch({ a: 3, b: 4 }, 0), () => false);
  expect(requestCount).toBe(1);
  expect(delivery.isDone).toBe(true);
  expect(delivery.takeOutcome()).toEqual({
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
    const { settlements, aside } = delivery.takeOutcome();
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
  poison: (point: string) => boolean = () => false,
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
    if (dated.some(([service, time]) => time < newestOf(service))) return true;
    if (points.some(poison)) return true;
    for (const [service, time] of dated) newest.set(service, Math.max(newestOf(service), time));
    return false;
  });
}

function timedBytes(service: string, pointCount: number, time: number): Buffer {
  return metricsBytes(service, pointCount, 'g', String(time));
}

const serviceOf = (point: string): string => /"stringValue":"(.*?)"/.exec(point)?.[1] ?? '';
const timeOf = (point: string): number => Number(/"timeUnixNano":"(\d+)"/.exec(point)?.[1]);

test('only late samples are set aside', async () => {
  const names = Array.from({ length: 10 }, (_, i) => `s${i}`);
  const groups = (i: number) => [[30, 10 + i] as const, [90, 50 + i] as const, [6, 70] as const];
  const services = Object.fromEntries(names.map((name, i) => [name, groups(i)]));
  const { delivery, requestCount } = await runStrict(services);
  expect(requestCount).toBeLessThanOrEqual(REQUESTS_MAX);
  for (const { accepted, setAside } of delivery.takeOutcome().settlements)
    expect([accepted, setAside]).toEqual([96, 30]);
});

test('one bad point among the oldest costs that point alone, although order is kept', async () => {
  const isBad = hasValue(17);
  const { delivery, requestCount } = await runStrict(
    {
      a: [
        [100, 41],
        [300, 42],
        [6, 43],
      ],
      b: [
        [100, 44],
        [300, 45],
        [6, 46],
      ],
    },
    point => isBad(point) && timeOf(point) === 41,
  );
  expect(requestCount).toBeLessThanOrEqual(REQUESTS_MAX);
  expect(delivery.takeOutcome().settlements.map(({ setAside }) => setAside)).toEqual([1, 0]);
});

test('one poisonous log record of five hundred costs that record alone', async () => {
  const batch = logsBatch(
    'a',
    Array.from({ length: 500 }, (_, i) => `line ${i}`),
    0,
  );
  const { taken, delivery } = await run(batch, point => point.includes('"line 123"'));
  expect(taken).toHaveLength(499);
  expect(delivery.takeOutcome().settlements).toEqual([
    { service: 'a', accepted: 499, rejected: 0, setAside: 1 },
  ]);
});

test('the poison of one service costs the others nothing', async () => {
  const batch = metricsBatch({ a: 50, b: 50, c: 1, d: 50 }, 0);
  const { delivery } = await run(batch, point => point.includes('"stringValue":"c"'));
  expect(delivery.takeOutcome().settlements.filter(({ setAside }) => setAside > 0)).toEqual([
    { service: 'c', accepted: 0, rejected: 0, setAside: 1 },
  ]);
});

test('with several poisonous points the largest pieces go first, so that few points are lost', async () => {
  const poison = [17, 222, 391, 640, 913];
  const { delivery } = await run(metricsBatch({ a: 1000 }, 0), point =>
    poison.some(value => hasValue(value)(point)),
  );
  const [settlement] = delivery.takeOutcome().settlements;
  expect(settlement?.accepted).toBeGreaterThan(950);
});

test('rejected points are distributed among the services, and never more than there are', () => {
  const check = (
    points: Record<string, number>,
    rejected: number,
    want: readonly number[],
  ): void => {
    const delivery = new Delivery(rowOf(metricsBatch(points, 0)));
    delivery.accept(rejected, delivery.pieces()[0] ?? expect.fail());
    const { settlements } = delivery.takeOutcome();
    expect(settlements.map(settlement => settlement.rejected)).toEqual(want);
    for (const { service, accepted, rejected } of settlements)
      expect(accepted + rejected).toBe(points[service]);
  };
  check({ a: 10 }, 3, [3]);
  check({ a: 10 }, 99, [10]);
  check({ a: 10, b: 10 }, 10, [5, 5]);
  check({ a: 1, b: 1, c: 1 }, 1, [0, 1, 0]);
  check({ a: 1, b: 98, c: 1 }, 50, [1, 49, 0]);
  check({ a: 3, b: 5 }, 8, [3, 5]);
});

test('a row whose payload cannot be read is set aside whole', async () => {
  const row = { ...rowOf(metricsBatch({ a: 3, b: 4 }, 0)), encoding: 'gzip' } as const;
  const delivery = new Delivery(row);
  await delivery.refuse('no', 99, delivery.pieces()[0] ?? expect.fail());
  expect(delivery.isDone).toBe(true);
  const { settlements, aside } = delivery.takeOutcome();
  expect(settlements.map(({ setAside }) => setAside)).toEqual([3, 4]);
  expect(aside.map(({ sample }) => sample.length)).toEqual([0, 0]);
});

test('no point is lost or sent twice: at every step, accepted, set-aside and remaining ones make up the row', async () => {
  const counts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 4 });
  const anyValue = fc.integer({ min: 1, max: 30 });
  /** Whether the back end accepts a request with these points: it refuses some values, or decides at random. */
  const verdicts = fc.oneof(
    fc
      .array(anyValue, { maxLength: 3 })
      .map(
        poison => (points: readonly string[]) =>
          !points.some(point => poison.some(value => hasValue(value)(point))),
      ),
    fc.infiniteStream(fc.boolean()).map(answers => () => answers.next().value === true),
  );
  const property = fc.asyncProperty(counts, verdicts, async (points, accepts) => {
    const services = Object.fromEntries(points.map((count, i) => [`s${i}`, count]));
    const batch = metricsBatch(services, 0);
    const all = flatPoints('metrics', batch.payload);
    const delivery = new Delivery(rowOf(batch));
    const gone: string[] = [];
    let requestCount = 0;
    for (let piece = delivery.pieces()[0]; piece !== undefined; piece = delivery.pieces()[0]) {
      requestCount++;
      const sent = flatPoints('metrics', delivery.isSplit ? bytesOf(piece) : batch.payload);
      const isTaken = accepts(sent);
      if (isTaken) delivery.accept(0, piece);
      else await delivery.refuse('no', 99, piece);
      if (isTaken) gone.push(...sent);
      // The set-aside samples are small enough to be complete.
      const { settlements, aside } = delivery.takeOutcome();
      for (const { sample } of aside) gone.push(...flatPoints('metrics', sample));
      for (const { service, accepted, setAside } of settlements)
        services[service] = (services[service] ?? 0) - accepted - setAside;
      const rest = delivery.rest();
      expect(new Set(rest.map(({ service }) => service)).size).toBe(rest.length);
      const left = rest.flatMap(slice => {
        const found = flatPoints('metrics', slice.bytes);
        expect(found).toHaveLength(slice.points);
        return found;
      });
      expect([...gone, ...left].sort()).toEqual([...all].sort());
      // The remaining points keep the order of the row.
      expect(left).toEqual(all.filter(point => left.includes(point)));
    }
    expect(requestCount).toBeLessThanOrEqual(REQUESTS_MAX);
    expect(new Set(Object.values(services))).toEqual(new Set([0]));
  });
  await fc.assert(property, { numRuns: 60 });
});

test('a trial split can be undone until something is settled', async () => {
  const batch = metricsBatch({ a: 8 }, 0);
  const delivery = new Delivery(rowOf(batch));
  const whole = delivery.pieces();
  const restore = delivery.mark();
  const cutFirst = (): Promise<boolean> => delivery.cut(delivery.pieces()[0] ?? expect.fail());
  expect([await cutFirst(), await cutFirst()]).toEqual([true, true]);
  expect(delivery.pieces().map(({ points }) => points)).toEqual([4, 2, 2]);
  restore();
  expect(delivery.pieces()).toEqual(whole);
  expect(delivery.isSplit).toBe(false);
  const restoreAgain = delivery.mark();
  await cutFirst();
  delivery.accept(0, delivery.pieces()[0] ?? expect.fail());
  restoreAgain();
  expect(delivery.pieces().map(({ points }) => points)).toEqual([4]);
  // Answers to trial pieces do not count towards the limit of a refused row.
  expect(delivery.takeOutcome().aside).toEqual([]);
});

test('the number of trial splits of a row is bounded', async () => {
  const batch = metricsBatch({ a: 200 }, 0);
  const delivery = new Delivery(rowOf(batch));
  let cuts = 0;
  for (let piece = delivery.pieces()[0]; piece !== undefined; ) {
    if (await delivery.cut(piece)) cuts++;
    else expect(piece.isUncut).toBe(true);
    piece = delivery.pieces().find(({ isUncut }) => !isUncut);
  }
  expect(cuts).toBe(REQUESTS_MAX);
  expect(delivery.pieces().reduce((sum, { points }) => sum + points, 0)).toBe(200);
});

test('a sample is bounded: the first point if the piece is too large, nothing if that is, too', async () => {
  const check = async (lineBytes: number, count: number, want: number): Promise<void> => {
    const bodies = Array.from({ length: count }, () => 'x'.repeat(lineBytes));
    const batch = batchOf(
      'logs',
      [{ service: 'a', points: count, bytes: logsBytes('a', bodies) }],
      0,
    );
    const delivery = new Delivery(rowOf(batch));
    for (let piece = delivery.pieces()[0]; piece !== undefined; piece = delivery.pieces()[0])
      await delivery.refuse('no', 99, piece);
    const { aside } = delivery.takeOutcome();
    for (const { sample } of aside) {
      expect(sample.length).toBeLessThanOrEqual(SAMPLE_BYTES_MAX);
      expect(flatPoints('logs', sample)).toHaveLength(want);
    }
  };
  await check(1000, 1, 1);
  await check(40_000, 80, 1);
  await check(80_000, 1, 0);
});
