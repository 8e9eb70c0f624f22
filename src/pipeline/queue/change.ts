// What one transaction of the durable queue changes beside the rows themselves: collected while it runs, its
// counts written as its last step, and taken over into memory (tallies.ts) only after it was committed.

import type { SampleCount, Signal } from '../../model/batch.ts';
import type { QueueFile } from './queue-file.ts';
import type { Eviction, EvictionReason } from './queue-meter.ts';
import type { Settlement } from './queue.ts';
import type { RowHead } from './row-columns.ts';
import { rowBytes, rowPoints, type NewRow } from './rows.ts';

export interface Count {
  readonly service: string;
  readonly key: string;
  count: number;
}

export class Change {
  readonly evictions: Eviction[] = [];
  /** By how much the sums of each signal change. */
  readonly sums: Readonly<Record<Signal, { rows: number; bytes: number; points: number }>> = {
    metrics: { rows: 0, bytes: 0, points: 0 },
    logs: { rows: 0, bytes: 0, points: 0 },
  };
  readonly #counts = new Map<string, Count>();

  count(service: string, key: string, count: number): void {
    if (count === 0) return;
    const name = `${service}\u0000${key}`;
    const known = this.#counts.get(name);
    if (known === undefined) this.#counts.set(name, { service, key, count });
    else known.count += count;
  }

  /** Points of a row that have come to be. */
  made({ parts }: Pick<NewRow, 'parts'>): void {
    for (const { service, points } of parts) this.count(service, 'point/made', points);
  }

  read({ service, fate, count }: SampleCount): void {
    this.count(service, `sample/${fate}`, count);
  }

  addCounts(other: Change): void {
    for (const { service, key, count } of other.counts()) this.count(service, key, count);
  }

  /** True when no number changes. */
  get isEmpty(): boolean {
    const sums = [this.sums.metrics, this.sums.logs];
    return this.#counts.size === 0 && sums.every(sum => sum.rows === 0 && sum.points === 0);
  }

  counts(): readonly Readonly<Count>[] {
    return [...this.#counts.values()];
  }

  get evictedPoints(): number {
    return this.evictions.reduce((sum, eviction) => sum + rowPoints(eviction), 0);
  }

  settle({ service, accepted, rejected, setAside }: Settlement): void {
    this.count(service, 'point/accepted', accepted);
    this.count(service, 'point/rejected', rejected);
    this.count(service, 'point/set_aside', setAside);
  }

  added(row: NewRow): void {
    const sums = this.sums[row.signal];
    sums.rows++;
    sums.bytes += rowBytes(row);
    sums.points += rowPoints(row);
  }

  removed(head: Pick<RowHead, 'signal' | 'countedBytes' | 'points'>): void {
    const sums = this.sums[head.signal];
    sums.rows--;
    sums.bytes -= head.countedBytes;
    sums.points -= head.points;
  }

  /** Points that were given up; that their row is gone, if it ever was stored, is told by `removed`. */
  evicted({ signal, parts }: Omit<Eviction, 'reason'>, reason: EvictionReason): void {
    for (const { service, points } of parts) this.count(service, 'point/evicted', points);
    this.evictions.push({ signal, parts, reason });
  }

  /** The last step within the transaction. */
  write(file: QueueFile): void {
    for (const { service, key, count } of this.#counts.values()) file.addCount(service, key, count);
  }
}
