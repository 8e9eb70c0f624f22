// The queue between encode and send: a row stays in it until the back end has accepted it or refused it for good. The
// store is SQLite, in a file or in memory.
//
// A row is one compressed request of a tick, with an index of the services in its uncompressed bytes: splitting, order
// and the account are per service. Every call that moves points updates the account in the same step.

import type { QueueConfig } from '../../config/config.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Counters } from '../../lib/counters.ts';
import type { Logger } from '../../lib/log.ts';
import type { Batch, BatchPart, SampleCount, Signal } from '../../model/batch.ts';

/** How a row's body is compressed, in the words of Content-Encoding. */
export type Encoding = 'gzip' | 'zstd' | 'none';

export interface QueueOptions {
  readonly config: QueueConfig;
  /** From `otlp.max_request`: the largest row, uncompressed, unless a single point is larger. */
  readonly maxRequestBytes: Readonly<Record<Signal, number>>;
  /** How rows are compressed until `compressAs` changes it. */
  readonly compression: Readonly<Record<Signal, Encoding>>;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly logger: Logger;
}

/** One queued request. `body` is the compressed payload; parts index the uncompressed bytes. */
export interface QueueRow {
  readonly id: number;
  readonly signal: Signal;
  readonly encoding: Encoding;
  readonly body: Buffer;
  readonly rawBytes: number;
  readonly parts: readonly BatchPart[];
  readonly madeAtMs: number;
}

/** A blob by kind and key, such as the start times of a target or the log cursor of a partition; null deletes it. */
export interface StateChange {
  readonly kind: string;
  readonly key: string;
  readonly blob: Buffer | null;
}

/**
 * The data of one tick: its batches, the state that belongs to them, and the number of samples read. Payloads may be
 * compressed on other threads: they must not change until the commit has ended.
 */
export interface Commit {
  readonly batches: readonly Batch[];
  readonly state: readonly StateChange[];
  /** Samples read per service, by outcome: see account.ts. */
  readonly reads: readonly SampleCount[];
}

/**
 * How a commit ended.
 *
 *   stored  in the file; metrics without room have evicted the oldest, or were evicted themselves
 *   held    the file cannot be written: metrics are kept in memory, sent from there, and written once the file works
 *   full    logs have no room; nothing is stored, and the caller must not advance its cursor
 *   failed  nothing is stored
 */
export type CommitOutcome =
  | { readonly kind: 'stored' }
  | { readonly kind: 'held'; readonly message: string }
  | { readonly kind: 'full' }
  | { readonly kind: 'failed'; readonly message: string };

/** The outcome of one service's points in a row, or in a part of one. */
export interface Settlement {
  readonly service: string;
  readonly accepted: number;
  readonly rejected: number;
  readonly setAside: number;
}

/** The unsettled part of a row: the points without a decision. */
export type RowRest = Pick<QueueRow, 'encoding' | 'body' | 'rawBytes' | 'parts'>;

/** A request, or a piece of one, that the back end refused for good; kept in a bounded table for inspection. */
export interface SetAside {
  readonly signal: Signal;
  readonly service: string;
  readonly points: number;
  /** The back end's message. */
  readonly reason: string;
  /** An uncompressed request with at least the first of the points. */
  readonly sample: Buffer;
  readonly atMs: number;
}

/** The rows of one signal together. */
export interface Sums {
  /** Queued requests. */
  readonly rows: number;
  /** Compressed; the limit counts these. */
  readonly bytes: number;
  /** Points or log records. */
  readonly points: number;
}

/** When the oldest and the newest row of a signal were made; null when there is none. */
export interface RowTimes {
  readonly oldestAtMs: number | null;
  readonly newestAtMs: number | null;
}

/** One signal's rows in the queue. */
export interface QueueStats extends Sums, RowTimes {
  readonly maxBytes: number;
}

/** The outcome of every sample and point, by service: see account.ts. */
export interface AccountView {
  get(service: string, key: string): number;
  /** Points of a service that are made and not yet in a final state. */
  queued(service: string): number;
  /** Every number: service to key to count. */
  entries(): ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** The numbers of all services together. */
  total(): ReadonlyMap<string, number>;
}

export interface Queue {
  /** Stores all of a commit or nothing. */
  commit(commit: Commit): Promise<CommitOutcome>;
  /**
   * The oldest rows of a signal, except `skip`, in order; [] when there are none. The caller owns the bodies.
   */
  oldest(signal: Signal, count: number, skip: ReadonlySet<number>): Promise<readonly QueueRow[]>;
  /**
   * Protects a row from eviction while it is sent; false when it has left the queue. Ends with `unpin`, or when the
   * whole row is settled. Only a pinned row can be settled: otherwise its points could be counted twice.
   */
  pin(id: number): boolean;
  unpin(id: number): void;
  /**
   * Removes a pinned row, counts the outcome of its points, and stores set-aside entries; a full disk does not prevent
   * it. A `rest` replaces the row and stays pinned; then only the difference is settled.
   */
  settle(
    id: number,
    settlements: readonly Settlement[],
    aside: readonly SetAside[],
    rest?: RowRest | null,
  ): Promise<void>;
  /** The latest set-aside entries, newest first. */
  readSetAside(count: number): Promise<readonly SetAside[]>;
  readState(kind: string, key: string): Promise<Buffer | null>;
  /** The keys of all stored blobs of a kind; none if the file cannot be read. */
  stateKeys(kind: string): readonly string[];
  stats(signal: Signal): QueueStats;
  /** Sets the compression of new rows. */
  compressAs(signal: Signal, encoding: Encoding): void;
  /** Why the last commit or settlement was not stored normally, such as a full disk; null when it was. */
  trouble(): string | null;
  /** Notes for the operator, as sentences: what other programs did to the files. */
  notes(): readonly string[];
  /** Names of damaged files kept in the directory. The queue never deletes them. */
  corruptFiles(): readonly string[];
  readonly account: AccountView;
  /** Calls `listener` after each commit, and when `oldest` has removed rows. Returns a function that removes it. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}
