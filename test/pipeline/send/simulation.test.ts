// The sender in simulation: each way in which a back end is sick for an hour, on a virtual clock. Random scripts of
// answers, stops and kills are in test/fuzz/sender.test.ts; a real program before a sick back end in
// test/faults/back-end.test.ts.

import { describe, expect, test } from 'vitest';
import { memoryBench } from '../../support/sender-scripts.ts';
import {
  type Mood,
  type Outcome,
  pagesOf,
  type Phase,
  runScript,
  type Script,
  scriptOf,
} from '../../support/sender-simulation.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The most requests of one sender to a back end that takes nothing for an hour (J3). */
const HOURLY_MAX = 125;
/** The longest back-off; a request that gets no answer is waited for before. */
const resumeMsMax = (answer: Mood['answer']): number => (answer === 'hang' ? 45_100 : 35_100);

const run = (changes: Partial<Script>): Promise<Outcome> =>
  runScript(scriptOf(changes), memoryBench());

const all = (answer: Mood['answer'], lengthMs: number): Phase => {
  return { lengthMs, mood: { answer }, share: 1 };
};

/** How many requests ended before this time. */
function requestsUntil({ requestsAtMs }: Outcome, endMs: number, fromMs = 0): number {
  return requestsAtMs.filter(atMs => atMs >= fromMs && atMs < endMs).length;
}

describe('a back end that takes nothing for an hour', () => {
  const statuses = [500, 501, 502, 503, 504, 429, 408, 401, 403, 404, 405, 400, 413] as const;
  const sick = [...statuses, 'hang', 'drop', { grpc: 13 }] as const;

  test.each(sick)('%o: few requests, nothing lost, and the first row soon', async answer => {
    for (const seed of [1, 2, 3]) {
      const outcome = await run({ pages: pagesOf(60, 6), phases: [all(answer, HOUR_MS)], seed });
      const { wrong, aside, taken, passedInVain, resumedMs } = outcome;
      expect({ wrong, aside, taken, passedInVain }).toEqual({
        wrong: [],
        aside: 0,
        taken: 360,
        passedInVain: 0,
      });
      expect(requestsUntil(outcome, HOUR_MS)).toBeLessThanOrEqual(HOURLY_MAX);
      expect(Math.max(...resumedMs)).toBeLessThanOrEqual(resumeMsMax(answer));
    }
  });

  test.each(sick)('%o: the same with a restart in the middle', async answer => {
    for (const kind of ['stop', 'kill'] as const) {
      const events = [{ atMs: HOUR_MS / 2, kind, lengthMs: 1000 }];
      const phases = [all(answer, HOUR_MS)];
      const outcome = await run({ pages: pagesOf(60, 6), phases, events });
      const { wrong, aside, taken, resumedMs } = outcome;
      expect([wrong, aside, taken]).toEqual([[], 0, 360]);
      // The back-off begins anew.
      expect(requestsUntil(outcome, HOUR_MS)).toBeLessThanOrEqual(HOURLY_MAX + 16);
      expect(Math.max(...resumedMs)).toBeLessThanOrEqual(resumeMsMax(answer));
    }
  });

  test('senders are not in step', async () => {
    const senders = 40;
    const bySecond = new Map<number, number>();
    for (let seed = 0; seed < senders; seed++) {
      const { requestsAtMs } = await run({ phases: [all(500, HOUR_MS)], seed });
      for (const atMs of requestsAtMs.filter(one => one > MINUTE_MS && one < HOUR_MS)) {
        const second = Math.floor(atMs / 1000);
        bySecond.set(second, (bySecond.get(second) ?? 0) + 1);
      }
    }
    // On average 1.2 a second.
    const later = [...bySecond].filter(([second]) => second > 600).map(([, count]) => count);
    expect(Math.max(...later)).toBeLessThan(senders / 4);
  });
});

test.each([403, 401])(
  'a right that is revoked while pages are sent loses nothing: %i',
  async status => {
    for (const answered of [0, 1, 2, 3, 4, 5, 6]) {
      const answers = Array.from({ length: 3 + answered }, () => null);
      const poison = [{ service: 0, series: 1, from: 2, to: 3, status: 400 }];
      const phases = [all(status, 40 * MINUTE_MS)];
      const script = { pages: pagesOf(30, 8), answers, phases };
      expect(await run(script)).toMatchObject({ wrong: [], aside: 0, taken: 240 });
      // In the middle of a split, too.
      expect(await run({ ...script, poison })).toMatchObject({ wrong: [], aside: 1, taken: 239 });
    }
  },
);

test.each([500, 403])(
  'a back end with %i that recovers around a test loses nothing',
  async status => {
    for (let lengthMs = 890_000; lengthMs < 940_000; lengthMs += 1000) {
      const outcome = await run({ pages: pagesOf(16, 8), phases: [all(status, lengthMs)] });
      expect(outcome, String(lengthMs)).toMatchObject({ wrong: [], aside: 0, taken: 128 });
    }
  },
);

test.each<[what: string, answers: readonly Mood['answer'][]]>([
  ['from a back end that restarts with 503 and then 500', [503, 503, 503, 500, 500]],
  [
    'from a gRPC back end that resets and then runs out of resources',
    ['drop', { grpc: 14 }, { grpc: 8 }, { grpc: 8 }],
  ],
])('pages are taken in order %s', async (_, answers) => {
  const moods = answers.map(answer => ({ answer }));
  const { wrong, aside } = await run({ pages: pagesOf(2, 3, 500), answers: moods });
  expect([wrong, aside]).toEqual([[], 0]);
});

test.each([500, 404, 503])('a single %i costs at most a second', async answer => {
  const { wrong, drainedMs } = await run({ answers: [{ answer }] });
  expect(wrong).toEqual([]);
  expect(drainedMs).toBeLessThan(1100);
});

test('a backlog goes out in minutes while three of ten answers are 500', async () => {
  const phases = [{ lengthMs: 24 * HOUR_MS, mood: { answer: 500 }, share: 0.3 }];
  const outcome = await run({ pages: pagesOf(100, 3, 10), phases, seed: 7 });
  expect([outcome.wrong, outcome.aside]).toEqual([[], 0]);
  expect(outcome.requestsAtMs.at(-1)).toBeLessThan(10 * MINUTE_MS);
});

test('rows that are refused as a whole do not stop all others', async () => {
  const poison = Array.from({ length: 8 }, (_, series) => {
    return { service: 0, series, from: 0, to: 3, status: 400 };
  });
  const outcome = await run({ pages: pagesOf(23, 8), poison, isStrict: false });
  expect(outcome).toMatchObject({ wrong: [], aside: 3 * 8 });
  // Once the first one is proved, the others need no quarter of an hour.
  expect(outcome.drainedMs).toBeLessThan(5 * MINUTE_MS);
});
