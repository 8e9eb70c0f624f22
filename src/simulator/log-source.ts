// The logs of the simulated service: archives by day, service, server and type, each a run of lines that only grows while
// its day lasts. By default the lines are a function of seed and time (GeneratedLogs); a test may write its own (LogBook).

import { hashText, unit } from './load.ts';
import type { SimulatedServer, SimulatedService } from './topology.ts';

/** One archive: what one server wrote into one log on one day (UTC). */
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
  /** When it was written; what the wrapper says. */
  readonly atMs: number;
}

export interface LogSource {
  readonly services: readonly SimulatedService[];
  /** Every archive that there is at that moment, oldest day first; `days` is how long they are kept. */
  archives(nowMs: number, days: number): readonly LogArchive[];
  /** The lines of the archive at that moment, in its order. */
  lines(archive: LogArchive, nowMs: number): Iterable<LogLine>;
  /** Called before each list is made, so that it may change between two pages. */
  onList?(): void;
}

const DAY_MS = 86_400_000;

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
    for (let dayMs = today - (days - 1) * DAY_MS; dayMs <= today; dayMs += DAY_MS) {
      for (const service of this.services) {
        for (const server of service.servers) {
          for (const type of logTypesOf(server))
            found.push({ id: archiveId(dayMs, server, type), service, server, type, dayMs });
        }
      }
    }
    return found;
  }

  *lines({ server, type, dayMs }: LogArchive, nowMs: number): Iterable<LogLine> {
    const window = { fromMs: dayMs, toMs: Math.min(dayMs + DAY_MS, nowMs) };
    for (const { atMs, text } of logRecords(server, type as LogType, window, this.#seed))
      for (const line of text.split('\n')) yield { text: line, atMs };
  }
}

function archiveId(dayMs: number, server: SimulatedServer, type: string): string {
  return `${dayName(dayMs)}.${server.name}.${type}`;
}

export function dayName(dayMs: number): string {
  return new Date(dayMs).toISOString().slice(0, 10);
}

// The lines that a simulated server has written into one of its logs, as a pure function of seed, server, type
// and time: a line at a random moment of each period, in the formats of the real logs. A line never changes
// once its moment has passed, so that today's archive only grows.

type LogType = 'error-log' | 'slow-query-log' | 'audit-log' | 'proxy-log';

export interface LogRecord {
  readonly atMs: number;
  /** One record; it may be of several lines. Without the last newline. */
  readonly text: string;
}

const PERIOD_MS: Readonly<Record<LogType, number>> = {
  'error-log': 600_000,
  'slow-query-log': 300_000,
  'audit-log': 60_000,
  'proxy-log': 900_000,
};

/** The types of log that a server of this role keeps. */
export function logTypesOf({ role }: SimulatedServer): readonly LogType[] {
  return role === 'proxy' ? ['proxy-log'] : ['error-log', 'slow-query-log', 'audit-log'];
}

/** All records of [fromMs, toMs), in the order of time. */
export function* logRecords(
  server: SimulatedServer,
  type: LogType,
  window: { readonly fromMs: number; readonly toMs: number },
  seed: number,
): Generator<LogRecord> {
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
    const head = `${date(time)} ${String(time.getUTCHours()).padStart(2)}:${minutes(time)}`;
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
    const head = `${date(time)} ${hours(time)}  `;
    if (chance < 0.2)
      return `${head} error  : (17) [router] (Read-Write); Lost connection to the primary`;
    return `${head} notice : [monitor] (Mon); Server [orders-1] changed state: [down] -> [up]`;
  },
};

function date(time: Date): string {
  return time.toISOString().slice(0, 10);
}

function compactDate(time: Date): string {
  return date(time).replaceAll('-', '');
}

function hours(time: Date): string {
  return time.toISOString().slice(11, 19);
}

function minutes(time: Date): string {
  return time.toISOString().slice(14, 19);
}

// Logs that a test writes line by line. `issued` holds every line that was ever served: all of them must arrive in the
// end. An archive keeps its lines in the order in which they were written: late and reordered lines have a time that is
// older than their place.

/** Where a line is written. */
export interface LogPlace {
  readonly serviceId: string;
  readonly server: string;
  readonly type: string;
}

export interface WrittenLine extends LogLine {
  readonly place: LogPlace;
  /** Its archive. */
  readonly archive: string;
}

export class LogBook implements LogSource {
  readonly services: readonly SimulatedService[];
  /** Every line in the order of writing, also of archives that are gone. */
  readonly issued: WrittenLine[] = [];
  onList?: () => void;
  readonly #archives = new Map<string, { readonly archive: LogArchive; lines: LogLine[] }>();

  constructor(services: readonly SimulatedService[]) {
    this.services = services;
  }

  /** Writes a line at the end of an archive: that of its own day, or of another day. */
  write(place: LogPlace, line: LogLine, filedAtMs: number = line.atMs): void {
    const { service, server } = this.#find(place);
    const dayMs = Math.floor(filedAtMs / DAY_MS) * DAY_MS;
    const id = archiveId(dayMs, server, place.type);
    let entry = this.#archives.get(id);
    if (entry === undefined) {
      entry = { archive: { id, service, server, type: place.type, dayMs }, lines: [] };
      this.#archives.set(id, entry);
    }
    entry.lines.push(line);
    this.issued.push({ ...line, place, archive: id });
  }

  /** Puts another run of lines in the place of an archive's: a rotation, a repair. Not remembered as issued. */
  rewrite(id: string, change: (lines: readonly LogLine[]) => readonly LogLine[]): void {
    const entry = this.#archives.get(id);
    if (entry !== undefined) entry.lines = [...change(entry.lines)];
  }

  /** Takes an archive away, as when it has been kept long enough. */
  remove(id: string): void {
    this.#archives.delete(id);
  }

  archives(_nowMs: number, _days: number): readonly LogArchive[] {
    const all = [...this.#archives.values()].map(({ archive }) => archive);
    return all.sort((a, b) => a.dayMs - b.dayMs);
  }

  lines({ id }: LogArchive, _nowMs: number): Iterable<LogLine> {
    return this.#archives.get(id)?.lines ?? [];
  }

  #find({ serviceId, server: name }: LogPlace): {
    service: SimulatedService;
    server: SimulatedServer;
  } {
    const service = this.services.find(({ id }) => id === serviceId);
    const server = service?.servers.find(one => one.name === name);
    if (service === undefined || server === undefined)
      throw new Error(`there is no server ${name} of ${serviceId}`);
    return { service, server };
  }
}
