// The numbers of the durable queue in memory: the account and the sums per signal, read from the file when it is
// opened and kept up with every transaction, so that nobody has to ask the file for them.

import type { QueueConfig } from '../../config/config.ts';
import type { Signal } from '../../model/batch.ts';
import type { Account } from './account.ts';
import { Change, type Count } from './change.ts';
import type { QueueFile, Sums } from './queue-file.ts';
import type { QueueMeter } from './queue-meter.ts';
import type { QueueStats } from './queue.ts';

const SIGNALS = ['metrics', 'logs'] as const;

/** What a file says of itself. */
export interface Reading {
  readonly counts: readonly Readonly<Count>[];
  readonly sums: Readonly<Record<Signal, Sums>>;
  /** Points by service, as the rows have them. */
  readonly queued: ReadonlyMap<string, number>;
}

export class Tallies {
  readonly #account: Account;
  readonly #meter: QueueMeter;
  readonly #stats: Record<Signal, QueueStats>;

  constructor(config: QueueConfig, account: Account, meter: QueueMeter) {
    this.#account = account;
    this.#meter = meter;
    this.#stats = {
      metrics: emptyStats(config.metrics.maxBytes),
      logs: emptyStats(config.logs.maxBytes),
    };
  }

  stats(signal: Signal): QueueStats {
    return this.#stats[signal];
  }

  /**
   * Takes over what a file says. Gives the change that makes its account balance, which it does already unless
   * rows or counts were lost by damage.
   */
  load({ counts, sums, queued }: Reading): Change {
    this.#account.clear();
    for (const { service, key, count } of counts) this.#account.add(service, key, count);
    for (const signal of SIGNALS) this.#stats[signal] = { ...this.#stats[signal], ...sums[signal] };
    const change = new Change();
    const found = new Map(this.#account.services().map(service => [service, 0]));
    for (const [service, points] of queued) {
      const name = this.#account.nameFor(service);
      found.set(name, (found.get(name) ?? 0) + points);
    }
    for (const [service, points] of found) {
      const lost = this.#account.queued(service) - points;
      if (lost > 0)
        change.evicted({ signal: 'metrics', parts: [{ service, points: lost }] }, 'damaged');
      else change.count(service, 'point/made', -lost);
    }
    return change;
  }

  /** Takes over a change that was committed. */
  apply(change: Change): void {
    for (const { service, key, count } of change.counts()) this.#account.add(service, key, count);
    for (const signal of SIGNALS) {
      const { rows, bytes, points } = change.sums[signal];
      const stats = this.#stats[signal];
      this.#stats[signal] = {
        ...stats,
        rows: stats.rows + rows,
        bytes: stats.bytes + bytes,
        points: stats.points + points,
      };
    }
    for (const eviction of change.evictions) this.#meter.evicted(eviction);
  }

  /** Takes over the times of the oldest and the newest rows, by the wall clock, and shows everything in the counters. */
  report(timesOf: (signal: Signal) => Pick<QueueStats, 'oldestAtMs' | 'newestAtMs'>): void {
    for (const signal of SIGNALS) {
      this.#stats[signal] = { ...this.#stats[signal], ...timesOf(signal) };
      this.#meter.stats(signal, this.#stats[signal]);
    }
  }
}

export function readTallies(file: QueueFile): Reading {
  const queued = new Map<string, number>();
  const sumsOf = (signal: Signal): Sums => {
    let sum = 0;
    for (const id of file.ids(signal))
      for (const { service, points } of file.head(id)?.parts ?? []) {
        queued.set(service, (queued.get(service) ?? 0) + points);
        sum += points;
      }
    return { ...file.sums(signal), points: sum };
  };
  const sums = { metrics: sumsOf('metrics'), logs: sumsOf('logs') };
  return { counts: file.counts(), sums, queued };
}

function emptyStats(maxBytes: number): QueueStats {
  return { rows: 0, bytes: 0, points: 0, maxBytes, oldestAtMs: null, newestAtMs: null };
}
