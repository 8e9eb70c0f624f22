// `services`: the database services that a key can see, read from the labels of one metrics page, with what the inventory
// says about them. Where the key may not read the inventory, the page alone is shown.

import { type CatalogLookup, createCatalogLookup } from '../catalog/lookup.ts';
import type { Config } from '../config/config.ts';
import { BodyBufferPool } from '../lib/body-buffer.ts';
import type { Clock } from '../lib/clock.ts';
import { Counters } from '../lib/counters.ts';
import { SeriesTable } from '../model/series-table.ts';
import type { Target } from '../pipeline/collect/plan-targets.ts';
import { Scraper, type ScrapeResult } from '../pipeline/collect/scrape.ts';
import { Decoding } from '../pipeline/decode/decode.ts';
import { keyOfRow, labelValue } from '../pipeline/decode/series-key.ts';
import type { ServiceHttp } from '../service/http-client.ts';
import type { ServiceFacts } from '../service/inventory-api.ts';
import { withProgress } from './output.ts';
import { type OpenService, printListing, SHOW_OPTIONS } from './service-access.ts';
import type { Rows } from './table.ts';
import { action, type Call, type Verb, type VerbContext } from './verb.ts';

export interface SeenService {
  /** '' for series without a `namespace`. */
  readonly id: string;
  readonly name: string;
  readonly topology: string;
  readonly servers: readonly { readonly name: string; readonly type: string }[];
  /** The families of its series, by the prefix of the name: engine, multimaster, dist, proxy, process, other. */
  readonly families: readonly string[];
  readonly series: number;
  /** Null if the inventory does not have it, or cannot be read. */
  readonly inventory: ListedFacts | null;
}

type ListedFacts = Omit<ServiceFacts, 'id' | 'name' | 'topology'>;

export const verb: Verb = {
  name: 'services',
  summary: 'the database services that the key can see',
  about: `Reads the metrics page once and shows each database service from its labels: id, name, servers, topology, and
    the families of its series; and from the inventory, if the key may read it, status, region and version, also of
    services that are stopped. As JSON: [{id, name, topology, servers: [{name, type}], families, series, inventory}].`,
  actions: [action({ options: SHOW_OPTIONS, run: showServices })],
  exits: {
    0: 'shown',
    1: 'a page cannot be read, or --service-id is neither on it nor stopped',
    2: 'a mistake on the command line or in the configuration',
  },
  examples: [
    'PROM2OTLP_API_KEY=… prom2otlp services --base-url https://api.example.com',
    'prom2otlp services --config /etc/prom2otlp/prom2otlp.yaml --format json',
  ],
};

function showServices(call: Call<typeof SHOW_OPTIONS>, context: VerbContext): Promise<number> {
  const wanted = call.values['service-id'];
  const read = async (service: OpenService): Promise<readonly SeenService[] | null> => {
    const found = await readServices(service, context);
    if (found === null || wanted === undefined) return found;
    const own = found.filter(({ id }) => id === wanted);
    const isThere = own.some(
      ({ series, inventory }) => series > 0 || inventory?.isStopped === true,
    );
    if (isThere) return own;
    // With --service-id, only the API of this service is asked.
    context.err.line(`no series on the page is of the service ${JSON.stringify(wanted)}`);
    return null;
  };
  return printListing(call, context, { read, rows: rowsOf, empty: 'no services' });
}

export function scrapeOnce(
  target: Target,
  client: ServiceHttp,
  { config, clock }: { readonly config: Config; readonly clock: Clock },
): Promise<ScrapeResult> {
  const bodyBytesMax = (): number => config.metrics.limits.bodyBytes;
  const [buffers, counters] = [new BodyBufferPool(), new Counters()];
  return new Scraper({ target, client, bodyBytesMax, buffers, clock, counters }).scrape();
}

const LINES_PER_STEP = 10_000;

/** The services on the page of one API; null if the page cannot be read, which has been printed. */
export async function readServices(
  service: OpenService,
  context: VerbContext,
): Promise<readonly SeenService[] | null> {
  const found = await withProgress(context, 'reading the page', seenBy(service, context));
  if (typeof found !== 'string') return withInventory(found, await inventoryOf(service));
  context.err.line(found);
  return null;
}

