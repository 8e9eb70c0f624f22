// Builds the watchers of backups in a running bridge; each service is named as its metrics name it.
// Loaded on demand: a bridge that watches no backups does not carry it.

import type { OnDemandOptions } from './daemon.ts';
import { resourceOf } from './daemon-resource.ts';
import { Backups } from './backups/backups.ts';

/** Nothing is read yet. */
export function openBackups({ options, parts, targets }: OnDemandOptions): Backups {
  const { config, clock, logger } = options;
  const { clients, queue, counters } = parts;
  return new Backups({
    config,
    clients,
    queue,
    clock,
    counters,
    logger,
    resourceOf: service => resourceOf(service, targets),
  });
}
