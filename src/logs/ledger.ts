// What is known of the logs of some services: per service how far its days are closed, per partition its archives.
// It is read from the queue's state once and kept in memory; every change is stored in the commit that it belongs
// to, so that memory is never behind the store, and ahead of it only until the commit that is being made. When a
// commit fails, the ledger is thrown away and read again.
//
//   kind `logs`, key `service/<id>`      days, and which partitions there are
//                key `archives/<key>`    the archives of one partition

import type { ServiceConfig } from '../config/config.ts';
import { bug } from '../errors.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { newArchive, type ArchiveState } from './archive-state.ts';
import type { StateChange } from './log-store.ts';
import { type Partition, partitionKey } from './partition.ts';
import { dayOf } from './windows.ts';

export const STATE_KIND = 'logs';

/** Raised when an older program could not read what is stored. */
const STATE_VERSION = 1;

/** Of one service. Plain data that is stored as it is. */
export interface ServiceDays {
  /** Nothing from before is wanted: the first start, or where the retention began. */
  readonly floorMs: number;
  /** The oldest day that is not closed. */
  readonly openDayMs: number;
  /** Up to when (by the service's clock) everything has been listed; null before the first whole list. */
  readonly listedMs: number | null;
}

interface StoredService extends ServiceDays {
  readonly version: number;
  readonly partitions: readonly Pick<Partition, 'source' | 'server' | 'type'>[];
}

interface StoredPartition {
  readonly version: number;
  readonly archives: Readonly<Record<string, ArchiveState>>;
}

/** The archives of one partition that are not closed, by id. */
export interface PartitionArchives {
  readonly partition: Partition;
  readonly archives: Map<string, ArchiveState>;
}

/** More partitions of a service than this are left alone: whoever lists so many has made ids of something else. */
const PARTITIONS_MAX = 10_000;

export class Ledger {
  readonly #queue: Queue;
  /** Services that have never been pulled. */
  readonly fresh: ServiceConfig[] = [];
  readonly #services = new Map<string, ServiceDays>();
  readonly #partitions = new Map<string, PartitionArchives>();
  readonly #dirtyServices = new Set<string>();
  readonly #dirtyPartitions = new Set<string>();

  private constructor(queue: Queue) {
    this.#queue = queue;
  }

  /** `firstLowMs` is where a service begins that has never been pulled. */
  static async load(
    queue: Queue,
    services: readonly ServiceConfig[],
    firstLowMs: number,
  ): Promise<Ledger> {
    const ledger = new Ledger(queue);
    for (const service of services) await ledger.#loadService(service, firstLowMs);
    return ledger;
  }

  /** Of a service that was loaded. */
  days(serviceId: string): ServiceDays {
    return this.#services.get(serviceId) ?? bug(`no service ${serviceId} in the ledger`);
  }

  setDays(serviceId: string, days: ServiceDays): void {
    this.#services.set(serviceId, days);
    this.#dirtyServices.add(serviceId);
  }

  /** Every partition that is known. */
  partitions(): readonly PartitionArchives[] {
    return [...this.#partitions.values()];
  }

  /** The partition, made if it is new; null when the service has too many. */
  partition(partition: Partition): PartitionArchives | null {
    const key = partitionKey(partition);
    const known = this.#partitions.get(key);
    if (known !== undefined) return known;
    if (this.#partitions.size >= PARTITIONS_MAX) return null;
    const fresh: PartitionArchives = { partition, archives: new Map() };
    this.#partitions.set(key, fresh);
    this.#dirtyPartitions.add(key);
    this.#dirtyServices.add(partition.service.id);
    return fresh;
  }

  archive(partition: Partition, id: string, dayMs: number): ArchiveState {
    return this.#of(partition).archives.get(id) ?? newArchive(dayMs);
  }

  setArchive(partition: Partition, id: string, state: ArchiveState | null): void {
    const { archives } = this.#of(partition);
    if (state === null) archives.delete(id);
    else archives.set(id, state);
    this.#dirtyPartitions.add(partitionKey(partition));
  }

  /** What has to be stored for one partition to stand as it does now. */
  changesOf(partition: Partition): StateChange[] {
    const changes = [this.#partitionChange(partitionKey(partition))];
    if (this.#dirtyServices.has(partition.service.id))
      changes.push(this.#serviceChange(partition.service.id));
    return changes;
  }

  /** What has to be stored for everything to stand as it does now; [] when it does. */
  allChanges(): StateChange[] {
    return [
      ...[...this.#dirtyPartitions].map(key => this.#partitionChange(key)),
      ...[...this.#dirtyServices].map(id => this.#serviceChange(id)),
    ];
  }

  /** These changes have been stored, and nothing has changed since they were made. */
  stored(changes: readonly StateChange[]): void {
    for (const { key } of changes) {
      const [what, name] = splitKey(key);
      if (what === 'service') this.#dirtyServices.delete(name);
      else this.#dirtyPartitions.delete(name);
    }
  }

  #of(partition: Partition): PartitionArchives {
    const key = partitionKey(partition);
    return this.#partitions.get(key) ?? bug(`no partition ${key} in the ledger`);
  }

  #serviceChange(id: string): StateChange {
    const days = this.days(id);
    const own = this.partitions().filter(({ partition }) => partition.service.id === id);
    const partitions = own.map(({ partition: { source, server, type } }) => ({
      source,
      server,
      type,
    }));
    return change(`service/${id}`, { ...days, partitions });
  }

  #partitionChange(key: string): StateChange {
    const { archives } = this.#partitions.get(key) ?? bug(`no partition ${key}`);
    return change(`archives/${key}`, { archives: Object.fromEntries(archives) });
  }

  async #loadService(service: ServiceConfig, firstLowMs: number): Promise<void> {
    const stored = await readState<StoredService>(this.#queue, `service/${service.id}`);
    if (stored === null) {
      const openDayMs = dayOf(firstLowMs);
      this.setDays(service.id, { floorMs: firstLowMs, openDayMs, listedMs: null });
      this.fresh.push(service);
      return;
    }
    const { floorMs, openDayMs, listedMs, partitions } = stored;
    this.#services.set(service.id, { floorMs, openDayMs, listedMs });
    for (const names of partitions) await this.#loadPartition({ service, ...names });
  }

  async #loadPartition(partition: Partition): Promise<void> {
    const key = partitionKey(partition);
    const stored = await readState<StoredPartition>(this.#queue, `archives/${key}`);
    this.#partitions.set(key, {
      partition,
      archives: new Map(Object.entries(stored?.archives ?? {})),
    });
  }
}

/** Null when there is none, or none that this program can read. */
export async function readState<State extends { readonly version: number }>(
  queue: Queue,
  key: string,
): Promise<State | null> {
  const blob = await queue.readState(STATE_KIND, key);
  if (blob === null) return null;
  try {
    const state = JSON.parse(blob.toString()) as State;
    return state.version === STATE_VERSION ? state : null;
  } catch {
    return null;
  }
}

/** A change that stores plain data. */
export function change(key: string, state: object): StateChange {
  const blob = Buffer.from(JSON.stringify({ version: STATE_VERSION, ...state }));
  return { kind: STATE_KIND, key, blob };
}

function splitKey(key: string): [what: string, name: string] {
  const slash = key.indexOf('/');
  return [key.slice(0, slash), key.slice(slash + 1)];
}
