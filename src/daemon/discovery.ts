// Keeps the list of the database services that the key sees, for `services: auto`. Each page names
// them in the label `namespace`. A newcomer is taken with the first good page that has it, up to a
// limit. A service that is missing from a page stays, with `up` 0, until good, complete pages have
// lacked it for `gone_after`. A failed, cut or empty page says nothing about absence, and a service that is stopped
// (inventory.ts) is not absent. With several APIs each service belongs to the one whose page has it.
//
// The list is kept in the queue, so that a start without the API knows its services. The state of a
// service that is gone (log cursors, backups) is kept for `keep`. With shards, each id is assigned
// on its own, so that no shard needs the list of another.

import type { AutoConfig, Config, ServiceConfig } from '../config/config.ts';
import { bug } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters, CountersOf } from '../lib/counters.ts';
import { printableLine } from '../lib/printable.ts';
import { shardOf } from '../lib/shard.ts';
import type { ThrottledLog } from '../lib/log.ts';
import type { Page } from '../model/page.ts';
import type { SeriesTable } from '../model/series-table.ts';
import type { ScrapeResult } from '../pipeline/collect/scrape.ts';
import { namesOnPage } from '../pipeline/derive/places.ts';
import type { StateChange } from '../pipeline/queue/commit.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import type { Translated } from '../pipeline.ts';
import type { StoredServices } from './stored-services.ts';

export const DISCOVERY_COUNTERS = {
  changes: {
    name: 'prom2otlp_discovered_services_changes_total',
    help: 'Services that `services: auto` has taken (came), given up (gone), or given another name (renamed).',
    labels: ['change'],
  },
  leftOut: {
    name: 'prom2otlp_discovered_services_left_out_total',
    help: 'Newcomers that a page has and `services: auto` does not take, counted on each page: more than max_services (limit), or no legal id (id).',
    labels: ['cause'],
  },
} as const;

/** A service on the list, or one that has left it. */
export interface Found {
  readonly id: string;
  readonly name: string;
}

/** The page of one API: `api` is its place in `auto.apis`. */
export interface Sighting {
  readonly api: number;
  /** Ids, each with the names (`service_name`) of its series. */
  readonly names: ReadonlyMap<string, ReadonlySet<string>>;
  /** True if a service that is missing from the page is really absent, as far as the page can tell. */
  readonly isComplete: boolean;
}

export interface Change extends Found {
  readonly atMs: number;
  readonly change: 'came' | 'gone' | 'renamed';
}

export interface DiscoveryOptions {
  readonly config: Pick<Config, 'shard' | 'metrics' | 'logs'> & { readonly auto: AutoConfig };
  /** null: nothing is remembered. */
  readonly queue: Queue | null;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly log: ThrottledLog;
  /** True for a service that was switched off: its absence is no sign that it is gone. */
  readonly isStopped?: (id: string) => boolean;
}

/** A service on the list: its name, the place of its API, and for how long good, complete pages have lacked it. */
interface Known {
  name: string;
  api: number;
  absentMs: number;
}

interface Gone extends Found {
  readonly atMs: number;
}

interface Memory {
  readonly known: Map<string, Known>;
  readonly gone: Map<string, Gone>;
  changes: readonly Change[];
  /** When the last good, complete page of each API was seen (monotonic). */
  readonly lastGoodMs: Map<number, number>;
}

/** The kind of the stored list; the key is the address of the API. */
const LIST = 'discovered-services';
/** A pause between two good pages counts as absence up to this many intervals. */
const PAUSE_INTERVALS = 2;
const CHANGES_MAX = 20;
const ID_LENGTH_MAX = 256;
const NAME_LENGTH_MAX = 256;
const NAMED_MAX = 10;
/** New parts are replaced for a change only after this many intervals. */
const SETTLE_INTERVALS = 5;

/** A message without a full stop, and a hint in whole sentences, for the log and the status page. */
export const LEFT_OUT = {
  message:
    'services on the page are not taken: there are more than max_services, or their ids are not legal',
  hint: 'Raise services.auto.max_services, or select services with include and exclude.',
};

