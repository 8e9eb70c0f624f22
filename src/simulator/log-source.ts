// What the simulated log endpoints serve: archives by day, service, server and type, each a run of lines that only
// grows while its day lasts. By default the lines are a function of seed and time (log-lines.ts); a test may write
// its own (log-book.ts).

import { logRecords, type LogType, logTypesOf } from './log-lines.ts';
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
  /** What the archive holds at that moment, in its order. */
  lines(archive: LogArchive, nowMs: number): Iterable<LogLine>;
  /** Told before each list is made, so that it may change between two pages. */
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

export function archiveId(dayMs: number, server: SimulatedServer, type: string): string {
  return `${dayName(dayMs)}.${server.name}.${type}`;
}

export function dayName(dayMs: number): string {
  return new Date(dayMs).toISOString().slice(0, 10);
}
