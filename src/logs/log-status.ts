// What the puller says of itself while it runs: what `once` prints and the status page shows.

export type PartitionState = 'waiting' | 'pulling' | 'failed';

/** One partition as the page shows it. */
export interface PartitionStatus {
  readonly service: string;
  readonly source: string;
  readonly type: string;
  state: PartitionState;
  /** By the service's clock; everything before is in the queue or delivered. null before the first read. */
  doneUntilMs: number | null;
  recordCount: number;
  gapCount: number;
  lastError: string | null;
}

/** An archive that was given up, as the page shows it. */
export interface GivenUpStatus {
  readonly service: string;
  readonly type: string;
  readonly archive: string;
  readonly reason: string;
  /** Where it is kept; null where it is not. */
  readonly file: string | null;
  readonly atMs: number;
}

/** How many of the archives that a pull has to read it has read. */
export interface PullProgress {
  readonly name: string;
  readonly dueCount: number;
  doneCount: number;
}
