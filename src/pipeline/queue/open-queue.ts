// The queue as a configuration wants it.

import type { Config } from '../../config/config.ts';
import type { QueueOptions, QueueSettings } from './commit.ts';
import { Queue } from './queue.ts';
import { requestLimit } from './rows.ts';

/** The queue of a configuration: in `queue.directory`, or in bounded memory if that is null. Throws an OperatorError. */
export function openQueue(
  config: Config,
  { clock, counters, logger }: Pick<QueueOptions, 'clock' | 'counters' | 'logger'>,
): Queue {
  const options = { ...queueSettings(config), clock, counters, logger };
  return Queue.open(options, config.queue.directory);
}

/** What a reload may change. */
export function queueSettings({ queue, otlp }: Config): QueueSettings {
  const { metrics, logs } = otlp;
  return {
    config: queue,
    limits: { metrics: requestLimit(otlp, 'metrics'), logs: requestLimit(otlp, 'logs') },
    compression: { metrics: metrics.compression, logs: logs.compression },
  };
}
