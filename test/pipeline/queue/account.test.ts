import { expect, test } from 'vitest';
import { Account, ACCOUNT_SERVICES_MAX, Change } from '../../../src/pipeline/queue/account.ts';
import { MEMORY, QueueFile } from '../../../src/pipeline/queue/queue-file.ts';
import type { Settlement } from '../../../src/pipeline/queue/commit.ts';
import { metricsBytes } from '../../support/otlp-requests.ts';

function settled(settlement: Settlement): Change {
  const change = new Change();
  change.settled(settlement);
  return change;
}

test('numbers add up per service and in total', () => {
  const account = new Account();
  account.add('a', 'sample/used', 3);
  account.add('a', 'sample/used', 4);
  account.add('b', 'sample/used', 1);
  account.add('b', 'sample/excluded', 0);
  expect(account.get('a', 'sample/used')).toBe(7);
  expect(account.get('a', 'sample/excluded')).toBe(0);
  expect(account.get('nobody', 'sample/used')).toBe(0);
  expect([...account.entries().keys()]).toEqual(['a', 'b']);
  expect(Object.fromEntries(account.total())).toEqual({ 'sample/used': 8 });
});

test('queued points are those made minus those with an outcome', () => {
  const account = new Account();
  account.add('a', 'point/made', 20);
  expect(account.queued('a')).toBe(20);
  account.apply(settled({ service: 'a', accepted: 5, rejected: 2, setAside: 1 }));
  account.add('a', 'point/evicted', 4);
  expect(account.queued('a')).toBe(8);
  expect(account.queued('b')).toBe(0);
});

test('services beyond the bound share an account, which balances, too', () => {
  const account = new Account();
  for (let i = 0; i < ACCOUNT_SERVICES_MAX; i++) account.add(`s${i}`, 'point/made', 1);
  account.add('late', 'point/made', 5);
  account.add('later', 'point/made', 7);
  account.apply(settled({ service: 'late', accepted: 5, rejected: 0, setAside: 0 }));
  expect([...account.entries().keys()]).toHaveLength(ACCOUNT_SERVICES_MAX + 1);
  expect(account.queued('other')).toBe(7);
  expect(account.queued('late')).toBe(7);
  expect(account.queued('s0')).toBe(1);
});

test('nor does the file get more services, which would make it grow for ever', () => {
  const account = new Account();
  for (let i = 1; i < ACCOUNT_SERVICES_MAX; i++) account.add(`s${i}`, 'point/made', 1);
  const change = new Change();
  for (const service of ['s1', 'last', 'late', 'last', 'later'])
    change.read({ service, outcome: service === 'late' ? 'used' : 'repeated', count: 2 });
  change.settled({ service: 'last', accepted: 1, rejected: 0, setAside: 0 });
  const named = account.named(change.counts());
  expect(named.map(({ service }) => service)).toEqual(['s1', 'last', 'other', 'other', 'last']);
  account.apply(change);
  for (const { service, key, count } of named)
    if (service !== 's1') expect(account.get(service, key)).toBe(count);
  expect(account.named(change.counts())).toEqual(named);
});

test('numbers from the files replace all known ones together', () => {
  const account = new Account();
  account.add('before', 'point/made', 20);
  const files = ['a', 'b'].map((service, i) => {
    const file = QueueFile.open(MEMORY);
    const body = metricsBytes(service, 3);
    const parts = [{ service, points: 3, offset: 0, length: body.length }];
    const { length: rawBytes } = body;
    const row = { id: 1, signal: 'metrics', encoding: 'none', madeAtMs: 5, rawBytes } as const;
    file.insert({ ...row, parts, body });
    // One point of the first service was lost, and two of the second were never counted.
    file.addCounts([{ service, key: 'point/made', count: i === 0 ? 4 : 1 }]);
    return file;
  });
  const correction = account.load(
    files.flatMap(file => file.counts()),
    files.flatMap(file => [...file.heads()]),
  );
  expect([...account.entries().keys()]).toEqual(['a', 'b']);
  expect(account.sums('metrics')).toMatchObject({ rows: 2, points: 6 });
  expect(account.sums('logs')).toEqual({ rows: 0, bytes: 0, points: 0 });
  expect(correction.counts()).toEqual([
    { service: 'a', key: 'point/evicted', count: 1 },
    { service: 'b', key: 'point/made', count: 2 },
  ]);
  expect(correction.evictions).toMatchObject([{ reason: 'damaged' }]);
  account.apply(correction);
  expect(account.queued('a') + account.queued('b')).toBe(6);
  for (const file of files) file.close();
});

test('a change adds up its counts, and is empty if no number changes', () => {
  const change = new Change();
  expect(change.isEmpty).toBe(true);
  const parts = [{ service: 'a', points: 3, offset: 0, length: 100 }];
  const row = { signal: 'logs', parts, body: { length: 100 } } as const;
  change.added(row);
  expect(change.isEmpty).toBe(false);
  change.removed(row);
  expect(change.isEmpty).toBe(true);
  change.read({ service: 'a', outcome: 'used', count: 2 });
  change.read({ service: 'a', outcome: 'used', count: 3 });
  change.evicted({ signal: 'logs', parts: [{ service: 'a', points: 3 }] }, 'damaged');
  expect(change.counts()).toEqual([
    { service: 'a', key: 'sample/used', count: 5 },
    { service: 'a', key: 'point/evicted', count: 3 },
  ]);
});
