// The simulated services over time: the servers, the start times of their processes, and the value of each series at any
// time. Everything is a function of (seed, time, restarts): two worlds with the same options and the same restarts
// always agree, so a test can compute the data that it must receive.

import { hashText, loadSeconds, loadWave, type Moment, type Shape } from './load.ts';
import { type Labels, rowsOf, SERVICE_SERIES, type ServerRole } from './series.ts';
import { bug } from '../errors.ts';
import { DAY_MS } from '../lib/clock.ts';

export interface SimulatedServer {
  readonly name: string;
  readonly role: ServerRole;
}

export interface SimulatedService {
  /** The database service id: the `namespace` label. */
  readonly id: string;
  readonly name: string;
  /** The `topology_type` label. */
  readonly topology: 'single' | 'primary-replica' | 'multimaster' | 'distributed';
  readonly servers: readonly SimulatedServer[];
  /** Only a request that selects another region with the header X-Region does not see it. */
  readonly region?: string;
}

/** The topologies in turn, in two regions in turn. The first four services have all series of the catalog. */
export function demoServices(count: number = TOPOLOGIES.length): readonly SimulatedService[] {
  return Array.from({ length: count }, (_, index) => {
    const round = Math.floor(index / TOPOLOGIES.length);
    const [plain, topology, servers] = TOPOLOGIES[index % TOPOLOGIES.length] ?? bug('no topology');
    const name = round === 0 ? plain : `${plain}-${round + 1}`;
    return {
      id: `dbpgf${10_000_001 + index}`,
      name,
      topology,
      region: REGIONS[index % REGIONS.length] ?? bug('no region'),
      servers: Object.entries(servers).map(([suffix, role]) => ({
        name: `${name}-${suffix}`,
        role,
      })),
    };
  });
}

const REGIONS = ['eu-1', 'us-1'] as const;

const TOPOLOGIES: readonly (readonly [
  name: string,
  topology: SimulatedService['topology'],
  servers: Readonly<Record<string, ServerRole>>,
])[] = [
  ['orders', 'primary-replica', { 0: 'primary', 1: 'replica', 'proxy-0': 'proxy' }],
  ['ledger', 'multimaster', { 0: 'member', 1: 'member', 2: 'member' }],
  ['catalog', 'distributed', { 0: 'node', 1: 'node', 2: 'node' }],
  ['sessions', 'single', { 0: 'single' }],
];

/** One series. A benchmark may have a million, so series share the data of their server and row. */
export interface SimulatedSeries {
  readonly name: string;
  /** Its own labels, beside the common ones (`labelsOf` gives them all). */
  readonly own: Labels;
  readonly service: SimulatedService;
  readonly server: SimulatedServer;
  readonly shape: Shape;
  /** Decides its noise. */
  readonly hash: number;
}

/** All labels of a series, sorted by name. */
export function labelsOf(series: SimulatedSeries): (readonly [name: string, value: string])[] {
  const { name, own, service, server } = series;
  const ofServer: Labels = {
    server_name: server.name,
    server_type: server.role === 'proxy' ? 'proxy' : 'engine',
  };
  const all: Labels = {
    ...own,
    ...(SERVICE_SERIES.has(name) ? {} : ofServer),
    namespace: service.id,
    service_name: service.name,
    topology_type: service.topology,
  };
  return Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1));
}

export function seriesOf(service: SimulatedService, seed: number): SimulatedSeries[] {
  return service.servers.flatMap((server, index) => {
    const others = service.servers.filter(other => other !== server).map(({ name }) => name);
    const rows = rowsOf({ role: server.role, serviceId: service.id, others });
    return rows
      .filter(([name]) => index === 0 || !SERVICE_SERIES.has(name))
      .map(([name, shape, own]) => {
        const identity = shape.key ?? [name, ...Object.values(own)].join(' ');
        const hash = hashText(`${service.id} ${server.name} ${identity}`, seed);
        return { name, own, service, server, shape, hash };
      });
  });
}

export interface WorldOptions {
  readonly services: readonly SimulatedService[];
  readonly seed: number;
  /** All servers started in the week before this moment; nothing is known of earlier times. */
  readonly originMs: number;
  /** How often the service takes new samples, and how much older those of a proxy are. */
  readonly refreshMs: number;
  readonly proxyLagMs: number;
}

/** The most starts of a server that are remembered. */
const STARTS_MAX = 1000;
const WEEK_MS = 7 * DAY_MS;

export class World {
  readonly services: readonly SimulatedService[];
  readonly series: readonly SimulatedSeries[];
  /** The ids of services that are switched off: they have no series; and of those in maintenance. */
  stopped: readonly string[] = [];
  maintained: readonly string[] = [];
  readonly #options: WorldOptions;
  /** When the processes of a server started, ascending; the newest STARTS_MAX. */
  readonly #starts = new Map<string, number[]>();

  constructor(options: WorldOptions) {
    const { services, seed, originMs } = options;
    this.#options = options;
    this.services = services;
    this.series = services.flatMap(service => seriesOf(service, seed));
    for (const { name } of services.flatMap(service => service.servers))
      this.#starts.set(name, [originMs - (hashText(name, seed) % WEEK_MS)]);
  }

  /** Restarts the process of a server at this time. False if there is no such server. */
  restart(serverName: string, atMs: number): boolean {
    const starts = this.#starts.get(serverName);
    starts?.push(atMs);
    starts?.sort((a, b) => a - b);
    if (starts !== undefined && starts.length > STARTS_MAX) starts.shift();
    return starts !== undefined;
  }

  /** The time of the samples that a page shows of this server. */
  sampleTimeMs(server: SimulatedServer, nowMs: number): number {
    const { refreshMs, proxyLagMs } = this.#options;
    const tickMs = Math.floor(nowMs / refreshMs) * refreshMs;
    return server.role === 'proxy' ? tickMs - proxyLagMs : tickMs;
  }

  /** The times of a server's samples after `fromMs` and until `toMs`, as far as pages until `nowMs` had them. */
  timesBetween(
    server: SimulatedServer,
    [fromMs, toMs]: readonly [number, number],
    nowMs: number,
  ): readonly number[] {
    const { refreshMs } = this.#options;
    const lastMs = Math.min(toMs, this.sampleTimeMs(server, nowMs));
    const firstMs = (Math.floor(fromMs / refreshMs) + 1) * refreshMs;
    const count = Math.max(Math.floor((lastMs - firstMs) / refreshMs) + 1, 0);
    return Array.from({ length: count }, (_, index) => firstMs + index * refreshMs);
  }

  /** The common input of all values of one server at one time. */
  momentOf(service: SimulatedService, server: SimulatedServer, timeMs: number): Moment {
    const starts = this.#starts.get(server.name) ?? [];
    const hash = hashText(server.name, this.#options.seed);
    const startMs = starts.findLast(time => time <= timeMs) ?? timeMs;
    const firstStarts = service.servers.map(({ name }) => this.#starts.get(name)?.[0] ?? timeMs);
    return {
      timeMs,
      serviceStartMs: Math.min(...firstStarts),
      startMs,
      load: loadSeconds(hash, timeMs) - loadSeconds(hash, startMs),
      wave: loadWave(hash, timeMs),
    };
  }

  valueOf({ shape, hash, service, server }: SimulatedSeries, timeMs: number): number {
    return shape.at(this.momentOf(service, server, timeMs), hash);
  }
}
