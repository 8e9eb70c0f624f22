// The numbers of the queue: the outcome of every sample and point of each service (invariant 9), and how many rows, bytes
// and points wait for each signal. They are read from the store when it is opened. A transaction collects its changes
// in a Change, writes the counts as its last step, and passes the Change to `apply` once it is committed. So a failed
// transaction changes no number. The account balances when
//   samples read = used + metadata + repeated + dropped by reason, and
//   points made (samples, stale, synthetic) = accepted + rejected + set aside + evicted + queued.
// Numbers of samples have the key `sample/<outcome>`, numbers of points `point/<state>`; resends are counted apart.
// QUEUE_COUNTERS declares the counters with which the queue reports these numbers.

import { type BatchPart, type SampleCount, type Signal, SIGNALS } from '../../model/batch.ts';
import type { Count, RowHead } from './queue-file.ts';
import type { Settlement, Sums } from './commit.ts';
import { rowBytes, sumPoints, type NewRow } from './rows.ts';

/** The states of points. Points that are made and in no final state are queued. */
export const POINT_STATES = ['made', 'accepted', 'rejected', 'set_aside', 'evicted'] as const;
export type PointState = (typeof POINT_STATES)[number];

/** The first services are counted one by one; all later ones are counted together. */
export const ACCOUNT_SERVICES_MAX = 10_000;
const OTHER_SERVICES = 'other';

/** Why points were evicted, that is, dropped before the back end decided about them. */
export type EvictionReason = 'size' | 'age' | 'disk' | 'damaged';

export interface Eviction {
  readonly signal: Signal;
  readonly reason: EvictionReason;
  readonly parts: readonly Pick<BatchPart, 'service' | 'points'>[];
}

export const QUEUE_COUNTERS = {
  rows: {
    name: 'prom2otlp_queue_rows',
    help: 'Queued requests.',
    labels: ['signal'],
  },
  bytes: {
    name: 'prom2otlp_queue_bytes',
    help: 'Queued bytes, compressed.',
    labels: ['signal'],
  },
  points: {
    name: 'prom2otlp_queue_points',
    help: 'Queued points or log records.',
    labels: ['signal'],
  },
  maxBytes: {
    name: 'prom2otlp_queue_max_bytes',
    help: 'The limit of queue_bytes.',
    labels: ['signal'],
  },
  commits: {
    name: 'prom2otlp_queue_commits_total',
    help: 'Commits by outcome.',
    labels: ['outcome'],
  },
  refused: {
    name: 'prom2otlp_queue_refused_points_total',
    help: 'Points of commits that stored nothing.',
    labels: ['signal', 'outcome'],
  },
  evicted: {
    name: 'prom2otlp_queue_evicted_points_total',
    help: 'Points dropped before the back end accepted them.',
    labels: ['signal', 'service', 'reason'],
  },
  setAside: {
    name: 'prom2otlp_queue_set_aside_points_total',
    help: 'Points that the back end refused for good.',
    labels: ['signal', 'service'],
  },
  lostStates: {
    name: 'prom2otlp_queue_lost_states_total',
    help: 'Stored states that were damaged or did not fit this version: what they were for began anew.',
    labels: ['kind'],
  },
  oldestAge: {
    name: 'prom2otlp_queue_oldest_age_seconds',
    help: 'Age of the oldest queued request; 0 if the queue is empty.',
    labels: ['signal'],
  },
  trouble: {
    name: 'prom2otlp_queue_trouble_state',
    help: '1 while new data cannot be stored normally because the disk is full or fails; else 0.',
  },
} as const;

type StoredRow = Pick<RowHead, 'signal' | 'parts' | 'body'>;

const NO_SUMS: Sums = { rows: 0, bytes: 0, points: 0 };

export class Account {
  readonly #services = new Map<string, Map<string, number>>();
  #sums: Readonly<Record<Signal, Sums>> = { metrics: NO_SUMS, logs: NO_SUMS };

  add(service: string, key: string, count: number): void {
    if (count === 0) return;
    const name = this.#nameFor(service);
    let numbers = this.#services.get(name);
    if (numbers === undefined) this.#services.set(name, (numbers = new Map()));
    numbers.set(key, (numbers.get(key) ?? 0) + count);
  }

  get(service: string, key: string): number {
    return this.#services.get(this.#nameFor(service))?.get(key) ?? 0;
  }

  /** Points of a service that are made and not yet in a final state. */
  queued(service: string): number {
    const end = POINT_STATES.filter(state => state !== 'made');
    const made = this.get(service, 'point/made');
    return end.reduce((left, state) => left - this.get(service, `point/${state}`), made);
  }

  /** Every number: service to key to count. */
  entries(): ReadonlyMap<string, ReadonlyMap<string, number>> {
    return this.#services;
  }

