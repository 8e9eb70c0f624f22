// A model of the ordinary life of databases behind one metrics page, for the rules of restarts (F5 to F8): an exporter
// that is slow, cached or late, clocks that differ and step, processes that restart and fail over, flushes, and scrapes
// that fail. The model knows how much each identity has really counted. All times are in ms of true time; the world's
// numbers come from its seed alone.

import { randomOf } from './random.ts';

const SECOND = 1000;
const HOUR = 3_600_000;
/** 2026-03-04 09:00 UTC. */
const BEGIN = Date.UTC(2026, 2, 4, 9);
const NEVER = 1e15;

export interface OrdinaryOptions {
  readonly hours: number;
  readonly intervalMs: number;
  readonly isStamped: boolean;
  /** Mean times between events of a server; NEVER for none. */
  readonly restartMs: number;
  readonly proxyRestartMs: number;
  readonly failoverMs: number;
  readonly flushMs: number;
  readonly clockStepMs: number;
  /** How far our clock and theirs are apart at most. */
  readonly skewMs: number;
  /** The share of scrapes that fail. */
  readonly failures: number;
  /** The exporter takes up to 5 s; the uptime is read up to 3 s apart; pages are cached; stamps are up to 20 s old. */
  readonly isSlow: boolean;
  readonly isUptimeApart: boolean;
  readonly isCached: boolean;
  readonly hasOldStamps: boolean;
  /** The two processes of a failover began within this time of each other; 0: at unrelated times. */
  readonly twinsMs: number;
  /** The uptime is that of the poll before. */
  readonly isUptimeLate: boolean;
  /** Pages are OpenMetrics, with creation times. */
  readonly hasCreated: boolean;
  /** Mean time until a server's counters leave the page for a while: minutes, or hours. */
  readonly absenceMs: number;
}

export const ORDINARY: OrdinaryOptions = {
  hours: 20,
  intervalMs: 60 * SECOND,
  isStamped: true,
  restartMs: 24 * HOUR,
  proxyRestartMs: 48 * HOUR,
  failoverMs: 36 * HOUR,
  flushMs: 72 * HOUR,
  clockStepMs: 24 * HOUR,
  skewMs: 30 * SECOND,
  failures: 0.02,
  isSlow: true,
  isUptimeApart: true,
  isCached: true,
  hasOldStamps: true,
  twinsMs: 0,
  isUptimeLate: false,
  hasCreated: false,
  absenceMs: NEVER,
};

export const LIFE: { readonly never: number; readonly hour: number; readonly second: number } = {
  never: NEVER,
  hour: HOUR,
  second: SECOND,
};

/** What a page shows of one counter, and what is true then. */
export interface Shown {
  readonly name: string;
  readonly server: string;
  readonly value: number;
  /** In seconds; null where the page lacks it. */
  readonly uptime: number | null;
  /** What the identity has counted in all. */
  readonly truth: number;
  /** The same process, and the same flush of it, mean that nothing has begun. */
  readonly life: string;
  readonly timeMs: number;
}

/** A poll of the page; `page` is null where it failed. The same page may come again. */
export interface Poll {
  readonly wallMs: number;
  readonly monotonicMs: number;
  readonly page: MadePage | null;
}

export interface MadePage {
  readonly text: string;
  readonly stampMs: number;
  readonly counters: readonly Shown[];
}

type Random = () => number;

const NAMES = {
  engine: [
    'engine_global_status_uptime',
    'engine_global_status_queries',
    'engine_global_status_slow_queries',
    'engine_global_status_bytes_sent',
  ],
  proxy: [
    'proxy_uptime_seconds',
    'proxy_threads_reads',
    'proxy_threads_writes',
    'proxy_threads_errors',
  ],
} as const;
const COUNTERS = [0, 1, 2] as const;

