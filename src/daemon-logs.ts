// The log pullers of a running bridge: built of its parts, with each service named as its metrics name it. Loaded on
// demand, since a bridge without logs need not carry them.

import type { ServiceConfig } from './config/config.ts';
import type { DaemonOptions, DaemonParts } from './daemon.ts';
import { serverOf } from './daemon-targets.ts';
import type { LogResource } from './logs/chunk.ts';
import { createLineReader } from './logs/formats/reader.ts';
import { Logs } from './logs/logs.ts';
import type { TargetLog } from './status/target-log.ts';

export interface DaemonLogsOptions {
  readonly options: DaemonOptions;
  readonly parts: DaemonParts;
  readonly targets: readonly TargetLog[];
}

/** Nothing is pulled yet. */
export function openLogs({ options, parts, targets }: DaemonLogsOptions): Logs {
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

/** With the labels of target_info that its last page had, as its metrics have them. */
function resourceOf(service: ServiceConfig, targets: readonly TargetLog[]): LogResource {
  const { id, name, attributes, api } = service;
  const identity = { name, id, attributes, server: serverOf(api) };
  for (const { table } of targets) {
    const slot = table.services[table.serviceById.get(id) ?? -1];
    if (slot !== undefined) return { identity, info: slot.info };
  }
  return { identity, info: new Map() };
}
