// The queue between encode and send: a row stays in it until the back end has accepted it or refused it for good. One
// store (SQLite) on a file or in memory. Asynchronous from the start.
//
// A row is one compressed request of a tick with an index into its uncompressed bytes, so that splitting,
// order and the account stay per service. Every call that moves points updates the account in the same step.

import type { QueueConfig } from '../../config/config.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Counters } from '../../lib/counters.ts';
import type { Logger } from '../../lib/log.ts';
import type { Batch, BatchPart, SampleCount, Signal } from '../../model/batch.ts';

/** How a row's body is compressed, as Content-Encoding names it. */
export type Encoding = 'gzip' | 'zstd' | 'none';

/** What code hands to a queue when it is opened. */
export interface QueueOptions {
  readonly config: QueueConfig;
  /** From `otlp.max_request`: no row is larger uncompressed, unless a single point is. */
  readonly maxRequestBytes: Readonly<Record<Signal, number>>;
  /** What rows are compressed with at first. */
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

/**
 * What one tick commits at once: its batches, the state that belongs to them, and what was read. Payloads are
 * compressed off the main thread: they must not change until the commit has ended.
 */
export interface Commit {
  readonly batches: readonly Batch[];
  /** Blobs by kind and key (start times per target, log cursors per partition); null deletes one. */
  readonly state: readonly {
    readonly kind: string;
    readonly key: string;
    readonly blob: Buffer | null;
  }[];
  /** Samples read per service, by fate: see account.ts. */
  readonly reads: readonly SampleCount[];
}

/**
 * How a commit ended. `full` happens to logs only: the caller must not advance. Metrics that find no room evict
 * the oldest, and are themselves evicted where even that is not enough. `held`: the file cannot be written, and the
 * commit, of metrics only, is kept in memory; it is sent from there, and written once the file works again. `failed`
 * has stored nothing.
 */
export type CommitOutcome =
  | { readonly kind: 'stored'; readonly evictedPoints: number }
  | { readonly kind: 'held'; readonly evictedPoints: number; readonly message: string }
  | { readonly kind: 'full' }
  | { readonly kind: 'failed'; readonly message: string };

/** What became of (a part of) a row. The numbers are points. */
export interface Settlement {
  readonly service: string;
  readonly accepted: number;
  readonly rejected: number;
  readonly setAside: number;
}

/** What a row becomes that was settled in part: the points that nobody has decided about yet. */
export type RowRest = Pick<QueueRow, 'encoding' | 'body' | 'rawBytes' | 'parts'>;

/** A request, or a piece of one, that the back end refused for good; kept for a look in a bounded table. */
export interface SetAside {
  readonly signal: Signal;
  readonly service: string;
  readonly points: number;
  /** The back end's own words. */
  readonly reason: string;
  /** A request with (at least) the first of the points; cut out of what was refused, uncompressed. */
  readonly sample: Buffer;
  readonly atMs: number;
}

export interface QueueStats {
  readonly rows: number;
  readonly bytes: number;
  readonly points: number;
  readonly maxBytes: number;
  readonly oldestAtMs: number | null;
  readonly newestAtMs: number | null;
}

/** What became of every sample and point, by service: see account.ts. */
export interface AccountView {
  get(service: string, key: string): number;
  /** Points of a service that are made and not yet in a final state. */
  queued(service: string): number;
  services(): readonly string[];
  /** Every number: service to key to count. */
  entries(): ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** The numbers of all services together. */
  total(): ReadonlyMap<string, number>;
}

export interface Queue {
  /** Stores everything of one tick or nothing. */
  commit(commit: Commit): Promise<CommitOutcome>;
  /** The oldest rows of a signal in order, leaving out `skip`; [] when there are none. Bodies are owned by the caller. */
  oldest(signal: Signal, count: number, skip: ReadonlySet<number>): Promise<readonly QueueRow[]>;
  /**
   * Marks a row as being sent, so that eviction passes it over; false when it has left the queue. It ends with
   * `unpin` or the settlement of all of it. Only a pinned row may be settled, or its points could be counted twice.
   */
  pin(id: number): boolean;
  unpin(id: number): void;
  /**
   * Removes a pinned row with the outcome of its points, and keeps what was set aside. Never fails for a full disk.
   * With a `rest` that takes the place of the row, pinned as before: what is settled then is the difference.
   */
  settle(
    id: number,
    settlements: readonly Settlement[],
    aside: readonly SetAside[],
    rest?: RowRest | null,
  ): Promise<void>;
  /** What was set aside last, newest first. */
  readSetAside(count: number): Promise<readonly SetAside[]>;
  readState(kind: string, key: string): Promise<Buffer | null>;
  stats(signal: Signal): QueueStats;
  /** From now on new rows of the signal are stored like this: as the back end takes them. */
  compressAs(signal: Signal, encoding: Encoding): void;
  /** Why the last commit was not simply stored: a disk that is full or fails; null when it was. */
  trouble(): string | null;
  /** What else somebody should know of the store, in sentences: what others have done to its files. */
  notes(): readonly string[];
  /** Names of damaged files in the queue's directory that were put aside and wait for a look; they are never deleted. */
  corruptFiles(): readonly string[];
  readonly account: AccountView;
  /** Calls `listener` after each commit, so that senders wake up; what is returned ends that. */
  onCommit(listener: () => void): () => void;
  close(): Promise<void>;
}
