// The table of docs/use/backups.md, row by row.

import { describe, expect, test } from 'vitest';
import {
  addTypes,
  type KnownBackups,
  type KnownSchedule,
  outlookOf,
  typeAmong,
} from '../../src/backups/known-backups.ts';
import { backupGauges, BACKUPS, saveKnown } from '../../src/backups/service-backups.ts';
import { endedSince, endsOf, type Gauge } from '../../src/pipeline/encode/gauges.ts';

const NOW = Date.UTC(2026, 2, 4, 9);
const HOUR_MS = 3_600_000;

function schedule(changes: Partial<KnownSchedule> = {}): KnownSchedule {
  return {
    id: '1',
    type: 'full',
    schedule: '0 2 * * *',
    status: 'Scheduled',
    isSuspended: false,
    scheduledAtMs: null,
    ...changes,
  };
}

function known(changes: Partial<KnownBackups> = {}): KnownBackups {
  return {
    schedules: [schedule()],
    types: ['full'],
    finishedAtMs: {},
    window: null,
    restorable: ['full', 'snapshot', 'dump'],
    readAtMs: NOW,
    ...changes,
  };
}

/** Each point as `name{attributes} value`, without schedule counts of 0. */
function shown(gauges: readonly Gauge[], isZeroShown = false): readonly string[] {
  return gauges.flatMap(({ name, points }) =>
    points
      .filter(({ value }) => isZeroShown || value !== 0 || !name.endsWith('_schedules'))
      .map(({ attributes, value }) => {
        const labels = attributes.map(([key, text]) => `${key}=${text}`).join(',');
        return `${name.replace('prom2otlp_backup_', '')}{${labels}} ${value}`;
      }),
  );
}

test('a schedule has one state and, if it will run, a next time', () => {
  const check = (changes: Partial<KnownSchedule>, state: string, next: string | null): void => {
    const nextRunMs = next === null ? null : Date.parse(next);
    expect(outlookOf(schedule(changes), NOW)).toEqual({ state, nextRunMs });
  };
  check({}, 'active', '2026-03-05T02:00Z');
  check({ schedule: '30 9 * * *' }, 'active', '2026-03-04T09:30Z');
  check({ schedule: '0 0 29 2 *' }, 'active', '2028-02-29T00:00Z');
  check({ isSuspended: true }, 'suspended', null);
  check({ isSuspended: true, status: 'Failed' }, 'suspended', null);
  check({ status: 'Failed' }, 'failed', '2026-03-05T02:00Z');
  check({ status: 'last run: ERROR' }, 'failed', '2026-03-05T02:00Z');
  check({ schedule: '0 0 30 2 *' }, 'ended', null);
  check({ schedule: 'once', scheduledAtMs: NOW + 1 }, 'active', '2026-03-04T09:00:00.001Z');
  check({ schedule: 'Once', scheduledAtMs: NOW }, 'ended', null);
  check({ schedule: 'once' }, 'unknown', null);
  check({ schedule: 'daily' }, 'unknown', null);
  check({ schedule: '0 0 2 * * *' }, 'unknown', null);
  check({ schedule: '' }, 'unknown', null);
});

