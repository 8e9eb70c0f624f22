// The account of every sample and point in the two sums that must balance: for /status.json, the page and `queue
// inspect`. In: the numbers that the queue keeps. Out: an AccountReport, its table, and the problems that it shows.

import { formatCount } from '../lib/format.ts';
import type { AccountView } from '../pipeline/queue/queue.ts';
import type { DeliveryStatus } from './delivery-status.ts';
import { html, type Html } from './html.ts';
import { countCell, section, table } from './page-parts.ts';
import { counted, problem, type StatusProblem } from './problem.ts';

/** The account of every sample and point since the queue was created. */
export interface AccountReport {
  readonly total: AccountNumbers;
  /** By service id; services that are not shown are together under `(others)`. */
  readonly services: Readonly<Record<string, AccountNumbers>>;
}

export interface AccountNumbers {
  /** `read` is the sum of the others. */
  readonly samples: {
    readonly read: number;
    readonly used: number;
    /** Consumed: creation times, target_info. */
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

/** A report that holds the account. */
export interface Accounted {
  readonly account: AccountReport;
}

/** What becomes of samples that are not dropped. */
const KEPT_FATES: ReadonlySet<string> = new Set(['used', 'metadata', 'repeated']);
const SAMPLE_PREFIX = 'sample/';

/** Whether a sample with this fate was dropped: it made no point, and was meant to. */
export function isDrop(fate: string): boolean {
  return !KEPT_FATES.has(fate);
}

/** So many services that no entry names are shown; the others are summed up as one. */
export const ACCOUNT_SHOWN_MAX = 200;
const OTHERS = '(others)';

/** The account in total and per service: the services in `always` and ACCOUNT_SHOWN_MAX others. Without it: all services. */
export function accountReport(account: AccountView, always?: ReadonlySet<string>): AccountReport {
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

/** One list of numbers (of a service, or of all) in the two sums. */
function accountNumbers(numbers: ReadonlyMap<string, number>): AccountNumbers {
  const get = (key: string): number => numbers.get(key) ?? 0;
  const fates = [...numbers]
    .filter(([key]) => key.startsWith(SAMPLE_PREFIX))
    .map(([key, count]) => [key.slice(SAMPLE_PREFIX.length), count] as const);
  const drops = fates.filter(([fate]) => isDrop(fate));
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

/** What was lost, and whether the account agrees with what the queue holds. */
export function accountProblems({
  account,
  setAside,
  queue,
}: Accounted & Pick<DeliveryStatus, 'setAside' | 'queue'>): readonly StatusProblem[] {
  const { rejected, setAside: aside, evicted, queued } = account.total.points;
  const found: StatusProblem[] = [];
  if (rejected + aside > 0) {
    const reason = setAside[0] === undefined ? '' : `; the last time: ${setAside[0].reason}`;
    const message = `the back end has refused ${counted(rejected + aside, 'point')} for good${reason}`;
    const hint = 'prom2otlp queue inspect shows what was set aside.';
    found.push(problem('warning', 'back end', { message, hint }));
  }
  if (evicted > 0)
    found.push(
      problem('warning', 'queue', {
        message: `${counted(evicted, 'point')} dropped before the back end accepted them`,
        hint: 'The queue was full or they were too old. See queue.metrics in the configuration.',
      }),
    );
  const waiting = queue.reduce((sum, { points }) => sum + points, 0);
  if (queued !== waiting)
    found.push(
      problem('warning', 'account', {
        message: `it does not balance: ${formatCount(queued)} points should wait, the queue holds ${formatCount(waiting)}`,
        hint: 'This is a mistake in the program. Please report it with /status.json.',
      }),
    );
  return found;
}

/** The two sums: their parts add up to the first number of each. */
const COLUMNS: readonly (readonly [title: string, of: (numbers: AccountNumbers) => number])[] = [
  ['Samples read', ({ samples }) => samples.read],
  ['= used', ({ samples }) => samples.used],
  ['+ metadata', ({ samples }) => samples.metadata],
  ['+ repeated', ({ samples }) => samples.repeated],
  ['+ dropped', ({ samples }) => samples.dropped],
  ['Points made', ({ points }) => points.made],
  ['= accepted', ({ points }) => points.accepted],
  ['+ rejected', ({ points }) => points.rejected],
  ['+ set aside', ({ points }) => points.setAside],
  ['+ evicted', ({ points }) => points.evicted],
  ['+ queued', ({ points }) => points.queued],
];

/** The table of the page. */
export function accountSection({ account }: Accounted): Html {
  const columns = [{ title: 'Service' }, ...COLUMNS.map(([title]) => ({ title, isNumber: true }))];
  const all: readonly AccountEntry[] = [['all', account.total, 'sum']];
  const services = Object.entries(account.services).map(
    ([id, numbers]): AccountEntry => [id === '' ? '(none)' : id, numbers, ''],
  );
  const about = 'every sample and every point since the queue was created; the sums must balance';
  return section('Account', about, table(columns, [...all, ...services], accountRow));
}

type AccountEntry = readonly [name: string, numbers: AccountNumbers, style: string];

function accountRow([name, numbers, style]: AccountEntry): Html {
  const cells = COLUMNS.map(([, of]) => countCell(of(numbers)));
  return html`<tr class="${style}"><th scope="row">${name}</th>${cells}</tr>
`;
}
