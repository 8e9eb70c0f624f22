// What the service's own list says of a database service, in /status.json and on the page.

import type { Daemon } from '../daemon/daemon.ts';
import type { ServiceFacts } from '../service/inventory-api.ts';
import type { Advice } from './problem.ts';

export interface InventoryReport
  extends Pick<
    ServiceFacts,
    | 'status'
    | 'isStopped'
    | 'provider'
    | 'region'
    | 'tier'
    | 'topology'
    | 'version'
    | 'size'
    | 'nodes'
  > {
  readonly isInMaintenance: boolean;
}

/** Null where the list says nothing of the service. */
export function inventoryOf({ inventory }: Daemon, id: string): InventoryReport | null {
  const facts = inventory?.factsOf(id) ?? null;
  if (inventory === null || facts === null) return null;
  const { status, isStopped, provider, region, tier, topology, version, size, nodes } = facts;
  const isInMaintenance = inventory.isInMaintenance(id);
  const made = { provider, region, tier, topology, version, size, nodes };
  return { status, isStopped, isInMaintenance, ...made };
}

/** While the inventory has a maintenance, to be absent is no error. */
export const IN_MAINTENANCE: Advice = {
  message: 'it is in maintenance, and not on the page',
  hint: 'Wait for the end of the maintenance.',
};
