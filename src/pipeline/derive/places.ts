// The owner of a row: services, their instances and blocks, found by the row's labels and added if
// new. Places freed by forget.ts are reused.

import { type Instance, NO_READING } from '../../model/memory.ts';
import type { Family } from '../../model/metric.ts';
import { NO_ROW, ROLE, type ScopeIdentity, type SeriesTable } from '../../model/series-table.ts';
import { serviceIdOf, type DeriveOptions } from './options.ts';

/**
 * The slot of a namespace, added if new. A page without the label belongs to its target's only
 * service; if several are configured, its samples count as unconfigured.
 */
export function serviceOf(table: SeriesTable, namespace: string, options: DeriveOptions): number {
  const id = serviceIdOf(namespace, options);
  const known = table.serviceById.get(id);
  if (known !== undefined) return known;
  const configIndex = options.configured.get(id) ?? -1;
  const isElsewhere = configIndex < 0 && id !== '' && options.otherShards.takes(id);
  const hasEntry = id === '' || options.entries.has(id);
  const isWelcome = options.unconfigured === 'send' && !hasEntry && !isElsewhere;
  const index = table.spare.services.pop() ?? table.services.length;
  table.services[index] = {
    id,
    configIndex,
    isSent: configIndex >= 0 || isWelcome,
    isElsewhere,
    info: new Map<string, string>(),
    infoRow: NO_ROW,
    seenPage: 0,
    movedAtMs: Number.NaN,
    hasNamed: false,
    hasBare: false,
    ownRows: [],
  };
  table.serviceById.set(id, index);
  return index;
}

/** The services with a sample on the current page, configured or not: ids, with their values of `service_name`. */
export function namesOnPage(table: SeriesTable): Map<string, Set<string>> {
  const isSeen = new Uint8Array(table.blocks.length);
  for (let row = 0; row < table.count; row++) {
    const isSample = table.seen[row] === table.page && isScraped(table, row);
    if (isSample && table.block[row] !== NO_ROW) isSeen[table.block[row]!] = 1;
  }
  const isShown = new Uint8Array(table.instances.length);
  for (const [index, { instance }] of table.blocks.entries())
    if (isSeen[index] === 1 && instance >= 0) isShown[instance] = 1;
  const names = new Map<string, Set<string>>();
  for (const [key, index] of table.instanceByKey) {
    if (isShown[index] === 0) continue;
    const { id } = table.services[table.instances[index]!.service]!;
    const own = names.get(id) ?? new Set();
    const [, name = ''] = key.split('\u0000');
    names.set(id, name === '' ? own : own.add(name));
  }
  return names;
}

/** True for a row in use that a page brought; false for prom2otlp's own. */
export function isScraped({ keyLength, role }: SeriesTable, row: number): boolean {
  return keyLength[row] !== 0 && role[row] !== ROLE.synthetic;
}

/** Index of a row's service; -1 before the row is placed. */
export function serviceOfRow({ blocks, block }: SeriesTable, row: number): number {
  return blocks[block[row]!]?.service ?? -1;
}

/** How many rows each service has, or has on this page; without prom2otlp's own. */
export function countRows(table: SeriesTable, which: 'all' | 'on page'): number[] {
  const counts = table.services.map(() => 0);
  for (let row = 0; row < table.count; row++) {
    const isCounted = which === 'all' || table.seen[row] === table.page;
    const service = isCounted && isScraped(table, row) ? serviceOfRow(table, row) : -1;
    if (service >= 0) counts[service]!++;
  }
  return counts;
}

export function instanceOfRow(
  { blocks, block, instances }: SeriesTable,
  row: number,
): Instance | undefined {
  return instances[blocks[block[row]!]?.instance ?? -1];
}

/** The instance of a service, by the labels `service_name` and `server_name`; added if new. */
export function instanceOf(
  table: SeriesTable,
  service: number,
  serviceName: string,
  serverName: string,
): number {
  const id = [service, serviceName, serverName].join('\u0000');
  const known = table.instanceByKey.get(id);
  if (known !== undefined) return known;
  const index = table.spare.instances.pop() ?? table.instances.length;
  const times = { firstTimeMs: Number.NaN, forgottenMs: table.releasedMs };
  table.instances[index] = { service, uptimes: new Map(), repeatedPage: 0, ...times };
  table.instanceByKey.set(id, index);
  return index;
}

/** Registers a row of an uptime series; its other labels do not matter. */
export function addUptime(table: SeriesTable, row: number): void {
  const { name } = table.metrics[table.metric[row]!]!;
  const uptimes = instanceOfRow(table, row)?.uptimes;
  const known = uptimes?.get(name);
  if (known === undefined) uptimes?.set(name, { ...NO_READING, rows: [row] });
  else if (!known.rows.includes(row)) known.rows.push(row);
}

/** The block of an instance and scope, added if new. */
export function blockOf(
  table: SeriesTable,
  service: number,
  instance: number,
  scope: ScopeIdentity,
): number {
  const id = JSON.stringify([service, instance, scope]);
  const known = table.blockByKey.get(id);
  if (known !== undefined) return known;
  const index = table.spare.blocks.pop() ?? table.blocks.length;
  table.blocks[index] = { service, instance, scope, movedPage: 0 };
  table.blockByKey.set(id, index);
  return index;
}

/**
 * The scope of a family; strict mode has one. With a version, each release would rename all series.
 */
export function scopeOfFamily(family: Family, options: DeriveOptions): ScopeIdentity {
  const name = options.mapping === 'strict' ? 'prom2otlp' : `prom2otlp/${family}`;
  return { name, version: '', schemaUrl: '', attributes: [] };
}
