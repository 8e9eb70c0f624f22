// The watch over backups in a running bridge: built of its parts, with each service named as its metrics name it.
// Loaded on demand, since a bridge that watches nothing need not carry it.

import type { OnDemandOptions } from './daemon.ts';
import { resourceOf } from './daemon-resource.ts';
import { Watch } from './watch/watch.ts';

/** Nothing is read yet. */
export function openWatch({ options, parts, targets }: OnDemandOptions): Watch {
  const { config, clock, logger } = options;
  const { clients, queue, counters } = parts;
  return new Watch({
    config,
    clients,
    queue,
    clock,
    counters,
    logger,
    resourceOf: service => resourceOf(service, targets),
  });
}
