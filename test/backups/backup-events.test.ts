import { expect, test } from 'vitest';
import { backupEvents } from '../../src/backups/service-backups.ts';
import type { KnownBackups, KnownSchedule } from '../../src/backups/known-backups.ts';

const NOW = Date.UTC(2026, 2, 4, 9);
const DAILY: KnownSchedule = {
  id: '7',
  type: 'full',
  schedule: '0 2 * * *',
  status: 'Scheduled',
  isSuspended: false,
  scheduledAtMs: null,
};

function known(...schedules: KnownSchedule[]): KnownBackups {
  return {
    schedules,
    types: ['full'],
    finishedAtMs: {},
    window: null,
    restorable: ['full'],
    readAtMs: NOW,
  };
}

test('the first answer and an unchanged answer make no event', () => {
  expect(backupEvents('db1', null, known(DAILY))).toEqual([]);
  expect(backupEvents('db1', known(DAILY), known({ ...DAILY }))).toEqual([]);
});

test('a schedule that appears or disappears makes one event', () => {
  const [appeared, ...more] = backupEvents('db1', known(), known(DAILY));
  expect(more).toEqual([]);
  expect(appeared).toMatchObject({
    kind: 'appeared',
    uid: expect.stringMatching(/^[0-9a-f]{32}$/),
    record: {
      timeMs: NOW,
      severityText: 'INFO',
      eventName: 'prom2otlp.backup.schedule.appeared',
      body: 'backup schedule 7 (full, 0 2 * * *) of db1 appeared',
      attributes: [
        ['prom2otlp.backup.schedule.id', '7'],
        ['prom2otlp.backup.schedule.type', 'full'],
        ['prom2otlp.backup.schedule.schedule', '0 2 * * *'],
        ['prom2otlp.backup.schedule.status', 'Scheduled'],
        ['prom2otlp.backup.schedule.suspended', false],
      ],
    },
  });
  expect(backupEvents('db1', known(DAILY), known())).toMatchObject([
    { kind: 'vanished', record: { severityText: 'WARN', severityNumber: 13 } },
  ]);
});

test('a change lists the differences', () => {
  const check = (changes: Partial<KnownSchedule>, what: string): void =>
    expect(
      backupEvents('db1', known(DAILY), known({ ...DAILY, ...changes })).map(({ kind, record }) => [
        kind,
        record.attributes.at(-1),
      ]),
    ).toEqual([['changed', ['prom2otlp.backup.schedule.changes', what]]]);
  check({ schedule: '0 3 * * *' }, 'schedule 0 2 * * * is now 0 3 * * *');
  check({ isSuspended: true }, 'suspended');
  check({ status: '' }, 'status Scheduled is now none');
  check({ type: 'log', status: 'Failed' }, 'type full is now log, status Scheduled is now Failed');
  check({ scheduledAtMs: NOW }, 'time none is now 2026-03-04T09:00:00.000Z');
});

test('each event has a unique id, and the same event always has the same id', () => {
  const other = { ...DAILY, id: '8' };
  const uids = (): readonly string[] =>
    backupEvents('db1', known(DAILY), known(other)).map(({ uid }) => uid);
  expect(new Set(uids()).size).toBe(2);
  expect(uids()).toEqual(uids());
});
