// The log pullers of a running bridge: built of its parts, with each service named as its metrics name it. Loaded on
// demand, since a bridge without logs need not carry them.

import type { OnDemandOptions } from './daemon.ts';
import { resourceOf } from './daemon-resource.ts';
import { keepHeapSmall } from './lib/footprint.ts';
import { createLineReader } from './logs/formats/reader.ts';
import { Logs } from './logs/logs.ts';

/** Nothing is pulled yet. */
export function openLogs({ options, parts, targets }: OnDemandOptions): Logs {
  // A large archive is gigabytes of lines that live for a moment.
  keepHeapSmall();
  const { config, clock, logger } = options;
  const { clients, queue, counters } = parts;
  return new Logs({
    config,
    clients,
    queue,
    clock,
    counters,
    logger,
    createReader: createLineReader,
    resourceOf: service => resourceOf(service, targets),
  });
}
