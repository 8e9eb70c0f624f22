// The account as the status page shows it: the keys of account.ts put together to the two sums that must balance.

import type { AccountView } from '../pipeline/queue/queue.ts';
import type { AccountNumbers, AccountReport } from './status-report.ts';

/** Fates of samples that are no drop. */
const KEPT_FATES: ReadonlySet<string> = new Set(['used', 'metadata', 'repeated']);
const SAMPLE_PREFIX = 'sample/';

/** The whole account, per service and in total. */
export function accountReport(account: AccountView): AccountReport {
  const services = [...account.entries()].map(([id, numbers]) => [id, accountNumbers(numbers)]);
  return {
    total: accountNumbers(account.total()),
    services: Object.fromEntries(services) as Record<string, AccountNumbers>,
  };
}

/** One list of numbers (of a service, or of all) in the two sums. */
function accountNumbers(numbers: ReadonlyMap<string, number>): AccountNumbers {
  const get = (key: string): number => numbers.get(key) ?? 0;
  const fates = [...numbers]
    .filter(([key]) => key.startsWith(SAMPLE_PREFIX))
    .map(([key, count]) => [key.slice(SAMPLE_PREFIX.length), count] as const);
  const drops = fates.filter(([fate]) => !KEPT_FATES.has(fate));
  const made = get('point/made');
  const accepted = get('point/accepted');
  const rejected = get('point/rejected');
  const setAside = get('point/set_aside');
  const evicted = get('point/evicted');
  return {
    samples: {
      read: sum(fates),
      used: get('sample/used'),
      metadata: get('sample/metadata'),
      repeated: get('sample/repeated'),
      dropped: sum(drops),
      droppedByReason: Object.fromEntries(drops),
    },
    points: {
      made,
      accepted,
      rejected,
      setAside,
      evicted,
      queued: made - accepted - rejected - setAside - evicted,
    },
  };
}

function sum(entries: readonly (readonly [string, number])[]): number {
  return entries.reduce((total, [, count]) => total + count, 0);
}
