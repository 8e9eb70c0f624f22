// The account covers all runs of a queue; a verb that ends by itself reports what it added.

import type { AccountView } from '../pipeline/queue/queue.ts';

/** Gives how much each number has grown since now: of one service, or of all together for null. */
export function countFromNow(
  account: AccountView,
): (service: string | null, key: string) => number {
  const copy = new Map<string | null, ReadonlyMap<string, number>>(
    [...account.entries()].map(([service, numbers]) => [service, new Map(numbers)]),
  );
  const before = copy.set(null, account.total());
  return (service, key) => {
    const now = service === null ? (account.total().get(key) ?? 0) : account.get(service, key);
    return now - (before.get(service)?.get(key) ?? 0);
  };
}
