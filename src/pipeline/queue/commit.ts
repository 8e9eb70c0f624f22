// The types of the data that enters and leaves the queue. A row is one compressed request of a tick, with an index of
// the services in its uncompressed bytes: splitting, order and the account are per service.

import type { Clock } from '../../lib/clock.ts';
import type { Counters } from '../../lib/counters.ts';
import type { Logger } from '../../lib/log.ts';
import type { Batch, BatchPart, SampleCount, Signal } from '../../model/batch.ts';

/** How a row's body is compressed: a value of Content-Encoding, or `none`. */
export type Encoding = 'gzip' | 'zstd' | 'none';

/** What one request holds at most; a single point may have more bytes. */
export interface RequestLimit {
  /** Uncompressed. */
  readonly bytes: number;
  /** Data points or log records; Infinity for any number. */
  readonly points: number;
}

/** The keys of `queue`, in bytes and milliseconds. */
export interface QueueConfig {
  /** null: memory only. */
  readonly directory: string | null;
  readonly metrics: { readonly maxBytes: number; readonly maxAgeMs: number };
  readonly logs: { readonly maxBytes: number };
}

/** What a reload may change; the directory in `config` stays. */
export interface QueueSettings {
  readonly config: QueueConfig;
  /** What a row holds at most. */
  readonly limits: Readonly<Record<Signal, RequestLimit>>;
  /** How rows are compressed. */
  readonly compression: Readonly<Record<Signal, Encoding>>;
}

export interface QueueOptions extends QueueSettings {
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

/** How the blobs of a kind are read. */
export interface StateKind<T> {
  readonly kind: string;
  /** For the operator, if a blob is damaged or does not fit: what is lost, and what begins anew. */
  readonly lost: string;
  /** Null for a blob that does not fit, as one of another version. */
  readonly read: (blob: Buffer) => T | null;
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

/** The part of the queue (queue.ts) that the data path needs. It stores all of a commit or nothing. */
export interface Store {
  commit(commit: Commit): Promise<CommitOutcome>;
}

/** The outcome of one service's points in a row. */
export interface Settlement {
  readonly service: string;
  readonly accepted: number;
  readonly rejected: number;
  readonly setAside: number;
}

/** The content of a row, or of a piece of one. */
export type RowContent = Pick<QueueRow, 'encoding' | 'body' | 'rawBytes' | 'parts'>;

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

export interface Sums {
  readonly rows: number;
  /** Compressed bytes, to which the limit applies. */
  readonly bytes: number;
  /** Points or log records. */
  readonly points: number;
}

/** When the oldest and the newest row of a signal were made; null when there is none. */
export interface RowTimes {
  readonly oldestAtMs: number | null;
  readonly newestAtMs: number | null;
}

export interface QueueSize extends Sums {
  readonly maxBytes: number;
}

export interface QueueStats extends QueueSize, RowTimes {}
