// Whose a row is: services, their components and blocks, found by what a row's labels say, or made if they are new. Places
// of those that are gone (forget.ts) are taken again.

import type { Family, Metric } from '../../model/metric.ts';
import { NO_ROW, type ScopeIdentity, type SeriesTable } from '../../model/series-table.ts';
import { soleService, type DeriveOptions } from './options.ts';
import { NO_EVIDENCE } from './reset.ts';

/**
 * The slot of a namespace. A page without the label belongs whole to the one service of its target; where
 * several are configured it cannot be told whose it is, and the samples count as unconfigured.
 */
export function serviceOf(table: SeriesTable, namespace: string, options: DeriveOptions): number {
  const id = namespace === '' ? (soleService(options) ?? '') : namespace;
  const known = table.serviceById.get(id);
  if (known !== undefined) return known;
  const configIndex = options.configured.get(id) ?? -1;
  const isElsewhere = configIndex < 0 && id !== '' && options.otherShards?.takes(id) === true;
  const isWelcome = options.unconfigured === 'send' && id !== '' && !isElsewhere;
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

/** The component of a service that its `service_name` and `server_name` labels tell, made if it is new. */
export function componentOf(
  table: SeriesTable,
  service: number,
  serviceName: string,
  serverName: string,
): number {
  const id = [service, serviceName, serverName].join('\u0000');
  const known = table.componentByKey.get(id);
  if (known !== undefined) return known;
  const index = table.spare.components.pop() ?? table.components.length;
  const times = { firstTimeMs: Number.NaN, tornMs: table.releasedMs };
  table.components[index] = { service, uptimes: new Map(), ...times };
  table.componentByKey.set(id, index);
  return index;
}

/** Files a row of an uptime series; what is known of the process does not depend on its further labels. */
export function takeEvidence(
  table: SeriesTable,
  component: number,
  row: number,
  metric: Metric,
): void {
  table.savedStarts = null;
  const uptimes = table.components[component]?.uptimes;
  const known = uptimes?.get(metric.name);
  if (known === undefined) uptimes?.set(metric.name, { rows: [row], ...NO_EVIDENCE });
  else if (!known.rows.includes(row)) known.rows.push(row);
}

/** The block of a service's component and scope, made if it is new. */
export function blockOf(
  table: SeriesTable,
  service: number,
  component: number,
  scope: ScopeIdentity,
): number {
  const id = JSON.stringify([service, component, scope]);
  const known = table.blockByKey.get(id);
  if (known !== undefined) return known;
  const index = table.spare.blocks.pop() ?? table.blocks.length;
  table.blocks[index] = { service, component, scope, movedPage: 0 };
  table.blockByKey.set(id, index);
  return index;
}

/** The scope of a family; in strict mode there is one. A version would rename every series at each release. */
export function scopeOfFamily(family: Family, options: DeriveOptions): ScopeIdentity {
  const name = options.mapping === 'strict' ? 'prom2otlp' : `prom2otlp/${family}`;
  return { name, version: '', schemaUrl: '', attributes: [] };
}
