import { describe, expect, test } from 'vitest';
import { type KnownBackups, readBackups } from '../../src/backups/known-backups.ts';
import { backupEvents, BACKUPS, saveKnown } from '../../src/backups/service-backups.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type ScriptedAnswer, scriptedService } from '../support/service-client.ts';

const NOW = Date.UTC(2026, 2, 4, 9);
const ENDED = '2026-03-04T02:10:00Z';

interface Answers {
  readonly schedules: ScriptedAnswer;
  readonly backups?: ScriptedAnswer;
  readonly window?: ScriptedAnswer;
}

async function read(answers: Answers, before?: KnownBackups) {
  const { schedules, backups = { body: [] }, window = { status: 404 } } = answers;
  await using service = await scriptedService(({ path }) => {
    if (path.includes('/pointintime/')) return window;
    return path.includes('/schedules') ? schedules : backups;
  });
  return await readBackups({
    client: service.client,
    serviceId: 'db1',
    restorable: ['full', 'Dump'],
    before: before ?? null,
    clock: new FakeClock(NOW),
    signal: new AbortController().signal,
  });
}

async function knownOf(answers: Answers, before?: KnownBackups): Promise<KnownBackups> {
  const result = await read(answers, before);
  if (!result.ok) throw new Error(result.error.message);
  return result.known;
}

describe('schedules', () => {
  test('keep the words of the service', async () => {
    const one = {
      id: 7,
      service_id: 'db1',
      type: 'Full',
      schedule: '0 2 * * *',
      status: 'Scheduled',
      suspended: true,
      scheduled_at: ENDED,
    };
    expect((await knownOf({ schedules: { body: { schedules: [one] } } })).schedules).toEqual([
      {
        id: '7',
        type: 'full',
        schedule: '0 2 * * *',
        status: 'Scheduled',
        isSuspended: true,
        // Null, since the time moves with every run, which is no change of the schedule.
        scheduledAtMs: null,
      },
    ]);
  });

  test('count even if they are empty', async () => {
    const body = [{}, { schedule: 'once', scheduled_at: ENDED }];
    const { schedules } = await knownOf({ schedules: { body } });
    expect(schedules).toMatchObject([
      { id: '', type: 'unknown', schedule: '', status: '', isSuspended: false },
      { id: '', scheduledAtMs: Date.parse(ENDED) },
    ]);
  });

  test('have texts of bounded length, without terminal control characters', async () => {
    const long = `\u001B[2J${'x'.repeat(1_000_000)}`;
    const body = [{ id: long, type: long, schedule: long, status: long }];
    const { schedules, types } = await knownOf({ schedules: { body } });
    const text = `?[2J${'x'.repeat(196)}`;
    const type = text.toLowerCase().slice(0, 40);
    expect(schedules).toMatchObject([{ id: text, type, schedule: text, status: text }]);
    expect(types).toEqual(['full', type]);
  });

  test('are bounded in number', async () => {
    const body = Array.from({ length: 1001 }, (_, id) => ({ id }));
    expect(await read({ schedules: { body } })).toMatchObject({
      error: { kind: 'unreadable', message: expect.stringContaining('more than 1000') },
    });
  });

  test('are rejected as a whole if some are missing', async () => {
    expect(await read({ schedules: { body: [{ id: 1 }, 'x'] } })).toMatchObject({
      ok: false,
      error: {
        kind: 'unreadable',
        message: expect.stringContaining('not the whole list'),
        hint: expect.stringContaining('the next reading asks again'),
      },
    });
    expect(await read({ schedules: { status: 500 } })).toMatchObject({ error: { kind: 'server' } });
  });
});

describe('a schedule that a list lacks', () => {
  const [a, b] = [
    { id: 1, schedule: '0 2 * * *' },
    { id: 2, schedule: '0 3 * * *' },
  ];
  const whole = { schedules: { body: [a, b] } };
  const namesOf = (before: KnownBackups | null, now: KnownBackups): readonly string[] =>
    backupEvents('db1', before, now).map(({ kind }) => kind);

  test.each<[string, unknown]>([
    ['an empty list', []],
    ['a list without its end', [a]],
    ['a schedule without its id', [a, { ...b, id: null }]],
    ['lists without ids', [{ schedule: a.schedule }, { schedule: b.schedule }]],
    ['a list of nothing', { schedules: null, schedules_count: 0 }],
  ])('makes no event when it comes back: %s', async (_, body) => {
    const first = await knownOf(whole);
    const second = await knownOf({ schedules: { body } }, first);
    const third = await knownOf(whole, second);
    expect([...namesOf(first, second), ...namesOf(second, third)]).toEqual([]);
    expect(third.schedules).toEqual(first.schedules);
  });

  test('vanishes when the next list lacks it, too', async () => {
    const first = await knownOf(whole);
    const second = await knownOf({ schedules: { body: [a] } }, first);
    const third = await knownOf(
      { schedules: { body: [a] } },
      BACKUPS.read(saveKnown(second)) ?? first,
    );
    expect(namesOf(second, third)).toEqual(['vanished']);
    expect(third.schedules).toMatchObject([{ id: '1' }]);
  });
});

