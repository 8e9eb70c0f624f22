// Which database services the simulated service hosts, and of which servers each consists. Pure data: what a
// server's series are follows from its role (series.ts), what they say from seed and time (world.ts).

/** What one process is; its role decides which series it has. */
export type ServerRole = 'single' | 'primary' | 'replica' | 'member' | 'node' | 'proxy';

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
  /**
   * Exactly how many series the service shows in all: its last server lists tables until the number is
   * reached, or the list ends early. Absent: as many as its servers have.
   */
  readonly seriesCount?: number;
}

/** The four topologies, which between them have all 160 series of the specification. */
export function demoServices(): readonly SimulatedService[] {
  return [
    service('dbpgf10000001', 'orders', 'primary-replica', [
      { name: 'orders-0', role: 'primary' },
      { name: 'orders-1', role: 'replica' },
      { name: 'orders-proxy-0', role: 'proxy' },
    ]),
    service('dbpgf10000002', 'ledger', 'multimaster', [
      { name: 'ledger-0', role: 'member' },
      { name: 'ledger-1', role: 'member' },
      { name: 'ledger-2', role: 'member' },
    ]),
    service('dbpgf10000003', 'catalog', 'distributed', [
      { name: 'catalog-0', role: 'node' },
      { name: 'catalog-1', role: 'node' },
      { name: 'catalog-2', role: 'node' },
    ]),
    service('dbpgf10000004', 'sessions', 'single', [{ name: 'sessions-0', role: 'single' }]),
  ];
}

export interface CorpusOptions {
  readonly services: number;
  readonly seriesPerService: number;
}

/** Any number of single servers with the same number of series each, for benches. */
export function corpusServices(options: CorpusOptions): readonly SimulatedService[] {
  return Array.from({ length: options.services }, (_, index) => {
    const name = `corpus-${index}`;
    const server: SimulatedServer = { name: `${name}-0`, role: 'single' };
    const id = `dbpgf${20_000_001 + index}`;
    return { ...service(id, name, 'single', [server]), seriesCount: options.seriesPerService };
  });
}

function service(
  id: string,
  name: string,
  topology: SimulatedService['topology'],
  servers: readonly SimulatedServer[],
): SimulatedService {
  return { id, name, topology, servers };
}
