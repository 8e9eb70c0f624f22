// Runs the sender against a back end that is strict about order, on a simulated clock. In: a script of pages, answers,
// and stops and kills of our program. Out: what went wrong, in words; [] when nothing did. The Sender, its classification
// and the queue are the real ones; the network and the clock are simulated.
//
// The back end is as strict as any real one: it refuses a whole request (400) if one point is older than the newest
// point that it has of that series, and it always refuses certain points (the poison). It must never see a point that
// passes an older one of its series, unless it has refused the older one or a test of a row allows it, and no point may
// be set aside unless it took others between two refusals: `Judge` reports that as soon as it happens.

import type { Counters } from '../../src/lib/counters.ts';
import { silentLogger } from '../../src/lib/log.ts';
import type { Batch } from '../../src/model/batch.ts';
import type { SetAside } from '../../src/pipeline/queue/commit.ts';
import type { Queue } from '../../src/pipeline/queue/queue.ts';
import { classifyAnswer } from '../../src/pipeline/send/classify.ts';
import { classifyGrpcAnswer } from '../../src/pipeline/send/otlp-grpc.ts';
import {
  noAnswer,
  type SendRequest,
  type SendResult,
  type Transport,
} from '../../src/pipeline/send/transport.ts';
import { GRACE_MS, Sender } from '../../src/pipeline/send/sender.ts';
import { oracleEncodeMetrics, oracleMetricsMessage } from '../reference/oracle.ts';
import type { FakeClock } from './fake-clock.ts';
import { batchOf } from './otlp-requests.ts';
import { randomOf } from './random.ts';

/** An answer of the back end that does not depend on the points in the request. */
export interface Mood {
  /** An HTTP status, no answer at all, no answer before a timeout, or data taken and the answer lost. */
  readonly answer: number | 'drop' | 'hang' | 'lose' | 'partial' | { readonly grpc: number };
  readonly retryAfterSeconds?: number;
}

export interface Phase {
  readonly lengthMs: number;
  readonly mood: Mood;
  /** The share of the requests that meets the mood; the others are judged. */
  readonly share: number;
}

export interface PageScript {
  /** The time since the page before. */
  readonly afterMs: number;
  /** For each service, the number of its series and the age of their points. */
  readonly services: readonly { readonly series: number; readonly lagMs: number }[];
  /** The first service has an older point of each of its series as well. */
  readonly isDouble: boolean;
}

export interface Script {
  readonly pages: readonly PageScript[];
  /** The moods for the first requests, one each; a request with null is judged. */
  readonly answers: readonly (Mood | null)[];
  /** The phases follow each other from the first page on; after them, the back end is well. */
  readonly phases: readonly Phase[];
  /** Series `service/number` of the pages `from` up to but not including `to`, with the status that refuses them. */
  readonly poison: readonly {
    readonly service: number;
    readonly series: number;
    readonly from: number;
    readonly to: number;
    readonly status: number;
  }[];
  readonly events: readonly {
    readonly atMs: number;
    readonly kind: 'flush' | 'stop' | 'kill';
    readonly lengthMs: number;
  }[];
  readonly concurrency: number;
  /** The back end refuses points older than its newest of the series. */
  readonly isStrict: boolean;
  readonly seed: number;
}

/** By default, one page of one service, and a back end that is well. */
export function scriptOf(changes: Partial<Script>): Script {
  return {
    pages: pagesOf(1, 3),
    answers: [],
    phases: [],
    poison: [],
    events: [],
    concurrency: 1,
    isStrict: true,
    seed: 1,
    ...changes,
  };
}

/** `count` pages of one service with `series` series, one every `afterMs`. */
export function pagesOf(count: number, series: number, afterMs = 60_000): readonly PageScript[] {
  return Array.from({ length: count }, (_, i) => ({
    afterMs: i === 0 ? 0 : afterMs,
    services: [{ series, lagMs: 0 }],
    isDouble: false,
  }));
}

/** One point as the back end knows it. */
interface Point {
  readonly key: string;
  readonly series: string;
  readonly timeMs: number;
}

interface Refusal {
  readonly atMs: number;
  readonly takings: number;
  /** True for a refusal of content, false for a failure. */
  readonly isContent: boolean;
}

/** The history of a point since its page. */
class PointOutcome {
  readonly point: Point;
  readonly poison: number | null;
  state: 'waiting' | 'taken' | 'aside' = 'waiting';
  takenCount = 0;
  /** How often the point was taken, but the answer did not reach us. */
  lostCount = 0;
  /** Its first and last refusal, alone or with other points: the time, and what the back end had taken by then. */
  first: Refusal | null = null;
  last: Refusal | null = null;
  /** It was passed as J3 allows. */
  wasPassed = false;