/** One process: three counters, of which one is busy, one rare, and one comes in bursts. */
class Process {
  static #count = 0;
  readonly number = ++Process.#count;
  readonly beganMs: number;
  readonly counts = [0, 0, 0];
  readonly #rates: readonly number[];
  readonly #random: Random;
  #countedMs: number;
  flushes = 0;

  constructor(beganMs: number, random: Random) {
    this.beganMs = beganMs;
    this.#countedMs = beganMs;
    this.#random = random;
    this.#rates = [20 + random() * 200, random() * 0.01, random() < 0.5 ? 5e4 : 500];
  }

  /** Counts until `untilMs`; returns the growth of each counter. */
  count(untilMs: number): readonly number[] {
    const seconds = Math.max(0, untilMs - this.#countedMs) / SECOND;
    this.#countedMs = Math.max(this.#countedMs, untilMs);
    return COUNTERS.map(k => {
      const mean = this.#rates[k]! * seconds * (0.2 + 1.6 * this.#random());
      const isRare = k === 1 && seconds < HOUR / SECOND;
      const isQuiet = k === 2 && this.#random() < 0.7 && seconds < HOUR / SECOND;
      const grown = isQuiet ? 0 : isRare ? Number(this.#random() < mean) : Math.floor(mean);
      this.counts[k]! += grown;
      return grown;
    });
  }

  flush(): void {
    this.counts.fill(0);
    this.flushes++;
  }
}

/** A process answers for the identity from `fromMs`; its page is shown from `shownMs`. */
interface Reign {
  readonly fromMs: number;
  readonly shownMs: number;
  readonly toMs: number;
  readonly process: Process;
}

/** What stands behind one server_name: its reigns, and what it has really counted. */
class Server {
  readonly name: string;
  readonly kind: keyof typeof NAMES;
  readonly truth = [0, 0, 0];
  readonly #reigns: Reign[] = [];
  readonly #flushes: readonly number[];
  readonly #absences: readonly (readonly [fromMs: number, toMs: number])[];
  #nowMs = BEGIN;
  #at = 0;
  #flushed = 0;

  constructor(name: string, kind: keyof typeof NAMES, options: OrdinaryOptions, random: Random) {
    this.name = name;
    this.kind = kind;
    const endMs = BEGIN + options.hours * HOUR;
    this.#makeReigns(options, endMs, random);
    const isEngine = kind === 'engine';
    this.#flushes = isEngine ? timesOf(options.flushMs, endMs, random) : [];
    this.#absences = timesOf(options.absenceMs, endMs, random).map(fromMs => {
      const isLong = random() < 0.3;
      return [fromMs, fromMs + (isLong ? 1.2 * HOUR : random() * 10 * 60 * SECOND)];
    });
  }

