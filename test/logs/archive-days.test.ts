// Archives over midnight, also if their days do not begin at midnight UTC, and servers whose clocks show another zone.

import { describe, expect, test, vi } from 'vitest';
import { createLineReader } from '../../src/logs/formats/reader.ts';
import { Ledger } from '../../src/logs/ledger.ts';
import {
  AUDIT,
  ERRORS,
  HOUR,
  LogSite,
  MINUTE,
  NOW,
  type SiteOptions,
} from '../support/log-site.ts';

async function openSite(dayStartMs: number, options: SiteOptions = {}): Promise<LogSite> {
  const site = await LogSite.open(options);
  site.book.dayStartMs = dayStartMs;
  return site;
}

describe.each([0, 22 * HOUR, 5.5 * HOUR])(
  'days that begin %d ms after midnight UTC',
  dayStartMs => {
    test('lose no line, and none comes twice', async () => {
      await using site = await openSite(dayStartMs);
      for (let i = 0; i < 10; i++) {
        site.write(ERRORS, `line ${i}`);
        // Enough pulls to complete every known archive.
        await site.pulls(4, 15 * MINUTE);
        site.clock.forward(7 * HOUR);
      }
      await site.pulls(3);
      expect(site.bodies).toEqual(site.written);
      expect(site.gaps).toEqual([]);
    });

    test('lose no line of a service that writes its first one of the day late', async () => {
      await using site = await openSite(dayStartMs);
      await site.pull();
      for (let day = 0; day < 3; day++) {
        for (let i = 0; i < 23; i++) await site.pulls(1, HOUR);
        site.write(ERRORS, `day ${day}`);
        await site.pulls(4, 15 * MINUTE);
      }
      expect(site.bodies).toEqual(site.written);
      expect(site.gaps).toEqual([]);
    });
  },
);

describe('a first start', () => {
  test('takes an archive that began on the day before and still grows', async () => {
    const startMs = NOW - 6 * HOUR;
    await using site = await openSite(22 * HOUR, { startMs, logs: { first_start: '1h' } });
    site.book.write(ERRORS, { text: 'old', atMs: startMs - 4 * HOUR });
    site.book.write(AUDIT, { text: 'of the day before', atMs: startMs - 8 * HOUR });
    for (let i = 0; i < 5; i++) {
      site.write(ERRORS, `line ${i}`);
      await site.pulls(1, HOUR);
    }
    await site.pulls(3);
    expect(site.bodies).toEqual([0, 1, 2, 3, 4].map(i => `line ${i}`));
    expect(site.gaps).toEqual([]);
  });

  test.each(['raw', 'json'])(
    'takes what a server behind UTC writes, in format %s',
    async format => {
      const logs = { first_start: '1h', endpoints: { format } };
      await using site = await openSite(0, { logs, createReader: createLineReader });
      const write = (text: string, atMs: number): void => {
        const local = new Date(atMs - 5 * HOUR).toISOString().slice(0, 19).replace('T', ' ');
        site.book.write(ERRORS, { text: `${local} 0 [Note] ${text}`, atMs });
      };
      write('old', NOW - 4 * HOUR);
      write('new', NOW - HOUR / 2);
      for (let i = 0; i < 4; i++) {
        write(`line ${i}`, site.clock.nowMs());
        await site.pulls(1, HOUR);
      }
      await site.pulls(3);
      const wanted = ['new', 'line 0', 'line 1', 'line 2', 'line 3'];
      // Raw lines have no time of the service, which would tell that a line is too old.
      if (format === 'raw') wanted.unshift('old');
      expect(site.bodies.map(body => body.replace(/.*\] /, ''))).toEqual(wanted);
    },
  );
});

const FIRST = { errors: '2026-03-04.orders-0.error-log', audit: '2026-03-04.orders-1.audit-log' };

