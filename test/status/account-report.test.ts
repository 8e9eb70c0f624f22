import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { OUTCOME_NAMES } from '../../src/model/series-table.ts';
import { Account, POINT_STATES } from '../../src/pipeline/queue/account.ts';
import { ACCOUNT_SHOWN_MAX, accountReport } from '../../src/status/account-report.ts';

test('the numbers of each service, and of all', () => {
  const account = new Account();
  account.add('a', 'sample/used', 10);
  account.add('a', 'sample/metadata', 2);
  account.add('a', 'sample/repeated', 3);
  account.add('a', 'sample/time_conflict', 1);
  account.add('a', 'sample/excluded', 4);
  account.add('a', 'point/made', 12);
  account.add('b', 'point/made', 5);
  account.add('a', 'point/accepted', 6);
  account.add('a', 'point/rejected', 1);
  account.add('a', 'point/set_aside', 2);
  account.add('a', 'point/evicted', 1);
  const report = accountReport(account);
  expect(report.services['a']).toEqual({
    samples: {
      read: 20,
      used: 10,
      metadata: 2,
      repeated: 3,
      dropped: 5,
      droppedByReason: { time_conflict: 1, excluded: 4 },
    },
    points: { made: 12, accepted: 6, rejected: 1, setAside: 2, evicted: 1, queued: 2 },
  });
  expect(report.services['b']?.points).toMatchObject({ made: 5, queued: 5 });
  expect(report.total.points).toMatchObject({ made: 17, accepted: 6, queued: 7 });
  expect(report.total.samples.read).toBe(20);
});

test('of thousands of services that no entry names some are shown, and the others summed up', () => {
  const account = new Account();
  for (let i = 0; i < 3000; i++) account.add(`x${i}`, 'sample/used', 2);
  account.add('db1', 'sample/used', 5);
  const { services, total } = accountReport(account, new Set(['db1']));
  expect(Object.keys(services)).toHaveLength(ACCOUNT_SHOWN_MAX + 2);
  expect(services['db1']?.samples.used).toBe(5);
  expect(services['(others)']?.samples.used).toBe(2 * (3000 - ACCOUNT_SHOWN_MAX));
  expect(total.samples.used).toBe(6005);
  expect(Object.keys(accountReport(account).services)).toHaveLength(3001);
});

test('both sums balance, for any counts', () => {
  const keys = [
    ...new Set(OUTCOME_NAMES.map(outcome => `sample/${outcome}`)),
    ...POINT_STATES.map(state => `point/${state}`),
    'sample/bad_line',
  ];
  const entry = fc.tuple(fc.constantFrom('a', 'b', ''), fc.constantFrom(...keys), fc.nat(1e6));
  fc.assert(
    fc.property(fc.array(entry), entries => {
      const account = new Account();
      for (const [service, key, count] of entries) account.add(service, key, count);
      const { total, services } = accountReport(account);
      for (const { samples, points } of [total, ...Object.values(services)]) {
        const { used, metadata, repeated, dropped, droppedByReason } = samples;
        expect(samples.read).toBe(used + metadata + repeated + dropped);
        expect(Object.values(droppedByReason).reduce((sum, count) => sum + count, 0)).toBe(dropped);
        const { accepted, rejected, setAside, evicted, queued } = points;
        expect(points.made).toBe(accepted + rejected + setAside + evicted + queued);
      }
      const read = entries.filter(([, key]) => key.startsWith('sample/'));
      expect(total.samples.read).toBe(read.reduce((sum, [, , count]) => sum + count, 0));
    }),
    { numRuns: 100 },
  );
});
