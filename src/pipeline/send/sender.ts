// Sends the rows of one signal from the queue, oldest first, and settles each by the back end's answers. The next step
// depends on the kind of the answer (J3; classify.ts tells the kind, delivery.ts splits):
//
//   accepted    the piece is settled; the next piece or row follows at once
//   too_large   pieces of the size that the answer names follow at once; else as refused
//   refused     a trial of smaller pieces follows at once; if all are refused, the row waits. If all are accepted, size was
//               the cause, and the largest is the limit of later rows
//   retry, settings, unknown, and a refused row that waits: the same request again after a back-off
//
// There is one back-off for all kinds, and one request at a time while it lasts, so a back end that accepts nothing gets
// at most about 120 requests an hour.
//
// A row that is refused, or draws failures (500), for `otlp.stuck_after` is put to the test, and again at this interval:
// another row is sent, and if the back end accepts that, the row once more. Only if that is refused again is content the
// cause. After failures the other row is the next one, because order matters; after a refusal, or if the next row failed
// as well, it is the newest: the rows behind one that is too old are too old, too. Order per signal holds but for these.
//
// The sender stores nothing: rows that are not settled when the process ends are still in the queue, whole.

import { Bell } from '../../lib/bell.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Counters, CountersOf } from '../../lib/counters.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { type Logger, ThrottledLog } from '../../lib/log.ts';
import { RETRY_AFTER_MS_MAX } from '../../lib/retry-after.ts';
import { OWN_SERVICE, type Signal } from '../../model/batch.ts';
import type { QueueRow, RequestLimit, SetAside, Settlement } from '../queue/commit.ts';
import type { Queue } from '../queue/queue.ts';
import { sumPoints } from '../queue/rows.ts';
import { Delivery, type Piece, PROBE_POINTS, type Refused } from './delivery.ts';
import {
  keysFor,
  type LaneState,
  type Learned,
  SenderHealth,
  type SenderStatus,
} from './sender-health.ts';
import { isAboutSize, type NamedCap, namedCap } from './size-words.ts';
import { isAcceptance, type SendResult, type Transport } from './transport.ts';

/** Until when (monotonic) a busy endpoint asked to wait: both signals that it takes obey. */
export interface EndpointPause {
  untilMs: number;
}

export interface SenderOptions {
  readonly signal: Signal;
  /** The back end in log lines: its URL without user, password and query. */
  readonly endpoint: string;
  readonly queue: Queue;
  /** From `otlp.max_request` and `otlp.max_points`. Rows of a former configuration may be larger. */
  readonly limit: RequestLimit;
  /** The sender closes it. */
  readonly transport: Transport;
  readonly counters: Counters;
  readonly logger: Logger;
  readonly concurrency: number;
  /** From `otlp.stuck_after`. */
  readonly stuckAfterMs: number;
  readonly endpointPause: EndpointPause;
  readonly clock: Clock;
  /** Returns numbers from 0 up to 1, for the jitter. */
  readonly random: () => number;
}

