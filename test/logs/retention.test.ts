// The search for the beginning of the logs.

import { describe, expect, test } from 'vitest';
import type { PulledApi } from '../../src/logs/pull.ts';
import { findFirstDay, firstKeptDay } from '../../src/logs/listing.ts';
import { json, type OpenedApi, openLogApi, testPulledApi } from '../support/log-api.ts';
import { DAY, HOUR, NOW, ShiftedClock } from '../support/log-site.ts';

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

describe('the first day that is kept', () => {
  const kept = async (keptFromMs: number, refusedMs: number): Promise<number | null> => {
    await using service = await openFrom(keptFromMs);
    return await firstKeptDay(pulledApi(service), TYPE, refusedMs);
  };

  test('is the last one before a refusal, from today back', async () => {
    expect(await kept(TODAY - 7 * DAY - 1234, TODAY - 90 * DAY)).toBe(TODAY - 7 * DAY);
    expect(await kept(TODAY, TODAY - DAY)).toBe(TODAY);
    // A list that was refused once, for another reason.
    expect(await kept(TODAY - 9 * DAY, TODAY - 3 * DAY)).toBe(TODAY - 3 * DAY);
  });

  test('is not guessed if the service refuses today as well, or does not answer', async () => {
    expect(await kept(NOW + DAY, TODAY - 9 * DAY)).toBeNull();
    await using failing = await openLogApi([json({ count: 0, logs: [] }), json({}, 403)]);
    expect(await firstKeptDay(pulledApi(failing), TYPE, NOW - 90 * DAY)).toBeNull();
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