  constructor(point: Point, poison: number | null) {
    this.point = point;
    this.poison = poison;
  }
}

export interface Outcome {
  readonly wrong: readonly string[];
  /** Points that a later one passed as J3 allows, and that were lost although the back end would have taken them. */
  readonly passedInVain: number;
  readonly requests: number;
  /** When each request was answered, in milliseconds since the start. */
  readonly requestsAtMs: readonly number[];
  /** The time from the end of the script, with the back end well again, until the queue was empty. */
  readonly drainedMs: number;
  readonly taken: number;
  readonly aside: number;
  /** The times from the end of a phase to the next request with content, if any rows waited. */
  readonly resumedMs: readonly number[];
  /** Every request with its answer, and the points that were set aside. */
  readonly log: readonly string[];
  /** The line of the log at which something was wrong first; the length of the log when nothing was. */
  readonly wrongAt: number;
}

const LATENCY_MS = 20;
const TIMEOUT_MS = 10_000;
const SETTLE_MS = 8 * 3_600_000;
const MINUTE_MS = 60_000;
/** `otlp.stuck_after`. */
const STUCK_MS = 15 * MINUTE_MS;
/** The limit for sending everything once the back end is well: a test for each row. */
const DRAINED_MS_MAX = 32 * STUCK_MS;
/** The service of the pages that come after the script. */
const LATER = 9;
/** How much older the second points of a page are. */
const DOUBLE_MS = 502;
const HELD_STATUSES = new Set([500, 501, 505, 507]);
const HELD_CODES = new Set([2, 5, 6, 8, 9, 13]);
const CONTENT_STATUSES = new Set([400, 403, 413, 422]);

/** Knows every point that was made, and judges each request that the back end takes or refuses. */
class Judge {
  readonly outcomes = new Map<string, PointOutcome>();
  readonly wrong: string[] = [];
  /** The length of the log when the first thing went wrong. */
  wrongAt: number | null = null;
  passedInVain = 0;
  readonly requestsAtMs: number[] = [];
  /** How many requests the back end has taken. */
  #takings = 0;
  /** A row was passed by the newest one, so the rows behind it may be tested without a wait. */
  #isTesting = false;
  readonly #isOrdered: boolean;
  readonly #newest = new Map<string, number>();
  readonly #bySeries = new Map<string, PointOutcome[]>();

  readonly #isStrict: boolean;

  constructor({ concurrency, isStrict }: Pick<Script, 'concurrency' | 'isStrict'>) {
    this.#isOrdered = concurrency === 1;
    this.#isStrict = isStrict;
  }

  made(point: Point, poison: number | null): void {
    const outcome = new PointOutcome(point, poison);
    this.outcomes.set(point.key, outcome);
    const known = this.#bySeries.get(point.series) ?? [];
    known.push(outcome);
    this.#bySeries.set(point.series, known);
  }

  /** The time of the newest point of a series. */
  madeLastMs(series: string): number {
    return this.#bySeries.get(series)?.at(-1)?.point.timeMs ?? 0;
  }

