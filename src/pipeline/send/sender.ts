// Sends the rows of one signal from the queue, oldest first, and settles them by the back end's answers. With
// concurrency 1 rows leave in order: a lane has one row at a time, and sends its oldest piece until an answer decides
// about it. The next step depends on the answer and on the state of the lane:
//
//   answer \ state     sending, retrying, holding                      holding for a minute or more
//   ────────────────   ─────────────────────────────────────────────   ─────────────────────────────────────────────
//   accepted           settle; next piece or row                       the same
//   split (400)        smaller pieces, each settled separately,        the same
//                      unless an empty request gets the same answer:
//                      then as 500
//   retry (503, none)  retrying: again after a back-off of up to a     the same; the minute starts again
//                      minute, or when an empty request is accepted
//   retry, throttled   retrying: again after the back-off; no empty    the same
//   or Retry-After     requests; never before the requested time
//   hold, settings     holding: again after 1 s, 2 s … a minute;       the same; the minute starts again
//   (401, 404)         says nothing about content
//   hold, may be       holding: again after 1 s, 2 s … a minute        a round of the search for poison, now and after
//   content (500)                                                      every further minute (poison.ts)
//
// Each kind of failure has its own count for the back-off, until an answer decides about a piece. A flush retries
// sooner, but not before the time that the back end asked for, and lets no row pass another.
//
// If an empty request was accepted but the row is then refused again (a Collector short of memory), the next back-off
// has no empty requests.
//
// The sender stores nothing: rows that are not settled when the process ends are still in the queue.

import { backoffMs, type Backoff } from '../../lib/hold-off.ts';
import { Bell } from '../../lib/bell.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Counters, CountersOf } from '../../lib/counters.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { type Logger, ThrottledLog } from '../../lib/log.ts';
import { RETRY_AFTER_MS_MAX } from '../../lib/retry-after.ts';
import type { Signal } from '../../model/batch.ts';
import type { SetAside, Settlement } from '../queue/commit.ts';
import type { Queue } from '../queue/queue.ts';
import { sumPoints } from '../queue/rows.ts';
import { Delivery, requestOf, type Piece } from './delivery.ts';
import { Round, type RoundPort } from './poison.ts';
import { Presence, SenderHealth, type LaneState, type SenderStatus } from './presence.ts';
import type { SendResult, Transport } from './transport.ts';

export interface SenderOptions {
  readonly signal: Signal;
  /** The back end in log lines: its URL without user, password and query. */
  readonly endpoint: string;
  readonly queue: Queue;
  /** The sender closes it. */
  readonly transport: Transport;
  readonly counters: Counters;
  readonly logger: Logger;
  readonly concurrency: number;
  readonly clock: Clock;
  /** Returns numbers from 0 up to 1, for the jitter. */
  readonly random: () => number;
}

export const SEND_COUNTERS = {
  requests: {
    name: 'prom2otlp_send_requests_total',
    help: 'Requests to the back end by outcome, without repetitions at once (another compression or connection).',
    labels: ['signal', 'outcome'],
  },
  seconds: {
    name: 'prom2otlp_send_seconds_total',
    help: 'Time spent in requests to the back end.',
    labels: ['signal'],
  },
  bytes: {
    name: 'prom2otlp_send_bytes_total',
    help: 'Bytes of request bodies as the queue holds them, compressed.',
    labels: ['signal'],
  },
  points: {
    name: 'prom2otlp_send_points_total',
    help: 'Points or log records that left the queue, by outcome.',
    labels: ['signal', 'outcome'],
  },
  resent: {
    name: 'prom2otlp_send_resent_points_total',
    help: 'Points or log records sent again because no answer settled them.',
    labels: ['signal'],
  },
  asked: {
    name: 'prom2otlp_send_empty_requests_total',
    help: 'Empty requests, by outcome: whether the back end is reachable, or refuses requests whatever their content.',
    labels: ['signal', 'outcome'],
  },
  lastAccepted: {
    name: 'prom2otlp_send_last_accepted_timestamp_seconds',
    help: 'Time of the last request that the back end accepted, in seconds since the epoch; absent before the first one.',
    labels: ['signal'],
  },
} as const;

