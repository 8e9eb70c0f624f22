// A random world of processes behind one server's labels, with known increments, for the rules of resets (F5 to F8):
// processes restart and fail over, counters are flushed, buckets and series come and go, the uptime is late, stuck, missing
// or doubled, hours pass, and the bridge itself restarts. A world is plain data that fast-check makes and shrinks. Telling
// a world gives its pages, and for each page how much every process had counted by then.
import * as fc from 'fast-check';
import { at } from './target.ts';
import { mostly, rarely } from './random.ts';

/** The events between two pages, and the content of the second one. */
export interface WorldStep {
  /** `failure`: the scrape fails; `absent`: the page has nothing of the server. */
  readonly kind: 'page' | 'failure' | 'absent';
  /** Over an hour passes. */
  readonly isLong: boolean;
  readonly act: 'nothing' | 'restart' | 'failover' | 'flush' | 'shuffle';
  /** The time of the act, as a share of the time between the pages; and the process that a failover goes to. */
  readonly share: number;
  readonly other: number;
  /** The growth of each counter: in the process that answers, and in the others. */
  readonly growth: number;
  readonly growthElsewhere: number;
  readonly absent: 'nothing' | 'counter' | 'bucket';
  readonly uptime: 'shown' | 'missing' | 'doubled';
  /** The bridge restarts after this page. */
  readonly isOurRestart: boolean;
}

export interface ProcessWorld {
  readonly intervalSeconds: number;
  readonly isStamped: boolean;
  /** `late`: the uptime and stamp of the poll before; `restamped`: with this poll's stamp; `stuck`: on some pages. */
  readonly uptime: 'in time' | 'late' | 'restamped' | 'stuck';
  readonly steps: readonly WorldStep[];
}