  /** The answer of a back end that is well. */
  judge(points: readonly Point[]): { readonly status: number; readonly words: string } {
    for (const { poison } of this.#outcomesOf(points))
      if (poison !== null) return { status: poison, words: 'a bad point' };
    const isOld =
      this.#isStrict && points.some(({ series, timeMs }) => timeMs < this.#newestOf(series));
    return isOld ? { status: 400, words: 'out of order sample' } : { status: 200, words: '' };
  }

  /** The back end has stored these points. */
  take(points: readonly Point[], nowMs: number): void {
    for (const point of points) this.#passes(point, points, nowMs);
    this.#takings++;
    const outcomes = this.#outcomesOf(points);
    for (const outcome of outcomes) {
      const { key, series, timeMs } = outcome.point;
      if (outcome.state === 'aside') this.wrong.push(`${key} was set aside and is sent again`);
      outcome.state = 'taken';
      outcome.takenCount++;
      this.#newest.set(series, Math.max(this.#newestOf(series), timeMs));
    }
    for (const { point, takenCount, lostCount } of outcomes)
      if (takenCount > lostCount + 1) this.wrong.push(`${point.key} was taken again, unasked`);
  }

  /** The answer to a request that was taken did not reach us. */
  lost(points: readonly Point[]): void {
    for (const outcome of this.#outcomesOf(points)) outcome.lostCount++;
  }

  /** A sender begins: a row that an earlier one has half sent is sent whole again. */
  begun(): void {
    for (const outcome of this.outcomes.values()) outcome.lostCount = outcome.takenCount;
  }

  /** Notes the answer to a request with these points. */
  answered(points: readonly Point[], kind: 'content' | 'held' | 'other', nowMs: number): void {
    this.requestsAtMs.push(nowMs);
    if (kind === 'other') return;
    const refusal = { atMs: nowMs, takings: this.#takings, isContent: kind === 'content' };
    for (const outcome of this.#outcomesOf(points)) {
      outcome.first ??= refusal;
      outcome.last = refusal;
    }
  }

  /** Nothing is set aside unless the back end took other points between two refusals. */
  setAside(points: readonly Point[]): void {
    for (const outcome of this.#outcomesOf(points)) {
      outcome.state = 'aside';
      const { first, last } = outcome;
      const isProven = first !== null && last !== null && last.takings > first.takings;
      if (!isProven)
        this.wrong.push(`${outcome.point.key} was set aside without two refusals and a taking`);
    }
  }

  /** Checks whether a point that is being stored may pass the waiting older points of its series. */
  #passes({ series, timeMs, key }: Point, points: readonly Point[], nowMs: number): void {
    if (!this.#isOrdered) return;
    for (const older of this.#bySeries.get(series) ?? []) {
      if (older.state !== 'waiting' || older.point.timeMs >= timeMs || older.wasPassed) continue;
      if (points.some(point => point.key === older.point.key)) continue;
      if (!this.#mayBePassed(older, nowMs))
        this.wrong.push(`${key} passed ${older.point.key} without a test`);
      else if (older.poison === null) this.passedInVain++;
      older.wasPassed = true;
    }
  }

  /**
   * J3: a point whose content was refused may be passed. A point that draws failures, or that was never sent, only in
   * the test of a row that waits for so long.
   */
  #mayBePassed({ last }: PointOutcome, nowMs: number): boolean {
    if (last?.isContent === true || this.#isTesting) return true;
    const waiting = [...this.outcomes.values()].filter(({ state }) => state === 'waiting');
    const isDue = waiting.some(
      ({ first }) => first !== null && nowMs - first.atMs >= STUCK_MS - LATENCY_MS,
    );
    this.#isTesting ||= isDue && last === null;
    return isDue;
  }

  #outcomesOf(points: readonly Point[]): readonly PointOutcome[] {
    return points.flatMap(({ key }) => this.outcomes.get(key) ?? []);
  }

  #newestOf(series: string): number {
    return this.#newest.get(series) ?? -Infinity;
  }
}

/** The surroundings of a script: a clock, and a queue that may be opened again after a kill. */
export interface Bench {
  readonly clock: FakeClock;
  readonly counters: Counters;
  open(): Promise<Queue>;
}

export async function runScript(script: Script, bench: Bench): Promise<Outcome> {
  return await new Run(script, bench).run();
}

class Run implements Transport {
  readonly #script: Script;
  readonly #bench: Bench;
  readonly #judge: Judge;
  readonly #random: () => number;
  readonly #pointsOf = new WeakMap<Buffer, readonly Point[]>();
  readonly #log: string[] = [];
  readonly #resumedMs: number[] = [];
  readonly #startMs: number;
  readonly #phaseEndsMs: readonly number[];
  #answers: (Mood | null)[];
  #queue!: Queue;
  #sender!: Sender;
  #lastEndMs = 0;
  #lastMoodMs = 0;
  #isOpen = true;

  constructor(script: Script, bench: Bench) {
    this.#script = script;
    this.#bench = bench;
    this.#judge = new Judge(script);
    this.#random = randomOf(script.seed);
    this.#answers = [...script.answers];
    this.#startMs = bench.clock.monotonicMs();
    let endMs = 0;
    this.#phaseEndsMs = script.phases.map(({ lengthMs }) => (endMs += lengthMs));
  }

  async run(): Promise<Outcome> {
    const { clock } = this.#bench;
    await this.#begin();
    for (const { atMs, act } of this.#timeline()) {
      await this.#until(() => this.#nowMs >= atMs, atMs - this.#nowMs);
      await act();
    }
    const endMs = Math.max(this.#nowMs, this.#phaseEndsMs.at(-1) ?? 0);
    await this.#until(() => this.#nowMs >= endMs, endMs - this.#nowMs);
    const isDone = await this.#drain(endMs);
    const drainedMs = this.#nowMs - Math.max(endMs, this.#lastMoodMs);
    if (drainedMs > DRAINED_MS_MAX)
      this.#judge.wrong.push(`it took ${Math.round(drainedMs)} ms in the end`);
    if (!isDone) this.#judge.wrong.push(`points still wait ${SETTLE_MS / MINUTE_MS} minutes later`);
    this.#checkAccount();
    await this.#pass(this.#sender.close());
    this.#isOpen = false;
    await this.#queue.close();
    const outcomes = [...this.#judge.outcomes.values()];
    const { wrong, passedInVain, requestsAtMs } = this.#judge;
    if (clock.sleeps().length > 0) wrong.push('somebody still sleeps after the end');
    const count = (wanted: PointOutcome['state']): number =>
      outcomes.filter(({ state }) => state === wanted).length;
    return {
      wrong,
      passedInVain,
      requests: requestsAtMs.length,
      requestsAtMs,
      drainedMs,
      taken: count('taken'),
      aside: count('aside'),
      resumedMs: this.#resumedMs,
      log: this.#log,
      wrongAt: this.#judge.wrongAt ?? this.#log.length,
    };
  }

  async send(request: SendRequest, abort: AbortSignal): Promise<SendResult> {
    const { clock } = this.#bench;
    const points = this.#read(request.body);
    await clock.sleep(LATENCY_MS / 2, abort);
    if (abort.aborted) return noAnswer('given up');
    this.#noteResumed();
    const mood = this.#moodNow();
    if (mood !== null) this.#lastMoodMs = this.#nowMs;
    const { result, kind, words } = await this.#answer(points, mood, abort);
    this.#judge.answered(points, kind, this.#nowMs);
    if (this.#judge.wrong.length > 0) this.#judge.wrongAt ??= this.#log.length;
    this.#note(`${words}  ${points.map(({ key }) => key).join(' ')}`);
    return result;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  get #nowMs(): number {
    return this.#bench.clock.monotonicMs() - this.#startMs;
  }

  async #begin(): Promise<void> {
    const { clock, counters } = this.#bench;
    this.#queue = await this.#bench.open();
    this.#judge.begun();
    const settle = this.#queue.settle.bind(this.#queue);
    this.#queue.settle = async (id, settlements, aside) => {
      if (this.#isOpen) this.#noteAside(aside);
      await settle(id, settlements, aside);
    };
    const { concurrency } = this.#script;
    this.#sender = new Sender({
      limit: { bytes: Infinity, points: Infinity },
      signal: 'metrics',
      queue: this.#queue,
      transport: this,
      endpoint: 'http://b',
      counters,
      logger: silentLogger,
      concurrency,
      stuckAfterMs: STUCK_MS,
      endpointPause: { untilMs: -Infinity },
      clock,
      random: this.#random,
    });
    this.#sender.start();
  }

  /** Waits until everything is settled. Adds pages meanwhile: only other points can prove that content is the cause. */
  async #drain(startMs: number): Promise<boolean> {
    const isEmpty = (): boolean => this.#queue.stats('metrics').rows === 0;
    while (this.#nowMs - startMs < SETTLE_MS) {
      if (await this.#until(isEmpty, MINUTE_MS)) return true;
      const timeMs = Math.round(this.#bench.clock.nowMs());
      this.#make({ service: LATER, index: 0, timeMs }, Infinity);
      const slice = { service: 'later', points: 1, bytes: requestOf(`s${LATER}`, [0], [timeMs]) };
      await this.#commit(batchOf('metrics', [slice], timeMs));
    }
    return false;
  }

  async #commit(batch: Batch): Promise<void> {
    await this.#queue.commit({ batches: [batch], state: [], reads: [] });
  }

  /** Pages, events and the ends of phases, in the order of their times. */
  #timeline(): readonly { readonly atMs: number; readonly act: () => Promise<void> }[] {
    let atMs = 0;
    const pages = this.#script.pages.map((page, index) => {
      atMs += page.afterMs;
      return { atMs, act: () => this.#put(page, index) };
    });
    const events = this.#script.events.map(({ atMs, kind, lengthMs }) => ({
      atMs,
      act: () => this.#happen(kind, lengthMs),
    }));
    const ends = this.#phaseEndsMs.map(atMs => ({
      atMs,
      act: () => {
        if (this.#queue.stats('metrics').rows > 0) this.#lastEndMs = this.#nowMs;
        return Promise.resolve();
      },
    }));
    return [...pages, ...events, ...ends].sort((a, b) => a.atMs - b.atMs);
  }

  async #put(page: PageScript, index: number): Promise<void> {
    const { clock } = this.#bench;
    const nowMs = Math.round(clock.nowMs());
    const slices = page.services.flatMap(({ series, lagMs }, service) => {
      const isDouble = page.isDouble && service === 0;
      const timesMs = [...(isDouble ? [nowMs - lagMs - DOUBLE_MS] : []), nowMs - lagMs];
      // Leaves out series whose points would be older than their last ones: such points do not reach the queue.
      const names = Array.from({ length: series }, (_, i) => i).filter(
        i => (timesMs[0] ?? 0) > this.#judge.madeLastMs(`s${service}/m${i}`),
      );
      if (names.length === 0) return [];
      for (const i of names)
        for (const timeMs of timesMs) this.#make({ service, index: i, timeMs }, index);
      const points = names.length * timesMs.length;
      return { service: `s${service}`, points, bytes: requestOf(`s${service}`, names, timesMs) };
    });
    if (slices.length === 0) return;
    await this.#commit(batchOf('metrics', slices, nowMs));
  }

  #make(at: { service: number; index: number; timeMs: number }, page: number): void {
    const series = `s${at.service}/m${at.index}`;
    const point = {
      key: `${series}@${at.timeMs - this.#bench.clock.wallOffsetMs}`,
      series,
      timeMs: at.timeMs,
    };
    const poison = this.#script.poison.find(
      ({ service, series, from, to }) =>
        service === at.service && series === at.index && page >= from && page < to,
    );
    this.#judge.made(point, poison?.status ?? null);
  }

  async #happen(kind: 'flush' | 'stop' | 'kill', lengthMs: number): Promise<void> {
    this.#note(kind);
    if (kind !== 'kill') await this.#pass(this.#sender.flush(lengthMs));
    if (kind === 'flush') return;
    await this.#pass(this.#sender.close(kind === 'stop' ? GRACE_MS : 0));
    // What was taken of a row that is not settled is sent again.
    for (const { body } of await this.#queue.oldest('metrics', Infinity, new Set()))
      this.#judge.lost(this.#read(body));
    await this.#begin();
  }

  /** Moves the clock until a promise is settled. */
  async #pass<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const done = promise.finally(() => (isSettled = true));
    await this.#until(() => isSettled, SETTLE_MS);
    return await done;
  }

  async #until(condition: () => boolean, atMostMs: number): Promise<boolean> {
    const { clock } = this.#bench;
    const endMs = clock.monotonicMs() + atMostMs;
    for (;;) {
      await new Promise(resolve => setImmediate(resolve));
      if (condition()) return true;
      const leftMs = endMs - clock.monotonicMs();
      if (leftMs <= 0) return false;
      await clock.advance(Math.min(clock.sleeps()[0] ?? leftMs, leftMs));
    }
  }

  #read(body: Buffer): readonly Point[] {
    let points = this.#pointsOf.get(body);
    if (points === undefined) {
      points = pointsIn(body, this.#bench.clock.wallOffsetMs);
      this.#pointsOf.set(body, points);
    }
    return points;
  }

  #moodNow(): Mood | null {
    if (this.#answers.length > 0) return this.#answers.shift() ?? null;
    const phase = this.#script.phases[this.#phaseEndsMs.findIndex(endMs => this.#nowMs < endMs)];
    if (phase === undefined || this.#random() >= phase.share) return null;
    return phase.mood;
  }

  async #answer(
    points: readonly Point[],
    mood: Mood | null,
    abort: AbortSignal,
  ): Promise<{ result: SendResult; kind: 'content' | 'held' | 'other'; words: string }> {
    const { clock } = this.#bench;
    const answer = mood?.answer ?? 200;
    const nothing = (words: string) => ({ result: noAnswer(words), kind: 'other', words }) as const;
    if (answer === 'hang') await clock.sleep(TIMEOUT_MS, abort);
    if (answer === 'drop' || answer === 'hang') return nothing(answer);
    if (typeof answer === 'object') {
      const { grpc: code } = answer;
      const ending = {
        code,
        details: 'later',
        statusDetails: Buffer.alloc(0),
        body: Buffer.alloc(0),
      };
      const result = classifyGrpcAnswer(ending, { signal: 'metrics', redact: text => text });
      const kind = HELD_CODES.has(code) ? 'held' : code === 3 ? 'content' : 'other';
      return { result, kind, words: `gRPC ${code}` };
    }
    const { status, words } =
      typeof answer === 'number' && answer !== 200
        ? { status: answer, words: 'by the script' }
        : this.#judge.judge(points);
    const isLost = answer === 'lose';
    if (status === 200) this.#judge.take(points, this.#nowMs);
    await clock.sleep(LATENCY_MS / 2, abort);
    if (isLost || abort.aborted) {
      if (status === 200) this.#judge.lost(points);
      return nothing(status === 200 ? 'taken, the answer is lost' : 'the answer is lost');
    }
    const body = answer === 'partial' ? PARTIAL : Buffer.from(words);
    const contentType = answer === 'partial' ? 'application/json' : 'text/plain';
    const retryAfter = mood?.retryAfterSeconds?.toString() ?? '';
    const result = classifyAnswer(
      { status, contentType, retryAfter, body },
      { signal: 'metrics', requestFormat: 'json', nowMs: clock.nowMs(), redact: text => text },
    );
    const kind = CONTENT_STATUSES.has(status)
      ? 'content'
      : HELD_STATUSES.has(status)
        ? 'held'
        : 'other';
    return { result, kind, words: `${status} ${words}` };
  }

  #note(words: string): void {
    this.#log.push(`${(this.#nowMs / 1000).toFixed(2)} s  ${words}`);
  }

  #noteResumed(): void {
    if (this.#lastEndMs > 0) this.#resumedMs.push(this.#nowMs - this.#lastEndMs);
    this.#lastEndMs = 0;
  }

  #noteAside(aside: readonly SetAside[]): void {
    for (const { sample, points } of aside) {
      const found = this.#read(sample);
      if (found.length !== points)
        this.#judge.wrong.push(`${points} points were set aside with a sample of ${found.length}`);
      this.#judge.setAside(found);
      this.#note(`aside  ${found.map(({ key }) => key).join(' ')}`);
    }
  }

  /** Checks that every point is taken or set aside, and that the account has the same numbers. */
  #checkAccount(): void {
    const outcomes = [...this.#judge.outcomes.values()];
    const total = this.#queue.account.total();
    const of = (state: string): number => total.get(`point/${state}`) ?? 0;
    const [accepted, rejected, aside] = [of('accepted'), of('rejected'), of('set_aside')];
    const { points } = this.#queue.stats('metrics');
    const check = (is: boolean, what: string): void => {
      if (!is) this.#judge.wrong.push(what);
    };
    check(of('made') === outcomes.length, `made ${of('made')} of ${outcomes.length}`);
    check(accepted + rejected + aside + points === outcomes.length, 'the account does not balance');
    check(
      aside === outcomes.filter(({ state }) => state === 'aside').length,
      `the account says ${aside} set aside`,
    );
    if (points > 0) return;
    for (const { point, state } of outcomes)
      check(state !== 'waiting', `${point.key} is lost: neither taken nor set aside`);
  }
}

