// Gathers the payloads of one tick, so that many small pages become one row of the queue and one request. In:
// batches as their targets finish. Out: one commit for all that came within the waiting time, and another for
// what came later: a slow target does not hold the others back.

import type { Clock } from '../../lib/clock.ts';
import type { Batch, BatchPart, SampleCount } from '../../model.ts';
import type { Commit, CommitOutcome, Queue } from './queue.ts';

/** What one target's page adds to a tick. The payload is copied. */
export interface Gathered {
  readonly batch: Batch;
  readonly reads: readonly SampleCount[];
  /** What must be stored together with the batch. */
  readonly state: Commit['state'];
}

export class Gather {
  readonly #queue: Queue;
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #onFailed: (message: string) => void;
  readonly #ended = new AbortController();
  #payloads: Buffer[] = [];
  #parts: BatchPart[] = [];
  #reads: SampleCount[] = [];
  #state: Commit['state'][number][] = [];
  #bytes = 0;
  #madeAtMs = 0;
  #timed: Promise<void> | null = null;

  constructor(
    queue: Queue,
    options: {
      readonly clock: Clock;
      readonly waitMs: number;
      /** A commit that stored nothing, as only a closed queue does: the points of these pages are gone. */
      readonly onFailed: (message: string) => void;
    },
  ) {
    this.#queue = queue;
    this.#clock = options.clock;
    this.#waitMs = options.waitMs;
    this.#onFailed = options.onFailed;
  }

  /** Takes one page's points; they are committed by flush(), or when the waiting time is over. */
  add(gathered: Gathered): void {
    const { payload, parts, madeAtMs } = gathered.batch;
    for (const part of parts) this.#parts.push({ ...part, offset: part.offset + this.#bytes });
    if (payload.length > 0) this.#payloads.push(Buffer.from(payload));
    this.#bytes += payload.length;
    this.#madeAtMs = madeAtMs;
    this.#reads.push(...gathered.reads);
    this.#state.push(...gathered.state);
    this.#timed ??= this.#flushLater();
  }

  /** Commits what is left; ends when everything that was added is in the queue. */
  async flush(): Promise<void> {
    this.#ended.abort();
    await this.#timed;
    await this.#commit();
  }

  async #flushLater(): Promise<void> {
    await this.#clock.sleep(this.#waitMs, this.#ended.signal);
    this.#timed = null;
    await this.#commit();
  }

  async #commit(): Promise<void> {
    if (this.#parts.length === 0 && this.#reads.length === 0) return;
    const batch: Batch = {
      signal: 'metrics',
      payload:
        this.#payloads.length === 1
          ? (this.#payloads[0] ?? Buffer.alloc(0))
          : Buffer.concat(this.#payloads),
      parts: this.#parts,
      madeAtMs: this.#madeAtMs,
    };
    const reads = this.#reads;
    const state = this.#state;
    this.#payloads = [];
    this.#parts = [];
    this.#reads = [];
    this.#state = [];
    this.#bytes = 0;
    const batches = batch.parts.length === 0 ? [] : [batch];
    const outcome: CommitOutcome = await this.#queue.commit({ batches, state, reads });
    if (outcome.kind === 'failed') this.#onFailed(outcome.message);
  }
}
