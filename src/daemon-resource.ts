// A service as its metrics name it, for the parts that send something else about it.

import type { ServiceConfig } from './config/config.ts';
import { serverOf } from './daemon-targets.ts';
import type { ResourceIdentity } from './pipeline/encode/identity.ts';
import type { TargetLog } from './status/target-log.ts';

export interface ServiceResource {
  readonly identity: ResourceIdentity;
  readonly info: ReadonlyMap<string, string>;
}

/** With the labels of target_info that its last page had, as its metrics have them. */
export function resourceOf(service: ServiceConfig, targets: readonly TargetLog[]): ServiceResource {
  const { id, name, attributes, api } = service;
  const identity = { name, id, attributes, server: serverOf(api) };
  for (const { table } of targets) {
    const slot = table.services[table.serviceById.get(id) ?? -1];
    if (slot !== undefined) return { identity, info: slot.info };
  }
  return { identity, info: new Map() };
}
