// Predicts when the queue will be full, at the rate of the last minutes. In: the size of each signal's rows, every few
// seconds. Out: the time until its limit or the disk is full, for the status page and a gauge; nothing while the queue
// does not grow.

import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import { type Signal, SIGNALS } from '../model/batch.ts';
import type { Queue } from '../pipeline/queue/queue.ts';

const LOOK_MS = 10_000;
/** The rate covers at most this many looks: ten minutes. */
const LOOKS_MAX = 60;
/** With fewer looks, a single batch would determine the rate. */
const LOOKS_MIN = 4;

export const FORECAST_COUNTERS = {
  fullIn: {
    name: 'prom2otlp_queue_full_seconds',
    help: 'Seconds until the queue or its disk is full at the rate of the last ten minutes; absent while it does not grow.',
    labels: ['signal'],
  },
} as const;

interface Look {
  readonly atMs: number;
  readonly bytes: number;
}

export class QueueForecast {
  readonly #queue: Pick<Queue, 'size' | 'freeBytes'>;
  readonly #clock: Clock;
  readonly #looks = new Map<Signal, Look[]>();

  constructor(queue: Pick<Queue, 'size' | 'freeBytes'>, clock: Clock, counters: Counters) {
    this.#queue = queue;
    this.#clock = clock;
    counters.of(FORECAST_COUNTERS).fullIn.follow(() =>
      SIGNALS.flatMap(signal => {
        const ms = this.fullInMs(signal);
        return ms === null ? [] : [{ labelValues: [signal], value: ms / 1000 }];
      }),
    );
  }

  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      this.look();
      await this.#clock.sleep(LOOK_MS, stop);
    }
  }

  look(): void {
    const atMs = this.#clock.monotonicMs();
    for (const signal of SIGNALS) {
      const looks = this.#looks.get(signal) ?? [];
      const { bytes } = this.#queue.size(signal);
      // Only an outage fills the queue, so the rate begins when the queue last became smaller.
      if (bytes < (looks.at(-1)?.bytes ?? 0)) looks.length = 0;
      looks.push({ atMs, bytes });
      if (looks.length > LOOKS_MAX) looks.shift();
      this.#looks.set(signal, looks);
    }
  }

  /** Milliseconds until the signal's share, or the disk and the memory after it, is full; null while it does not grow, or with too few looks. */
  fullInMs(signal: Signal): number | null {
    const growth = this.#growthOf(signal);
    if (growth <= 0) return null;
    const { bytes, maxBytes } = this.#queue.size(signal);
    // Both signals fill the same disk.
    const growths = SIGNALS.map(one => Math.max(0, this.#growthOf(one)));
    const diskMs = this.#queue.freeBytes(signal) / growths.reduce((sum, one) => sum + one, 0);
    return Math.min(Math.max(0, maxBytes - bytes) / growth, diskMs);
  }

  /** Bytes in a millisecond; 0 with too few looks. */
  #growthOf(signal: Signal): number {
    const looks = this.#looks.get(signal) ?? [];
    const [first, last] = [looks[0], looks.at(-1)];
    if (first === undefined || last === undefined || looks.length < LOOKS_MIN) return 0;
    return last.atMs === first.atMs ? 0 : (last.bytes - first.bytes) / (last.atMs - first.atMs);
  }
}
