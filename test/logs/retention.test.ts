// The search for the oldest day that a service accepts.

import { describe, expect, test } from 'vitest';
import type { Pull, PulledApi } from '../../src/logs/pull.ts';
import { findFirstDay, findOldestDay, jumpToOldest } from '../../src/logs/retention.ts';
import { json, type OpenedApi, openLogApi, testPulledApi } from '../support/log-api.ts';
import { DAY, HOUR, MINUTE, NOW, ShiftedClock } from '../support/log-site.ts';

const TODAY = NOW - 9 * HOUR;
const TYPE = 'error-log';

/** A service that refuses lists from before `oldestMs`. */
function openFrom(oldestMs: number): Promise<OpenedApi> {
  return openLogApi([
    (response, { path }) => {
      const from = new URL(path, 'http://localhost').searchParams.get('fromDate') ?? '';
      const isRefused = Date.parse(from) < oldestMs;
      json(
        isRefused ? { error: 'too old' } : { count: 0, logs: [] },
        isRefused ? 400 : 200,
      )(response);
    },
  ]);
}

function pulledApi({ api }: OpenedApi): PulledApi {
  return testPulledApi(api, new ShiftedClock(NOW));
}

test('the oldest day is found by bisection, and is not guessed without an answer', async () => {
  await using service = await openFrom(TODAY - 7 * DAY - 1234);
  expect(await findOldestDay(pulledApi(service), TYPE, NOW - 90 * DAY)).toBe(TODAY - 7 * DAY);
  expect(service.requests.length).toBeLessThanOrEqual(8);
  const answers = [json({ count: 0, logs: [] }), json({}, 403)];
  await using failing = await openLogApi(answers);
  expect(await findOldestDay(pulledApi(failing), TYPE, NOW - 90 * DAY)).toBeNull();
});

describe('a list that was refused', () => {
  async function jump(keptFromMs: number, fromMs: number): Promise<boolean> {
    await using service = await openFrom(keptFromMs);
    const api = pulledApi(service);
    // Without tracks nothing is stored: only the answer matters.
    const pull = { api, ledger: { changes: () => [] } } as unknown as Pull;
    const oldestMs = await findOldestDay(api, TYPE, fromMs);
    return await jumpToOldest(pull, [], { type: TYPE, fromMs, oldestMs });
  }

  test('is explained by the age of the logs if the service answers for a later day', async () => {
    expect(await jump(TODAY - 3 * DAY, TODAY - 9 * DAY)).toBe(true);
    expect(await jump(TODAY, TODAY - DAY)).toBe(true);
    expect(await jump(TODAY, TODAY - 15 * MINUTE)).toBe(true);
  });

  test('is not explained by it if the service answers for that day, or for none', async () => {
    expect(await jump(TODAY - 9 * DAY, TODAY - 9 * DAY)).toBe(false);
    expect(await jump(TODAY - 9 * DAY, TODAY - DAY)).toBe(false);
    expect(await jump(TODAY - 9 * DAY, TODAY)).toBe(false);
    expect(await jump(NOW + DAY, TODAY - 9 * DAY)).toBe(false);
  });
});

test('the first day is that of the oldest archive, or the oldest that the service answers for', async () => {
  await using refusing = await openFrom(TODAY - 3 * DAY);
  expect(await findFirstDay(pulledApi(refusing))).toBe(TODAY - 3 * DAY);
  await using empty = await openFrom(0);
  expect(await findFirstDay(pulledApi(empty))).toBe(TODAY);
  await using strange = await openLogApi([json({ message: 'we are back soon' })]);
  expect(await findFirstDay(pulledApi(strange))).toBe(null);
  await using full = await openLogApi([json({ count: 3, logs: archivesOf([5, 7, 6]) })]);
  expect(await findFirstDay(pulledApi(full))).toBe(TODAY - 7 * DAY);
});

/** One archive for each of these ages in days. */
function archivesOf(ages: readonly number[], service = 'db1'): readonly object[] {
  return ages.map((age, i) => ({
    id: `${service} ${age} ${i}`,
    logType: 'error-log',
    startTime: new Date(TODAY - age * DAY).toISOString(),
    serverDataSourceId: `${service}/a`,
  }));
}

test('the first day is found in a list of many pages, also of other services, in any order', async () => {
  const check = async (pages: readonly (readonly object[])[], asked: number): Promise<void> => {
    await using service = await openLogApi(
      [...pages, []].map(logs => json({ count: pages.flat().length, logs })),
      { pageSize: 3 },
    );
    expect(await findFirstDay(pulledApi(service))).toBe(TODAY - 7 * DAY);
    expect(service.requests).toHaveLength(asked);
  };
  const others = archivesOf([7, 7, 7], 'db2');
  await check([others, archivesOf([7, 6, 5]), archivesOf([4, 3, 2])], 2);
  await check([archivesOf([7, 7, 6], 'db2'), archivesOf([5])], 1);
  await check([archivesOf([0, 0, 0]), archivesOf([0, 1, 7])], 2);
  await check([archivesOf([6, 5, 6]), archivesOf([6, 5, 4]), archivesOf([7])], 3);
});

test('a time that no log can have is not the first day', async () => {
  const starts = [
    '0001-01-01T00:00:00Z',
    '1970-01-01T00:00:00Z',
    new Date(TODAY - 3 * DAY).toISOString(),
  ];
  const logs = starts.map(startTime => ({ id: startTime, logType: 'error-log', startTime }));
  await using service = await openLogApi([json({ count: 3, logs })]);
  expect(await findFirstDay(pulledApi(service))).toBe(TODAY - 3 * DAY);
});
