// Takes the oldest rows of one signal out of the queue, sends them, and settles what came of them. Rows leave
// in order at concurrency 1. What each kind of answer leads to:
//
//   accepted ─▶ settle                    retry ─▶ same row again after a back-off, or Retry-After
//   split    ─▶ smaller pieces            hold  ─▶ same row again after a minute
//               (delivery.ts), each settled by itself
//
// A row that is still held then, or was retried in vain for long, is compared with a later one: where the back
// end accepts that, the waiting one is the odd one, and is split instead of being in the way for ever. Order is
// worth more than haste: a later row goes out only when the back end has taken an empty request, and then refused
// the waiting row once more. So none overtakes another just because a back end comes back in that moment.
// Nothing here is kept: a process that ends, ends with all that was not settled in the queue.

import { backoffMs, type Backoff } from '../../lib/backoff.ts';
import { Bell } from '../../lib/bell.ts';
import type { Clock } from '../../lib/clock.ts';
import { failpoint } from '../../lib/failpoint.ts';
import type { Signal } from '../../model.ts';
import type { Queue } from '../queue/queue.ts';
import { newJob, nextRequest, refuseNext, restOf, wakeJob, type Job } from './job.ts';
import type { SendMeter } from './send-meter.ts';
import { SenderHealth, type SenderStatus } from './sender-health.ts';
import type { SendResult, Transport } from './transport.ts';

export interface SenderOptions {
  readonly signal: Signal;
  readonly queue: Queue;
  /** Owned by the sender from then on. */
  readonly transport: Transport;
  readonly meter: SendMeter;
  readonly concurrency: number;
  readonly clock: Clock;
  /** Numbers from 0 up to 1, for the jitter. */
  readonly random: () => number;
}

export const RETRY_BACKOFF: Backoff = { firstMs: 1000, maxMs: 60_000 };
/** A back end that asks for a longer pause is asked again after this. */
export const RETRY_AFTER_MS_MAX: number = 15 * 60_000;
export const HOLD_MS = 60_000;
/** During a flush a retry follows after a tenth of its time at the latest, on average, but not sooner than this. */
export const FLUSH_PAUSE_MS = 1000;
const FLUSH_RETRIES = 10;
/** After so many retries in vain a row is compared with a later one: it may be too large, or poison. */
export const RETRIES_ALONE = 10;
/** After so many later rows in vain the comparison starts anew with the next one. */
const COMPARED_ROWS_MAX = 64;

