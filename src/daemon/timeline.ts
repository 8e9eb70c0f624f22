// The recent history for the time lines of the status page: samples, the longest scrape, failures and the points in the
// queue, and the sums of the account, from which rates are made. In: one note per scrape. A slot is one round: it ends when one of its targets is scraped again. So each slot
// has every target at most once, however late a scrape is. The number of slots, and so the memory, is fixed. Nothing is
// saved.

/** How many slots are kept: with a scrape per minute, an hour and a half. */
export const TIMELINE_SLOTS = 90;

interface ScrapeNote {
  readonly target: string;
  /** Wall clock, in milliseconds. */
  readonly atMs: number;
  readonly samples: number;
  readonly durationMs: number;
  readonly isFailed: boolean;
  /** Points in the queue at that time. */
  readonly queued: number;
  /** The sums of the account at that time. Asked for once per slot, because it adds up all services. */
  readonly sums: () => PointSums;
}

/** Points since the queue was created. */
export interface PointSums {
  readonly made: number;
  readonly accepted: number;
  /** Refused for good, or evicted from the queue. */
  readonly lost: number;
}

interface TimelineSlot extends PointSums {
  /** The time of its first scrape, RFC 3339. */
  readonly at: string;
  /** Sums over the scrapes in the slot, but the largest `durationMs` and `queued`. */
  samples: number;
  durationMs: number;
  failures: number;
  queued: number;
}

export interface TimelineReport {
  readonly slotMs: number;
  /** The last TIMELINE_SLOTS slots, the oldest first, with null before the first; the last one may be unfinished. */
  readonly slots: readonly (Readonly<TimelineSlot> | null)[];
}

export class Timeline {
  readonly #slots: TimelineSlot[] = [];
  readonly #targets = new Set<string>();

  note({ target, atMs, samples, durationMs, isFailed, queued, sums }: ScrapeNote): void {
    if (this.#slots.length === 0 || this.#targets.has(target)) {
      this.#targets.clear();
      const at = new Date(atMs).toISOString();
      this.#slots.push({ at, samples: 0, durationMs: 0, failures: 0, queued: 0, ...sums() });
      if (this.#slots.length > TIMELINE_SLOTS) this.#slots.shift();
    }
    this.#targets.add(target);
    const slot = this.#slots.at(-1);
    if (slot === undefined) return;
    slot.samples += samples;
    slot.durationMs = Math.max(slot.durationMs, durationMs);
    slot.failures += isFailed ? 1 : 0;
    slot.queued = Math.max(slot.queued, queued);
  }

  /** `slotMs`: how long a slot lasts now. */
  report(slotMs: number): TimelineReport {
    const missing = Array.from({ length: TIMELINE_SLOTS - this.#slots.length }, () => null);
    return { slotMs, slots: [...missing, ...this.#slots] };
  }
}
