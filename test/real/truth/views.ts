// The pages of the ledger: the same counters several times, each under the namespace of a view. The views differ only in
// their stamps and their uptime line: on time, late, stuck, missing.

import { type Kind, KINDS } from '../../support/truth-ledger.ts';

export interface View {
  readonly id: string;
  readonly name: string;
  readonly isStamped: boolean;
  /** The uptime line of a page, made from the uptimes of all pages so far, the newest last; null for no line. */
  readonly uptime: (pages: readonly Uptime[], number: number) => Uptime | null;
}

/** An uptime in seconds and its stamp. */
export interface Uptime {
  readonly seconds: number;
  readonly atMs: number;
}

const own = (pages: readonly Uptime[]): Uptime | null => pages.at(-1) ?? null;
const previous = (pages: readonly Uptime[]): Uptime | null => pages.at(-2) ?? null;
/** Of each `cycle` pages, the uptime is right on the first ones (`moves`), and then does not change. */
const STUCK = { cycle: 20, moves: 8 };

export const VIEWS: readonly View[] = [
  { id: 'dbtruth000001', name: 'on time', isStamped: true, uptime: own },
  { id: 'dbtruth000002', name: 'no stamps', isStamped: false, uptime: own },
  { id: 'dbtruth000003', name: 'late', isStamped: true, uptime: previous },
  {
    id: 'dbtruth000004',
    name: 'late, stamped as new',
    isStamped: true,
    uptime: pages => {
      const [late, now] = [previous(pages), own(pages)];
      return late === null || now === null ? null : { seconds: late.seconds, atMs: now.atMs };
    },
  },
  {
    id: 'dbtruth000005',
    name: 'stuck',
    isStamped: true,
    uptime: (pages, number) => {
      const stood = Math.max(0, (number % STUCK.cycle) - STUCK.moves);
      const [stuck, now] = [pages.at(-1 - stood), own(pages)];
      return stuck === undefined || now === null ? null : { ...stuck, atMs: now.atMs };
    },
  },
  {
    id: 'dbtruth000006',
    name: 'on each third page',
    isStamped: true,
    uptime: (pages, number) => (number % 3 === 0 ? own(pages) : null),
  },
  { id: 'dbtruth000007', name: 'missing', isStamped: true, uptime: () => null },
];

const SERVER_NAME = 'node';
/** The series of the ledger, by the name and labels that a page gives them. */
export const SERIES: Readonly<Record<Kind, { readonly name: string; readonly label: string }>> = {
  statements: { name: 'mysql_global_status_commands_total', label: 'command="do",' },
  refusals: { name: 'mysql_global_status_aborted_connects', label: '' },
};
export const UPTIME = 'mysql_global_status_uptime';
const TYPES: Readonly<Record<string, string>> = {
  mysql_up: 'gauge',
  [UPTIME]: 'untyped',
  [SERIES.statements.name]: 'counter',
  [SERIES.refusals.name]: 'untyped',
};

export interface PageContent {
  readonly up: number;
  readonly values: Readonly<Record<Kind, number>> | null;
  readonly uptimeOf: (view: View) => Uptime | null;
}

/** A page of all views, stamped with this time. */
export function pageOfViews({ up, values, uptimeOf }: PageContent, atMs: number): string {
  const lines = new Map<string, string[]>(Object.keys(TYPES).map(name => [name, []]));
  for (const view of VIEWS) {
    const add = (name: string, label: string, value: number, stampMs: number): void => {
      const stamp = view.isStamped ? ` ${stampMs}` : '';
      const labels = `{${label}namespace="${view.id}",server_name="${SERVER_NAME}"}`;
      lines.get(name)?.push(`${name}${labels} ${value}${stamp}`);
    };
    add('mysql_up', '', up, atMs);
    const uptime = uptimeOf(view);
    if (uptime !== null) add(UPTIME, '', uptime.seconds, uptime.atMs);
    if (values === null) continue;
    for (const kind of KINDS) add(SERIES[kind].name, SERIES[kind].label, values[kind], atMs);
  }
  return [...lines]
    .filter(([, members]) => members.length > 0)
    .map(([name, members]) => `# TYPE ${name} ${TYPES[name]}\n${members.join('\n')}\n`)
    .join('');
}