  #makeReigns(options: OrdinaryOptions, endMs: number, random: Random): void {
    const old = (): Process => new Process(BEGIN - SECOND * (100 + random() * 3e6), random);
    let process = old();
    let other =
      options.twinsMs > 0
        ? new Process(process.beganMs + (random() - 0.5) * 2 * options.twinsMs, random)
        : old();
    const isEngine = this.kind === 'engine';
    const hasFailover = isEngine && random() < 0.5;
    let [fromMs, shownMs] = [BEGIN, BEGIN];
    while (fromMs < endMs) {
      const meanMs = isEngine ? options.restartMs : options.proxyRestartMs;
      const restartMs = shownMs + wait(meanMs, random);
      const failoverMs = hasFailover ? shownMs + wait(options.failoverMs, random) : NEVER * 2;
      const toMs = Math.min(restartMs, failoverMs);
      this.#reigns.push({ fromMs, shownMs, toMs, process });
      if (failoverMs < restartMs) {
        [process, other] = [other, process];
        fromMs = toMs + (random() < 0.5 ? 0 : random() * 30 * SECOND);
        shownMs = fromMs;
        if (random() < 0.4) other = new Process(toMs + random() * 60 * SECOND, random);
      } else {
        const downMs = 1.5 * SECOND + wait(12 * SECOND, random);
        process = new Process(toMs + downMs * 0.7, random);
        fromMs = process.beganMs;
        shownMs = toMs + downMs;
      }
    }
  }

  /** The reign of a time; null while no process is shown. */
  reignAt(ms: number): Reign | null {
    let at = this.#at;
    while (at > 0 && this.#reigns[at]!.fromMs > ms) at--;
    while (at + 1 < this.#reigns.length && this.#reigns[at + 1]!.fromMs <= ms) at++;
    const reign = this.#reigns[at]!;
    return ms >= reign.shownMs && ms < reign.toMs ? reign : null;
  }

  isAbsent(ms: number): boolean {
    return this.#absences.some(([fromMs, toMs]) => ms >= fromMs && ms < toMs);
  }

  /** Lives until `untilMs`. */
  live(untilMs: number): void {
    while (this.#nowMs < untilMs) {
      const reign = this.#reigns[this.#at]!;
      const flushMs = this.#flushes[this.#flushed] ?? NEVER * 2;
      const nextMs = Math.min(untilMs, reign.toMs, Math.max(flushMs, this.#nowMs));
      if (this.#nowMs <= reign.fromMs) reign.process.count(Math.min(reign.fromMs, nextMs));
      for (const [k, grown] of reign.process.count(nextMs).entries()) this.truth[k]! += grown;
      if (nextMs >= flushMs) {
        this.#flushed++;
        if (nextMs >= reign.fromMs) reign.process.flush();
      }
      this.#nowMs = nextMs;
      if (nextMs >= reign.toMs && this.#at + 1 < this.#reigns.length) {
        this.#at++;
        const next = this.#reigns[this.#at]!;
        // Until then it counted for others.
        if (next.fromMs > next.process.beganMs) next.process.count(next.fromMs);
      }
    }
  }
}

/** The polls of one world. */
export function* livePolls(seed: number, options: OrdinaryOptions): Generator<Poll> {
  const random = randomOf(seed * 7919 + 13);
  const { intervalMs, hours } = options;
  const endMs = BEGIN + hours * HOUR;
  const servers = [
    new Server('s1', 'engine', options, random),
    new Server('s2', 'engine', options, random),
    new Server('p1', 'proxy', options, random),
  ];
  const ours = clockOf(0, options, endMs, random);
  const theirs = clockOf((random() - 0.5) * 2 * options.skewMs, options, endMs, random);
  const make = exporterOf(servers, options, theirs, random);
  const cacheMs = pick([15, 30, 60], random) * SECOND;
  const cache = options.isCached ? pick(['by age', 'by itself', 'none'], random) : 'none';
  let page: MadePage | null = null;
  let madeMs = Number.NEGATIVE_INFINITY;
  let ownMs = BEGIN + random() * cacheMs;
  for (let dueMs = BEGIN + random() * intervalMs; dueMs < endMs - 10_000; dueMs += intervalMs) {
    const atMs = dueMs + random() * Math.min(SECOND, intervalMs * 0.02);
    if (cache === 'by itself') for (; ownMs <= atMs; ownMs += cacheMs) page = make(ownMs);
    else if (cache === 'none' || atMs - madeMs >= cacheMs) {
      page = make(atMs);
      madeMs = atMs;
    }
    page ??= make(atMs);
    const isFailed = random() < options.failures;
    yield {
      wallMs: Math.round(ours(atMs)),
      monotonicMs: atMs - BEGIN,
      page: isFailed ? null : page,
    };
  }
}

/** How much of the random offset of an uptime is taken off. */
const SHIFTS: Readonly<Record<string, number>> = { before: 1, after: 0, both: 0.5 };

/** Makes pages as an exporter does. */
function exporterOf(
  servers: readonly Server[],
  options: OrdinaryOptions,
  theirs: (ms: number) => number,
  random: Random,
): (atMs: number) => MadePage {
  const medianMs = 30 + random() * 270;
  const apart = options.isUptimeApart ? pick(['none', 'before', 'after', 'both'], random) : 'none';
  const apartMs = 500 + random() * 2500;
  const stampAgeMs = options.hasOldStamps ? pick([0, 0, 5, 20], random) * SECOND : 0;
  const lastUptimes = new Map<string, number | null>();
  const offset = (): number => (apart === 'none' ? 0 : apartMs * (random() - (SHIFTS[apart] ?? 0)));
  return atMs => {
    const tookMs = options.isSlow ? Math.min(5000, medianMs * Math.exp(normal(random))) : 5;
    const readMs = atMs + tookMs * 0.8;
    const stampMs = Math.round(theirs(atMs)) - stampAgeMs;
    const unit = options.hasCreated ? stampMs / 1000 : stampMs;
    const stamp = options.isStamped ? ` ${String(unit)}` : '';
    const lines: string[] = [];
    const counters: Shown[] = [];
    for (const server of servers) {
      server.live(readMs);
      const reign = server.reignAt(readMs);
      if (reign === null) continue;
      const { process } = reign;
      const uptimeReadMs = Math.max(atMs - 3 * SECOND, readMs + offset());
      const began = server.reignAt(uptimeReadMs)?.process.beganMs ?? null;
      const seconds = began === null ? null : Math.floor((uptimeReadMs - began) / SECOND);
      const now = seconds === null ? null : Math.max(0, seconds);
      const before = lastUptimes.get(server.name);
      lastUptimes.set(server.name, now);
      const uptime = options.isUptimeLate && before !== undefined ? before : now;
      const [uptimeName, ...names] = NAMES[server.kind];
      const labels = `{namespace="a",server_name="${server.name}"}`;
      if (uptime !== null) lines.push(`${uptimeName}${labels} ${String(uptime)}${stamp}`);
      const life = `${String(process.number)}.${String(process.flushes)}`;
      const isAbsent = server.isAbsent(readMs);
      const shown = isAbsent ? [] : [...names.entries()];
      const add = (name: string, k: number): void => {
        lines.push(`${name}${labels} ${String(process.counts[k])}${stamp}`);
        const [value, truth] = [process.counts[k]!, server.truth[k]!];
        counters.push({ name, server: server.name, value, uptime, truth, life, timeMs: stampMs });
      };
      for (const [k, name] of shown) add(name, k);
      if (!options.hasCreated || isAbsent) continue;
      lines.push('# TYPE app_jobs counter');
      add('app_jobs_total', 0);
      lines.push(`app_jobs_created${labels} ${String(theirs(process.beganMs) / 1000)}${stamp}`);
    }
    const text = `${lines.join('\n')}\n${options.hasCreated ? '# EOF\n' : ''}`;
    return { text, stampMs: options.isStamped ? stampMs : Number.NaN, counters };
  };
}

/** A clock that is `skewMs` wrong, and steps now and then: mostly by up to 3 s, sometimes by up to 30 s. */
function clockOf(
  skewMs: number,
  { clockStepMs }: OrdinaryOptions,
  endMs: number,
  random: Random,
): (ms: number) => number {
  const steps = timesOf(clockStepMs, endMs, random).map(
    atMs => [atMs, (random() - 0.5) * 2 * (random() < 0.2 ? 30 : 3) * SECOND] as const,
  );
  return ms => ms + skewMs + (steps.findLast(([atMs]) => atMs <= ms)?.[1] ?? 0);
}

/** Random times with this mean distance. */
function timesOf(meanMs: number, endMs: number, random: Random): number[] {
  const times: number[] = [];
  if (meanMs >= NEVER) return times;
  for (let ms = BEGIN + wait(meanMs, random); ms < endMs; ms += wait(meanMs, random))
    times.push(ms);
  return times;
}

function wait(meanMs: number, random: Random): number {
  return -Math.log(1 - random()) * meanMs;
}

function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function pick<T>(list: readonly T[], random: Random): T {
  return list[Math.floor(random() * list.length)]!;
}
