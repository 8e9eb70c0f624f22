// What the service's own list says about each database service, for those who ask: attributes of its Resource, whether it
// is stopped, and whether it is in maintenance. The list is optional: a key without the right reads everything else as
// before, and this is said once.
//
// An answer that fails or lacks a service changes no attribute: the last facts stay, also over a restart, because they are
// stored in the queue. Only what is true for a moment (stopped, maintenance) ends with a good answer that lacks it.
// Attributes are built into the parts, so that a change of them is a reload (decision 73).

import type { ApiConfig, Config, ServiceConfig } from '../config/config.ts';
import { Bell } from '../lib/bell.ts';
import { type Clock, MINUTE_MS } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import { isObject, membersOf, parseJson } from '../lib/json.ts';
import type { ThrottledLog } from '../lib/log.ts';
import type { StateKind } from '../pipeline/queue/commit.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import type { ServiceClients } from '../service/clients.ts';
import { InventoryApi, type ServiceFacts } from '../service/inventory-api.ts';
import type { ServiceError } from '../service/service-error.ts';

export const INVENTORY_COUNTERS = {
  info: {
    name: 'prom2otlp_service_info',
    help: '1; the labels say what the inventory of the service knows. `status` is its own word.',
    labels: ['service', 'name', 'provider', 'region', 'tier', 'topology', 'version', 'status'],
  },
  maintenance: {
    name: 'prom2otlp_service_maintenance_state',
    help: '1 while the inventory has a maintenance of the service, else 0; absent where there is no inventory.',
    labels: ['service'],
  },
} as const;

export interface InventoryOptions {
  /** `services`: those of this process. */
  readonly config: Pick<Config, 'inventory' | 'services' | 'auto'>;
  readonly apis: readonly ApiConfig[];
  readonly clients: Pick<ServiceClients, 'get'>;
  readonly queue: Pick<Queue, 'restoreState' | 'commit'>;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly log: ThrottledLog;
}

/** What lives on with a reload. */
interface Memory {
  readonly facts: Map<string, ServiceFacts>;
  /** Services whose maintenance is in the log. */
  readonly maintained: Set<string>;
  /** APIs, by the place in the list, whose failure is in the log; true for a missing right. */
  readonly told: Map<number, boolean>;
  /** When the list was last asked for (monotonic). */
  readMs: number | null;
  /** False if that failed, but for a missing right. */
  isGood: boolean;
  stored: string;
}

const KIND: StateKind<readonly ServiceFacts[]> = {
  kind: 'inventory',
  lost: 'what the inventory said is lost: it is read again',
  read: blob => {
    const list = parseJson(blob.toString());
    return Array.isArray(list) && list.every(isFacts) ? list : null;
  },
};

/** What this version has stored; others may have stored less. */
function isFacts(value: unknown): value is ServiceFacts {
  const { id, name, tags, maintenance } = membersOf(value);
  return (
    [id, name].every(text => typeof text === 'string') &&
    isObject(tags) &&
    Array.isArray(maintenance)
  );
}

/** The first start ever waits for the list, so that the first points have the attributes; but not long. */
const FIRST_READ_MS = 3000;
/** How soon the list is asked again after a failure, or while a service is missing from the page. */
const SOON_MS = MINUTE_MS;

export class Inventory {
  readonly #options: InventoryOptions;
  readonly #memory: Memory;
  readonly #bell = new Bell();
  /** The attributes that the parts were built with. */
  readonly #built: string;
  /** Targets whose last page lacked a service. */
  readonly #missing = new Set<string>();

  private constructor(options: InventoryOptions, memory: Memory) {
    this.#options = options;
    this.#memory = memory;
    this.#built = this.#attributes();
  }

  /** Continues what the former parts knew, or what is stored; reads the list if nothing is known. */
  static async prepare(options: InventoryOptions, former: Inventory | null): Promise<Inventory> {
    const { clock } = options;
    const memory = former === null ? await stored(options) : former.#memory;
    if (former === null && memory.facts.size === 0) {
      const over = new AbortController();
      const cancel = clock.after(FIRST_READ_MS, () => over.abort());
      await new Inventory(options, memory).read(over.signal);
      cancel();
    }
    return new Inventory(options, memory);
  }

