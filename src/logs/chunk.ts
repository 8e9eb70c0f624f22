// Puts records into the queue. A chunk gathers the records of one partition into one request: at most 500, or about
// 1 MiB. The sink commits chunks and cursor in one step. While the queue has no room for logs it waits: the service
// keeps them, and no cursor moves. Guarantees that after `stored` both are in the queue, and otherwise neither.

import type { ServiceConfig } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import { failpoint } from '../lib/failpoint.ts';
import { type Batch, batchOf } from '../model/batch.ts';
import type { AttributeLimit } from '../pipeline/encode/attribute-limit.ts';
import type { ServiceResource } from '../pipeline/encode/identity.ts';
import { type LogAttribute, LogsRequest } from '../pipeline/encode/logs.ts';
import { WireWriter } from '../pipeline/encode/wire.ts';
import type { StateChange } from '../pipeline/queue/commit.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { type Gap, gapRecord, gapUid } from './gap.ts';
import type { Partition } from './item.ts';
import type { LogMeter } from './log-meter.ts';
import { MARKS, OWN_PREFIX, type ParsedRecord } from './record.ts';

/** `stopped`: the pull was stopped while there was no room; `failed`: the store is broken or too small. */
export type StoreResult = 'stored' | 'stopped' | 'failed';

const CHUNK_RECORDS_MAX = 500;
const CHUNK_BYTES_MAX = 1024 * 1024;

export class Chunk {
  readonly #request: LogsRequest;
  readonly #service: string;
  readonly #observedAtMs: number;
  /** Attributes that all records of the partition share. */
  readonly #shared: readonly LogAttribute[];

  /** Uses the request's writer until `end`: one chunk at a time per writer. */
  constructor(request: LogsRequest, partition: Partition, observedAtMs: number) {
    this.#request = request;
    this.#service = partition.service.id;
    this.#observedAtMs = observedAtMs;
    this.#shared = [
      ...(partition.server === '' ? [] : [['server_name', partition.server] as const]),
      ...(partition.type === '' ? [] : [[`${OWN_PREFIX}log.type`, partition.type] as const]),
    ];
  }

  get count(): number {
    return this.#request.count;
  }

  /** True when it must be committed before more is added. */
  get isFull(): boolean {
    return this.count >= CHUNK_RECORDS_MAX || this.#request.bytes >= CHUNK_BYTES_MAX;
  }

  add(record: ParsedRecord, uid: string, fileName: string): void {
    const more: LogAttribute[] = [];
    if (fileName !== '') more.push(['log.file.name', fileName]);
    if (record.stream !== '') more.push(['log.iostream', record.stream]);
    more.push(['log.record.uid', uid], ...this.#shared);
    if (record.marks !== 0) more.push(...markAttributes(record.marks));
    this.#request.add(record, this.#observedAtMs, more);
  }

  addGap(gap: Gap): void {
    const uid = ['log.record.uid', gapUid(gap)] as const;
    this.#request.add(gapRecord(gap), this.#observedAtMs, [uid, ...this.#shared]);
  }

  /** The batch, in the writer's memory: it must be committed before the writer is used again. */
  end(): Batch {
    const payload = this.#request.end();
    const madeAtMs = this.#observedAtMs;
    return batchOf(this.#service, this.count, { signal: 'logs', payload, madeAtMs });
  }
}

const ROOM_POLL_MS = 200;
const ROOM_POLLS_MAX = 150;

export interface LogSinkOptions {
  readonly queue: Queue;
  readonly clock: Clock;
  readonly meter: LogMeter;
  readonly attributeLimit: AttributeLimit | null;
  readonly resourceOf: (service: ServiceConfig) => ServiceResource;
}

/** One per puller: its pulls do not overlap, so that one chunk at a time uses the writer. */
export class LogSink {
  readonly #options: LogSinkOptions;
  readonly #writer: WireWriter;

  constructor(options: LogSinkOptions) {
    this.#options = options;
    this.#writer = new WireWriter(undefined, options.attributeLimit);
  }

  /** A new chunk; the last one must have been stored. */
  chunk(partition: Partition): Chunk {
    return this.#chunkIn(this.#writer, partition);
  }

  /** The record of a gap, in a writer of its own: the chunk to be stored with it is still in the other one. */
  gapBatch(gap: Gap): Batch {
    const chunk = this.#chunkIn(
      new WireWriter(undefined, this.#options.attributeLimit),
      gap.partition,
    );
    chunk.addGap(gap);
    return chunk.end();
  }

  #chunkIn(writer: WireWriter, partition: Partition): Chunk {
    const { resourceOf, clock } = this.#options;
    const request = new LogsRequest(writer, resourceOf(partition.service));
    return new Chunk(request, partition, clock.nowMs());
  }

  /** The batches' memory must not change until the promise settles. */
  async store(
    batches: readonly Batch[],
    state: readonly StateChange[],
    signal: AbortSignal,
  ): Promise<StoreResult> {
    const { queue, meter } = this.#options;
    let isFull = false;
    failpoint('chunk-begun');
    while (!signal.aborted) {
      const outcome = await queue.commit({ batches, state, reads: [] });
      if (outcome.kind !== 'full') {
        if (isFull) meter.counters.waiting.set(0);
        failpoint('chunk-done');
        // A commit that is only held in memory may still be lost.
        return outcome.kind === 'stored' ? 'stored' : 'failed';
      }
      isFull = true;
      meter.counters.waiting.set(1);
      await this.#waitForRoom(signal);
    }
    if (isFull) meter.counters.waiting.set(0);
    return 'stopped';
  }

  /** Waits until something has left the queue, or 30 s, because each try compresses the batches again. */
  async #waitForRoom(signal: AbortSignal): Promise<void> {
    const { queue, clock } = this.#options;
    const { bytes } = queue.size('logs');
    for (let poll = 0; poll < ROOM_POLLS_MAX && !signal.aborted; poll++) {
      if (queue.size('logs').bytes < bytes) return;
      await clock.sleep(ROOM_POLL_MS, signal);
    }
  }
}

function markAttributes(marks: number): readonly LogAttribute[] {
  const set = MARKS.filter(([mark]) => (marks & mark) !== 0);
  return [...new Set(set.map(([, , attribute]) => attribute))].map(key => [key, true] as const);
}