/** Retries use it with full jitter, holds without. */
const BACKOFF: Backoff = { firstMs: 1000, maxMs: 60_000 };
/** A row is searched for poison after this time of refusals that content may have caused, and again at this interval. */
export const ROUND_MS = 60_000;
/** How long a stop or a reload waits for the answers to running requests: without one, a batch would be sent again. */
export const GRACE_MS = 2000;
/** How soon the queue is asked again when it has rows but gave none. */
const READ_AGAIN_MS = 10_000;
/** In a flush the average pause between two attempts is a tenth of its time, but at least this. */
export const FLUSH_PAUSE_MS = 1000;
const FLUSH_RETRIES = 10;

/** Sends one row after the other. */
class Lane {
  /** Oldest first; more than one only while the older ones contain only suspects. */
  deliveries: Delivery[] = [];
  state: LaneState = 'idle';
  /** Wall clock; null outside a pause. */
  nextAttemptAtMs: number | null = null;
  /** Ends the current pause. */
  wake = new AbortController();
  /** Failures of each kind since the last decision. */
  retryCount = 0;
  holdCount = 0;
  /** Failures directly after an empty request was accepted. */
  vainCount = 0;
  /** An accepted empty request ended the last pause. */
  isBack = false;
  /** Monotonic: since when all answers were refusals that content may have caused. */
  refusedSinceMs: number | null = null;
  /** Monotonic: when the lane's last round began. */
  roundAtMs = -Infinity;
  /** Accepted requests in this lane, and in all other lanes when this lane's last round began. */
  acceptedCount = 0;
  othersAccepted = 0;
  /** A flush does not wait for this lane: the back end refuses our settings, or has refused the row for a minute. */
  isHeldOff = false;
}

export class Sender {
  readonly #options: SenderOptions;
  readonly #log: ThrottledLog;
  readonly #counters: CountersOf<typeof SEND_COUNTERS>;
  readonly #fields: Pick<SenderOptions, 'signal' | 'endpoint'>;
  readonly #lanes: readonly Lane[];
  /** Rings at each change of the queue: there may be a row to take, or it may be empty. */
  readonly #bell = new Bell();
  readonly #closing = new AbortController();
  readonly #forget: () => void;
  readonly #health: SenderHealth;
  readonly #presence: Presence;
  /** Since the call of `close`; `#closing` then ends the requests that take too long. */
  #isClosing = false;
  #workers: Promise<void>[] = [];
  /** The average pause between two attempts of each flush in progress. */
  #flushPausesMs: readonly number[] = [];
  /** Accepted requests of all lanes. */
  #acceptedCount = 0;
  /** Monotonic: the back end asked to wait until then. */
  #notBeforeMs = -Infinity;

  constructor(options: SenderOptions) {
    const { clock, random, concurrency, queue, signal, endpoint } = options;
    this.#options = options;
    this.#log = new ThrottledLog(options.logger, clock);
    this.#counters = options.counters.of(SEND_COUNTERS);
    // Starts at 0, because a back end sees no growth in the first value of a counter.
    for (const outcome of ['accepted', 'rejected', 'set_aside'])
      this.#counters.points.add(0, signal, outcome);
    this.#fields = { signal, endpoint };
    this.#lanes = Array.from({ length: concurrency }, () => new Lane());
    this.#health = new SenderHealth(clock);
    const ask = (abort: AbortSignal): Promise<SendResult> => this.#ask(abort);
    this.#presence = new Presence({ clock, random, ask, health: this.#health });
    this.#forget = queue.onChange(() => this.#bell.ring());
  }