export class Discovery {
  /** How many newcomers of the last page were left out. */
  leftOut = 0;
  /** True when the list differs from the one that the parts were built with. */
  hasChanged = false;
  readonly #options: DiscoveryOptions;
  readonly #address: string;
  readonly #counters: CountersOf<typeof DISCOVERY_COUNTERS>;
  readonly #memory: Memory;
  /** The earliest time (monotonic) of a reload for a change. */
  readonly #settledAtMs: number;
  #unwanted: readonly Found[] = [];

  private constructor(options: DiscoveryOptions, memory: Memory) {
    const { clock, config, counters } = options;
    this.#options = options;
    this.#address = addressOf(options);
    this.#counters = counters.of(DISCOVERY_COUNTERS);
    this.#memory = memory;
    const waitMs = memory.known.size === 0 ? 0 : SETTLE_INTERVALS * config.metrics.intervalMs;
    this.#settledAtMs = clock.monotonicMs() + waitMs;
  }

  /**
   * Continues the list of the former parts, or the stored list of the same address. Removes services
   * that the configuration no longer selects or assigns to another shard. Stores and logs nothing before `begin`.
   */
  static async prepare(options: DiscoveryOptions, former: Discovery | null): Promise<Discovery> {
    const memory =
      former !== null && former.#address === addressOf(options)
        ? structuredClone(former.#memory)
        : await stored(options);
    const discovery = new Discovery(options, memory);
    const count = options.config.auto.apis.length;
    const unwanted = [...memory.known]
      .filter(([id, { name, api }]) => api >= count || !discovery.#isWanted(id, name))
      .map(([id, { name }]) => ({ id, name }));
    for (const { id } of unwanted) discovery.#remove(id);
    discovery.#unwanted = unwanted;
    return discovery;
  }

  /** Logs and stores the removals of `prepare`: the configuration is in use from now on. */
  async begin(): Promise<void> {
    this.#tell('gone', this.#unwanted, 'the configuration no longer selects services');
    this.#unwanted = [];
    this.hasChanged = false;
    await this.#save();
  }

  get services(): readonly ServiceConfig[] {
    const byId = [...this.#memory.known].sort(([a], [b]) => (a < b ? -1 : 1));
    return byId.map(([id, { name, api }]) => this.#serviceOf(id, name, api));
  }

  #serviceOf(id: string, name: string, place = 0): ServiceConfig {
    const { attributes, apis } = this.#options.config.auto;
    return { id, name, attributes, api: apis[place] ?? bug(`no api ${place}`) };
  }

  /** True when a change requires a reload: not often, because running pulls begin again. */
  get isDue(): boolean {
    return this.hasChanged && this.#options.clock.monotonicMs() >= this.#settledAtMs;
  }

  get changes(): readonly Change[] {
    return this.#memory.changes;
  }

  /** Services that the last good pages lack, with the time of their absence. */
  get absent(): readonly (Found & { readonly absentMs: number })[] {
    return [...this.#memory.known].flatMap(([id, { name, absentMs }]) =>
      absentMs > 0 ? [{ id, name, absentMs }] : [],
    );
  }

  /** `api`: the place of the target's API. */
  note(
    api: number,
    table: SeriesTable,
    scrape: ScrapeResult,
    { page, derived, reason }: Translated,
  ): void {
    if (scrape.kind !== 'page' || page === null || reason !== '') return;
    const names = namesOnPage(table);
    let strayLines = 0;
    for (const { service, outcome, count } of derived.reads) {
      if (service === '' && outcome === 'bad_line') strayLines += count;
      // A service whose series were refused or damaged is on the page, too.
      else if (service !== '' && !names.has(service)) names.set(service, new Set());
    }
    names.delete('');
    this.see({ api, names, isComplete: strayLines === 0 && hasEnd(scrape.page) });
  }

  see({ api, names, isComplete }: Sighting): void {
    if (names.size === 0) return;
    const { isStopped, clock, config } = this.#options;
    const nowMs = clock.monotonicMs();
    const { known, lastGoodMs } = this.#memory;
    const pauseMs = PAUSE_INTERVALS * config.metrics.intervalMs;
    const stepMs = isComplete ? Math.min(nowMs - (lastGoodMs.get(api) ?? nowMs), pauseMs) : 0;
    if (isComplete) lastGoodMs.set(api, nowMs);
    for (const [id, one] of known) {
      const seen = names.get(id);
      // Two keys may see the same service: it stays with the API that has it.
      if (seen !== undefined && one.api !== api && one.absentMs > 0) this.#move(one, api);
      if (one.api !== api) continue;
      if (seen === undefined) one.absentMs = isStopped?.(id) === true ? 0 : one.absentMs + stepMs;
      else {
        one.absentMs = 0;
        if (isComplete) this.#rename(id, one, seen);
      }
    }
    this.#take(names, api);
    this.#giveUp();
    if (this.#expired().length > 0) this.hasChanged = true;
  }

  /** Stores the list, and deletes the state that was kept for long enough. */
  async #save(): Promise<void> {
    const { queue, log } = this.#options;
    if (queue === null) return;
    const { known, gone } = this.#memory;
    const state: StateChange[] = [];
    const expired = this.#expired();
    for (const { id, name } of expired) {
      gone.delete(id);
      // Loaded on demand, as for the pullers.
      const { forgetLogs } = await import('../logs/ledger.ts');
      const { forgetBackups } = await import('../backups/service-backups.ts');
      const service = this.#serviceOf(id, name);
      state.push(...(await forgetLogs(queue, service)), forgetBackups(id));
    }
    if (expired.length > 0)
      log.plain.info(
        { services: expired.length, first: namedFirst(expired) },
        'the state of services that have been gone for long is deleted',
      );
    const services = [...known].map(([id, { name, api }]) => ({ id, name, api }));
    const list: StoredServices = { version: 1, services, gone: [...gone.values()] };
    const blob = Buffer.from(JSON.stringify(list));
    state.push({ kind: LIST, key: this.#address, blob });
    const outcome = await queue.commit({ batches: [], state, reads: [] });
    if (outcome.kind === 'failed')
      log.warn('services list', { cause: outcome.message }, 'cannot store the list of services');
  }

  /** Services that have been gone for `keep`, and the oldest ones beyond `max_services`; the oldest first. */
  #expired(): readonly Gone[] {
    const { clock, config } = this.#options;
    const { keepMs, servicesMax } = config.auto;
    const gone = [...this.#memory.gone.values()].sort((a, b) => a.atMs - b.atMs);
    const excess = gone.length - servicesMax;
    return gone.filter(({ atMs }, index) => index < excess || clock.nowMs() - atMs >= keepMs);
  }

  #move(one: Known, api: number): void {
    one.api = api;
    this.hasChanged = true;
  }

  #take(names: Sighting['names'], api: number): void {
    const { known, gone } = this.#memory;
    const { servicesMax } = this.#options.config.auto;
    const came: Found[] = [];
    const leftOut = { limit: 0, id: 0 };
    const news = [...names.keys()].filter(id => !known.has(id)).sort();
    for (const id of news) {
      const name = nameOf(id, names.get(id) ?? new Set());
      if (!this.#isWanted(id, name)) continue;
      if (!/^[^\s,]+$/.test(id) || id !== printableLine(id) || id.length > ID_LENGTH_MAX)
        leftOut.id++;
      else if (known.size >= servicesMax) leftOut.limit++;
      else {
        known.set(id, { name, api, absentMs: 0 });
        gone.delete(id);
        came.push({ id, name });
      }
    }
    this.leftOut = leftOut.limit + leftOut.id;
    for (const [cause, count] of Object.entries(leftOut))
      if (count > 0) this.#counters.leftOut.add(count, cause);
    this.#tell('came', came, 'services came: they are on the page, and are read from now on');
    if (this.leftOut === 0) return;
    const fields = { ...leftOut, max: servicesMax, hint: LEFT_OUT.hint };
    this.#options.log.warn('services left out', fields, LEFT_OUT.message);
  }

  #giveUp(): void {
    const { goneAfterMs } = this.#options.config.auto;
    const gone = [...this.#memory.known]
      .filter(([, { absentMs }]) => absentMs >= goneAfterMs)
      .map(([id, { name }]) => ({ id, name }));
    for (const { id } of gone) this.#remove(id);
    const message = 'services are gone: they were absent for gone_after, and are no longer read';
    this.#tell('gone', gone, message);
  }

  /** A service keeps its name as long as the page has it. */
  #rename(id: string, one: Known, seen: ReadonlySet<string>): void {
    if (seen.size === 0 || [...seen].map(shownName).includes(one.name)) return;
    const name = nameOf(id, seen);
    if (name === one.name) return;
    const message = `a service has another name on the page; it was ${JSON.stringify(one.name)}`;
    one.name = name;
    this.#tell('renamed', [{ id, name }], message);
    if (this.#isWanted(id, name)) return;
    this.#remove(id);
    this.#tell('gone', [{ id, name }], 'the configuration excludes it under this name');
  }

  #remove(id: string): void {
    const { known, gone } = this.#memory;
    const name = known.get(id)?.name ?? id;
    known.delete(id);
    gone.set(id, { id, name, atMs: this.#options.clock.nowMs() });
  }

  #tell(change: Change['change'], services: readonly Found[], message: string): void {
    if (services.length === 0) return;
    this.hasChanged = true;
    this.#counters.changes.add(services.length, change);
    const atMs = this.#options.clock.nowMs();
    const news = services.map(one => ({ ...one, atMs, change }));
    this.#memory.changes = [...news, ...this.#memory.changes].slice(0, CHANGES_MAX);
    const fields = { services: services.length, first: namedFirst(services) };
    this.#options.log.plain.info(fields, message);
  }

  /** True if the configuration selects the service, and the shard has it. */
  #isWanted(id: string, name: string): boolean {
    const { shard, auto } = this.#options.config;
    if (shardOf(id, shard.count) !== shard.index) return false;
    const matches = (rule: RegExp): boolean => rule.test(id) || rule.test(name);
    if (auto.exclude.some(matches)) return false;
    return auto.include.length === 0 || auto.include.some(matches);
  }
}

export function configWith(config: Config, discovery: Discovery | null): Config {
  return discovery === null ? config : { ...config, services: discovery.services };
}

function addressOf({ config }: DiscoveryOptions): string {
  return config.auto.apis[0]?.baseUrl ?? '';
}

/** The stored list; empty if there is none, or if it is lost. */
async function stored(options: DiscoveryOptions): Promise<Memory> {
  const { readStoredServices: read } = await import('./stored-services.ts');
  const lost = 'the list of services is lost: it begins anew with the next page';
  const list = await options.queue?.restoreState({ kind: LIST, lost, read }, addressOf(options));
  const { services, gone } = list ?? { services: [], gone: [] };
  return {
    known: new Map(services.map(({ id, name, api = 0 }) => [id, { name, api, absentMs: 0 }])),
    gone: new Map(gone.map(one => [one.id, one])),
    changes: [],
    lastGoodMs: new Map(),
  };
}

/** False if `# EOF` is missing, or in the text format the last newline: a text cut between lines is not recognized. */
function hasEnd({ bytes, format }: Page): boolean {
  const end = bytes.subarray(-8).toString('latin1');
  return format === 'openmetrics' ? /(?:^|\n)# EOF\s*$/.test(end) : end.endsWith('\n');
}

/** The first name in the order of the alphabet; the id if there is none. */
function nameOf(id: string, names: ReadonlySet<string>): string {
  const [first = ''] = [...names].map(shownName).sort();
  return first === '' ? id : first;
}

function shownName(name: string): string {
  return printableLine(name).trim().slice(0, NAME_LENGTH_MAX);
}

function namedFirst(services: readonly Found[]): readonly string[] {
  return services.slice(0, NAMED_MAX).map(({ id, name }) => (name === id ? id : `${name} (${id})`));
}