const PARTIAL = Buffer.from(
  '{"partialSuccess":{"rejectedDataPoints":"1","errorMessage":"one is bad"}}',
);

function requestOf(service: string, names: readonly number[], timesMs: readonly number[]): Buffer {
  const metrics = names.map(i => ({
    name: `m${i}`,
    gauge: {
      dataPoints: timesMs.map(timeMs => ({ timeUnixNano: `${timeMs}000000`, asDouble: 1 })),
    },
  }));
  const attributes = [{ key: 'service', value: { stringValue: service } }];
  return oracleEncodeMetrics({
    resourceMetrics: [{ resource: { attributes }, scopeMetrics: [{ metrics }] }],
  });
}

/** The points of a request that requestOf() made, or of a piece of one. */
function pointsIn(bytes: Buffer, wallOffsetMs: number): readonly Point[] {
  return oracleMetricsMessage(bytes).resourceMetrics.flatMap(({ resource, scopeMetrics }) => {
    const service = resource.attributes[0]?.value.stringValue ?? '';
    const metrics = scopeMetrics.flatMap(scope => scope.metrics);
    return metrics.flatMap(({ name, gauge }) =>
      (gauge?.dataPoints ?? []).map(({ timeUnixNano }) => {
        const series = `${service}/${name}`;
        const timeMs = Math.round(timeUnixNano.toNumber() / 1e6);
        return { key: `${series}@${timeMs - wallOffsetMs}`, series, timeMs };
      }),
    );
  });
}
