// Keeps the numbers of the durable queue true: every transaction goes through here, its counts are written as its last
// step, and the numbers in memory follow only after it was committed. Where they may differ from the file, because
// that was replaced or could not be read, they are read anew, and an account that damage has torn is made to balance.

import { causeText } from '../../errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Signal } from '../../model/batch.ts';
import { AgeClock } from './age-clock.ts';
import type { Change } from './change.ts';
import type { HeldCommits } from './held-commits.ts';
import type { QueueFile } from './queue-file.ts';
import type { QueueMeter } from './queue-meter.ts';
import type { QueueStats } from './queue.ts';
import { isStorageFailure } from './schema.ts';
import type { Storage } from './storage.ts';
import { readTallies, type Tallies } from './tallies.ts';

export interface BooksOptions {
  readonly storage: Storage;
  readonly tallies: Tallies;
  readonly held: HeldCommits;
  readonly ages: AgeClock;
  readonly meter: QueueMeter;
}

const SIGNALS: readonly Signal[] = ['metrics', 'logs'];

const CLOCK_STATE = { kind: 'clock', key: 'offset' } as const;

const REFRESHES_MAX = 3;

export class Books {
  readonly #options: BooksOptions;
  /** True while the numbers in memory may differ from the file. */
  #isStale = true;
  #savedOffsetMs: number | null = null;

  constructor(options: BooksOptions) {
    this.#options = options;
  }

  /** The numbers in memory may be wrong from now on: the file was opened anew. */
  distrust(): void {
    this.#isStale = true;
    this.#savedOffsetMs = null;
  }

  /** One transaction with its counts. Throws what SQLite throws; nothing has changed then. */
  write(work: (file: QueueFile) => Change, cost?: 'at any cost'): Change {
    const { storage, tallies, ages } = this.#options;
    const { offsetMs } = ages;
    const writeAll = (file: QueueFile): Change => {
      const change = work(file);
      change.write(file);
      if (offsetMs !== this.#savedOffsetMs)
        file.putState(CLOCK_STATE.kind, CLOCK_STATE.key, Buffer.from(String(offsetMs)));
      return change;
    };
    const change = cost === undefined ? storage.write(writeAll) : storage.writeAtAnyCost(writeAll);
    this.#savedOffsetMs = offsetMs;
    tallies.apply(change);
    this.report();
    return change;
  }

  /** What has changed in memory alone. */
  note(change: Change): void {
    this.#options.tallies.apply(change);
    this.report();
  }

  /** Shows the numbers; what was written is written, even if the file cannot be read any more. */
  report(): void {
    const { storage, tallies, meter } = this.#options;
    try {
      storage.read(file => tallies.report(signal => this.#timesOf(file, signal)));
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      meter.storageError('read', causeText(error));
      this.#isStale = true;
    }
  }

  /** The rows that are held are the newest. */
  #timesOf(file: QueueFile, signal: Signal): Pick<QueueStats, 'oldestAtMs' | 'newestAtMs'> {
    const { held, ages } = this.#options;
    const rows = held.rows().filter(row => row.signal === signal);
    const { oldestAtMs, newestAtMs } = file.ages(signal);
    const wallMs = (timeMs: number | null | undefined): number | null =>
      timeMs === null || timeMs === undefined ? null : ages.wallMs(timeMs);
    return {
      oldestAtMs: wallMs(oldestAtMs ?? rows[0]?.madeAtMs),
      newestAtMs: wallMs(rows.at(-1)?.madeAtMs ?? newestAtMs),
    };
  }

  /** Reads the numbers anew where they may be wrong. Throws what SQLite throws; they stay distrusted then. */
  refresh(): void {
    const { storage, tallies, held, meter } = this.#options;
    // Reading the numbers of a file may show that it is damaged, too.
    for (let i = 0; this.#isStale && i < REFRESHES_MAX; i++) {
      const reading = storage.read(readTallies);
      this.#isStale = false;
      const correction = tallies.load(held.addTo(reading));
      try {
        this.write(() => correction, 'at any cost');
      } catch (error) {
        this.#isStale = true;
        if (!correction.isEmpty) throw error;
        return;
      }
      meter.corruptFiles(storage.corruptFiles().length);
    }
  }
}

/** The clock that the ages of the rows in a file are counted by. */
export function openAgeClock(file: QueueFile, clock: Clock): AgeClock {
  const timesMs = SIGNALS.map(signal => file.ages(signal).newestAtMs).filter(ms => ms !== null);
  const newestMs = timesMs.length === 0 ? null : Math.max(...timesMs);
  return new AgeClock(clock, readClockOffset(file), newestMs);
}

/** What the times of rows in a file lack to those of the wall clock; see age-clock.ts. */
export function readClockOffset(file: QueueFile): number {
  const saved = file.readState(CLOCK_STATE.kind, CLOCK_STATE.key);
  const offsetMs = Buffer.isBuffer(saved) ? Number(saved) : 0;
  return Number.isFinite(offsetMs) ? offsetMs : 0;
}
