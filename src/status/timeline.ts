// What happened lately, for the small time lines of the page: samples, the longest scrape, failures and what waited
// in the queue, per slot of time. In: one note per scrape. A slot is as long as the interval of the scrapes, so that
// each holds something; their number is fixed, so is the memory. Kept by the process alone.

/** How many slots are kept: with scrapes once a minute, an hour and a half. */
export const TIMELINE_SLOTS = 90;
const SLOT_MS_MIN = 2000;

/** What one scrape adds. */
export interface ScrapeNote {
  readonly samples: number;
  readonly durationMs: number;
  readonly isFailed: boolean;
  /** Points that waited then. */
  readonly queued: number;
}

/** One slot; what nobody noted is null. */
export interface TimelineSlot {
  /** Of all scrapes in the slot together. */
  samples: number;
  /** The longest of them. */
  durationMs: number;
  failures: number;
  /** The most that waited. */
  queued: number;
}

export class Timeline {
  readonly slotMs: number;
  readonly #slots: (TimelineSlot | null)[] = Array.from({ length: TIMELINE_SLOTS }, () => null);
  /** Number of the newest slot, counted from the origin of the monotonic clock. */
  #newest = 0;

  constructor(intervalMs: number) {
    this.slotMs = Math.max(intervalMs, SLOT_MS_MIN);
  }

  note(monotonicMs: number, { samples, durationMs, isFailed, queued }: ScrapeNote): void {
    const place = this.#moveTo(monotonicMs);
    const slot = (this.#slots[place] ??= { samples: 0, durationMs: 0, failures: 0, queued: 0 });
    slot.samples += samples;
    slot.durationMs = Math.max(slot.durationMs, durationMs);
    slot.failures += isFailed ? 1 : 0;
    slot.queued = Math.max(slot.queued, queued);
  }

  /** TIMELINE_SLOTS slots, the oldest first; the last is the one that is under way. */
  slots(monotonicMs: number): readonly (TimelineSlot | null)[] {
    const place = this.#moveTo(monotonicMs);
    return [...this.#slots.slice(place + 1), ...this.#slots.slice(0, place + 1)];
  }

  /** Empties the slots that have begun since the last call; gives the place of the one under way. */
  #moveTo(monotonicMs: number): number {
    const now = Math.floor(monotonicMs / this.slotMs);
    const first = Math.max(this.#newest + 1, now - TIMELINE_SLOTS + 1);
    for (let slot = first; slot <= now; slot++) this.#slots[slot % TIMELINE_SLOTS] = null;
    this.#newest = Math.max(this.#newest, now);
    return this.#newest % TIMELINE_SLOTS;
  }
}
