// Random scripts for the simulation of the sender, and the queues that they run on: a queue in memory, or a file that
// is opened again after each restart.

import * as fc from 'fast-check';
import { Counters } from '../../src/lib/counters.ts';
import { silentLogger } from '../../src/lib/log.ts';
import type { QueueOptions } from '../../src/pipeline/queue/commit.ts';
import { Queue } from '../../src/pipeline/queue/queue.ts';
import { FakeClock } from './fake-clock.ts';
import {
  runScript,
  type Bench,
  type Mood,
  type Outcome,
  type Script,
  scriptOf,
} from './sender-simulation.ts';
import { mostly } from './random.ts';

/** How many lines of the log are shown when something was wrong in a script. */
const LOG_LINES = 80;
/** The longest back-off, and the time that a request takes. */
const RESUME_MS_MAX = 35_100;
const DAY_MS = 24 * 3_600_000;

const retried = fc.constantFrom<Mood['answer']>(
  502,
  503,
  504,
  'drop',
  'hang',
  { grpc: 14 },
  { grpc: 1 },
);
const held = fc.constantFrom<Mood['answer']>(500, 500, 404, 401, 408, { grpc: 8 }, { grpc: 13 });
const lossy = fc.constantFrom<Mood['answer']>('lose', 'partial', 413, 400, 403);
const moodWith = (answer: fc.Arbitrary<Mood['answer']>): fc.Arbitrary<Mood> =>
  answer.map(one => ({ answer: one }));
const slow: fc.Arbitrary<Mood> = fc.record({
  answer: fc.constantFrom(429, 503),
  retryAfterSeconds: fc.integer({ min: 0, max: 90 }),
});
const mood: fc.Arbitrary<Mood> = fc.oneof(
  { weight: 4, arbitrary: moodWith(retried) },
  { weight: 4, arbitrary: moodWith(held) },
  { weight: 1, arbitrary: moodWith(lossy) },
  { weight: 1, arbitrary: slow },
);

