// The search for the oldest day that a service accepts.

import { testReport } from '../support/pull-report.ts';
import { describe, expect, test } from 'vitest';
import { Counters } from '../../src/lib/counters.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { Ledger } from '../../src/logs/ledger.ts';
import { LogMeter } from '../../src/logs/log-meter.ts';
import { type Pull, PulledApi } from '../../src/logs/pull.ts';
import { findFirstDay, findOldestDay, jumpToOldest } from '../../src/logs/retention.ts';
import { json, type OpenedApi, openLogApi, testService } from '../support/log-api.ts';
import { DAY, HOUR, LogSite, MINUTE, NOW, ShiftedClock } from '../support/log-site.ts';

const TODAY = NOW - 9 * HOUR;
const START = { lowMs: NOW, floorMs: NOW, sizeMs: DAY, failureCount: 0, listedMs: null };

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
  const clock = new ShiftedClock(NOW);
  return new PulledApi({
    api,
    services: [testService('db1')],
    otherServiceCount: 0,
    types: ['error-log'],
    random: () => 0,
    meter: new LogMeter({ counters: new Counters(), logger: silentLogger, clock }),
    report: testReport(clock, { kind: 'logs' }),
  });
}

describe('a list that was refused', () => {
  /** Without tracks nothing is stored: only the answer matters. */
  async function jump(oldestMs: number, fromMs: number): Promise<boolean> {
    await using service = await openFrom(oldestMs);
    await using site = await LogSite.open();
    const options = { shape: 'archives', services: [], types: [''], start: START } as const;
    const ledger = await Ledger.load(site.queue, options);
    const { signal } = new AbortController();
    const pull = { api: pulledApi(service), ledger, signal } as Pull;
    const refused = { type: 'error-log', fromMs };
    return await jumpToOldest(pull, [], refused, await findOldestDay(pull.api, refused, signal));
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
  const { signal } = new AbortController();
  await using refusing = await openFrom(TODAY - 3 * DAY);
  expect(await findFirstDay(pulledApi(refusing), signal)).toBe(TODAY - 3 * DAY);
  await using empty = await openFrom(0);
  expect(await findFirstDay(pulledApi(empty), signal)).toBe(TODAY);
  await using strange = await openLogApi([json({ message: 'we are back soon' })]);
  expect(await findFirstDay(pulledApi(strange), signal)).toBe(null);
  await using full = await openLogApi([json({ count: 3, logs: archivesOf([5, 7, 6]) })]);
  expect(await findFirstDay(pulledApi(full), signal)).toBe(TODAY - 7 * DAY);
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
  const { signal } = new AbortController();
  const check = async (pages: readonly (readonly object[])[], asked: number): Promise<void> => {
    await using service = await openLogApi(
      [...pages, []].map(logs => json({ count: pages.flat().length, logs })),
      { pageSize: 3 },
    );
    expect(await findFirstDay(pulledApi(service), signal)).toBe(TODAY - 7 * DAY);
    expect(service.requests).toHaveLength(asked);
  };
  const others = archivesOf([7, 7, 7], 'db2');
  await check([others, archivesOf([7, 6, 5]), archivesOf([4, 3, 2])], 2);
  await check([archivesOf([7, 7, 6], 'db2'), archivesOf([5])], 1);
  await check([archivesOf([0, 0, 0]), archivesOf([0, 1, 7])], 2);
  await check([archivesOf([6, 5, 6]), archivesOf([6, 5, 4]), archivesOf([7])], 3);
});

test('a time that no log can have is not the first day', async () => {
  const { signal } = new AbortController();
  const starts = [
    '0001-01-01T00:00:00Z',
    '1970-01-01T00:00:00Z',
    new Date(TODAY - 3 * DAY).toISOString(),
  ];
  const logs = starts.map(startTime => ({ id: startTime, logType: 'error-log', startTime }));
  await using service = await openLogApi([json({ count: 3, logs })]);
  expect(await findFirstDay(pulledApi(service), signal)).toBe(TODAY - 3 * DAY);
});
