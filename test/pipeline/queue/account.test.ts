import { expect, test } from 'vitest';
import { Account, ACCOUNT_SERVICES_MAX } from '../../../src/pipeline/queue/account.ts';

test('numbers add up per service and in total', () => {
  const account = new Account();
  account.add('a', 'sample/used', 3);
  account.add('a', 'sample/used', 4);
  account.add('b', 'sample/used', 1);
  account.add('b', 'sample/excluded', 0);
  expect(account.get('a', 'sample/used')).toBe(7);
  expect(account.get('a', 'sample/excluded')).toBe(0);
  expect(account.get('nobody', 'sample/used')).toBe(0);
  expect(account.services()).toEqual(['a', 'b']);
  expect(Object.fromEntries(account.total())).toEqual({ 'sample/used': 8 });
});

test('what is queued is what was made and has met no end', () => {
  const account = new Account();
  account.add('a', 'point/made', 20);
  expect(account.queued('a')).toBe(20);
  account.settle({ service: 'a', accepted: 5, rejected: 2, setAside: 1 });
  account.add('a', 'point/evicted', 4);
  expect(account.queued('a')).toBe(8);
  expect(account.queued('b')).toBe(0);
});

test('services beyond the bound share an account, which balances as any other', () => {
  const account = new Account();
  for (let i = 0; i < ACCOUNT_SERVICES_MAX; i++) account.add(`s${i}`, 'point/made', 1);
  account.add('late', 'point/made', 5);
  account.add('later', 'point/made', 7);
  account.settle({ service: 'late', accepted: 5, rejected: 0, setAside: 0 });
  expect(account.services()).toHaveLength(ACCOUNT_SERVICES_MAX + 1);
  expect(account.queued('other')).toBe(7);
  expect(account.queued('late')).toBe(7);
  expect(account.queued('s0')).toBe(1);
});

test('a cleared account is empty', () => {
  const account = new Account();
  account.add('a', 'point/made', 20);
  account.clear();
  expect(account.services()).toEqual([]);
  expect(account.total().size).toBe(0);
});