const page = fc.record({
  afterMs: fc.constantFrom(10, 1000, 15_000, 60_000),
  services: fc.array(
    fc.record({
      series: fc.integer({ min: 1, max: 4 }),
      lagMs: fc.constantFrom(0, 0, 3001, 45_004),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  isDouble: fc.integer({ min: 0, max: 7 }).map(n => n === 0),
});

const phase = fc.record({
  lengthMs: fc.constantFrom(2000, 20_000, 58_000, 90_000, 600_000, 1_500_000),
  mood,
  share: fc.constantFrom(1, 1, 0.5, 0.3),
});

/** Runs of the same answer, as a back end gives them while it starts. */
const answers = fc
  .array(fc.tuple(fc.option(mood, { freq: 3 }), fc.integer({ min: 1, max: 9 })), { maxLength: 5 })
  .map(runs => runs.flatMap(([one, count]) => Array<Mood | null>(count).fill(one)));

const poison = fc.record({
  service: fc.integer({ min: 0, max: 2 }),
  series: fc.integer({ min: 0, max: 3 }),
  from: fc.integer({ min: 0, max: 6 }),
  to: fc.integer({ min: 1, max: 9 }),
  status: fc.constantFrom(500, 500, 400, 403),
});

const event = fc.record({
  atMs: fc.integer({ min: 0, max: 600_000 }),
  kind: fc.constantFrom('flush', 'stop', 'kill'),
  lengthMs: fc.constantFrom(1000, 5000, 20_000),
});

/** Scripts with everything that can happen to a sender. */
export const arbitraryScript: fc.Arbitrary<Script> = fc.record({
  pages: fc.array(page, { minLength: 1, maxLength: 8 }),
  answers,
  phases: fc.array(phase, { maxLength: 4 }),
  poison: mostly(3, fc.constant([]), fc.array(poison, { minLength: 1, maxLength: 2 })),
  events: mostly(2, fc.constant([]), fc.array(event, { minLength: 1, maxLength: 3 })),
  concurrency: fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 3),
  isStrict: fc.boolean(),
  seed: fc.integer(),
});

/** One outage of at most an hour, in which all requests get the same answer or none, with a page at its start. */
export const arbitraryOutage: fc.Arbitrary<Script> = fc
  .record({
    answer: fc.constantFrom<Mood['answer']>(502, 503, 504, 'drop', { grpc: 14 }),
    lengthMs: fc.integer({ min: 1000, max: 3_600_000 }),
    pages: fc.array(page, { minLength: 1, maxLength: 6 }),
    seed: fc.integer(),
  })
  .map(({ answer, lengthMs, pages, seed }) =>
    scriptOf({
      pages: pages.map((one, i) => (i === 0 ? { ...one, afterMs: 0 } : one)),
      phases: [{ lengthMs, mood: { answer }, share: 1 }],
      seed,
    }),
  );

function optionsOf(clock: FakeClock, counters: Counters): QueueOptions {
  return {
    config: {
      directory: null,
      metrics: { maxBytes: 100_000_000, maxAgeMs: DAY_MS },
      logs: { maxBytes: 1_000_000 },
    },
    limits: {
      metrics: { bytes: 1_000_000, points: Infinity },
      logs: { bytes: 1_000_000, points: Infinity },
    },
    compression: { metrics: 'none', logs: 'none' },
    clock,
    counters,
    logger: silentLogger,
  };
}

/** A queue in memory, which stays the same one after a restart. */
export function memoryBench(): Bench {
  const clock = new FakeClock();
  const counters = new Counters();
  const queue = Queue.open(optionsOf(clock, counters), null);
  return { clock, counters, open: () => Promise.resolve(queue) };
}

/** A queue in a file, which a restart opens again. */
export function fileBench(directory: string): Bench {
  const clock = new FakeClock();
  const counters = new Counters();
  let queue: Queue | null = null;
  const open = async (): Promise<Queue> => {
    await queue?.close();
    queue = Queue.open(optionsOf(clock, counters), directory);
    return queue;
  };
  return { clock, counters, open };
}

/** The findings of a script, and the outages after which the first row came late. */
export function slowResumes({ wrong, resumedMs }: Outcome): readonly string[] {
  const slow = resumedMs.filter(ms => ms > RESUME_MS_MAX);
  return [...wrong, ...slow.map(ms => `the first row came after ${Math.round(ms)} ms`)];
}

const SUMMED = ['requests', 'taken', 'aside', 'passedInVain'] as const;

export type Total = Record<
  'scripts' | (typeof SUMMED)[number] | 'slowestMs' | 'slowestResumeMs',
  number
>;

/** Runs `numRuns` scripts, and fails with the smallest script in which something was wrong. */
export async function runScripts(
  arbitrary: fc.Arbitrary<Script>,
  parameters: { readonly numRuns: number; readonly seed?: number; readonly endOnFailure?: boolean },
  {
    check = ({ wrong }: Outcome): readonly string[] => wrong,
    open = memoryBench,
  }: { readonly check?: (outcome: Outcome) => readonly string[]; readonly open?: () => Bench } = {},
): Promise<Total> {
  const sums = { requests: 0, taken: 0, aside: 0, passedInVain: 0 };
  const total: Total = { scripts: 0, ...sums, slowestMs: 0, slowestResumeMs: 0 };
  const property = fc.asyncProperty(arbitrary, async script => {
    const outcome = await runScript(script, open());
    const wrong = check(outcome);
    if (wrong.length > 0) {
      const first = Math.max(0, outcome.wrongAt - LOG_LINES / 2);
      throw new Error([...wrong, ...outcome.log.slice(first, first + LOG_LINES)].join('\n'));
    }
    total.scripts++;
    for (const key of SUMMED) total[key] += outcome[key];
    total.slowestMs = Math.max(total.slowestMs, outcome.drainedMs);
    total.slowestResumeMs = Math.max(total.slowestResumeMs, ...outcome.resumedMs);
  });
  await fc.assert(property, { ...parameters });
  return total;
}