  /** Shows the gauges: these parts are in use from now on. */
  async begin(): Promise<void> {
    const { counters, clock } = this.#options;
    const { info, maintenance } = counters.of(INVENTORY_COUNTERS);
    info.follow(() =>
      this.#known().map(({ id, name, provider, region, tier, topology, version, status }) => ({
        labelValues: [id, name, provider, region, tier, topology, version, status],
        value: 1,
      })),
    );
    maintenance.follow(() =>
      this.#known().map(facts => ({
        labelValues: [facts.id],
        value: isMaintained(facts, clock.nowMs()) ? 1 : 0,
      })),
    );
    await this.#store();
  }

  /** Ends the gauges: the list is not read any more. */
  end(): void {
    const { info, maintenance } = this.#options.counters.of(INVENTORY_COUNTERS);
    info.follow(() => []);
    maintenance.follow(() => []);
  }

  /** Null for a service that the list has never had. */
  factsOf(id: string): ServiceFacts | null {
    return this.#memory.facts.get(id) ?? null;
  }

  isStopped(id: string): boolean {
    return this.factsOf(id)?.isStopped === true;
  }

  isInMaintenance(id: string): boolean {
    const facts = this.factsOf(id);
    return facts !== null && isMaintained(facts, this.#options.clock.nowMs());
  }

  /** True when the attributes differ from those that the parts were built with: a reload is due. */
  get isDue(): boolean {
    return this.#attributes() !== this.#built;
  }

  /** The service with what the list knows of it. Attributes of the configuration win; so does its name. */
  known(service: ServiceConfig): ServiceConfig {
    const facts = this.factsOf(service.id);
    if (facts === null) return service;
    const { config } = this.#options;
    const { id, attributes } = service;
    // The page has a name for a service that was found; its id alone is no name.
    const isNameless = config.auto !== null && service.name === id && facts.name !== '';
    const name = isNameless ? facts.name : service.name;
    const found = attributesOf(facts, config.inventory.attributes);
    return { ...service, name, attributes: { ...found, ...attributes } };
  }

  /** Notes the page of a target: a service that is missing from it may be stopped. Tells what has begun or ended. */
  note(target: string, services: readonly { readonly reason: string }[]): void {
    const isMissing = services.some(({ reason }) => reason === 'absent' || reason === 'stopped');
    const before = this.#missing.size;
    if (isMissing) this.#missing.add(target);
    else this.#missing.delete(target);
    if (before === 0 && isMissing) this.#bell.ring();
    this.#tellMaintenance();
  }

  /** Reads on schedule until `stop`; a service that leaves the page makes the next reading come soon. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!stop.aborted) {
      const seen = this.#bell.rings;
      const ms = this.#waitMs();
      if (ms <= 0) await this.read(stop);
      else await this.#bell.wait(seen, stop, { clock, ms });
    }
  }

  #waitMs(): number {
    const { clock, config } = this.#options;
    const { readMs, isGood } = this.#memory;
    if (readMs === null) return 0;
    const sinceMs = clock.monotonicMs() - readMs;
    const dueMs = config.inventory.intervalMs - sinceMs;
    return this.#missing.size > 0 || !isGood ? Math.min(dueMs, SOON_MS - sinceMs) : dueMs;
  }

  /** Reads the list, unless this process already has. */
  async readOnce(signal: AbortSignal): Promise<void> {
    if (this.#memory.readMs === null) await this.read(signal);
  }

  /** Reads the list of every API once. Never rejects. */
  async read(signal: AbortSignal): Promise<void> {
    const { apis, clients, clock, config } = this.#options;
    const memory = this.#memory;
    memory.readMs = clock.monotonicMs();
    memory.isGood = true;
    let isWhole = true;
    const listed = new Set<string>();
    for (const [place, api] of apis.entries()) {
      const list = await new InventoryApi(clients.get(api), config.inventory.path).list({ signal });
      if (list.ok) {
        memory.told.delete(place);
        isWhole &&= list.isComplete;
        for (const facts of list.services) {
          listed.add(facts.id);
          this.#keep(facts);
        }
      } else {
        isWhole = false;
        memory.isGood &&= this.#tellFailure(place, list.error);
      }
    }
    if (isWhole) this.#forgetUnlisted(listed);
    this.#tellMaintenance();
    await this.#store();
  }

  /** Keeps what is known of a service of this process, or of one that may be found; tags only where they are wanted. */
  #keep(facts: ServiceFacts): void {
    const { services, auto, inventory } = this.#options.config;
    const known = this.#memory.facts;
    const isFree = known.has(facts.id) || known.size < (auto?.servicesMax ?? 0);
    if (!isFree && !services.some(({ id }) => id === facts.id)) return;
    known.set(facts.id, inventory.attributes.includes('tags') ? facts : { ...facts, tags: {} });
  }

  /** What is not listed any more keeps its attributes if it is configured; but it is neither stopped nor in maintenance. */
  #forgetUnlisted(listed: ReadonlySet<string>): void {
    const { facts } = this.#memory;
    const own = new Set(this.#options.config.services.map(({ id }) => id));
    for (const [id, one] of facts) {
      if (listed.has(id)) continue;
      if (!own.has(id)) facts.delete(id);
      else facts.set(id, { ...one, isStopped: false, isMaintained: false, maintenance: [] });
    }
  }

  /**
   * Says it once, at info, because all else works without the list. True if the key lacks the right, or the deployment has
   * no list: it is not asked again soon.
   */
  #tellFailure(place: number, { message, reason, status = 0 }: ServiceError): boolean {
    if (reason === 'aborted') return false;
    const { told } = this.#memory;
    const isMissing = LACKING.has(status);
    if (told.get(place) === isMissing) return isMissing;
    told.set(place, isMissing);
    const hint = 'All else works without it. inventory.enabled: false ends the question.';
    const what = isMissing
      ? 'the key sees no inventory of the services'
      : 'cannot read the inventory: what is known stays';
    this.#options.log.plain.info({ message, hint }, what);
    return isMissing;
  }

  #tellMaintenance(): void {
    const { clock, log } = this.#options;
    const { maintained } = this.#memory;
    for (const facts of this.#known()) {
      const isNow = isMaintained(facts, clock.nowMs());
      if (isNow === maintained.has(facts.id)) continue;
      if (isNow) maintained.add(facts.id);
      else maintained.delete(facts.id);
      const what = isNow
        ? 'the maintenance of a service begins'
        : 'the maintenance of a service ends';
      log.plain.info({ service: facts.id, name: facts.name }, what);
    }
  }

  /** The facts of the services of this process. */
  #known(): readonly ServiceFacts[] {
    return this.#options.config.services.flatMap(({ id }) => this.factsOf(id) ?? []);
  }

  #attributes(): string {
    const { services, inventory, auto } = this.#options.config;
    const known = services.map(({ id, name }) => {
      const facts = this.factsOf(id);
      if (facts === null) return null;
      const shown = auto !== null && name === id ? facts.name : '';
      return [shown, attributesOf(facts, inventory.attributes)];
    });
    return JSON.stringify(known);
  }

  /** Stores the facts of the services of this process, if they have changed. */
  async #store(): Promise<void> {
    const { queue, log } = this.#options;
    const text = JSON.stringify(this.#known());
    if (text === this.#memory.stored) return;
    const state = [{ kind: KIND.kind, key: keyOf(this.#options), blob: Buffer.from(text) }];
    const outcome = await queue.commit({ batches: [], state, reads: [] });
    if (outcome.kind !== 'failed') this.#memory.stored = text;
    else log.warn('inventory store', { cause: outcome.message }, 'cannot store the inventory');
  }
}

/** The key lacks the right, or this deployment has no such list. 400 has been seen for a key that is refused. */
const LACKING: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 501]);

function isMaintained({ isMaintained: isNow, maintenance }: ServiceFacts, nowMs: number): boolean {
  return isNow || maintenance.some(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs);
}

function attributesOf(
  facts: ServiceFacts,
  wanted: Config['inventory']['attributes'],
): Readonly<Record<string, string>> {
  const found = wanted.flatMap(fact =>
    fact === 'tags'
      ? Object.entries(facts.tags).map(([name, value]) => [`database.tag.${name}`, value])
      : [[NAMES[fact], facts[fact]]],
  );
  return Object.fromEntries(found.filter(([, value]) => value !== '')) as Record<string, string>;
}

const NAMES = {
  provider: 'cloud.provider',
  region: 'cloud.region',
  tier: 'database.tier',
  topology: 'database.topology',
  version: 'service.version',
} as const;

function keyOf({ apis }: InventoryOptions): string {
  return apis[0]?.baseUrl ?? '';
}

async function stored(options: InventoryOptions): Promise<Memory> {
  const list = (await options.queue.restoreState(KIND, keyOf(options))) ?? [];
  return {
    facts: new Map(list.map(facts => [facts.id, facts])),
    maintained: new Set(),
    told: new Map(),
    readMs: null,
    isGood: true,
    stored: JSON.stringify(list),
  };
}
