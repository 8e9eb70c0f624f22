// Opens the queue of a configuration.

import type { Config, OtlpSignalConfig } from '../../config/config.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Counters } from '../../lib/counters.ts';
import type { Logger } from '../../lib/log.ts';
import type { Encoding, Queue, QueueOptions } from './queue.ts';
import { SqliteQueue } from './sqlite-queue.ts';

export interface OpenQueueOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly logger: Logger;
}

/** OTLP/JSON is up to this many times as large as protobuf; rows are measured in protobuf. */
const JSON_FACTOR = 8;

/** On disk in `queue.directory`, or in bounded memory if that is null. Throws an OperatorError. */
export function openQueue(options: OpenQueueOptions): Promise<Queue> {
  const { config, clock, counters, logger } = options;
  const { otlp } = config;
  const queueOptions: QueueOptions = {
    config: config.queue,
    maxRequestBytes: {
      metrics: maxRowBytes(otlp.maxRequestBytes, otlp.metrics),
      logs: maxRowBytes(otlp.maxRequestBytes, otlp.logs),
    },
    compression: { metrics: firstEncoding(otlp.metrics), logs: firstEncoding(otlp.logs) },
    clock,
    counters,
    logger,
  };
  return new Promise(resolve => resolve(SqliteQueue.open(queueOptions, config.queue.directory)));
}

/** With `auto` the sender changes it once it knows what the back end supports. */
function firstEncoding({ compression }: OtlpSignalConfig): Encoding {
  return compression === 'auto' ? 'gzip' : compression;
}

function maxRowBytes(maxRequestBytes: number, { protocol }: OtlpSignalConfig): number {
  return protocol === 'http/json' ? Math.ceil(maxRequestBytes / JSON_FACTOR) : maxRequestBytes;
}