export const SEND_COUNTERS = {
  requests: {
    name: 'prom2otlp_send_requests_total',
    help: 'Requests to the back end by outcome, without repetitions at once over another connection.',
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
  lastAccepted: {
    name: 'prom2otlp_send_last_accepted_timestamp_seconds',
    help: 'Time of the last request that the back end accepted, in seconds since the epoch; absent before the first one.',
    labels: ['signal'],
  },
} as const;

/** The back-off: 1, 2, 4, 8, 16 s with full jitter, then half a minute and up to 5 s more. */
const DOUBLINGS = 5;
const FIRST_MS = 1000;
const LATER_MS = 30_000;
const LATER_JITTER_MS = 5000;
/** A learned limit is never lower: below it, a refusal for size has another cause. */
const LEARNED_MIN: RequestLimit = { bytes: 64 * 1024, points: PROBE_POINTS };
/** How long a stop or a reload waits for the answers to running requests: without one, a batch would be sent again. */
export const GRACE_MS = 2000;
/** How soon the queue is asked again when it has rows but gave none. */
const READ_AGAIN_MS = 10_000;
/** How many rows are looked at for one with points of a database. */
const LOOK_MAX = 8;

/** The wait after the n-th failure in a row, from 1. */
export function backOffMs(failureCount: number, random: () => number): number {
  if (failureCount > DOUBLINGS) return LATER_MS + random() * LATER_JITTER_MS;
  return random() * FIRST_MS * 2 ** (failureCount - 1);
}

/** Sends one row after the other. */
class Lane {
  /** Parked rows first, then the one that is sent, then one that was begun in a test. */
  deliveries: Delivery[] = [];
  state: LaneState = 'idle';
  /** Wall clock; null outside a pause. */
  nextAttemptAtMs: number | null = null;
  /** Ends the current pause. */
  wake = new AbortController();
  /** A flush does not wait for this lane: the back end refuses our settings or the row, or only parked rows are left. */
  isHeldOff = false;
}

export class Sender {
  readonly #options: SenderOptions;
  readonly #log: ThrottledLog;
  readonly #counters: CountersOf<typeof SEND_COUNTERS>;
  readonly #fields: Pick<SenderOptions, 'signal' | 'endpoint'>;
  readonly #lanes: readonly Lane[];
  /** Rings at each change of the queue, at each acceptance, and when the back-off ends. */
  readonly #bell = new Bell();
  readonly #closing = new AbortController();
  readonly #forget: () => void;
  #health: SenderHealth;
  /** Since the call of `close`; `#closing` then ends the requests that take too long. */
  #isClosing = false;
  #workers: Promise<void>[] = [];
  /** Flushes with a time limit in progress: no row may pass another. */
  #flushCount = 0;
  /** Failures since the last acceptance. */
  #failureCount = 0;
  /** The only lane that sends during a back-off. */
  #leader: Lane | null = null;
  /** Requests with points of a database that the back end accepted: the proof that it takes some. */
  #acceptances = 0;
  /** All requests that the back end accepted: proof enough for a row of own telemetry. */
  #allAcceptances = 0;
  /** The last test showed that content is the cause, so the next row is tested without a wait. */
  #mayTestAtOnce = false;
  /** The newest row that was accepted in a test: no older one may pass the rows before it as well. */
  #newestPassed = -Infinity;
  #learned: Learned | null = null;
  /** Monotonic: the back end asked to wait until then. */
  #notBeforeMs = -Infinity;

  constructor(options: SenderOptions) {
    const { clock, concurrency, queue, signal, endpoint } = options;
    this.#options = options;
    this.#log = new ThrottledLog(options.logger, clock);
    this.#counters = options.counters.of(SEND_COUNTERS);
    // Starts at 0, because a back end sees no growth in the first value of a counter.
    for (const outcome of ['accepted', 'rejected', 'set_aside'])
      this.#counters.points.add(0, signal, outcome);
    this.#fields = { signal, endpoint };
    this.#lanes = Array.from({ length: concurrency }, () => new Lane());
    this.#health = new SenderHealth(clock);
    this.#forget = queue.onChange(() => this.#bell.ring());
  }

  /** Goes on with what another sender knows of the same endpoint: its back-off, its pauses and limits. Call it first. */
  continue(former: Sender): void {
    this.#health = former.#health;
    this.#learned = former.#learned;
    this.#failureCount = former.#failureCount;
    this.#notBeforeMs = former.#notBeforeMs;
    const { endpointPause } = this.#options;
    endpointPause.untilMs = Math.max(endpointPause.untilMs, former.#options.endpointPause.untilMs);
  }

  start(): void {
    if (this.#workers.length > 0) return;
    this.#workers = this.#lanes.map(lane => this.#work(lane));
  }

  status(): SenderStatus {
    return this.#health.status(this.#lanes, this.#learned);
  }

  /**
   * Sends all rows now: one attempt at once, whatever the back-off, which begins anew; but not before the time that the
   * back end asked for. True when the queue has no more rows of the signal; false when the time is up or the back end
   * refuses requests, and the rest stays queued.
   */
  async flush(timeoutMs: number): Promise<boolean> {
    const isLimited = timeoutMs < Infinity;
    if (isLimited) this.#flushCount++;
    this.#wakeAll();
    try {
      return await this.#waitUntilEmpty(this.#options.clock.monotonicMs() + timeoutMs);
    } finally {
      if (isLimited) this.#flushCount--;
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
    this.#failureCount = 0;
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
      const lanes = this.#leader === null ? this.#lanes : [this.#leader];
      const busy = lanes.filter(lane => lane.state !== 'idle' || lane.isHeldOff);
      const isHeldOff = busy.length > 0 && busy.every(lane => lane.isHeldOff);
      if (leftMs <= 0 || isHeldOff || this.#isClosing) return false;
      await this.#bell.wait(seen, this.#closing.signal, { clock, ms: leftMs });
    }
  }

  async #work(lane: Lane): Promise<void> {
    while (!this.#isClosing) {
      const seen = this.#bell.rings;
      if (this.#leader !== null && this.#leader !== lane) {
        await this.#bell.wait(seen, this.#closing.signal);
        continue;
      }
      const delivery = this.#ready(lane) ?? (await this.#take(lane));
      const notForMs = this.#notForMs();
      if (this.#isClosing) break;
      if (delivery === null) await this.#waitForRow(lane, seen);
      else if (notForMs > 0) await this.#pause(lane, 'retrying', notForMs);
      else await this.#sendNext(lane, delivery);
    }
    for (const { row } of lane.deliveries) this.#options.queue.unpin(row.id);
    Object.assign(lane, new Lane());
  }

  /** The first row of the lane with something to send now. */
  #ready({ deliveries }: Lane): Delivery | undefined {
    return deliveries.find(delivery => this.#nextOf(delivery) !== null);
  }

  /** Waits for the bell. It does not ring for rows that could not be read just now, so they get a time limit. */
  async #waitForRow(lane: Lane, seen: number): Promise<void> {
    const { clock, queue, signal } = this.#options;
    if (queue.size(signal).rows === 0) return await this.#bell.wait(seen);
    // Only parked rows are left: a flush need not wait for the acceptance of a later one.
    if (lane.deliveries.length > 0 && !lane.isHeldOff) {
      lane.isHeldOff = true;
      this.#bell.ring();
    } else await this.#bell.wait(seen, this.#closing.signal, { clock, ms: READ_AGAIN_MS });
  }

  /** Takes the oldest row that no lane has; null when there is none. */
  async #take(lane: Lane): Promise<Delivery | null> {
    const { queue, signal } = this.#options;
    for (;;) {
      const [row] = await queue.oldest(signal, 1, this.#taken());
      if (row === undefined) return null;
      // Another lane may have been faster: look for the next row.
      if (!this.#taken().has(row.id)) return await this.#begin(lane, row);
    }
  }

  /** Takes a row with points of a database that another row may pass or be passed by, for a test. */
  async #takeForTest(lane: Lane, isNext: boolean): Promise<Delivery | null> {
    const { queue, signal } = this.#options;
    const rows = isNext
      ? await queue.oldest(signal, LOOK_MAX, this.#taken())
      : await queue.newest(signal, LOOK_MAX, this.#taken());
    const row = rows.find(({ parts }) => hasDatabasePoints(parts));
    if (row === undefined || this.#taken().has(row.id)) return null;
    if (!isNext && row.id <= this.#newestPassed) return null;
    return await this.#begin(lane, row);
  }

  #taken(): Set<number> {
    return new Set(this.#lanes.flatMap(lane => lane.deliveries.map(({ row }) => row.id)));
  }

  async #begin(lane: Lane, row: QueueRow): Promise<Delivery> {
    const delivery = new Delivery(row);
    lane.deliveries.push(delivery);
    await delivery.fit(this.#limit);
    return delivery;
  }

  /** What a request holds at most: as configured, or as learned if that is less. */
  get #limit(): RequestLimit {
    const { bytes, points } = this.#options.limit;
    return {
      bytes: Math.min(bytes, this.#learned?.bytes ?? Infinity),
      points: Math.min(points, this.#learned?.points ?? Infinity),
    };
  }

  /** Sends the next piece of a row, and acts on the answer: see the table above. */
  async #sendNext(lane: Lane, delivery: Delivery): Promise<void> {
    const piece = this.#nextOf(delivery);
    const result = piece === null ? null : await this.#attempt(lane, delivery, piece);
    if (piece === null || result === null || (await this.#decide(delivery, piece, result))) {
      this.#release(lane);
      return;
    }
    const last = await this.#test(lane, delivery, result);
    this.#release(lane);
    if (last !== null && lane.deliveries.length > 0) await this.#backOff(lane, piece, last);
  }

  /** Sends a piece once; null when its row was evicted meanwhile. */
  async #attempt(lane: Lane, delivery: Delivery, piece: Piece): Promise<SendResult | null> {
    const { queue, transport, clock } = this.#options;
    if (!queue.pin(delivery.row.id)) {
      delivery.drop();
      return null;
    }
    const request = await delivery.request(piece);
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
    const result = await transport.send(request, this.#closing.signal, onSend);
    failpoint('send-answered');
    this.#counters.seconds.add((clock.monotonicMs() - startedMs) / 1000, signal);
    if (this.#closing.signal.aborted && result.kind === 'retry') return result;
    this.#counters.requests.add(1, signal, result.kind);
    this.#counters.bytes.add(request.body.length, signal);
    if (result.kind !== 'accepted') this.#failureCount++;
    this.#note(result, piece);
    return result;
  }

  /** Notes what an answer says about the back end. */
  #note(result: SendResult, { points, slices }: Piece): void {
    const { clock, signal, endpointPause } = this.#options;
    const downMs = this.#health.note(result, points);
    if (downMs !== null)
      this.#log.plain.info({ ...this.#fields, downMs }, 'the back end accepts again');
    if (result.kind === 'retry' && result.retryAfterMs !== null) {
      const untilMs = clock.monotonicMs() + Math.min(result.retryAfterMs, RETRY_AFTER_MS_MAX);
      if (result.pauses === 'endpoint')
        endpointPause.untilMs = Math.max(endpointPause.untilMs, untilMs);
      else this.#notBeforeMs = Math.max(this.#notBeforeMs, untilMs);
    }
    if (result.kind !== 'accepted') return;
    const { rejected, message: reason } = result;
    if (rejected > 0 || reason !== '') {
      const said = { ...this.#fields, rejected, reason };
      this.#log.warn('partial', said, 'the back end rejected some points');
    }
    if (!isAcceptance(result, points)) return;
    this.#counters.lastAccepted.set(clock.nowMs() / 1000, signal);
    this.#allAcceptances++;
    if (hasDatabasePoints(slices)) this.#acceptances++;
    this.#failureCount = 0;
    this.#leader = null;
    this.#bell.ring();
  }

  #notForMs(): number {
    const { clock, endpointPause } = this.#options;
    return Math.max(this.#notBeforeMs, endpointPause.untilMs) - clock.monotonicMs();
  }

  /** Takes over what an answer decides about a piece; false when the row must wait. */
  async #decide(delivery: Delivery, piece: Piece, result: SendResult): Promise<boolean> {
    let isDecided = false;
    if (result.kind === 'accepted') {
      await delivery.accept(result.rejected, piece);
      await this.#learnFromPartial(delivery, piece, result);
      delivery.refusedSinceMs = null;
      isDecided = true;
    } else if (result.kind === 'too_large') {
      isDecided =
        (await this.#learnNamed(delivery, piece, result.named)) ||
        (await delivery.cut(piece, this.#refused(delivery, result)));
    } else if (
      result.kind === 'refused' ||
      (result.kind === 'unknown' && delivery.isUnknownContent)
    ) {
      isDecided = await delivery.refuse(piece, this.#refused(delivery, result));
    }
    if (delivery.isDone) {
      const { learned } = delivery;
      if (learned !== null) this.#learn(learned);
      await this.#settle(delivery);
    }
    return isDecided;
  }

  #refused(
    { row }: Delivery,
    { reason, status }: Exclude<SendResult, { kind: 'accepted' }>,
  ): Refused {
    const acceptances = this.#acceptancesFor(row);
    return { reason, status, atMs: this.#options.clock.nowMs(), acceptances };
  }

  #nextOf(delivery: Delivery): Piece | null {
    return delivery.next(this.#acceptancesFor(delivery.row));
  }

  /** The acceptances that prove something about a row. */
  #acceptancesFor({ parts }: QueueRow): number {
    return hasDatabasePoints(parts) ? this.#acceptances : this.#allAcceptances;
  }

  /** Cuts the row to a limit that the answer names; false when it names none that the piece exceeds. */
  async #learnNamed(delivery: Delivery, piece: Piece, named: NamedCap): Promise<boolean> {
    const points = named.points !== null && named.points < piece.points ? named.points : null;
    const bytes = named.bytes !== null && named.bytes < piece.bytes ? named.bytes : null;
    if (points === null && bytes === null) return false;
    const before = { ...this.#limit };
    this.#learn({ points, bytes });
    const { points: nowPoints, bytes: nowBytes } = this.#limit;
    if (nowPoints === before.points && nowBytes === before.bytes) return false;
    await delivery.fit(this.#limit);
    return this.#nextOf(delivery) !== piece;
  }

  /** A back end may take as many points as its cap allows, and reject the rest. */
  async #learnFromPartial(
    delivery: Delivery,
    { points }: Piece,
    { rejected, message }: Extract<SendResult, { kind: 'accepted' }>,
  ): Promise<void> {
    if (rejected === 0 || rejected >= points || !isAboutSize(message)) return;
    const named = namedCap(message).points;
    this.#learn({
      points: named !== null && named < points ? named : points - rejected,
      bytes: null,
    });
    await delivery.fit(this.#limit);
  }

  #learn({ bytes, points }: Learned): void {
    const learned = {
      bytes: bytes === null ? null : Math.max(LEARNED_MIN.bytes, bytes),
      points: points === null ? null : Math.max(LEARNED_MIN.points, points),
    };
    const { bytes: knownBytes = null, points: knownPoints = null } = this.#learned ?? {};
    this.#learned = { bytes: learned.bytes ?? knownBytes, points: learned.points ?? knownPoints };
    const said = { ...this.#fields, ...this.#learned, remedy: keysFor(this.#learned) };
    this.#log.warn(
      'learned',
      said,
      'the back end takes smaller requests only; larger ones are cut',
    );
  }

  /**
   * Puts a row to the test that the back end has refused for long. Returns the answer after which the row must wait;
   * null when it need not, because an answer has decided about it.
   */
  async #test(lane: Lane, delivery: Delivery, result: SendResult): Promise<SendResult | null> {
    const nowMs = this.#options.clock.monotonicMs();
    const kind = testedAs(result);
    if (kind === null) return result;
    delivery.refusedSinceMs ??= nowMs;
    const isAtOnce = kind === 'refused' && this.#mayTestAtOnce;
    const isDue = isAtOnce || nowMs - delivery.refusedSinceMs >= this.#options.stuckAfterMs;
    if (!isDue || this.#flushCount > 0 || this.#isClosing) return result;
    const other = await this.#takeForTest(lane, kind === 'unknown' && !delivery.wasTested);
    if (other === null) return result;
    delivery.refusedSinceMs = nowMs;
    delivery.wasTested = true;
    this.#mayTestAtOnce = false;
    const before = this.#acceptances;
    const answer = await this.#trySend(lane, other);
    if (this.#acceptances > before) this.#newestPassed = Math.max(this.#newestPassed, other.row.id);
    if (this.#acceptances === before || this.#notForMs() > 0)
      return answer === null || answer.kind === 'accepted' ? result : answer;
    // Not the piece that was refused last, if that was the last one of a trial.
    const piece = this.#nextOf(delivery);
    const again = piece === null ? null : await this.#attempt(lane, delivery, piece);
    if (piece === null || again === null) return null;
    if (again.kind === 'accepted' || testedAs(again) !== kind)
      return (await this.#decide(delivery, piece, again)) ? null : again;
    this.#mayTestAtOnce = true;
    delivery.isUnknownContent ||= kind === 'unknown';
    await delivery.prove(piece, this.#refused(delivery, again));
    if (delivery.isDone) await this.#settle(delivery);
    return null;
  }

  /** Sends the first piece of a row once. Unless that decides about it, the row keeps its turn. */
  async #trySend(lane: Lane, delivery: Delivery): Promise<SendResult | null> {
    const piece = this.#nextOf(delivery);
    const result = piece === null ? null : await this.#attempt(lane, delivery, piece);
    if (piece !== null && result?.kind === 'accepted') await this.#decide(delivery, piece, result);
    if (!delivery.isDone && !delivery.isBegun) {
      this.#options.queue.unpin(delivery.row.id);
      lane.deliveries = lane.deliveries.filter(some => some !== delivery);
    }
    return result;
  }

  /** Stores what was decided about a row, once that is all of it. */
  async #settle(delivery: Delivery): Promise<void> {
    const { settlements, aside } = delivery.outcome();
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

  /** Finished rows leave the lane; the others may be evicted while they wait, unless part of them is decided. */
  #release(lane: Lane): void {
    lane.deliveries = lane.deliveries.filter(({ isDone }) => !isDone);
    for (const { row, isBegun } of lane.deliveries) if (!isBegun) this.#options.queue.unpin(row.id);
    if (this.#ready(lane) !== undefined) return;
    lane.state = 'idle';
    if (this.#leader === lane) this.#leader = null;
    this.#bell.ring();
  }

  async #backOff(lane: Lane, { points }: Piece, result: SendResult): Promise<void> {
    if (result.kind === 'accepted' || this.#closing.signal.aborted) return;
    const { random } = this.#options;
    const { kind, reason } = result;
    this.#leader ??= lane;
    lane.isHeldOff = kind === 'settings' || kind === 'refused' || kind === 'too_large';
    const said = { ...this.#fields, points, reason };
    this.#log.warn(kind, said, 'cannot send to the back end; the points wait');
    lane.state = kind === 'retry' ? 'retrying' : 'holding';
    if (this.#leader !== lane) return;
    await this.#pause(lane, lane.state, backOffMs(Math.max(this.#failureCount, 1), random));
  }

  async #pause(lane: Lane, state: 'retrying' | 'holding', ms: number): Promise<void> {
    const { clock } = this.#options;
    if (this.#isClosing) return;
    const pauseMs = Math.max(ms, this.#notForMs());
    lane.state = state;
    lane.nextAttemptAtMs = clock.nowMs() + pauseMs;
    lane.wake = new AbortController();
    this.#bell.ring();
    await clock.sleep(pauseMs, lane.wake.signal);
    lane.nextAttemptAtMs = null;
  }
}

/** The kind of test that a row needs after such an answer for long; null for none. */
function testedAs({ kind }: SendResult): 'refused' | 'unknown' | null {
  if (kind === 'too_large') return 'refused';
  return kind === 'refused' || kind === 'unknown' ? kind : null;
}

/** Own telemetry proves nothing about the points of databases. */
function hasDatabasePoints(parts: readonly { readonly service: string }[]): boolean {
  return parts.some(({ service }) => service !== OWN_SERVICE);
}
