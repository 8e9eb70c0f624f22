// All series of one simulated service: the rows of its servers' roles with full names and all labels, in a
// fixed order. The same service and seed give the same series on every machine.

import {
  type Labels,
  replicaRows,
  schemaRows,
  type SeriesRow,
  statusRows,
  tableRows,
  variableRows,
} from './engine-series.ts';
import { hashText } from './load.ts';
import {
  distRows,
  membershipRows,
  multimasterRows,
  processRows,
  proxyRows,
} from './other-series.ts';
import { constant, type Shape } from './shape.ts';
import type { ServerRole, SimulatedServer, SimulatedService } from './topology.ts';

/** One series. A corpus may have a million: what servers and rows share is not copied. */
export interface SimulatedSeries {
  readonly name: string;
  /** Its own labels, beside the five that every sample of its server has (`labelsOf` gives them all). */
  readonly own: Labels;
  readonly service: SimulatedService;
  readonly server: SimulatedServer;
  readonly shape: Shape;
  /** What its noise is drawn from. */
  readonly hash: number;
}

/** All labels of a series, sorted by name. */
export function labelsOf(series: SimulatedSeries): (readonly [name: string, value: string])[] {
  const { own, service, server } = series;
  const all: Labels = {
    ...own,
    namespace: service.id,
    server_name: server.name,
    server_type: server.role === 'proxy' ? 'proxy' : 'engine',
    service_name: service.name,
    topology_type: service.topology,
  };
  return Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The series of a service, server by server; exactly `seriesCount` of them where that is set. */
export function seriesOf(service: SimulatedService, seed: number): readonly SimulatedSeries[] {
  const series = service.servers.flatMap(server =>
    rowsOf(service, server).map(row => seriesFrom(row, service, server, seed)),
  );
  const last = service.servers.at(-1);
  if (service.seriesCount === undefined || last === undefined) return series;
  for (let table = 1; series.length < service.seriesCount; table++) {
    const rows = tableRows(`table_${String(table).padStart(5, '0')}`, 1 + (table % 64));
    series.push(...prefixed('engine_', rows).map(row => seriesFrom(row, service, last, seed)));
  }
  return series.slice(0, service.seriesCount);
}

type RowsOfServer = (service: SimulatedService, server: SimulatedServer) => readonly SeriesRow[];

const ENGINE: RowsOfServer = (_service, { role }) => [
  ...prefixed('engine_global_status_', statusRows(role === 'replica')),
  ...prefixed('engine_global_variables_', variableRows(role === 'replica')),
  ...prefixed('engine_', schemaRows()),
];

const ROWS_BY_ROLE: Readonly<Record<ServerRole, RowsOfServer>> = {
  single: ENGINE,
  primary: ENGINE,
  replica: (service, server) => {
    const source = service.servers.find(other => other.role === 'primary');
    const rows = replicaRows(source?.name ?? 'elsewhere');
    return [...ENGINE(service, server), ...prefixed('engine_slave_status_', rows)];
  },
  member: (service, server) => [
    ...ENGINE(service, server),
    ...prefixed('engine_global_status_wsrep_', membershipRows(service.servers.length)),
    ...prefixed('engine_multimaster_', multimasterRows(uuidOf(service.id))),
  ],
  node: service => [
    ['engine_up', constant(1)],
    ...prefixed('engine_dist_', distRows(service.servers.length)),
  ],
  proxy: (service, server) => {
    const backends = service.servers.filter(other => other !== server).map(other => other.name);
    return prefixed('proxy_', proxyRows(backends));
  },
};

function rowsOf(service: SimulatedService, server: SimulatedServer): readonly SeriesRow[] {
  const rows = ROWS_BY_ROLE[server.role](service, server);
  return [...rows, ...prefixed('process_', processRows())];
}

function prefixed(prefix: string, rows: readonly SeriesRow[]): SeriesRow[] {
  return rows.map(([suffix, shape, labels]) => [prefix + suffix, shape, labels]);
}

function seriesFrom(
  [name, shape, own = NO_LABELS]: SeriesRow,
  service: SimulatedService,
  server: SimulatedServer,
  seed: number,
): SimulatedSeries {
  const isShared = shape.kind === 'level' && shape.key !== null;
  const identity = isShared ? shape.key : [name, ...Object.values(own)].join(' ');
  const hash = hashText(`${service.id} ${server.name} ${identity}`, seed);
  return { name, own, service, server, shape, hash };
}

const NO_LABELS: Labels = {};

function uuidOf(id: string): string {
  const digits = [1, 2, 3, 4]
    .map(part => hashText(id, part).toString(16).padStart(8, '0'))
    .join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/u, '$1-$2-$3-$4-$5');
}