describe('the last backup', () => {
  const schedules = { body: [] };
  const backup = { service_id: 'db1', type: 'full', status: 'Succeeded', end_time: ENDED };
  const before: KnownBackups = {
    schedules: [],
    types: ['full', 'log'],
    finishedAtMs: { full: 7 },
    window: null,
    restorable: ['full', 'dump'],
    readAtMs: 1,
  };

  test('is the newest successful one of each type', async () => {
    const body = {
      backups: [
        { ...backup, end_time: '2026-03-01T00:00:00Z' },
        backup,
        { ...backup, status: 'Failed', end_time: '2026-03-04T08:00:00Z' },
        { ...backup, status: 'Unsuccessful', end_time: '2026-03-04T08:00:00Z' },
        { ...backup, status: 'Completed with errors', end_time: '2026-03-04T08:00:00Z' },
        { ...backup, end_time: 'soon' },
        { ...backup, type: 'Log', status: undefined, end_time: '2026-03-04T08:30:00Z' },
        { ...backup, service_id: 'db2', end_time: '2026-03-04T08:59:00Z' },
      ],
    };
    const { finishedAtMs, types } = await knownOf({ schedules, backups: { body } });
    expect(finishedAtMs).toEqual({
      full: Date.parse(ENDED),
      log: Date.parse('2026-03-04T08:30:00Z'),
    });
    expect(types).toEqual(['full', 'log']);
  });

  test('is unknown if the service does not report backups', async () => {
    const { finishedAtMs } = await knownOf({ schedules, backups: { status: 404 } }, before);
    expect(finishedAtMs).toEqual({});
  });

  test('is no time that is hours ahead', async () => {
    const ahead = { ...backup, end_time: new Date(NOW + 2 * 3_600_000).toISOString() };
    const { finishedAtMs } = await knownOf({ schedules, backups: { body: [ahead] } }, before);
    expect(finishedAtMs).toEqual(before.finishedAtMs);
  });

  test('does not change once the newest backup was deleted', async () => {
    const { finishedAtMs } = await knownOf({ schedules, backups: { body: [] } }, before);
    expect(finishedAtMs).toEqual(before.finishedAtMs);
  });

  test('does not change while the list cannot be read, and the failure is reported', async () => {
    const result = await read({ schedules, backups: { status: 503 } }, before);
    expect(result).toMatchObject({
      ok: true,
      known: { finishedAtMs: { full: 7 }, types: ['full', 'log'], readAtMs: NOW },
      backupsError: { kind: 'server' },
    });
  });

  test('may be missing from a list that is not whole, which is reported: it never becomes older', async () => {
    const later = { ...before, finishedAtMs: { full: NOW, log: 7 } };
    const body = [backup, { ...backup, type: 'log' }, 'x'];
    const result = await read({ schedules, backups: { body } }, later);
    expect(result).toMatchObject({
      known: { finishedAtMs: { full: NOW, log: Date.parse(ENDED) } },
      backupsError: { kind: 'unreadable', message: expect.stringContaining('not the whole list') },
    });
  });
});

describe('the window', () => {
  const schedules = { body: [] };
  const start_time = '2026-03-01T00:00:00Z';
  const times = { start_time, end_time: ENDED };
  const window = { startMs: Date.parse(start_time), endMs: Date.parse(ENDED) };

  async function check(body: unknown, want: KnownBackups['window'] = window): Promise<void> {
    expect((await knownOf({ schedules, window: { body } })).window).toEqual(want);
  }

  test('is read from each form of the answer', async () => {
    await check(times);
    await check({ service_id: 'db1', ...times });
    await check({ window: times });
    await check([{ service_id: 'db2' }, { service_id: 'db1', ...times }]);
    await check({ windows: [{ service_id: 'db1', ...times }] });
    await check({ db1: times, db2: {} });
  });

  test('is unknown if it is of another service, or no window', async () => {
    await check({ service_id: 'db2', ...times }, null);
    await check([], null);
    await check({ start_time: ENDED, end_time: start_time }, null);
    await check({ start_time, end_time: 'now' }, null);
    // An end that is ahead would hide that nothing new is kept.
    await check({ start_time, end_time: '2026-03-04T11:00:00Z' }, null);
  });

  test('is unknown, without an error, where the service or the key has no look-up', async () => {
    const before: KnownBackups = { ...(await knownOf({ schedules })), window };
    for (const status of [400, 403, 404, 405]) {
      const result = await read({ schedules, window: { status } }, before);
      expect(result).toMatchObject({ known: { window: null }, backupsError: null });
    }
  });

  test('does not change while it cannot be read, and the failure is reported', async () => {
    const before: KnownBackups = { ...(await knownOf({ schedules })), window };
    for (const [status, kind] of [
      [503, 'server'],
      [429, 'rate'],
      [401, 'key'],
    ] as const) {
      const result = await read({ schedules, window: { status } }, before);
      expect(result).toMatchObject({ known: { window }, backupsError: { kind } });
    }
  });
});
