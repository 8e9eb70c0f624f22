// A random world for the mapping: servers that restart and flush, series that come and go, stamps that lag, repeat and
// are wrong, clocks that are set, pages with broken lines. A world is plain data that fast-check makes and shrinks;
// `tell` gives its pages one after the other.
import * as fc from 'fast-check';
import { type Seen, T0, type Target } from '../support/target.ts';
import { mostly, rarely } from '../support/random.ts';

/** One line of the world, and how its value moves. */
interface Line {
  readonly key: string;
  readonly service: string;
  readonly server: string;
  readonly kind: 'uptime' | 'counter' | 'gauge';
}

/** Pairs of a service and one of its servers. */
export const SERVERS = [
  ['a', 's1'],
  ['a', 's2'],
  ['b', 's1'],
  ['z', 's1'],
] as const;

const LINES: readonly Line[] = SERVERS.flatMap(([service, server]) => {
  const labels = `namespace="${service}",server_name="${server}"`;
  const line = (key: string, kind: Line['kind']): Line => ({ key, service, server, kind });
  return [
    line(`engine_global_status_uptime{${labels}}`, 'uptime'),
    line(`engine_global_status_queries{${labels}}`, 'counter'),
    line(`engine_global_status_commands_total{${labels},command="x"}`, 'counter'),
    line(`c_total{${labels},pod="1"}`, 'counter'),
    line(`c_total{${labels},pod="2"}`, 'counter'),
    line(`g{${labels}}`, 'gauge'),
    line(`up{${labels}}`, 'gauge'),
  ];
});

/** What happens to one line on one page. */
interface Outcome {
  readonly isAbsent: boolean;
  readonly growth: number;
  /** The sample's age at the scrape in seconds, or null for no timestamp. */
  readonly lag: number | null;
  readonly isTwice: boolean;
}

export interface PageEvent {
  readonly kind: 'page' | 'failure' | 'unusable';
  readonly gapSeconds: number;
  /** The error of our clock in seconds; the service's clock is right. */
  readonly wallOffset: number;
  /** Servers (by index) that restarted, or flushed their counters, since the last page. */
  readonly restarts: readonly number[];
  readonly flushes: readonly number[];
  readonly outcomes: readonly Outcome[];
  readonly badLines: readonly (readonly [service: string, text: string])[];
  /** The growth of a histogram's two buckets and of its count beyond the last bound. */
  readonly buckets: readonly [number, number, number];
  readonly isHistogramBroken: boolean;
}

const lag = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(0, 1, 5) },
  { weight: 2, arbitrary: fc.integer({ min: -700, max: 900 }) },
);
const outcome = (hasStamps: fc.Arbitrary<boolean>): fc.Arbitrary<Outcome> =>
  fc
    .record({
      isAbsent: mostly(6, fc.constant(false), fc.boolean()),
      growth: mostly(4, fc.nat(100), fc.integer({ min: -50, max: 0 })),
      lag,
      isStamped: hasStamps,
      isTwice: rarely(20),
    })
    .map(({ isStamped, ...rest }) => ({ ...rest, lag: isStamped ? rest.lag : null }));

/** Bytes that are no sample line; they never hold a newline, and never begin a comment. */
const badText = fc.oneof(
  fc.constantFrom('1,5', '0x10', '', '1 2 3', 'Inf1', '--1', '1 1.5', '{'),
  fc.string({ maxLength: 12 }).map(text => `${text.replaceAll(/[\r\n]/g, '')} x`),
);
const servers = fc.array(fc.nat(SERVERS.length - 1), { maxLength: 2 });

const event: fc.Arbitrary<PageEvent> = fc.boolean().chain(isStamped =>
  fc.record({
    kind: mostly(
      12,
      fc.constant('page' as const),
      fc.constantFrom('failure' as const, 'unusable' as const),
    ),
    gapSeconds: mostly(5, fc.constantFrom(15, 60), fc.integer({ min: 1, max: 5000 })),
    wallOffset: mostly(8, fc.constant(0), fc.integer({ min: -900_000, max: 900_000 })),
    restarts: mostly(6, fc.constant([]), servers),
    flushes: mostly(6, fc.constant([]), servers),
    outcomes: fc.array(
      outcome(isStamped ? mostly(9, fc.constant(true), fc.boolean()) : fc.constant(false)),
      {
        minLength: LINES.length,
        maxLength: LINES.length,
      },
    ),
    badLines: mostly(
      5,
      fc.constant([]),
      fc.array(fc.tuple(fc.constantFrom('a', 'b', 'z', ''), badText), {
        maxLength: 6,
      }),
    ),
    buckets: fc.tuple(fc.nat(5), fc.nat(5), fc.nat(5)),
    isHistogramBroken: rarely(9),
  }),
);

