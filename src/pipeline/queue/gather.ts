// Gathers the payloads of one tick, so that many small pages become one row of the queue and one request. In: batches
// as their targets finish. Out: one commit of all batches that came within the waiting time, and another of the later
// ones: a slow target delays nobody. The memory for it is bounded.

import type { BodyBuffer, BodyBufferPool } from '../../lib/body-buffer.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Batch, BatchPart, SampleCount } from '../../model/batch.ts';
import type { Commit, CommitOutcome, Queue } from './queue.ts';

/** A payload of this size is committed alone, without a copy. */
const WHOLE_BYTES = 4 * 1024 * 1024;
/** The most that is gathered before it is committed. */
const GATHERED_BYTES_MAX = 16 * 1024 * 1024;

/** What one target's page adds to a tick. */
export interface Gathered {
  readonly batch: Batch;
  readonly reads: readonly SampleCount[];
  /** What must be stored together with the batch. */
  readonly state: Commit['state'];
}

/** `waitMs`: how long the first batch waits for others. `buffers`: where the memory comes from. */
export interface GatherOptions {
  readonly clock: Clock;
  readonly waitMs: number;
  readonly buffers: BodyBufferPool;
  /** Called when a commit stored nothing, which only happens with a closed queue: its points are lost. */
  readonly onFailed: (message: string) => void;
}

export class Gather {
  readonly #queue: Queue;
  readonly #options: GatherOptions;
  readonly #ended = new AbortController();
  /** Payloads back to back. The memory is borrowed: fresh large buffers would cost more garbage collections. */
  #payload: BodyBuffer | null = null;
  #parts: BatchPart[] = [];
  #madeAtMs = 0;
  #reads: SampleCount[] = [];
  #state: Commit['state'][number][] = [];
  #timed: Promise<void> | null = null;

  constructor(queue: Queue, options: GatherOptions) {
    this.#queue = queue;
    this.#options = options;
  }

  /**
   * Takes one page's points; they are committed by flush(), or when the waiting time is over. When the promise settles
   * the payload may change: it is copied, or it was large and is committed.
   */
  async add({ batch, reads, state }: Gathered): Promise<void> {
    const { length } = batch.payload;
    if (length >= WHOLE_BYTES) {
      await this.#store({ batches: [batch], reads, state });
      return;
    }
    if ((this.#payload?.usedBytes ?? 0) + length > GATHERED_BYTES_MAX) await this.#commit();
    this.#payload ??= this.#options.buffers.take();
    const before = this.#payload.usedBytes;
    for (const part of batch.parts) this.#parts.push({ ...part, offset: part.offset + before });
    this.#payload.append(batch.payload);
    this.#madeAtMs = batch.madeAtMs;
    this.#reads.push(...reads);
    this.#state.push(...state);
    this.#timed ??= this.#flushLater();
  }

  /** Commits the rest. Settles when everything that was added is in the queue. */
  async flush(): Promise<void> {
    this.#ended.abort();
    await this.#timed;
    await this.#commit();
  }

  async #flushLater(): Promise<void> {
    const { clock, waitMs } = this.#options;
    await clock.sleep(waitMs, this.#ended.signal);
    this.#timed = null;
    await this.#commit();
  }

  async #commit(): Promise<void> {
    const [payload, parts, reads, state] = [this.#payload, this.#parts, this.#reads, this.#state];
    if (payload === null) return;
    this.#payload = null;
    this.#parts = [];
    this.#reads = [];
    this.#state = [];
    const { bytes } = payload;
    const batch: Batch = { signal: 'metrics', payload: bytes, parts, madeAtMs: this.#madeAtMs };
    await this.#store({ batches: parts.length > 0 ? [batch] : [], reads, state });
    payload.clear();
    this.#options.buffers.give(payload);
  }

  async #store(commit: Commit): Promise<void> {
    const outcome: CommitOutcome = await this.#queue.commit(commit);
    if (outcome.kind === 'failed') this.#options.onFailed(outcome.message);
  }
}