const often = <T>(usual: T, rare: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  mostly(6, fc.constant(usual), rare);

const step: fc.Arbitrary<WorldStep> = fc.record({
  kind: often<WorldStep['kind']>('page', fc.constantFrom('failure', 'absent')),
  isLong: rarely(25),
  act: fc.oneof(
    { weight: 4, arbitrary: fc.constant<WorldStep['act']>('nothing') },
    { weight: 3, arbitrary: fc.constantFrom('restart', 'failover', 'flush', 'shuffle') },
  ),
  share: fc.double({ min: 0.01, max: 0.99, noNaN: true }),
  other: fc.nat(2),
  growth: fc.oneof(fc.nat(9), fc.nat(2_000)),
  growthElsewhere: fc.oneof(fc.nat(9), fc.nat(2_000)),
  absent: often<WorldStep['absent']>('nothing', fc.constantFrom('counter', 'bucket')),
  uptime: often<WorldStep['uptime']>('shown', fc.constantFrom('missing', 'doubled')),
  isOurRestart: rarely(12),
});

/** A page with growth. */
export const CALM: WorldStep = {
  kind: 'page',
  isLong: false,
  act: 'nothing',
  share: 0.5,
  other: 0,
  growth: 5,
  growthElsewhere: 5,
  absent: 'nothing',
  uptime: 'shown',
  isOurRestart: false,
};
/** Begins a world: only a restart at which a counter falls teaches the rules that the uptime is late. */
const LESSON: WorldStep[] = [CALM, CALM, { ...CALM, act: 'restart' }, CALM, CALM];

export const processWorlds: fc.Arbitrary<ProcessWorld> = fc
  .record({
    intervalSeconds: fc.constantFrom(1, 15, 60),
    isStamped: fc.boolean(),
    uptime: fc.constantFrom<ProcessWorld['uptime'][]>(
      'in time',
      'in time',
      'late',
      'restamped',
      'stuck',
    ),
    steps: fc.array(step, { minLength: 3, maxLength: 40 }),
  })
  .map(world => ({
    ...world,
    steps:
      world.uptime === 'restamped' || (world.uptime === 'late' && !world.isStamped)
        ? [...LESSON, ...world.steps]
        : world.steps,
  }));

/** The server restarts, or its status is flushed at a time when that shows; its uptime is in time on every page. */
export const restartWorlds: fc.Arbitrary<ProcessWorld> = fc
  .record({
    intervalSeconds: fc.constantFrom(15, 60),
    isStamped: fc.boolean(),
    acts: fc.array(
      fc.record({
        isRestart: fc.boolean(),
        isFailure: rarely(9),
        // A process that begins within the jitter of a page's time has a doubtful begin.
        share: fc.double({ min: 0.3, max: 0.7, noNaN: true }),
        growth: fc.nat(3000),
      }),
      { minLength: 3, maxLength: 40 },
    ),
  })
  .map(({ acts, ...world }) => ({
    ...world,
    uptime: 'in time',
    steps: [...LESSON, CALM].concat(
      acts.flatMap(({ isRestart, isFailure, share, growth }) => [
        {
          ...CALM,
          // No failure at a restart: on the next page, the new process could show the uptime that the old one had.
          kind: isFailure && !isRestart ? 'failure' : 'page',
          act: isRestart ? 'restart' : 'nothing',
          share,
          growth,
        },
        // Separates restarts: two in a row could show the same uptime, which looks like an uptime that is stuck.
        CALM,
      ]),
    ),
  }));

export const COUNTERS = ['queries', 'slow_queries', 'h'] as const;
export type Counter = (typeof COUNTERS)[number];

/** A process and its counts since it began. A flush lowers the shown value, but not the total. */
interface Process {
  beginMs: number;
  readonly totals: Record<Counter, number>;
  readonly flushed: Record<Counter, number>;
  /** The histogram's cumulative buckets: up to 1, up to 5. */
  buckets: [number, number];
}

/** The world at one page: the process that answers, and the totals of all processes by then. */
export interface WorldState {
  readonly timeMs: number;
  readonly process: number;
  readonly totals: readonly Readonly<Record<Counter, number>>[];
}

export interface ToldStep {
  readonly seconds: number;
  readonly step: WorldStep;
  /** null where the scrape fails. */
  readonly text: string | null;
  readonly state: WorldState;
}

/** The least distance of two begins that the rules must tell apart: twice their jitter, in whole seconds. */
const APART_MS = 6000;
const LONG_SECONDS = 4500;
const STUCK = { cycle: 12, moves: 6 };

/** The number of pages with a timely uptime before a failover: with fewer, the page does not show the failover. */
const CLEAR_PAGES = 5;

/** Tells a world page by page. */
export function* tellWorld(world: ProcessWorld): Generator<ToldStep> {
  const { intervalSeconds, isStamped } = world;
  const processes = [
    begun(-90_000_000, 5_000_000),
    begun(-4_000_000, 1_000_000),
    begun(-500_000, 9),
  ];
  let active = 1;
  let seconds = 0;
  let clear = 0;
  let mustShow = false;
  let stands = 0;
  /** The process on the page before. */
  let last: Process | undefined;
  const uptimes: Uptime[] = [];
  for (const [index, step] of world.steps.entries()) {
    const before = seconds;
    seconds += step.isLong ? LONG_SECONDS : intervalSeconds;
    const atMs = 1000 * (before + step.share * (seconds - before));
    grow(processes, active, step);
    const act = step.act === 'failover' && clear < CLEAR_PAGES ? 'restart' : step.act;
    const process = processes[active];
    if (index > 0 && process !== undefined) {
      if (act === 'restart') active = processes.push(begun(atMs, step.growth)) - 1;
      if (act === 'failover') {
        const known = { active, last, beforeMs: before * 1000 };
        const next = standby(processes, known, step.other);
        mustShow = next !== active;
        active = next;
      }
      if (act === 'flush') flush(process);
      if (act === 'shuffle') shuffle(process);
    }
    const shown = processes[active];
    if (shown === undefined) throw new Error('no process answers');
    const totals = processes.map(one => ({ ...one.totals }));
    const state = { timeMs: at(seconds), process: active, totals };
    if (step.kind !== 'page') {
      const text = step.kind === 'failure' ? null : 'load{server_name="b"} 1\n';
      yield { seconds, step, text, state };
      continue;
    }
    // Avoids another process with the last shown uptime: the rules could not tell it from an uptime that is stuck.
    if (uptimeOf(shown, seconds) === uptimes.at(-1)?.value) shown.beginMs -= 1000;
    uptimes.push({ value: uptimeOf(shown, seconds), seconds });
    last = shown;
    // An uptime is stuck only on pages that follow each other: a stale one after a gap looks like a young process.
    if (step.isLong) stands = 0;
    // An uptime that is stuck when its process is first shown gives a wrong begin, and the rules cannot see that.
    const uptime = mustShow || world.uptime === 'stuck' ? 'shown' : step.uptime;
    const line = uptimeLine(world, { uptimes, stood: stoodFor(stands++) }, uptime);
    clear = line.isClear ? clear + 1 : 0;
    mustShow = false;
    const stamp = isStamped ? ` ${at(seconds)}` : '';
    const text = [...line.lines, ...valueLines(shown, step, stamp), ''].join('\n');
    yield { seconds, step, text, state };
  }
}

function uptimeOf({ beginMs }: Process, seconds: number): number {
  return Math.floor(seconds - beginMs / 1000);
}

function begun(beginMs: number, count: number): Process {
  const counts = { queries: count, slow_queries: Math.floor(count / 10), h: count };
  const buckets: [number, number] = [Math.floor(count / 3), Math.floor(count / 2)];
  return { beginMs, totals: counts, flushed: { queries: 0, slow_queries: 0, h: 0 }, buckets };
}

function grow(processes: readonly Process[], active: number, step: WorldStep): void {
  for (const [index, { totals, buckets }] of processes.entries()) {
    const growth = index === active ? step.growth : step.growthElsewhere;
    totals.queries += growth;
    totals.slow_queries += Math.floor(growth / 10);
    totals.h += growth;
    buckets[0] += Math.floor(growth / 3);
    buckets[1] += Math.floor(growth / 2);
  }
}

/** Sets to zero what FLUSH STATUS sets to zero, which is not everything. */
function flush({ totals, flushed, buckets }: Process): void {
  for (const name of ['slow_queries', 'h'] as const) flushed[name] = totals[name];
  buckets.fill(0);
}

/** Moves half of the observations between the two bounds below the first bound. */
function shuffle(process: Process): void {
  const [low, high] = process.buckets;
  process.buckets = [low + Math.ceil((high - low) / 2), high];
}

/**
 * Chooses another process whose begin differs clearly from those of the active process and of the process on the page
 * before, and that began before that page. Without one, the active process stays.
 */
function standby(
  processes: readonly Process[],
  known: {
    readonly active: number;
    readonly last: Process | undefined;
    readonly beforeMs: number;
  },
  other: number,
): number {
  const ours = processes[known.active]?.beginMs ?? 0;
  const lastMs = known.last?.beginMs ?? ours;
  const fit = [...processes.keys()].filter(index => {
    const beginMs = processes[index]?.beginMs ?? 0;
    const isTold = [ours, lastMs].every(ms => Math.abs(beginMs - ms) > APART_MS);
    return isTold && beginMs < known.beforeMs - APART_MS;
  });
  return fit[other % Math.max(1, fit.length)] ?? known.active;
}

interface Uptime {
  readonly value: number;
  readonly seconds: number;
}

/** The lines of the uptime; `isClear` is true if they show the present uptime. */
function uptimeLine(
  { uptime, isStamped }: ProcessWorld,
  { uptimes, stood }: { readonly uptimes: readonly Uptime[]; readonly stood: number },
  how: WorldStep['uptime'],
): { readonly lines: readonly string[]; readonly isClear: boolean } {
  const isLate = uptime === 'late' || uptime === 'restamped';
  const back = uptime === 'stuck' ? 1 + stood : 1;
  const shown = uptimes.at(isLate ? -2 : -back);
  const now = uptimes.at(-1);
  if (how === 'missing' || shown === undefined || now === undefined)
    return { lines: [], isClear: false };
  const atSeconds = uptime === 'late' ? shown.seconds : now.seconds;
  const stamp = isStamped ? ` ${at(atSeconds)}` : '';
  const line = (labels: string, value: number): string =>
    `engine_global_status_uptime{server_name="s"${labels}} ${value}${stamp}`;
  if (how === 'doubled')
    return { lines: [line('', shown.value), line(',pod="2"', 77)], isClear: false };
  return { lines: [line('', shown.value)], isClear: uptime === 'in time' };
}

function stoodFor(pages: number): number {
  return Math.max(0, (pages % STUCK.cycle) - STUCK.moves);
}

function valueLines(process: Process, step: WorldStep, stamp: string): readonly string[] {
  const { totals, flushed, buckets } = process;
  const value = (name: Counter): number => totals[name] - flushed[name];
  const labels = '{server_name="s"}';
  const bucket = (le: number, count: number): string =>
    `h_bucket{server_name="s",le="${le}"} ${count}${stamp}`;
  const lines = [
    `engine_global_status_slow_queries${labels} ${value('slow_queries')}${stamp}`,
    '# TYPE h histogram',
    bucket(1, buckets[0]),
    `h_count${labels} ${value('h')}${stamp}`,
    `h_sum${labels} ${value('h')}${stamp}`,
  ];
  if (step.absent !== 'bucket') lines.push(bucket(5, buckets[1]));
  if (step.absent !== 'counter')
    lines.push(`engine_global_status_queries${labels} ${value('queries')}${stamp}`);
  return lines;
}

/** How much the process that answers in the later state counted since the earlier state. */
export function visibleBetween(from: WorldState | null, to: WorldState, counter: Counter): number {
  const now = to.totals[to.process]?.[counter] ?? 0;
  return now - (from?.totals[to.process]?.[counter] ?? 0);
}
