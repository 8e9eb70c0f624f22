// What happened lately, for the small time lines of the page: samples, the longest scrape, failures and what waited
// in the queue, per slot of time. In: one note per scrape. A slot is as long as the interval of the scrapes, so that
// each holds something; their number is fixed, so is the memory. Kept by the process alone. The page draws them as SVG
// on the server, with the numbers that a reader needs beside them; a slot with a failed scrape is marked.

import { formatCount, formatDuration } from '../lib/format.ts';
import { html, type Html } from './html.ts';
import { section } from './page-parts.ts';

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

export interface TimelineReport {
  readonly slotMs: number;
  /** The oldest first; the last is under way. null where nothing was scraped. */
  readonly slots: readonly (Readonly<TimelineSlot> | null)[];
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

const HEIGHT = 40;
const BAR = 8;
const GAP = 2;

/** null before the first scrape, and where nothing is scraped. */
export function timelineSection({ timeline }: { readonly timeline: TimelineReport }): Html | null {
  const { slotMs, slots } = timeline;
  if (slots.every(slot => slot === null)) return null;
  const failed = slots.map(slot => (slot?.failures ?? 0) > 0);
  const lines = [
    chart('Samples', formatCount, { values: slots.map(slot => slot?.samples ?? null), failed }),
    chart('Longest scrape', formatDuration, {
      values: slots.map(slot => slot?.durationMs ?? null),
      failed,
    }),
    chart('Points that waited', formatCount, {
      values: slots.map(slot => slot?.queued ?? null),
      failed: slots.map(() => false),
    }),
  ];
  const about = `the last ${formatDuration(slotMs * slots.length)}, ${formatDuration(slotMs)} a bar; red: a scrape failed`;
  return section('Lately', about, html`<ul class="lines">${lines}</ul>`);
}

interface Series {
  readonly values: readonly (number | null)[];
  readonly failed: readonly boolean[];
}

function chart(title: string, format: (value: number) => string, series: Series): Html {
  const known = series.values.filter(value => value !== null);
  const [most, last] = [Math.max(0, ...known), known.at(-1) ?? 0];
  const words = `last ${format(last)}, at most ${format(most)}`;
  const width = series.values.length * BAR;
  const bars = series.values.map((value, index) => bar(value, index, { series, most }));
  return html`<li><h3>${title}</h3><svg class="line" viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}: ${words}">${bars}</svg><p>${words}</p></li>
`;
}

/** A value of 0 is a hair's breadth, to differ from a slot without any. */
function bar(
  value: number | null,
  index: number,
  { series, most }: { readonly series: Series; readonly most: number },
): Html | null {
  const isFailed = series.failed[index] === true;
  if (value === null) return null;
  const share = most === 0 ? 0 : value / most;
  const height = Math.max(isFailed ? HEIGHT / 4 : 1, share * HEIGHT);
  const tone = isFailed ? html` class="bad"` : null;
  return html`<rect${tone} x="${index * BAR}" y="${(HEIGHT - height).toFixed(1)}" width="${BAR - GAP}" height="${height.toFixed(1)}"/>`;
}
