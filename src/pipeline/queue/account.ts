// The account of every sample and point (invariant 9), per service. It balances when
//   samples read = used + metadata + repeated + dropped by reason, and
//   points made (samples, stale, synthetic) = accepted + rejected + set aside + evicted + queued.
// Numbers of samples are keyed `sample/<fate>`, of points `point/<state>`; resends are counted apart.

/** States of a point after it was made. `queued` is what remains. */
export const POINT_STATES = ['made', 'accepted', 'rejected', 'set_aside', 'evicted'] as const;
export type PointState = (typeof POINT_STATES)[number];

/** So many services have an account of their own; those that come later share one. */
export const ACCOUNT_SERVICES_MAX = 10_000;
const OTHER_SERVICES = 'other';

/** What became of (a part of) a row. The numbers are points. */
export interface Settlement {
  readonly service: string;
  readonly accepted: number;
  readonly rejected: number;
  readonly setAside: number;
}

export class Account {
  readonly #services = new Map<string, Map<string, number>>();

  /** Adds to one number of one service. */
  add(service: string, key: string, count: number): void {
    if (count === 0) return;
    const name = this.nameFor(service);
    let numbers = this.#services.get(name);
    if (numbers === undefined) this.#services.set(name, (numbers = new Map()));
    numbers.set(key, (numbers.get(key) ?? 0) + count);
  }

  /** The name under which a service is counted. */
  nameFor(service: string): string {
    const hasOwn = this.#services.has(service) || this.#services.size < ACCOUNT_SERVICES_MAX;
    return hasOwn ? service : OTHER_SERVICES;
  }

  /** Forgets everything, for what is read from a store to take its place. */
  clear(): void {
    this.#services.clear();
  }

  settle(settlement: Settlement): void {
    this.add(settlement.service, 'point/accepted', settlement.accepted);
    this.add(settlement.service, 'point/rejected', settlement.rejected);
    this.add(settlement.service, 'point/set_aside', settlement.setAside);
  }

  get(service: string, key: string): number {
    return this.#services.get(this.nameFor(service))?.get(key) ?? 0;
  }

  /** Points of a service that are made and not yet in a final state. */
  queued(service: string): number {
    const end = POINT_STATES.filter(state => state !== 'made');
    const made = this.get(service, 'point/made');
    return end.reduce((left, state) => left - this.get(service, `point/${state}`), made);
  }

  services(): readonly string[] {
    return [...this.#services.keys()];
  }

  /** Every number: service to key to count. */
  entries(): ReadonlyMap<string, ReadonlyMap<string, number>> {
    return this.#services;
  }

  /** The numbers of all services together. */
  total(): ReadonlyMap<string, number> {
    const sum = new Map<string, number>();
    for (const numbers of this.#services.values())
      for (const [key, count] of numbers) sum.set(key, (sum.get(key) ?? 0) + count);
    return sum;
  }
}