/** Random sequences of events. */
export const worlds: fc.Arbitrary<readonly PageEvent[]> = fc.array(event, {
  minLength: 2,
  maxLength: 14,
});

/** One page as text, with its event, its time and its counts of lines. */
export interface ToldPage {
  readonly event: PageEvent;
  readonly seconds: number;
  readonly text: string;
  /** Good and bad sample lines by service, '' for none. */
  readonly goodLines: ReadonlyMap<string, number>;
  readonly badLines: ReadonlyMap<string, number>;
}

/** Gives a world page by page. Without `hasRepeats`, no series is on a page twice. */
export function* tell(world: readonly PageEvent[], hasRepeats = true): Generator<ToldPage> {
  const startedAt = SERVERS.map(() => -1000);
  const values = LINES.map(() => 10);
  const cumulated = [0, 0, 0];
  let seconds = 0;
  for (const [index, happening] of world.entries()) {
    // The program has to believe its clock at first, so the first page comes with a right clock.
    const event: PageEvent =
      index === 0 ? { ...happening, kind: 'page', wallOffset: 0 } : happening;
    seconds += event.gapSeconds;
    for (const server of event.restarts) startedAt[server] = seconds - 3;
    const back = new Set([...event.restarts, ...event.flushes]);
    const goodLines = new Map<string, number>();
    const badLines = new Map<string, number>();
    const count = (counts: Map<string, number>, service: string): void => {
      counts.set(service, (counts.get(service) ?? 0) + 1);
    };
    const lines = ['# TYPE c_total counter', '# TYPE g gauge'];
    for (const [i, line] of LINES.entries()) {
      const outcome = event.outcomes[i];
      if (outcome === undefined) continue;
      const server = SERVERS.findIndex(
        ([service, name]) => service === line.service && name === line.server,
      );
      const sampledAt = seconds - (outcome.lag ?? 0);
      if (line.kind === 'counter' && back.has(server)) values[i] = 0;
      values[i] = Math.max(0, (values[i] ?? 0) + outcome.growth);
      const uptime = Math.max(0, Math.floor(sampledAt - (startedAt[server] ?? 0)));
      const value = line.kind === 'uptime' ? uptime : values[i];
      const stamp = outcome.lag === null ? '' : ` ${T0 + sampledAt * 1000}`;
      if (outcome.isAbsent) continue;
      for (let copies = outcome.isTwice && hasRepeats ? 2 : 1; copies > 0; copies--) {
        lines.push(`${line.key} ${value}${stamp}`);
        count(goodLines, line.service);
      }
    }
    for (const [service, text] of event.badLines) {
      lines.push(service === '' ? `bad ${text}` : `bad{namespace="${service}"} ${text}`);
      count(badLines, service);
    }
    for (const [i, growth] of event.buckets.entries()) cumulated[i] = (cumulated[i] ?? 0) + growth;
    lines.push(...histogramLines(cumulated, event.isHistogramBroken));
    for (let i = 0; i < 4; i++) count(goodLines, 'b');
    yield { event, seconds, text: `${lines.join('\n')}\n`, goodLines, badLines };
  }
}

/** Gives a page or a failure to a target, with the clocks of its event. */
export function scrape(target: Target, { event, seconds, text }: ToldPage): Seen {
  const clocks = { wall: seconds + event.wallOffset, server: seconds };
  if (event.kind === 'failure')
    return target.fail(seconds, 'timeout', { ...clocks, server: Number.NaN });
  if (event.kind === 'page') return target.page(seconds, text, clocks);
  const { derive } = target.translation;
  const { limits } = derive;
  // The page exceeds a limit: the samples read before that must leave no trace.
  Object.assign(derive, { limits: { ...limits, samples: 3 } });
  // In the program, limits do not change, and a page that has passed them once is replayed without a check.
  target.translation.table.layout = null;
  const seen = target.page(seconds, text, clocks);
  Object.assign(derive, { limits });
  return seen;
}

function histogramLines(growths: readonly number[], isBroken: boolean): string[] {
  const [first = 0, second = 0, third = 0] = growths;
  const labels = 'namespace="b",server_name="s1"';
  return [
    '# TYPE h histogram',
    `h_bucket{${labels},le="1"} ${first}`,
    `h_bucket{${labels},le="5"} ${first + second}`,
    `h_count{${labels}} ${isBroken ? 'NaN' : first + second + third}`,
    `h_sum{${labels}} ${first + 3 * second}`,
  ];
}