/** Two types are pulled on one day. Then no pull comes for `days` days, and the service deletes some archives. */
async function openAfter(
  days: number,
  write: (site: LogSite, day: number) => void,
  deleted: readonly string[] = [],
  options: SiteOptions = {},
): Promise<LogSite> {
  const site = await LogSite.open(options);
  for (const place of [ERRORS, AUDIT]) site.write(place, 'one', 'end');
  await site.pulls(4);
  for (let day = 0; day < days; day++) {
    site.clock.forward(24 * HOUR);
    write(site, day);
  }
  for (const id of deleted) site.book.remove(id);
  return site;
}

test('days of a type that is kept for a shorter time than others are a gap of that type', async () => {
  const write = (at: LogSite, day: number): void => {
    at.write(ERRORS, `day ${day}`);
    if (day === 2) at.write(AUDIT, 'audit', 'open');
  };
  await using site = await openAfter(3, write, [FIRST.audit]);
  await site.pulls(5);
  expect(site.bodies).toEqual(expect.arrayContaining(['day 0', 'day 1', 'day 2', 'audit']));
  expect(site.gaps).toMatchObject([
    {
      service: 'dbpgf1',
      type: 'audit-log',
      reason: 'retention',
      from: expect.stringContaining('2026-03-04T09:') as string,
      to: '2026-03-07T00:00:00.000Z',
    },
  ]);
});

test('the days that each type has lost are a gap, up to its first archive', async () => {
  const write = (at: LogSite, day: number): void => {
    if (day > 1) at.write(ERRORS, `day ${day}`);
    if (day > 3) at.write(AUDIT, 'audit', 'open');
  };
  await using site = await openAfter(5, write, Object.values(FIRST));
  await site.pulls(5);
  expect(site.gaps).toMatchObject([
    { type: 'error-log', reason: 'retention', to: '2026-03-07T00:00:00.000Z' },
    { type: 'audit-log', reason: 'retention', to: '2026-03-09T00:00:00.000Z' },
  ]);
});

test('days that a type has lost are a gap, also if it cannot be listed at first', async () => {
  const write = (at: LogSite, day: number): void => {
    if (day > 1) for (const place of [ERRORS, AUDIT]) at.write(place, `day ${day}`);
  };
  const brief = { logs: { schedule: '30s' } };
  await using site = await openAfter(5, write, Object.values(FIRST), brief);
  site.simulator.setFaults({ listStatuses: { 'audit-log': 503 } });
  await site.pulls(1);
  site.simulator.resetFaults();
  await site.pulls(5);
  expect(site.gaps).toContainEqual(
    expect.objectContaining({ type: 'audit-log', to: '2026-03-07T00:00:00.000Z' }),
  );
});

test('a type that logs nothing for days while no pull comes has no gap', async () => {
  await using site = await openAfter(3, (at, day) => at.write(ERRORS, `day ${day}`));
  // A type that is new, and one whose earlier archive is still there.
  site.write({ ...AUDIT, type: 'slow-query-log' }, 'slow', 'open');
  site.write(AUDIT, 'audit', 'open');
  await site.pulls(5);
  expect(site.bodies).toEqual(expect.arrayContaining(['slow', 'audit']));
  expect(site.gaps).toEqual([]);
});

test.each([1, 2])(
  '%d services: a pull that closes days goes over all archives equally often',
  async count => {
    const services = ['dbpgf1', 'dbpgf2'].slice(0, count);
    await using site = await LogSite.open({ services });
    site.write(ERRORS, 'first');
    await site.pulls(4, 15 * MINUTE);
    site.clock.forward(30 * HOUR);
    using archives = vi.spyOn(Ledger.prototype, 'archives');
    await site.pulls(1);
    // To note what is absent, to sort what is due, and to find what is behind.
    expect(archives.mock.calls.filter(([service]) => service === undefined)).toHaveLength(3);
    expect(archives.mock.calls.length).toBeGreaterThan(3);
  },
);
