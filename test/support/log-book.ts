// Logs of the simulated service that a test writes line by line. `issued` holds every line that was ever served: all of
// them must arrive in the end. An archive keeps its lines in the order of writing: late and reordered lines have a time
// that is older than their place.

import {
  archiveId,
  type LogArchive,
  type LogLine,
  type LogSource,
} from '../../src/simulator/log-source.ts';
import type { SimulatedServer, SimulatedService } from '../../src/simulator/world.ts';

const DAY_MS = 86_400_000;

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
  /** When the days of its archives begin, from midnight UTC on. */
  dayStartMs = 0;
  readonly #archives = new Map<string, { readonly archive: LogArchive; lines: LogLine[] }>();

  constructor(services: readonly SimulatedService[]) {
    this.services = services;
  }

  /** Writes a line at the end of an archive: that of its own day, or of another day. */
  write(place: LogPlace, line: LogLine, filedAtMs: number = line.atMs): void {
    const { service, server } = this.#find(place);
    const days = Math.floor((filedAtMs - this.dayStartMs) / DAY_MS);
    const dayMs = days * DAY_MS + this.dayStartMs;
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

/** How often each line stands in a list. */
export function countLines(lines: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}
