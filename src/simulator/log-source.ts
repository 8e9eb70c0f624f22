// The logs of the simulated service: archives by day, service, server and type. An archive only grows, until its day is
// over. By default its lines are a function of seed and time (GeneratedLogs); a test may write other lines.

import { hashText, unit } from './load.ts';
import type { SimulatedServer, SimulatedService } from './world.ts';
import { DAY_MS } from '../lib/clock.ts';

/** The lines that one server wrote into one log on one day (UTC). */
export interface LogArchive {
  readonly id: string;
  readonly service: SimulatedService;
  readonly server: SimulatedServer;
  readonly type: string;
  readonly dayMs: number;
}

/** One physical line, without its end. */
export interface LogLine {
  readonly text: string;
  /** When it was written: the time of the wrapper. */
  readonly atMs: number;
}

export interface LogSource {
  readonly services: readonly SimulatedService[];
  /** Every archive that there is at this time, oldest day first; archives are kept for `days`. */
  archives(nowMs: number, days: number): readonly LogArchive[];
  /** The lines of the archive at this time, in its order. */
  lines(archive: LogArchive, nowMs: number): Iterable<LogLine>;
  /** Called before each list is made, so that it may change between two pages. */
  onList?(): void;
}

/** Lines for every log of every server, the same for the same seed. */
export class GeneratedLogs implements LogSource {
  readonly services: readonly SimulatedService[];
  readonly #seed: number;

  constructor(services: readonly SimulatedService[], seed: number) {
    this.services = services;
    this.#seed = seed;
  }

  archives(nowMs: number, days: number): readonly LogArchive[] {
    const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
    const found: LogArchive[] = [];
    for (let dayMs = today - (days - 1) * DAY_MS; dayMs <= today; dayMs += DAY_MS)
      for (const service of this.services)
        for (const server of service.servers)
          for (const type of logTypesOf(server))
            found.push({ id: archiveId(dayMs, server, type), service, server, type, dayMs });
    return found;
  }

  *lines({ server, type, dayMs }: LogArchive, nowMs: number): Iterable<LogLine> {
    const window = { fromMs: dayMs, toMs: Math.min(dayMs + DAY_MS, nowMs) };
    for (const { atMs, text } of logRecords(server, type as LogType, window, this.#seed))
      for (const line of text.split('\n')) yield { text: line, atMs };
  }
}

export function archiveId(dayMs: number, server: SimulatedServer, type: string): string {
  return `${dayName(dayMs)}.${server.name}.${type}`;
}

export function dayName(dayMs: number): string {
  return new Date(dayMs).toISOString().slice(0, 10);
}

// The lines of a simulated server's log as a pure function of seed, server, type and time: a line at a random time in each
// period, in the formats of the real logs. A line never changes after its time, so that today's archive only grows.

export const LOG_TYPES = ['error-log', 'slow-query-log', 'audit-log', 'proxy-log'] as const;
type LogType = (typeof LOG_TYPES)[number];

const PERIOD_MS: Readonly<Record<LogType, number>> = {
  'error-log': 600_000,
  'slow-query-log': 300_000,
  'audit-log': 60_000,
  'proxy-log': 900_000,
};

export function logTypesOf({ role }: SimulatedServer): readonly LogType[] {
  return role === 'proxy' ? ['proxy-log'] : ['error-log', 'slow-query-log', 'audit-log'];
}

/** All records of [fromMs, toMs), of one or several lines each, ordered by time. */
export function* logRecords(
  server: SimulatedServer,
  type: LogType,
  window: { readonly fromMs: number; readonly toMs: number },
  seed: number,
): Generator<LogLine> {
  const period = PERIOD_MS[type];
  const hash = hashText(`${server.name} ${type}`, seed);
  for (let step = Math.floor(window.fromMs / period); step * period < window.toMs; step++) {
    const atMs = step * period + Math.floor(unit(hash, step) * period);
    if (atMs < window.fromMs || atMs >= window.toMs) continue;
    yield { atMs, text: FORMATS[type](new Date(atMs), unit(hash, ~step), server.name) };
  }
}

type Format = (time: Date, chance: number, serverName: string) => string;

const FORMATS: Readonly<Record<LogType, Format>> = {
  'error-log': (time, chance) => {
    const head = `${dayName(time.getTime())} ${String(time.getUTCHours()).padStart(2)}:${minutes(time)}`;
    const thread = Math.floor(chance * 900);
    if (chance < 0.1)
      return `${head} ${thread} [ERROR] Cannot open table 'shop/stock'\nrolled back`;
    if (chance < 0.4) {
      return `${head} ${thread} [Warning] Aborted connection ${thread} to db: 'shop' user: 'app' host: '10.0.0.9' (Got timeout reading communication packets)`;
    }
    return `${head} 0 [Note] Checkpoint completed`;
  },
  'slow-query-log': (time, chance) =>
    [
      `# Time: ${compactDate(time).slice(2)} ${String(time.getUTCHours()).padStart(2)}:${minutes(time)}`,
      '# User@Host: app[app] @ web-1 [10.0.0.9]',
      `# Thread_id: ${Math.floor(chance * 900)}  Schema: shop  QC_hit: No`,
      `# Query_time: ${(1 + 9 * chance).toFixed(6)}  Lock_time: 0.000031  Rows_sent: 1  Rows_examined: 90210`,
      '# Rows_affected: 0  Bytes_sent: 65',
      `SET timestamp=${Math.floor(time.getTime() / 1000)};`,
      'SELECT * FROM orders',
      ` WHERE customer_id = ${Math.floor(chance * 100_000)};`,
    ].join('\n'),
  'audit-log': (time, chance, serverName) => {
    const head = `${compactDate(time)} ${hours(time)},${serverName}`;
    if (chance < 0.05)
      return `${head},bad,10.0.0.9,${Math.floor(chance * 9e3)},0,FAILED_CONNECT,,,1045`;
    const query = `'select \\'a,b\\', ${Math.floor(chance * 100)}'`;
    return `${head},app,10.0.0.9,75,${Math.floor(chance * 9e3)},QUERY,shop,${query},0`;
  },
  'proxy-log': (time, chance) => {
    const head = `${dayName(time.getTime())} ${hours(time)}  `;
    if (chance < 0.2)
      return `${head} error  : (17) [router] (Read-Write); Lost connection to the primary`;
    return `${head} notice : [monitor] (Mon); Server [orders-1] changed state: [down] -> [up]`;
  },
};

function compactDate(time: Date): string {
  return dayName(time.getTime()).replaceAll('-', '');
}

function hours(time: Date): string {
  return time.toISOString().slice(11, 19);
}

function minutes(time: Date): string {
  return time.toISOString().slice(14, 19);
}