/** The services on the page of one API, or the reason why the page cannot be read. */
async function seenBy(
  { config, target, http }: OpenService,
  { clock }: VerbContext,
): Promise<readonly SeenService[] | string> {
  const { metrics } = config;
  const result = await scrapeOnce(target, http, { config, clock });
  if (result.kind === 'failure') return `${result.message}; ${result.hint}`;
  const table = new SeriesTable();
  const decoding = new Decoding(result.page, table, metrics);
  // Memory is judged after each step.
  while (!decoding.step(LINES_PER_STEP));
  const { limit, problems } = decoding.report;
  if (limit !== null) return `cannot use the page: ${problems[0]?.reason ?? 'it has no series'}`;
  return servicesIn(table, createCatalogLookup(metrics.prefixes));
}

/** What the inventory says, by id; nothing if the key may not read it, or there is none. */
async function inventoryOf({
  config: { inventory },
  client,
}: OpenService): Promise<ReadonlyMap<string, ServiceFacts>> {
  if (!inventory.isEnabled) return new Map();
  const list = await client.inventory.list();
  return new Map(list.ok ? list.services.map(facts => [facts.id, facts]) : []);
}

/** The services on the page, and those of the inventory that are not on it. */
function withInventory(
  seen: readonly SeenService[],
  facts: ReadonlyMap<string, ServiceFacts>,
): readonly SeenService[] {
  const isSeen = new Set(seen.map(({ id }) => id));
  const unseen = [...facts.keys()].filter(id => !isSeen.has(id)).map(unseenService);
  const all = [...seen, ...unseen].map(service => {
    const known = facts.get(service.id);
    if (known === undefined) return service;
    const { id: _, name, topology, ...inventory } = known;
    return {
      ...service,
      name: service.name === '' ? name : service.name,
      topology: service.topology === '' ? topology : service.topology,
      inventory,
    };
  });
  return all.sort((a, b) => (a.id < b.id ? -1 : 1));
}

function unseenService(id: string): SeenService {
  return { id, name: '', topology: '', servers: [], families: [], series: 0, inventory: null };
}

class Collected {
  readonly names = new Set<string>();
  readonly topologies = new Set<string>();
  /** Types by name. */
  readonly servers = new Map<string, string>();
  readonly families = new Set<string>();
  series = 0;
}

function servicesIn(table: SeriesTable, catalog: CatalogLookup): readonly SeenService[] {
  const found = new Map<string, Collected>();
  for (let row = 0; row < table.count; row++) {
    const key = keyOfRow(table, row);
    const id = labelValue(key, 'namespace');
    const one = found.get(id) ?? new Collected();
    found.set(id, one);
    one.series++;
    one.families.add(catalog.familyOf(key.name));
    add(one.names, labelValue(key, 'service_name'));
    add(one.topologies, labelValue(key, 'topology_type'));
    const server = labelValue(key, 'server_name');
    if (server !== '') one.servers.set(server, labelValue(key, 'server_type'));
  }
  const byId = [...found].sort(([a], [b]) => (a < b ? -1 : 1));
  return byId.map(([id, { names, topologies, servers, families, series }]) => ({
    id,
    name: [...names].join(', '),
    topology: [...topologies].join(', '),
    servers: [...servers].map(([name, type]) => ({ name, type })),
    families: [...families].sort(),
    series,
    inventory: null,
  }));
}

function add(texts: Set<string>, text: string): void {
  if (text !== '') texts.add(text);
}

function rowsOf(seen: readonly SeenService[]): Rows {
  const isListed = seen.some(({ inventory }) => inventory !== null);
  const listed = isListed ? ['STATUS', 'REGION', 'VERSION'] : [];
  const head = ['ID', 'NAME', ...listed, 'TOPOLOGY', 'SERVERS', 'FAMILIES', 'SERIES'];
  const rows = seen.map(({ id, name, topology, servers, families, series, inventory }) => [
    id === '' ? '(no namespace)' : id,
    name,
    ...(isListed ? listedCells(inventory) : []),
    topology,
    servers.map(one => (one.type === '' ? one.name : `${one.name} (${one.type})`)).join(', '),
    families.join(', '),
    String(series),
  ]);
  return [head, ...rows];
}

function listedCells(inventory: ListedFacts | null): readonly string[] {
  if (inventory === null) return ['', '', ''];
  const { status, provider, region, version } = inventory;
  return [status, [provider, region].filter(text => text !== '').join(' '), version];
}