  start(): void {
    if (this.#workers.length > 0) return;
    this.#workers = this.#lanes.map(lane => this.#work(lane));
  }

  status(): SenderStatus {
    return this.#health.status(this.#lanes);
  }

  /**
   * Sends all rows now: ends current pauses and tries several times within the time, but not before the time that the
   * back end asked for. True when the queue has no more rows of the signal; false when the time is up or the back end
   * refuses requests, and the rest stays queued. An infinite time shortens no pause.
   */
  async flush(timeoutMs: number): Promise<boolean> {
    const pauseMs = Math.max(FLUSH_PAUSE_MS, timeoutMs / FLUSH_RETRIES);
    this.#flushPausesMs = [...this.#flushPausesMs, pauseMs];
    this.#wakeAll();
    try {
      return await this.#waitUntilEmpty(this.#options.clock.monotonicMs() + timeoutMs);
    } finally {
      this.#flushPausesMs = this.#flushPausesMs.toSpliced(this.#flushPausesMs.indexOf(pauseMs), 1);
    }
  }

  /**
   * Takes no more rows, waits for the answer to the current request until `graceMs` have passed or `now` is aborted, and
   * ends. The rest stays queued.
   */
  async close(graceMs = 0, now?: AbortSignal): Promise<void> {
    this.#isClosing = true;
    this.#forget();
    this.#wakeAll();
    const ended = Promise.all(this.#workers);
    const over = new AbortController();
    const early = AbortSignal.any([over.signal, ...(now === undefined ? [] : [now])]);
    if (graceMs > 0) await Promise.race([ended, this.#options.clock.sleep(graceMs, early)]);
    over.abort();
    this.#closing.abort();
    this.#wakeAll();
    await ended;
    await this.#options.transport.close();
  }

  #wakeAll(): void {
    for (const lane of this.#lanes) {
      if (lane.state !== 'idle') lane.state = 'sending';
      // It tries once more, and a flush waits for the answer.
      lane.isHeldOff = false;
      lane.wake.abort();
    }
    this.#bell.ring();
  }

  async #waitUntilEmpty(endMs: number): Promise<boolean> {
    const { clock, queue, signal } = this.#options;
    for (;;) {
      const seen = this.#bell.rings;
      if (queue.size(signal).rows === 0) return true;
      const leftMs = endMs - clock.monotonicMs();
      const busy = this.#lanes.filter(({ state }) => state !== 'idle');
      const isHeldOff = busy.length > 0 && busy.every(lane => lane.isHeldOff);
      if (leftMs <= 0 || isHeldOff || this.#isClosing) return false;
      await this.#bell.wait(seen, this.#closing.signal, { clock, ms: leftMs });
    }
  }

  async #work(lane: Lane): Promise<void> {
    while (!this.#isClosing) {
      const seen = this.#bell.rings;
      const delivery = lane.deliveries[0] ?? (await this.#take(lane));
      const notForMs = this.#notBeforeMs - this.#options.clock.monotonicMs();
      if (this.#isClosing) break;
      if (delivery === null) await this.#waitForRow(seen);
      else if (notForMs > 0) await this.#pause(lane, 'retrying', notForMs);
      else await this.#sendOldest(lane, delivery);
    }
    for (const { row } of lane.deliveries) this.#options.queue.unpin(row.id);
    Object.assign(lane, new Lane());
  }

  /** Waits for the bell. It does not ring for rows that could not be read just now, so they get a time limit. */
  async #waitForRow(seen: number): Promise<void> {
    const { clock, queue, signal } = this.#options;
    if (queue.size(signal).rows === 0) await this.#bell.wait(seen);
    else await this.#bell.wait(seen, this.#closing.signal, { clock, ms: READ_AGAIN_MS });
  }

  /** Takes the oldest row that no lane has; null when there is none. */
  async #take(lane: Lane): Promise<Delivery | null> {
    const { queue, signal } = this.#options;
    for (;;) {
      const taken = (): Set<number> =>
        new Set(this.#lanes.flatMap(({ deliveries }) => deliveries.map(({ row }) => row.id)));
      const [row] = await queue.oldest(signal, 1, taken());
      if (row === undefined) return null;
      // Another lane may have been faster: look for the next row.
      if (taken().has(row.id)) continue;
      const delivery = new Delivery(row);
      lane.deliveries.push(delivery);
      return delivery;
    }
  }

  /** Sends the oldest piece of a lane, and acts on the answer: see the table above. */
  async #sendOldest(lane: Lane, delivery: Delivery): Promise<void> {
    const [piece] = delivery.pieces();
    const result = piece === undefined ? null : await this.#attempt(lane, delivery, piece);
    if (
      result === null ||
      piece === undefined ||
      (await this.#decide(lane, delivery, piece, result))
    ) {
      this.#release(lane);
      return;
    }
    const nowMs = this.#options.clock.monotonicMs();
    const mayBeContent = result.kind === 'hold' && result.mayBeContent;
    lane.refusedSinceMs = mayBeContent ? (lane.refusedSinceMs ?? nowMs) : null;
    lane.isHeldOff = result.kind === 'hold' && !mayBeContent;
    let pauseMs: number | null = null;
    let last = result;
    if (lane.refusedSinceMs !== null && nowMs - lane.refusedSinceMs >= ROUND_MS) {
      lane.isHeldOff = true;
      if (nowMs - lane.roundAtMs >= ROUND_MS) {
        const stop = await this.#searchForPoison(lane, piece);
        if (stop === null) pauseMs = ROUND_MS;
        else last = stop;
      }
    }
    this.#release(lane);
    if (lane.deliveries.length > 0) await this.#pauseAfter(lane, last, pauseMs);
  }

  /** Runs one round. Returns the answer that ended it early, or null. */
  async #searchForPoison(lane: Lane, refused: Piece): Promise<SendResult | null> {
    const { clock } = this.#options;
    const port: RoundPort = {
      send: async (delivery, piece) => {
        // Another lane may have been asked to wait.
        const notForMs = this.#notBeforeMs - clock.monotonicMs();
        if (notForMs > 0) await clock.sleep(notForMs, this.#closing.signal);
        return await this.#attempt(lane, delivery, piece);
      },
      decide: (delivery, piece, result) => this.#decide(lane, delivery, piece, result),
      giveUp: async (delivery, piece, reason) => {
        await delivery.giveUp(reason, clock.nowMs(), piece);
        await this.#settle(delivery);
      },
      takeLater: () => this.#take(lane),
      mayPass: () => this.#flushPausesMs.every(pauseMs => pauseMs === Infinity),
      isClosing: () => this.#isClosing,
    };
    const { refusedSinceMs } = lane;
    lane.roundAtMs = clock.monotonicMs();
    const others = this.#acceptedCount - lane.acceptedCount;
    const round = new Round(lane.deliveries, refused, port);
    await round.run(others > lane.othersAccepted);
    lane.othersAccepted = others;
    // Acceptances in the round do not restart the minute of this row.
    lane.refusedSinceMs = round.stop === null ? refusedSinceMs : null;
    lane.isHeldOff = round.acceptedCount === 0;
    return round.stop;
  }

  /** Sends a piece once; null when its row was evicted meanwhile. */
  async #attempt(lane: Lane, delivery: Delivery, piece: Piece): Promise<SendResult | null> {
    const { queue, transport, clock } = this.#options;
    if (!queue.pin(delivery.row.id)) {
      delivery.drop();
      return null;
    }
    const request = await requestOf(delivery, piece);
    lane.state = 'sending';
    lane.nextAttemptAtMs = null;
    lane.isHeldOff = false;
    const startedMs = clock.monotonicMs();
    failpoint('send-begun');
    const { signal } = request;
    const onSend = (): void => {
      if (piece.isResend) this.#counters.resent.add(piece.points, signal);
      piece.isResend = true;
    };
    const answer = await transport.send(request, this.#closing.signal, onSend);
    failpoint('send-answered');
    this.#counters.seconds.add((clock.monotonicMs() - startedMs) / 1000, signal);
    const result = await this.#weigh(delivery, answer);
    if (this.#closing.signal.aborted && result.kind === 'retry') return result;
    this.#counters.requests.add(1, signal, result.kind);
    this.#counters.bytes.add(request.body.length, signal);
    this.#report(result, piece);
    this.#noteRetryAfter(result);
    const downMs = this.#health.note(result);
    if (downMs !== null)
      this.#log.plain.info({ ...this.#fields, downMs }, 'the back end accepts again');
    return result;
  }

  /**
   * Some back ends answer 400 to a wrong path, or to http instead of https. If an empty request is refused in the same
   * words, content is not the cause. If the empty request gets no clear answer, the row waits.
   */
  async #weigh(delivery: Delivery, answer: SendResult): Promise<SendResult> {
    if (answer.kind !== 'split' || delivery.isContentRefused) return answer;
    const { reason, status } = answer;
    let empty = await this.#ask(this.#closing.signal);
    if (empty.kind === 'retry') {
      // A gateway that limits the rate may have refused it, and would do so after every further refusal.
      await this.#options.clock.sleep(BACKOFF.firstMs, this.#closing.signal);
      empty = await this.#ask(this.#closing.signal);
    }
    if (
      empty.kind === 'retry' &&
      (empty.status === 0 || empty.isThrottled || empty.retryAfterMs !== null)
    )
      return { ...empty, reason: empty.reason === '' ? reason : empty.reason };
    // A gateway may refuse every empty request (411), or fail on it (502): then only a search finds the refused points.
    if (empty.kind === 'hold' || empty.kind === 'retry')
      return { kind: 'hold', status: empty.status, reason: empty.reason, mayBeContent: true };
    const isAlike =
      empty.kind === 'split' &&
      empty.status === status &&
      withoutNumbers(empty.reason) === withoutNumbers(reason);
    if (isAlike) {
      const said = `${reason}; an empty request gets the same answer: check otlp.endpoint`;
      return { kind: 'hold', status, reason: said, mayBeContent: true };
    }
    delivery.isContentRefused = true;
    return answer;
  }

  /** Logs a result that the operator should know; a refusal for good is logged once it is settled. */
  #report(result: SendResult, { points }: Piece): void {
    if (result.kind === 'accepted') {
      const { rejected, message: reason } = result;
      this.#counters.lastAccepted.set(this.#options.clock.nowMs() / 1000, this.#fields.signal);
      if (rejected === 0 && reason === '') return;
      const said = { ...this.#fields, rejected, reason };
      this.#log.warn('partial', said, 'the back end rejected some points');
    } else if (result.kind !== 'split') {
      const said = { ...this.#fields, points, reason: result.reason };
      this.#log.warn(result.kind, said, 'cannot send to the back end; the points wait');
    }
  }

  async #ask(abort: AbortSignal): Promise<SendResult> {
    const { signal, transport, clock } = this.#options;
    const retryAfterMs = this.#notBeforeMs - clock.monotonicMs();
    // Another lane was asked to wait.
    if (retryAfterMs > 0)
      return { kind: 'retry', reason: '', status: 0, retryAfterMs, isThrottled: true };
    const request = { signal, encoding: 'none', body: Buffer.alloc(0), rawBytes: 0 } as const;
    const stop = AbortSignal.any([abort, this.#closing.signal]);
    const result = await transport.send(request, stop);
    this.#counters.asked.add(1, signal, result.kind);
    this.#noteRetryAfter(result);
    return result;
  }

  #noteRetryAfter(result: SendResult): void {
    if (result.kind !== 'retry' || result.retryAfterMs === null) return;
    const untilMs =
      this.#options.clock.monotonicMs() + Math.min(result.retryAfterMs, RETRY_AFTER_MS_MAX);
    this.#notBeforeMs = Math.max(this.#notBeforeMs, untilMs);
  }

  /** Settles a piece if the answer decides about it; false when it does not. */
  async #decide(
    lane: Lane,
    delivery: Delivery,
    piece: Piece,
    result: SendResult,
  ): Promise<boolean> {
    if (result.kind === 'accepted') {
      delivery.accept(result.rejected, piece);
      this.#acceptedCount++;
      lane.acceptedCount++;
    } else if (result.kind === 'split')
      await delivery.refuse(result.reason, this.#options.clock.nowMs(), piece);
    else return false;
    lane.retryCount = 0;
    lane.holdCount = 0;
    lane.vainCount = 0;
    lane.refusedSinceMs = null;
    await this.#settle(delivery);
    return true;
  }

  /** Stores the decisions once all are made: a row that was half sent is sent whole again after a kill. */
  async #settle(delivery: Delivery): Promise<void> {
    if (!delivery.isDone) return;
    const { settlements, aside } = delivery.takeOutcome();
    if (settlements.length === 0) return;
    await this.#options.queue.settle(delivery.row.id, settlements, aside);
    this.#countSettled(settlements, aside);
    this.#bell.ring();
  }

  #countSettled(settlements: readonly Settlement[], aside: readonly SetAside[]): void {
    const { signal } = this.#fields;
    for (const { accepted, rejected, setAside } of settlements) {
      this.#counters.points.add(accepted, signal, 'accepted');
      this.#counters.points.add(rejected, signal, 'rejected');
      this.#counters.points.add(setAside, signal, 'set_aside');
    }
    const [first] = aside;
    if (first === undefined) return;
    const points = sumPoints(aside);
    const { service, reason } = first;
    const said = { ...this.#fields, points, service, reason };
    this.#log.error('aside', said, 'the back end refuses points for good; they were set aside');
  }

  /** Finished rows leave the lane; the others may be evicted while they wait. */
  #release(lane: Lane): void {
    for (const { row } of lane.deliveries) this.#options.queue.unpin(row.id);
    lane.deliveries = lane.deliveries.filter(({ isDone }) => !isDone);
    if (lane.deliveries.length > 0) return;
    lane.state = 'idle';
    lane.refusedSinceMs = null;
    this.#bell.ring();
  }

  async #pauseAfter(lane: Lane, result: SendResult, roundMs: number | null): Promise<void> {
    const { random } = this.#options;
    if (result.kind === 'retry') {
      const isInVain = lane.isBack;
      lane.retryCount++;
      if (isInVain) lane.vainCount++;
      const backOffMs = backoffMs(BACKOFF, isInVain ? lane.vainCount : lane.retryCount, random);
      const mayAsk = !isInVain && !result.isThrottled && result.retryAfterMs === null;
      await this.#pause(lane, 'retrying', this.#flushPauseMs(backOffMs), mayAsk);
      return;
    }
    lane.holdCount++;
    const holdMs = roundMs ?? backoffMs(BACKOFF, lane.holdCount, () => 1);
    await this.#pause(lane, 'holding', this.#flushPauseMs(holdMs));
  }

  #flushPauseMs(ms: number): number {
    return Math.min(ms, Math.min(...this.#flushPausesMs) * (0.5 + this.#options.random()));
  }

  async #pause(
    lane: Lane,
    state: 'retrying' | 'holding',
    ms: number,
    mayAsk = false,
  ): Promise<void> {
    const { clock } = this.#options;
    if (this.#isClosing) return;
    const pauseMs = Math.max(ms, this.#notBeforeMs - clock.monotonicMs());
    lane.state = state;
    lane.nextAttemptAtMs = clock.nowMs() + pauseMs;
    lane.wake = new AbortController();
    this.#bell.ring();
    if (mayAsk) lane.isBack = await this.#presence.wait(pauseMs, lane.wake.signal);
    else {
      lane.isBack = false;
      await clock.sleep(pauseMs, lane.wake.signal);
    }
    lane.nextAttemptAtMs = null;
  }
}

/** Ports, times and the ids of requests differ between two answers that say the same. */
function withoutNumbers(reason: string): string {
  return reason.replace(/[\da-f-]*\d[\da-f-]*/giu, '0');
}