export class Sender {
  readonly #options: SenderOptions;
  readonly #jobs = new Map<number, Job>();
  /** Rings at each commit and settlement, when there may be something to take or to find finished. */
  readonly #bell = new Bell();
  readonly #closing = new AbortController();
  readonly #forget: () => void;
  #isEnding = false;
  readonly #health: SenderHealth;
  #workers: Promise<void>[] = [];
  /** Of the flushes that are under way: how long to wait between two attempts, on average. */
  #flushPausesMs: readonly number[] = [];

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#health = new SenderHealth(options.clock);
    this.#forget = options.queue.onCommit(() => this.#bell.ring());
  }

  start(): void {
    if (this.#workers.length > 0) return;
    this.#workers = Array.from({ length: this.#options.concurrency }, () => this.#work());
  }

  status(): SenderStatus {
    return this.#health.status([...this.#jobs.values()]);
  }

  /**
   * Sends what there is, at once, without waiting out the pauses that are under way, and tries again several times
   * while there is time, but not before the back end says. True when the queue holds
   * nothing more of the signal; false when the time is up or the back end holds us off: the rest stays queued.
   */
  async flush(timeoutMs: number): Promise<boolean> {
    const pauseMs = Math.max(FLUSH_PAUSE_MS, timeoutMs / FLUSH_RETRIES);
    this.#flushPausesMs = [...this.#flushPausesMs, pauseMs];
    for (const job of this.#jobs.values()) wakeJob(job);
    try {
      return await this.#waitUntilEmpty(this.#options.clock.monotonicMs() + timeoutMs);
    } finally {
      this.#flushPausesMs = this.#flushPausesMs.toSpliced(this.#flushPausesMs.indexOf(pauseMs), 1);
    }
  }

  /**
   * Takes nothing more, waits so long for the answer to what is under way, gives up the rest (it stays in the
   * queue) and ends.
   */
  async close(graceMs = 0): Promise<void> {
    this.#isEnding = true;
    this.#forget();
    const wake = (): void => {
      for (const job of this.#jobs.values()) wakeJob(job);
      this.#bell.ring();
    };
    wake();
    const ended = Promise.all(this.#workers);
    const over = new AbortController();
    if (graceMs > 0) await Promise.race([ended, this.#options.clock.sleep(graceMs, over.signal)]);
    over.abort();
    this.#closing.abort();
    wake();
    await ended;
    await this.#options.transport.close();
  }

  get #isClosing(): boolean {
    return this.#isEnding || this.#closing.signal.aborted;
  }

  async #waitUntilEmpty(endMs: number): Promise<boolean> {
    const { clock, queue, signal } = this.#options;
    for (;;) {
      const seen = this.#bell.rings;
      if (queue.stats(signal).rows === 0) return true;
      const leftMs = endMs - clock.monotonicMs();
      const jobs = [...this.#jobs.values()];
      const isHeldOff = jobs.length > 0 && jobs.every(job => job.state === 'holding');
      if (leftMs <= 0 || isHeldOff || this.#isClosing) return false;
      const stop = new AbortController();
      await Promise.race([this.#bell.wait(seen), clock.sleep(leftMs, stop.signal)]);
      stop.abort();
    }
  }

  async #work(): Promise<void> {
    while (!this.#isClosing) {
      const seen = this.#bell.rings;
      const job = await this.#take(new Set(this.#jobs.keys()));
      if (job === null) {
        await this.#bell.wait(seen);
        continue;
      }
      await this.#deliver(job);
      this.#release(job);
    }
  }

  /** The oldest row that nobody has, pinned. */
  async #take(skip: ReadonlySet<number>): Promise<Job | null> {
    const { queue, signal } = this.#options;
    const [row] = await queue.oldest(signal, 1, skip);
    if (row === undefined) return null;
    // Another worker may have been faster; then there is something else to take.
    if (this.#jobs.has(row.id)) return await this.#take(new Set([...skip, row.id]));
    const job = newJob(row);
    this.#jobs.set(row.id, job);
    return job;
  }

  #release(job: Job): void {
    const { id } = job.delivery.row;
    this.#jobs.delete(id);
    this.#options.queue.unpin(id);
    this.#bell.ring();
  }

  /** Until the row is settled, has left the queue for its age or for want of room, or the sender closes. */
  async #deliver(job: Job): Promise<void> {
    const { queue } = this.#options;
    const { delivery } = job;
    while (!this.#isClosing && queue.pin(delivery.row.id)) {
      const result = await this.#attemptSurely(job);
      const isDecided = await this.#decide(job, result);
      if (delivery.isDone) return;
      queue.unpin(delivery.row.id);
      if (!isDecided) await this.#pauseAfter(job, result);
    }
  }

  /** Sends the next piece; once more where it may be at fault, and the back end shows that it is there. */
  async #attemptSurely(job: Job): Promise<SendResult> {
    job.isSure = false;
    const result = await this.#attempt(job);
    if (this.#isClosing || !this.#isSuspect(job, result) || !(await this.#isThere())) return result;
    job.isSure = true;
    return await this.#attempt(job);
  }

  /** Whether an answer, or none, is reason to compare the row with another, if there is one. */
  #isSuspect(job: Job, { kind }: SendResult): boolean {
    const { queue, signal } = this.#options;
    if (queue.stats(signal).rows <= this.#jobs.size) return false;
    if (kind === 'retry') return job.failureCount >= RETRIES_ALONE;
    // The first refusal may be a passing one, and order is worth a minute; but not at the end.
    return (
      kind === 'hold' && !job.isOdd && (job.failureCount > 0 || this.#flushPausesMs.length > 0)
    );
  }

  /** An empty request is valid OTLP and leaves no data. One that is refused for its content has been judged, too. */
  async #isThere(): Promise<boolean> {
    const { signal, transport } = this.#options;
    const request = { signal, encoding: 'none', body: Buffer.alloc(0), rawBytes: 0 } as const;
    const { kind } = await transport.send(request, this.#closing.signal);
    return kind === 'accepted' || kind === 'split';
  }

  /** Sends the next piece once. */
  async #attempt(job: Job): Promise<SendResult> {
    const { transport, clock, meter } = this.#options;
    const request = await nextRequest(job);
    job.state = 'sending';
    job.nextAttemptAtMs = null;
    const startedMs = clock.monotonicMs();
    failpoint('send-begun');
    const result = await transport.send(request, this.#closing.signal);
    failpoint('send-answered');
    if (this.#closing.signal.aborted && result.kind === 'retry') return result;
    meter.attempt({
      result,
      points: job.delivery.next()?.points ?? 0,
      bodyBytes: request.body.length,
      durationMs: clock.monotonicMs() - startedMs,
      isResend: job.failureCount > 0,
    });
    const downMs = this.#health.note(result);
    if (downMs !== null) meter.recovered(downMs);
    return result;
  }

  /** Takes an answer for the piece that was sent, if it is one, and settles what it decides about. */
  async #decide(job: Job, result: SendResult): Promise<boolean> {
    const { delivery } = job;
    if (result.kind === 'accepted') {
      if (!delivery.isSplit) this.#markOdd(delivery.row.id);
      delivery.accept(result.rejected);
    } else if (await this.#isRefusal(job, result)) {
      await refuseNext(job, result.reason, this.#options.clock.nowMs());
    } else return false;
    job.failureCount = 0;
    await this.#settle(job);
    return true;
  }

  /** Whether an answer is about this content rather than about us or the moment. */
  async #isRefusal(job: Job, result: SendResult): Promise<boolean> {
    if (result.kind === 'split') return true;
    if (result.kind === 'hold' && job.isOdd) return true;
    if (!job.isSure || !this.#isSuspect(job, result)) return false;
    if (result.kind === 'retry') return await this.#isOtherAccepted(job);
    job.state = 'holding';
    job.isOdd ||= await this.#isOtherAccepted(job);
    return job.isOdd;
  }

  /** Sends a later row for comparison with one that is not accepted. */
  async #isOtherAccepted(job: Job): Promise<boolean> {
    const { comparedIds } = job;
    if (this.#isClosing) return false;
    if (comparedIds.size >= COMPARED_ROWS_MAX) comparedIds.clear();
    const other = await this.#take(new Set([...this.#jobs.keys(), ...comparedIds]));
    if (other === null) {
      comparedIds.clear();
      return false;
    }
    const { id } = other.delivery.row;
    comparedIds.add(id);
    const result = this.#options.queue.pin(id) ? await this.#attempt(other) : null;
    const isAccepted = result?.kind === 'accepted';
    if (isAccepted) await this.#decide(other, result);
    this.#release(other);
    return isAccepted;
  }

  /** At once, also of a row that is only partly done: what was accepted must not come again after a stop or a kill. */
  async #settle(job: Job): Promise<void> {
    const { delivery } = job;
    const { settlements, aside } = delivery.takeOutcome();
    if (settlements.length === 0) return;
    const rest = delivery.isDone ? null : await restOf(job);
    await this.#options.queue.settle(delivery.row.id, settlements, aside, rest);
    this.#options.meter.settled(settlements, aside);
  }

  async #pauseAfter(job: Job, result: SendResult): Promise<void> {
    job.failureCount++;
    if (result.kind !== 'retry') {
      await this.#pause(job, 'holding', HOLD_MS);
      return;
    }
    const backOffMs = this.#backOffMs(job);
    const askedMs = Math.min(result.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX);
    await this.#pause(job, 'retrying', Math.max(backOffMs, askedMs));
  }

  #backOffMs({ failureCount }: Job): number {
    const { random } = this.#options;
    const flushPauseMs = Math.min(...this.#flushPausesMs) * (0.5 + random());
    return Math.min(backoffMs(RETRY_BACKOFF, failureCount, random), flushPauseMs);
  }

  /** A row was accepted whole: whatever is older and held is so for its content. */
  #markOdd(acceptedId: number): void {
    for (const [id, job] of this.#jobs) {
      if (id >= acceptedId || job.state !== 'holding') continue;
      job.isOdd = true;
      wakeJob(job);
    }
  }

  async #pause(job: Job, state: 'retrying' | 'holding', ms: number): Promise<void> {
    if (this.#isClosing) return;
    job.state = state;
    job.nextAttemptAtMs = this.#options.clock.nowMs() + ms;
    job.wake = new AbortController();
    this.#bell.ring();
    await this.#options.clock.sleep(ms, job.wake.signal);
  }
}
