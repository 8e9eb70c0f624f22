// The account of every sample and point, as two sums that must balance. In: the numbers that the queue keeps. Out: an
// AccountReport (for /status.json and `queue inspect`), its problems, and its table on the page.

import { formatCount } from '../lib/format.ts';
import type { Account } from '../pipeline/queue/account.ts';
import type { DeliveryStatus } from './delivery-status.ts';
import type { Html } from './html.ts';
import { column, countColumn, type Named, section, serviceNames, table } from './page-parts.ts';
import { counted, problem, type Finding } from './problem.ts';

/** The account of every sample and point since the queue was created. */
export interface AccountReport {
  readonly total: AccountNumbers;
  /** By service id. Services beyond the limit are summed up under `(others)`. */
  readonly services: Readonly<Record<string, AccountNumbers>>;
}

export interface AccountNumbers {
  /** `read` is the sum of the others. */
  readonly samples: {
    readonly read: number;
    readonly used: number;
    /** Creation times and target_info: they describe other samples or the Resource. */
    readonly metadata: number;
    readonly repeated: number;
    readonly dropped: number;
    readonly droppedByReason: Readonly<Record<string, number>>;
  };
  /** `made` is the sum of the others. Log records count as points. */
  readonly points: {
    readonly made: number;
    readonly accepted: number;
    readonly rejected: number;
    readonly setAside: number;
    readonly evicted: number;
    readonly queued: number;
  };
}

export interface Accounted {
  readonly account: AccountReport;
}

/** The outcomes of samples that are not dropped. */
const KEPT_OUTCOMES: ReadonlySet<string> = new Set(['used', 'metadata', 'repeated']);
const SAMPLE_PREFIX = 'sample/';

/** True if a sample with this outcome was dropped: it made no point, and is neither metadata nor a repetition. */
export function isDrop(outcome: string): boolean {
  return !KEPT_OUTCOMES.has(outcome);
}

/** The most services without an entry in the configuration that are listed. */
export const ACCOUNT_SHOWN_MAX = 200;
const OTHERS = '(others)';

/**
 * The account in total and per service: the services in `always` and ACCOUNT_SHOWN_MAX others.
 * Without `always`, all services.
 */
export function accountReport(account: Account, always?: ReadonlySet<string>): AccountReport {
  const shown: [string, AccountNumbers][] = [];
  const others = new Map<string, number>();
  let left = always === undefined ? Infinity : ACCOUNT_SHOWN_MAX;
  for (const [id, numbers] of account.entries()) {
    if (always?.has(id) === true || left-- > 0) shown.push([id, accountNumbers(numbers)]);
    else for (const [key, count] of numbers) others.set(key, (others.get(key) ?? 0) + count);
  }
  if (others.size > 0) shown.push([OTHERS, accountNumbers(others)]);
  return { total: accountNumbers(account.total()), services: Object.fromEntries(shown) };
}

/** The numbers of one service, or of all together, as the two sums. */
export function accountNumbers(numbers: ReadonlyMap<string, number>): AccountNumbers {
  const get = (key: string): number => numbers.get(key) ?? 0;
  const outcomes = [...numbers]
    .filter(([key]) => key.startsWith(SAMPLE_PREFIX))
    .map(([key, count]) => [key.slice(SAMPLE_PREFIX.length), count] as const);
  const drops = outcomes.filter(([outcome]) => isDrop(outcome));
  const points = {
    made: get('point/made'),
    accepted: get('point/accepted'),
    rejected: get('point/rejected'),
    setAside: get('point/set_aside'),
    evicted: get('point/evicted'),
  };
  const settled = points.accepted + points.rejected + points.setAside + points.evicted;
  return {
    samples: {
      read: sum(outcomes),
      used: get('sample/used'),
      metadata: get('sample/metadata'),
      repeated: get('sample/repeated'),
      dropped: sum(drops),
      droppedByReason: Object.fromEntries(drops),
    },
    points: { ...points, queued: points.made - settled },
  };
}

function sum(entries: readonly (readonly [string, number])[]): number {
  return entries.reduce((total, [, count]) => total + count, 0);
}

/** Points that were lost. */
export function accountProblems({
  account,
  setAside,
}: Accounted & Pick<DeliveryStatus, 'setAside'>): readonly Finding[] {
  const { rejected, setAside: aside, evicted } = account.total.points;
  const found: Finding[] = [];
  if (rejected + aside > 0) {
    const reason = setAside[0] === undefined ? '' : `; the last time: ${setAside[0].reason}`;
    const message = `the back end has refused ${counted(rejected + aside, 'point')} for good${reason}`;
    const hint = 'prom2otlp queue inspect shows what was set aside.';
    const since = setAside.at(-1)?.at ?? null;
    const about = { cause: 'points refused', since, lastSeen: setAside[0]?.at ?? null };
    found.push(problem('warning', 'back end', { message, hint }, about));
  }
  if (evicted > 0)
    found.push(
      problem('warning', 'queue', {
        message: `${counted(evicted, 'point')} dropped before the back end accepted them`,
        hint: 'The queue or its disk was full, they were too old, or the file of the queue lost them: the log and prom2otlp_queue_evicted_points_total say which.',
      }),
    );
  return found;
}

/** A problem if the account does not agree with the queue, which holds the points of all services. */
export function balanceProblems({
  account,
  queue,
}: Accounted & Pick<DeliveryStatus, 'queue'>): readonly Finding[] {
  const { queued } = account.total.points;
  const waiting = queue.reduce((sum, { points }) => sum + points, 0);
  if (queued === waiting) return [];
  return [
    problem('warning', 'account', {
      message: `it does not balance: ${formatCount(queued)} points should wait, the queue holds ${formatCount(waiting)}`,
      hint: 'This is a mistake in the program. Please report it with /status.json.',
    }),
  ];
}

type AccountRow = readonly [name: string, numbers: AccountNumbers];

export function accountSection({
  account,
  services,
}: Accounted & { readonly services: readonly Named[] }): Html {
  const nameOf = serviceNames(services);
  const all: AccountRow = ['all', account.total];
  const rows = table(
    [all, ...Object.entries(account.services)],
    [
      column('Service', row => (row === all ? 'all' : nameOf(row[0])), 'head'),
      countColumn('Samples read', ([, { samples }]) => samples.read),
      countColumn('= used', ([, { samples }]) => samples.used),
      countColumn('+ metadata', ([, { samples }]) => samples.metadata),
      countColumn('+ repeated', ([, { samples }]) => samples.repeated),
      countColumn('+ dropped', ([, { samples }]) => samples.dropped),
      countColumn('Points made', ([, { points }]) => points.made),
      countColumn('= accepted', ([, { points }]) => points.accepted),
      countColumn('+ rejected', ([, { points }]) => points.rejected),
      countColumn('+ set aside', ([, { points }]) => points.setAside),
      countColumn('+ evicted', ([, { points }]) => points.evicted),
      countColumn('+ queued', ([, { points }]) => points.queued),
    ],
    { id: 'account', noun: 'service', isSum: row => row === all },
  );
  const about = 'every sample and every point since the queue was created; the sums must balance';
  return section('Account', about, rows);
}
