// Commits a chunk together with the cursor that stands behind it, in one step. While the logs' share of the queue
// is full it waits: the service keeps what is not pulled, and nothing is advanced. Guarantees that `stored` means
// both are in the queue, and anything else neither.

import type { Clock } from '../lib/clock.ts';
import { failpoint } from '../lib/failpoint.ts';
import type { Batch } from '../model/batch.ts';
import type { Commit, Queue } from '../pipeline/queue/queue.ts';
import type { LogMeter } from './log-meter.ts';

/** `stopped`: told to stop while there was no room; `failed`: the store is broken or too small. */
export type StoreResult = 'stored' | 'stopped' | 'failed';

export type StateChange = Commit['state'][number];

const ROOM_POLL_MS = 200;
const ROOM_POLLS_MAX = 150;

export class LogStore {
  readonly #queue: Queue;
  readonly #clock: Clock;
  readonly #meter: LogMeter;

  constructor(options: {
    readonly queue: Queue;
    readonly clock: Clock;
    readonly meter: LogMeter;
  }) {
    this.#queue = options.queue;
    this.#clock = options.clock;
    this.#meter = options.meter;
  }

  /** The batch's memory must not change until this has ended. */
  async store(
    batches: readonly Batch[],
    state: readonly StateChange[],
    signal: AbortSignal,
  ): Promise<StoreResult> {
    let isFull = false;
    failpoint('chunk-begun');
    while (!signal.aborted) {
      const outcome = await this.#queue.commit({ batches, state, reads: [] });
      if (outcome.kind !== 'full') {
        if (isFull) this.#meter.queueFull(false);
        failpoint('chunk-done');
        // What the queue holds in memory only is not behind us.
        return outcome.kind === 'stored' ? 'stored' : 'failed';
      }
      isFull = true;
      this.#meter.queueFull(true);
      await this.#waitForRoom(signal);
    }
    if (isFull) this.#meter.queueFull(false);
    return 'stopped';
  }

  /** Until something has left the queue, or for a while: each try costs compressing the batch again. */
  async #waitForRoom(signal: AbortSignal): Promise<void> {
    const { bytes } = this.#queue.stats('logs');
    for (let poll = 0; poll < ROOM_POLLS_MAX && !signal.aborted; poll++) {
      if (this.#queue.stats('logs').bytes < bytes) return;
      await this.#clock.sleep(ROOM_POLL_MS, signal);
    }
  }
}
