// Logs of the simulated service that a test writes line by line. `issued` holds every line that was ever written: all of
// them must arrive. An archive keeps its lines in the order of writing, so a late or reordered line has an older time
// than the line before it.

import {
  archiveId,
  type LogArchive,
  type LogLine,
  type LogSource,
} from '../../src/simulator/log-source.ts';
import type { SimulatedServer, SimulatedService } from '../../src/simulator/world.ts';

const DAY_MS = 86_400_000;

/** The log that a line is written to. */
export interface LogPlace {
  readonly serviceId: string;
  readonly server: string;
  readonly type: string;
}

export interface WrittenLine extends LogLine {
  readonly place: LogPlace;
  /** The id of its archive. */
  readonly archive: string;
}

export class LogBook implements LogSource {
  readonly services: readonly SimulatedService[];
  /** Every line in the order of writing, also of archives that are gone. */
  readonly issued: WrittenLine[] = [];
  onList?: () => void;
  /** The time after midnight UTC at which an archive's day begins. */
  dayStartMs = 0;
  readonly #archives = new Map<string, { readonly archive: LogArchive; lines: LogLine[] }>();

  constructor(services: readonly SimulatedService[]) {
    this.services = services;
  }

  /** Writes a line at the end of the archive of its day, or of the day of `filedAtMs`. */
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

  /** Replaces the lines of an archive, as a rotation or a repair does. Does not add the lines to `issued`. */
  rewrite(id: string, change: (lines: readonly LogLine[]) => readonly LogLine[]): void {
    const entry = this.#archives.get(id);
    if (entry !== undefined) entry.lines = [...change(entry.lines)];
  }

  /** Removes an archive, as at the end of its retention. */
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

/** How often each line occurs in a list. */
export function countLines(lines: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}