describe('the gauges', () => {
  test('describe one daily full backup', () => {
    const finishedAtMs = { full: NOW - 7 * HOUR_MS };
    expect(shown(backupGauges(known({ finishedAtMs }), true, NOW))).toEqual([
      'up{} 1',
      'schedules{type=full,state=active} 1',
      'restorable_scheduled{} 1',
      `next_run_timestamp_seconds{type=full} ${Date.UTC(2026, 2, 5, 2) / 1000}`,
      'next_run_seconds{type=full} 61200',
      'last_finished_age_seconds{type=full} 25200',
      'restorable_age_seconds{} 25200',
    ]);
  });

  test('have values, not gaps, for a service without schedules', () => {
    expect(shown(backupGauges(known({ schedules: [] }), true, NOW), true)).toEqual([
      'up{} 1',
      'schedules{type=full,state=active} 0',
      'schedules{type=full,state=suspended} 0',
      'schedules{type=full,state=ended} 0',
      'schedules{type=full,state=failed} 0',
      'schedules{type=full,state=unknown} 0',
      'restorable_scheduled{} 0',
    ]);
  });

  test('report a scheduled backup that restores only if one will run', () => {
    const types = ['full', 'snapshot', 'dump', 'incremental', 'binarylog'];
    const check = (changes: Partial<KnownSchedule>, value: number): void =>
      expect(
        shown(backupGauges(known({ schedules: [schedule(changes)], types }), true, NOW)),
      ).toContain(`restorable_scheduled{} ${value}`);
    check({ status: 'Failed' }, 1);
    check({ schedule: 'once', scheduledAtMs: NOW + HOUR_MS }, 1);
    check({ isSuspended: true }, 0);
    check({ type: 'snapshot' }, 1);
    check({ type: 'dump' }, 1);
    check({ type: 'incremental' }, 0);
    check({ type: 'binarylog' }, 0);
    check({ type: 'unknown' }, 0);
    check({ schedule: 'once', scheduledAtMs: NOW - HOUR_MS }, 0);
    check({ schedule: 'daily' }, 0);
  });

  test('show the soonest run of each type', () => {
    const schedules = [
      schedule({ id: '1' }),
      schedule({ id: '2', schedule: '0 12 * * *' }),
      schedule({ id: '3', type: 'log', schedule: '0 * * * *' }),
    ];
    const gauges = backupGauges(known({ schedules, types: ['full', 'log'] }), true, NOW);
    expect(shown(gauges)).toEqual(
      expect.arrayContaining([
        'schedules{type=full,state=active} 2',
        'schedules{type=log,state=active} 1',
        'next_run_seconds{type=full} 10800',
        'next_run_seconds{type=log} 3600',
      ]),
    );
  });

  test('show the newest state that restores, and the window', () => {
    const check = (changes: Partial<KnownBackups>, want: readonly string[]): void => {
      const all = shown(backupGauges(known(changes), true, NOW));
      expect(all.filter(one => /^(?:restorable_age|window)/.test(one))).toEqual(want);
    };
    const hoursAgo = (hours: number): number => NOW - hours * HOUR_MS;
    check({}, []);
    check({ finishedAtMs: { incremental: hoursAgo(1), binarylog: hoursAgo(1) } }, []);
    check(
      { finishedAtMs: { incremental: hoursAgo(1), full: hoursAgo(3), snapshot: hoursAgo(2) } },
      ['restorable_age_seconds{} 7200'],
    );
    // The window is newer than any backup, and restores alone.
    const window = { startMs: hoursAgo(48), endMs: hoursAgo(0.5) };
    const start = `window_start_timestamp_seconds{} ${window.startMs / 1000}`;
    const end = `window_end_timestamp_seconds{} ${window.endMs / 1000}`;
    check({ window }, ['restorable_age_seconds{} 1800', start, end]);
    check({ window, finishedAtMs: { full: hoursAgo(3) } }, [
      'restorable_age_seconds{} 1800',
      start,
      end,
    ]);
  });

  test('are a single series without an answer', () => {
    expect(shown(backupGauges(null, false, NOW))).toEqual(['up{} 0']);
  });
});

test('the number of types is bounded, and further types count together', () => {
  const many = Array.from({ length: 40 }, (_, i) => `t${i}`);
  const restorable = ['full', 'snapshot'];
  const types = addTypes([], many, restorable);
  expect(types).toHaveLength(16);
  expect(types[0]).toBe('full');
  expect(addTypes(types, ['late'], restorable)).toEqual(types);
  // What restores is never counted with others.
  expect(addTypes(types, ['snapshot'], restorable)).toEqual([...types, 'snapshot']);
  expect(typeAmong(types, 't3')).toBe('t3');
  const schedules = [schedule({ type: 't38' }), schedule({ type: 't39' })];
  const gauges = backupGauges(known({ schedules, types }), true, NOW);
  expect(shown(gauges)).toContain('schedules{type=other,state=active} 2');
});

test('a series that ends gets one marker', () => {
  const first = endsOf(backupGauges(known(), true, NOW));
  const second = endsOf(backupGauges(known({ schedules: [] }), true, NOW));
  expect(endedSince(first, first)).toEqual([]);
  expect(shown(endedSince(first, second))).toEqual([
    'next_run_timestamp_seconds{type=full} null',
    'next_run_seconds{type=full} null',
  ]);
  expect(endedSince(second, second)).toEqual([]);
});

test('the state survives as a blob, and an invalid blob counts as the first answer', () => {
  const all = known({ finishedAtMs: { full: 1 } });
  expect(BACKUPS.read(saveKnown(all))).toEqual(all);
  const { window, restorable, ...former } = all;
  const blob = Buffer.from(JSON.stringify(former));
  expect(BACKUPS.read(blob)).toEqual({ ...former, window, restorable });
  for (const blob of ['', '{}', '[]', '{"schedules":1}'])
    expect(BACKUPS.read(Buffer.from(blob))).toBeNull();
});
