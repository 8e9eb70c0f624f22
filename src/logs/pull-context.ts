// What the parts of one API's puller share: the way to the service, the way into the queue, the settings. Owned by
// log-puller.ts; it lives as long as the puller.

import type { LogsConfig, ServiceConfig } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Permits } from '../lib/permits.ts';
import { WireWriter } from '../pipeline/encode/wire.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import type { AskOptions } from './ask.ts';
import type { ByteBudget } from './byte-budget.ts';
import { Chunk, type LogResource } from './chunk.ts';
import type { ItemContext } from './descriptor.ts';
import { type Gap, gapRecord, gapUid } from './gap.ts';
import type { KeptArchives } from './kept-archives.ts';
import type { LogApi } from '../service/logs.ts';
import type { LogMeter } from './log-meter.ts';
import type { LogStore, StateChange, StoreResult } from './log-store.ts';
import type { Partition } from './partition.ts';
import type { CreateLineReader, LineReader } from './record.ts';

export interface PullContextOptions {
  /** For counters and log lines; no secret. */
  readonly name: string;
  readonly config: LogsConfig;
  readonly services: readonly ServiceConfig[];
  /** How many more services other shards take of the same API. */
  readonly otherServiceCount: number;
  /** True where other processes read the logs of other services. */
  readonly isSharded: boolean;
  readonly api: LogApi;
  readonly queue: Queue;
  readonly store: LogStore;
  readonly meter: LogMeter;
  readonly clock: Clock;
  readonly random: () => number;
  readonly createReader: CreateLineReader;
  readonly resourceOf: (service: ServiceConfig) => LogResource;
  /** Where archives are spooled. */
  readonly spoolDirectory: string;
  /** Where those are kept that were given up; null where nothing is kept on disk. */
  readonly kept: KeptArchives | null;
  readonly budget: ByteBudget;
  /** How many archives are worked on at once, over all APIs. */
  readonly permits: Permits;
}

/** One pull's own: when it must end. */
export interface PullRun {
  readonly signal: AbortSignal;
  /** Monotonic: no request is tried again later. */
  readonly giveUpAtMs: number;
}

export class PullContext {
  readonly options: PullContextOptions;
  readonly items: ItemContext;
  /** Used by one chunk at a time: pulls of one API do not overlap. */
  readonly writer: WireWriter = new WireWriter();
  /** By how much the service's clock is ahead of ours; null until it has told. */
  skewMs: number | null = null;

  constructor(options: PullContextOptions) {
    this.options = options;
    const { api, services, otherServiceCount, config } = options;
    this.items = { pointers: api.pointers, services, otherServiceCount, types: config.types };
  }

  /** The service's clock, as far as it is known. */
  serverNowMs(): number {
    return this.options.clock.nowMs() + (this.skewMs ?? 0);
  }

  /** The service has told its time just now. */
  noteServerTime(serverNowMs: number | null): void {
    this.skewMs =
      serverNowMs === null ? (this.skewMs ?? 0) : serverNowMs - this.options.clock.nowMs();
  }

  ask(run: PullRun): AskOptions {
    const { clock, random, meter, name } = this.options;
    return {
      clock,
      random,
      signal: run.signal,
      giveUpAtMs: run.giveUpAtMs,
      onFailure: ({ reason, message }) => meter.failure(name, reason, message),
    };
  }

  chunk(partition: Partition): Chunk {
    const { resourceOf, clock } = this.options;
    const resource = resourceOf(partition.service);
    return new Chunk(this.writer, partition, { resource, observedAtMs: clock.nowMs() });
  }

  reader(type: string): LineReader {
    const { config, createReader } = this.options;
    return createReader({
      type,
      timezone: config.sourceTimezone,
      isRedacting: config.redactLiterals,
      recordBytesMax: config.limits.recordBytes,
    });
  }

  /** Passes something over: the records of the gaps and the state that no longer asks for it, in one commit. */
  async storeGaps(
    gaps: readonly Gap[],
    state: readonly StateChange[],
    signal: AbortSignal,
  ): Promise<StoreResult> {
    const { store, meter } = this.options;
    const batches = gaps.map(gap => {
      const chunk = this.chunk(gap.partition);
      chunk.addOwn(gapRecord(gap), gapUid(gap));
      const batch = chunk.end();
      return { ...batch, payload: Buffer.from(batch.payload) };
    });
    const result = await store.store(batches, state, signal);
    if (result === 'stored') for (const gap of gaps) meter.gap(gap);
    return result;
  }
}