  total(): ReadonlyMap<string, number> {
    const sum = new Map<string, number>();
    for (const numbers of this.#services.values())
      for (const [key, count] of numbers) sum.set(key, (sum.get(key) ?? 0) + count);
    return sum;
  }

  sums(signal: Signal): Sums {
    return this.#sums[signal];
  }

  /** Renames counts as this account does, before they are written. Else the file would grow with every new service. */
  named(counts: readonly Count[]): readonly Count[] {
    const added = new Set<string>();
    return counts.map(({ service, key, count }) => {
      const name = added.has(service) ? service : this.#nameFor(service, added.size);
      if (name === service && !this.#services.has(name)) added.add(name);
      return { service: name, key, count };
    });
  }

  apply(change: Change): void {
    for (const { service, key, count } of change.counts()) this.add(service, key, count);
    this.#sums = {
      metrics: addSums(this.#sums.metrics, change.sums.metrics),
      logs: addSums(this.#sums.logs, change.sums.logs),
    };
  }

  /** Every number as a list. */
  counts(): readonly Count[] {
    return [...this.#services].flatMap(([service, numbers]) =>
      [...numbers].map(([key, count]) => ({ service, key, count })),
    );
  }

  /**
   * Replaces all numbers by these counts and waiting rows. Returns the change that balances the account, which is empty
   * unless rows or counts were lost.
   */
  load(counts: readonly Count[], heads: Iterable<RowHead>): Change {
    const found = new Change();
    const queued = new Map<string, number>();
    for (const { service, key, count } of counts) found.count(service, key, count);
    for (const head of heads) {
      found.added(head);
      for (const { service, points } of head.parts)
        queued.set(service, (queued.get(service) ?? 0) + points);
    }
    this.#services.clear();
    this.#sums = { metrics: NO_SUMS, logs: NO_SUMS };
    this.apply(found);
    return this.#correctionFor(queued);
  }

  #correctionFor(queued: ReadonlyMap<string, number>): Change {
    const found = new Map([...this.#services.keys()].map(service => [service, 0]));
    for (const [service, points] of queued) {
      const name = this.#nameFor(service);
      found.set(name, (found.get(name) ?? 0) + points);
    }
    const change = new Change();
    for (const [service, points] of found) {
      const lost = this.queued(service) - points;
      if (lost > 0)
        change.evicted({ signal: 'metrics', parts: [{ service, points: lost }] }, 'damaged');
      else change.count(service, 'point/made', -lost);
    }
    return change;
  }

  /** The name under which a service is counted. `others`: the number of new services that come before it. */
  #nameFor(service: string, others = 0): string {
    if (this.#services.has(service)) return service;
    return this.#services.size + others < ACCOUNT_SERVICES_MAX ? service : OTHER_SERVICES;
  }
}

/** The numbers that one transaction changes. */
export class Change {
  readonly evictions: Eviction[] = [];
  readonly sums: Record<Signal, Sums> = { metrics: NO_SUMS, logs: NO_SUMS };
  readonly #counts = new Map<string, Count>();

  count(service: string, key: string, count: number): void {
    if (count === 0) return;
    const name = `${service}\u0000${key}`;
    const sum = (this.#counts.get(name)?.count ?? 0) + count;
    if (sum === 0) this.#counts.delete(name);
    else this.#counts.set(name, { service, key, count: sum });
  }

  counts(): readonly Count[] {
    return [...this.#counts.values()];
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0 && SIGNALS.every(signal => this.sums[signal].rows === 0);
  }

  made({ parts }: Pick<NewRow, 'parts'>): void {
    for (const { service, points } of parts) this.count(service, 'point/made', points);
  }

  read({ service, outcome, count }: SampleCount): void {
    this.count(service, `sample/${outcome}`, count);
  }

  settled({ service, accepted, rejected, setAside }: Settlement): void {
    this.count(service, 'point/accepted', accepted);
    this.count(service, 'point/rejected', rejected);
    this.count(service, 'point/set_aside', setAside);
  }

  added(row: StoredRow): void {
    this.#wait(row, 1);
  }

  removed(row: StoredRow): void {
    this.#wait(row, -1);
  }

  /** Counts evicted points. A row that was stored must also go through `removed`. */
  evicted({ signal, parts }: Omit<Eviction, 'reason'>, reason: EvictionReason): void {
    for (const { service, points } of parts) this.count(service, 'point/evicted', points);
    this.evictions.push({ signal, parts, reason });
  }

  #wait(row: StoredRow, sign: 1 | -1): void {
    const change = { rows: sign, bytes: sign * rowBytes(row), points: sign * sumPoints(row.parts) };
    this.sums[row.signal] = addSums(this.sums[row.signal], change);
  }
}

function addSums(a: Sums, b: Sums): Sums {
  return { rows: a.rows + b.rows, bytes: a.bytes + b.bytes, points: a.points + b.points };
}
