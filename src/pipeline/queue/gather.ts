// Gathers the payloads of one tick, so that many small pages become one row of the queue and one request. In: batches
// as their targets finish. Out: one commit of all batches that came within the waiting time, and another commit of the
// later batches, so that a slow target does not delay the others. The memory is bounded.

import type { BodyBuffer, BodyBufferPool } from '../../lib/body-buffer.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ThrottledLog } from '../../lib/log.ts';
import type { Batch, BatchPart, SampleCount } from '../../model/batch.ts';
import type { Commit, StateChange, Store } from './commit.ts';

/** Ready pages of a tick wait this long for the others before they are committed. */
const WAIT_MS = 500;
/** A payload of this size is committed alone, without a copy. */
const WHOLE_BYTES = 4 * 1024 * 1024;
/** The most bytes that are gathered for one commit. */
const GATHERED_BYTES_MAX = 16 * 1024 * 1024;

type PageCommit = Omit<Commit, 'batches'> & { readonly batch: Batch };

export interface GatherOptions {
  readonly queue: Store;
  readonly clock: Clock;
  readonly log: ThrottledLog;
  /** Where the memory comes from. */
  readonly buffers: BodyBufferPool;
}

/** The data gathered for one commit. */
interface Pending {
  /** Payloads back to back. The memory is borrowed: fresh large buffers would cost more garbage collections. */
  readonly payload: BodyBuffer;
  /** The time of the page that was added last. */
  madeAtMs: number;
  readonly parts: BatchPart[];
  readonly reads: SampleCount[];
  readonly state: StateChange[];
}

export class Gather {
  readonly #options: GatherOptions;
  /** The next commit; null while it is empty. */
  #next: Pending | null = null;
  /** Ends the waiting time; null while none runs. */
  #cancelTimer: (() => void) | null = null;
  /** Settles when the commits at the ends of waiting times are done. */
  #timed: Promise<unknown> = Promise.resolve();

  constructor(options: GatherOptions) {
    this.#options = options;
  }

  /**
   * Adds the points of one page. They are committed by flush() or at the end of the waiting time. The payload may
   * change once the promise has settled: by then it is copied, or committed if it is large.
   */
  async add({ batch, reads, state }: PageCommit): Promise<void> {
    const { length } = batch.payload;
    if (length >= WHOLE_BYTES) {
      await this.#store({ batches: [batch], reads, state });
      return;
    }
    if ((this.#next?.payload.usedBytes ?? 0) + length > GATHERED_BYTES_MAX) await this.#commit();
    const next = (this.#next ??= this.#begin(batch.madeAtMs));
    next.madeAtMs = batch.madeAtMs;
    const before = next.payload.usedBytes;
    for (const part of batch.parts) next.parts.push({ ...part, offset: part.offset + before });
    next.payload.append(batch.payload);
    next.reads.push(...reads);
    next.state.push(...state);
    this.#cancelTimer ??= this.#startTimer();
  }

  /** Commits the pending batches. Settles when everything that was added is in the queue. */
  async flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    await this.#timed;
    await this.#commit();
  }

  #startTimer(): () => void {
    return this.#options.clock.after(WAIT_MS, () => {
      this.#cancelTimer = null;
      this.#timed = Promise.all([this.#timed, this.#commit()]);
    });
  }

  #begin(madeAtMs: number): Pending {
    return { payload: this.#options.buffers.take(), madeAtMs, parts: [], reads: [], state: [] };
  }

  async #commit(): Promise<void> {
    const next = this.#next;
    if (next === null) return;
    this.#next = null;
    const { payload, madeAtMs, parts, reads, state } = next;
    const batch: Batch = { signal: 'metrics', payload: payload.bytes, parts, madeAtMs };
    await this.#store({ batches: parts.length > 0 ? [batch] : [], reads, state });
    payload.clear();
    this.#options.buffers.give(payload);
  }

  async #store(commit: Commit): Promise<void> {
    const { queue, log } = this.#options;
    const outcome = await queue.commit(commit);
    // A commit of metrics fails only when the queue is closed.
    if (outcome.kind === 'failed') {
      const cause = outcome.message;
      log.error('commit', { cause }, 'cannot queue the points of a tick: they are lost');
    }
  }
}
