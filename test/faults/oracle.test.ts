// Tests the suite itself: it finds every point that is lost, wrong, double, late or moved between the program and the
// back end; and a program that loses something does not pass.

import { beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import type { OtlpPoint } from '../support/otlp-points.ts';
import type { Life, LifeOptions } from './support/bridge.ts';
import { DaySource } from './support/day-source.ts';
import { expectBalance } from './support/figures.ts';
import { Ledger, type Findings } from './support/ledger.ts';
import type { ServedPage } from './support/served-source.ts';
import type { Source } from './support/source.ts';
import { Stage } from './support/stage.ts';

type Requests = readonly (readonly OtlpPoint[])[];

describe('the ledger', () => {
  let source: Source;
  let lives: readonly Life[];
  let requests: Requests;

  beforeAll(async () => {
    await using stage = await deliverThreePages({ name: 'oracle' });
    stage.judge();
    ({ source } = stage);
    ({ lives } = stage.bridge);
    requests = stage.sink.requests.map(({ points }) => points);
  });

  /** The findings of a ledger that gets changed requests instead of those that came. */
  function find(change: (requests: Requests) => Requests): Findings {
    const ledger = new Ledger(source);
    for (const points of change(requests)) ledger.take(points);
    return ledger.findings(lives);
  }

  /** Changes the second request. */
  const second =
    (change: (points: readonly OtlpPoint[]) => readonly OtlpPoint[]) =>
    (all: Requests): Requests =>
      all.map((points, i) => (i === 1 ? change(points) : points));

  /** Changes one point of the second request: the first `app_jobs_total`. */
  const counter = (change: (point: OtlpPoint) => OtlpPoint): ((all: Requests) => Requests) =>
    second(points => {
      const at = points.findIndex(({ metric }) => metric === 'app_jobs_total');
      return points.map((point, i) => (i === at ? change(point) : point));
    });

  const GOOD = { missing: 0, wrong: 0, duplicates: 0, outOfOrder: 0, movedStarts: 0 };
  const check = (change: (all: Requests) => Requests, want: Partial<Findings>): void =>
    expect(find(change)).toMatchObject({ ...GOOD, ...want });

  test('finds nothing in a correct run', () => {
    check(all => all, {});
    expect(find(all => all).expected).toBeGreaterThan(150);
  });

  test('finds one missing point, and a missing page', () => {
    const isSample = ({ metric }: OtlpPoint): boolean => metric.startsWith('app_');
    check(
      second(points => points.filter((_, i) => i !== points.findIndex(isSample))),
      { missing: 1 },
    );
    check(all => all.toSpliced(1, 1), { missing: 2 * source.series.length });
  });

  test('finds a wrong value, a wrong time, and a series that nobody served', () => {
    check(
      counter(point => ({ ...point, value: Number(point.value) + 1 })),
      { wrong: 1 },
    );
    check(
      counter(point => ({ ...point, timeNs: String(BigInt(point.timeNs) + 1_000_000n) })),
      { wrong: 1, missing: 1, outOfOrder: 0 },
    );
    check(
      counter(point => ({ ...point, attributes: 'task=other' })),
      { wrong: 1, missing: 1 },
    );
    check(
      counter(point => ({ ...point, flags: 1 })),
      { wrong: 1, missing: 1 },
    );
  });

  test('finds duplicates and points out of order', () => {
    const [, again = []] = requests;
    check(all => [...all, again], { duplicates: again.length, duplicateRequests: 1 });
    check(([first = [], then = [], ...rest]) => [then, first, ...rest], {
      outOfOrder: again.length,
    });
  });

  test('excuses a failed scrape only if `up` reports it', () => {
    const isUp = ({ metric }: OtlpPoint): boolean => metric === 'up';
    const down = (point: OtlpPoint): OtlpPoint => (isUp(point) ? { ...point, value: 0 } : point);
    const missing = 2 * source.series.length;
    check(
      second(points => points.filter(isUp)),
      { missing },
    );
    check(
      second(points => points.filter(isUp).map(down)),
      { failedPages: 2 },
    );
    // A single point of the page proves that the page was read.
    const isLevel = ({ metric }: OtlpPoint): boolean => metric === 'app_level';
    check(
      second(points => points.filter(point => isUp(point) || isLevel(point)).map(down)),
      { missing: missing - 2 * source.options.width },
    );
  });

  test('finds a start that has moved', () => {
    check(
      counter(point => ({ ...point, startNs: String(BigInt(point.startNs) + 1_000_000n) })),
      { movedStarts: 1 },
    );
  });
});

describe('the ledger of a day', () => {
  let source: DaySource;
  let requests: Requests;

  beforeAll(async () => {
    let nowMs = 1_790_000_000_000;
    const clock = { ...systemClock, nowMs: () => (nowMs += 60_000) };
    source = await DaySource.start({ services: ['dbday01', 'dbday02'], series: 70, clock });
    for (let i = 0; i < 3; i++) await (await fetch(source.url)).text();
    await source[Symbol.asyncDispose]();
    requests = [...source.pages.values()].map(page => pointsOf(source, page));
  });

  function find(change: (requests: OtlpPoint[][]) => Requests): Findings {
    const ledger = new Ledger(source);
    for (const points of change(requests.map(points => [...points]))) ledger.take(points);
    return ledger.findings([]);
  }

  const GOOD = { missing: 0, wrong: 0, duplicates: 0, outOfOrder: 0, movedStarts: 0 };
  const check = (change: (all: OtlpPoint[][]) => Requests, want: Partial<Findings>): void =>
    expect(find(change)).toMatchObject({ ...GOOD, ...want });
  /** Changes one point of the second page: the first series, or the last, which is a gauge. */
  const one =
    (at: number, more: Partial<OtlpPoint>) =>
    (all: OtlpPoint[][]): Requests =>
      all.map((points, i) =>
        i === 1 ? points.with(at, { ...(points.at(at) as OtlpPoint), ...more }) : points,
      );

  test('finds nothing in a correct day, and names the pages that came', () => {
    check(all => all, {
      expected: 420,
      received: 426,
      pages: [
        [0, 1, 2],
        [0, 1, 2],
      ],
    });
  });

  test('finds a torn page, and a missing one that no `up` reports', () => {
    check(all => all.map((points, i) => (i === 1 ? points.slice(1) : points)), { missing: 1 });
    check(all => all.toSpliced(1, 1), {
      missing: 140,
      pages: [
        [0, 2],
        [0, 2],
      ],
    });
    const down = (points: OtlpPoint[]): OtlpPoint[] =>
      points.filter(({ metric }) => metric === 'up').map(point => ({ ...point, value: 0 }));
    check(all => all.map((points, i) => (i === 1 ? down(points) : points)), { failedPages: 2 });
  });

  test('finds wrong values, times, series, services and markers', () => {
    check(one(0, { value: -1 }), { wrong: 1 });
    check(one(0, { timeNs: '1790000120001000000' }), { wrong: 1, missing: 1 });
    check(one(0, { attributes: 'command=other' }), { wrong: 1, missing: 1 });
    check(one(0, { serviceId: 'dbday02' }), { wrong: 1, missing: 1 });
    check(one(0, { flags: 1 }), { wrong: 1, missing: 1 });
  });

  test('finds points that came twice or out of order, and starts that have moved', () => {
    check(all => [...all, all[1] ?? []], { duplicates: 142, duplicateRequests: 1 });
    check(([first = [], then = [], last = []]) => [then, first, last], { outOfOrder: 142 });
    check(one(0, { startNs: '1790000120000000000' }), { movedStarts: 1 });
    check(one(-1, { startNs: '1790000120000000000' }), { movedStarts: 1 });
  });
});

test('an account that does not balance is found, whichever number is off', () => {
  const numbers = { made: 60, accepted: 30, rejected: 5, setAside: 4, evicted: 11, stored: 10 };
  const account = { ...numbers, queued: 10, samples: new Map<string, number>() };
  const received = 30;
  expectBalance(account, received);
  expect(() => expectBalance(account, received + 1)).toThrow(/points received/);
  for (const key of Object.keys(numbers) as (keyof typeof numbers)[])
    expect(() => expectBalance({ ...account, [key]: account[key] + 1 }, received), key).toThrow();
});

test('a program that loses one batch does not pass', async () => {
  await using stage = await deliverThreePages({ name: 'lose on purpose', failpoint: 'lose-row@2' });
  const found = stage.ledger.findings(stage.bridge.lives);
  expect(found).toMatchObject({ missing: 2 * stage.source.series.length, wrong: 0 });
  const account = stage.bridge.account();
  expect(account.made - found.received).toBe(stage.pagePoints);
  expect(() => expectBalance(account, found.received)).toThrow(/points in the file, against/);
});

test('a program that has lost something reports it', async () => {
  await using stage = await Stage.create({ name: 'lose and tell' });
  const life = stage.bridge.start({ failpoint: 'lose-row@1' });
  await stage.deliveries(1);
  await life.ready();
  const { problems } = await life.status();
  expect(problems.map(({ subject }) => subject)).toContain('account');
});

/** Runs the program until three pages have arrived. Starts again if the machine was too busy to read a page in time. */
async function deliverThreePages({
  name,
  ...options
}: { name: string } & LifeOptions): Promise<Stage> {
  for (;;) {
    const stage = await Stage.create({ name });
    const life = stage.bridge.start(options);
    await stage.deliveries(3);
    await life.stop();
    if (stage.ledger.findings(stage.bridge.lives).failedPages === 0) return stage;
    await stage[Symbol.asyncDispose]();
  }
}

/** The points that a page of a day becomes, with an `up` of each service; the last one is a gauge. */
function pointsOf(source: DaySource, page: ServedPage): OtlpPoint[] {
  const timeNs = String(BigInt(page.timeMs) * 1_000_000n);
  const firstNs = String(BigInt(source.pages.get(0)?.timeMs ?? 0) * 1_000_000n);
  const common = { timeNs, flags: 0, distribution: '' };
  const points = source.options.services.flatMap((serviceId, service) => {
    const up = { ...common, serviceId, metric: 'up', attributes: '', startNs: '0', value: 1 };
    const samples = source.series.map(series => ({
      ...common,
      serviceId,
      metric: series.metric,
      attributes: source.attributesOf(series, serviceId),
      startNs: series.kind === 'counter' ? firstNs : '0',
      value: source.valueAt(series, page, service),
    }));
    return samples.toSpliced(1, 0, up);
  });
  return points as unknown as OtlpPoint[];
}
