// The suite itself under test: whatever is lost, wrong, double, late or moved between the program and the back end is
// found, to the single point; and a program that loses something does not pass.

import { beforeAll, describe, expect, test } from 'vitest';
import type { OtlpPoint } from '../support/otlp-points.ts';
import { until } from '../support/program.ts';
import { expectBalance } from './support/figures.ts';
import { Ledger, type Findings, type Life } from './support/ledger.ts';
import type { Source } from './support/source.ts';
import { Stage } from './support/stage.ts';

type Requests = readonly (readonly OtlpPoint[])[];

describe('the ledger', () => {
  let source: Source;
  let lives: readonly Life[];
  let requests: Requests;

  beforeAll(async () => {
    await using stage = await Stage.create({ name: 'oracle' });
    const life = stage.bridge.start();
    await until('three pages', () => stage.sink.requests.length >= 3);
    await life.stop();
    stage.judge();
    ({ source } = stage);
    ({ lives } = stage.bridge);
    requests = stage.sink.requests.map(({ points }) => points);
  });

  /** What a ledger finds in other requests than those that came. */
  function find(change: (requests: Requests) => Requests): Findings {
    const ledger = new Ledger(source);
    for (const points of change(requests)) ledger.take(points);
    return ledger.findings(lives);
  }

  /** Another second request. */
  const second =
    (change: (points: readonly OtlpPoint[]) => readonly OtlpPoint[]) =>
    (all: Requests): Requests =>
      all.map((points, i) => (i === 1 ? change(points) : points));

  /** Another point of the second request: the first counter in it. */
  const counter = (change: (point: OtlpPoint) => OtlpPoint): ((all: Requests) => Requests) =>
    second(points => {
      const at = points.findIndex(({ metric }) => metric === 'app_jobs_total');
      return points.map((point, i) => (i === at ? change(point) : point));
    });

  const GOOD = { missing: 0, wrong: 0, duplicates: 0, outOfOrder: 0, movedStarts: 0 };
  const check = (change: (all: Requests) => Requests, want: Partial<Findings>): void =>
    expect(find(change)).toMatchObject({ ...GOOD, ...want });

  test('finds nothing where nothing is', () => {
    check(all => all, {});
    expect(find(all => all).expected).toBeGreaterThan(150);
  });

  test('finds one point that is missing, and a page', () => {
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

  test('finds what comes twice, or out of order', () => {
    const [, again = []] = requests;
    check(all => [...all, again], { duplicates: again.length, duplicateRequests: 1 });
    check(([first = [], then = [], ...rest]) => [then, first, ...rest], {
      outOfOrder: again.length,
      movedStarts: again.filter(({ metric }) => /^app_(jobs_total|wait_seconds)$/.test(metric))
        .length,
    });
  });

  test('finds a start that has moved', () => {
    check(
      counter(point => ({ ...point, startNs: String(BigInt(point.startNs) + 1_000_000n) })),
      { movedStarts: 1 },
    );
  });
});

test('a program that loses one batch does not pass', async () => {
  await using stage = await Stage.create({ name: 'lose on purpose' });
  const life = stage.bridge.start({ failpoint: 'lose-row@2' });
  await until('three pages', () => stage.sink.requests.length >= 3);
  const { problems } = await life.status();
  await life.stop();
  const found = stage.ledger.findings(stage.bridge.lives);
  expect(found).toMatchObject({ missing: 2 * stage.source.series.length, wrong: 0 });
  const account = stage.bridge.account();
  expect(account.made - found.received).toBe(stage.pagePoints);
  expect(() => expectBalance(account, found.received)).toThrow(/points in the file, against/);
  // It says so itself.
  expect(problems.map(({ subject }) => subject)).toContain('account');
});
