// The simulated services over time: which series there are, when their processes started, and what any of
// them says at any moment. Everything is a function of (seed, time, restarts): two worlds with the same
// options and the same restarts agree for ever, which is what lets a test compute what it must have received.

import { bug } from '../errors.ts';
import { hashText, loadSeconds, loadWave, type Moment, valueAt } from './load.ts';
import { labelsOf, seriesOf, type SimulatedSeries } from './series.ts';
import type { SimulatedServer, SimulatedService } from './topology.ts';

export interface WorldOptions {
  readonly services: readonly SimulatedService[];
  readonly seed: number;
  /** Before this moment all servers were started, each up to a week earlier; nothing is known before that. */
  readonly originMs: number;
}

/** The times of one server's (re)starts and status flushes, ascending; the first start lies before the origin. */
interface ServerLife {
  readonly hash: number;
  readonly starts: number[];
  readonly flushes: number[];
}

/** A server that restarts more often forgets its oldest restarts, the first start excepted. */
export const RESTARTS_MAX = 1_000;

const WEEK_MS = 7 * 86_400_000;

export class World {
  readonly services: readonly SimulatedService[];
  readonly series: readonly SimulatedSeries[];
  /** Rises whenever what a past moment showed may have changed: after a restart or a flush. */
  version = 0;
  readonly #lives = new Map<SimulatedServer, ServerLife>();
  readonly #servers = new Map<string, SimulatedServer>();

  constructor(options: WorldOptions) {
    this.services = options.services;
    this.series = options.services.flatMap(service => seriesOf(service, options.seed));
    for (const server of options.services.flatMap(service => service.servers)) {
      const hash = hashText(server.name, options.seed);
      this.#lives.set(server, { hash, starts: [options.originMs - (hash % WEEK_MS)], flushes: [] });
      this.#servers.set(server.name, server);
    }
  }

  /** Starts the server's process anew at that moment. False if there is no such server. */
  restart(serverName: string, atMs: number): boolean {
    return this.#remember(serverName, atMs, 'starts');
  }

  /** Sets the flushable counters of a server back while its uptime goes on. False if there is no such server. */
  flushStatus(serverName: string, atMs: number): boolean {
    return this.#remember(serverName, atMs, 'flushes');
  }

  /** What all values of one server at one moment have in common. */
  momentOf(service: SimulatedService, server: SimulatedServer, timeMs: number): Moment {
    const { hash, starts, flushes } = this.#lifeOf(server);
    const startMs = latest(starts, timeMs) ?? timeMs;
    const flushMs = Math.max(latest(flushes, timeMs) ?? startMs, startMs);
    const load = loadSeconds(hash, timeMs);
    return {
      timeMs,
      serviceStartMs: Math.min(
        ...service.servers.map(one => this.#lifeOf(one).starts[0] ?? timeMs),
      ),
      startMs,
      flushMs,
      loadSinceStart: load - loadSeconds(hash, startMs),
      loadSinceFlush: load - loadSeconds(hash, flushMs),
      wave: loadWave(hash, timeMs),
    };
  }

  /** The value of one series at the moment its sample carries as timestamp. */
  valueOf(series: SimulatedSeries, timeMs: number): number {
    const moment = this.momentOf(series.service, series.server, timeMs);
    return valueAt(series.shape, series.hash, moment);
  }

  /** The one series of this name that has these labels (others may be left out), or undefined. */
  find(name: string, labels: Readonly<Record<string, string>>): SimulatedSeries | undefined {
    const wanted = Object.entries(labels);
    const found = this.series.filter(series => {
      if (series.name !== name) return false;
      const all = new Map(labelsOf(series));
      return wanted.every(([key, value]) => all.get(key) === value);
    });
    return found.length === 1 ? found[0] : undefined;
  }

  #remember(serverName: string, atMs: number, what: 'starts' | 'flushes'): boolean {
    const server = this.#servers.get(serverName);
    if (server === undefined) return false;
    const times = this.#lifeOf(server)[what];
    times.push(atMs);
    times.sort((a, b) => a - b);
    if (times.length > RESTARTS_MAX) times.splice(1, 1);
    this.version++;
    return true;
  }

  #lifeOf(server: SimulatedServer): ServerLife {
    const life = this.#lives.get(server);
    if (life === undefined) return bug(`no server ${server.name} in this world`);
    return life;
  }
}

function latest(ascending: readonly number[], timeMs: number): number | undefined {
  return ascending.findLast(time => time <= timeMs);
}
