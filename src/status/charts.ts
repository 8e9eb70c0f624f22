// The time lines of the status page: one bar per round of scrapes, as SVG, with its numbers in words. A round with a
// failed scrape is red. A single bar far above all others is cut, so that the others can be told apart; its title has
// the value.

import { formatCount, formatDuration } from '../lib/format.ts';
import { html, type Html } from './html.ts';
import { section } from './page-parts.ts';
import type { StatusReport } from './status-report.ts';

type Slots = StatusReport['timeline']['slots'];
type Slot = NonNullable<Slots[number]>;

const HEIGHT = 44;
const BAR = 8;
const GAP = 2;

/** null before the first scrape. */
export function timelineSection({ timeline, targets }: StatusReport): Html | null {
  const slots = timeline.slots.filter(slot => slot !== null);
  if (slots.length === 0) return null;
  const charts = [
    chart('Samples', formatCount, slots, { valueOf: slot => slot.samples }),
    chart('Longest scrape', formatDuration, slots, { valueOf: slot => slot.durationMs }),
    chart('Points that waited', formatCount, slots, {
      valueOf: slot => slot.queued,
      isNeutral: true,
    }),
  ];
  const round = targets.length === 1 ? 'scrape' : 'round of scrapes';
  const about = `a bar per ${round}, the newest on the right; red: a scrape failed`;
  return section('Lately', about, html`<ul class="lines">${charts}</ul>`);
}

interface ChartOptions {
  readonly valueOf: (slot: Slot) => number;
  /** True where a failed scrape says nothing. */
  readonly isNeutral?: boolean;
}

/** One of these above all others would leave them a line. */
const CUT_RATIO = 2;

function chart(
  title: string,
  format: (value: number) => string,
  slots: readonly Slot[],
  { valueOf, isNeutral = false }: ChartOptions,
): Html {
  const values = slots.map(valueOf);
  const [most = 0, second = 0] = [...values].sort((a, b) => b - a);
  const top = second > 0 && most > second * CUT_RATIO ? second * 1.25 : most;
  const words = `last ${format(values.at(-1) ?? 0)}, at most ${format(most)}`;
  const bars = slots.map((slot, index) => {
    const value = valueOf(slot);
    const isFailed = !isNeutral && slot.failures > 0;
    const share = top === 0 ? 0 : Math.min(1, value / top);
    // One pixel at least: there was a scrape.
    const height = Math.max(isFailed ? HEIGHT / 4 : 1, share * HEIGHT);
    const tone = isFailed ? 'bad' : value > top ? 'cut' : '';
    const failed = isFailed ? `, ${formatCount(slot.failures)} failed` : '';
    return html`<rect${tone === '' ? null : html` class="${tone}"`} x="${index * BAR}" y="${(HEIGHT - height).toFixed(1)}" width="${BAR - GAP}" height="${height.toFixed(1)}"><title>${slot.at.slice(11, 19)} ${format(value)}${failed}</title></rect>`;
  });
  const width = Math.max(slots.length * BAR, BAR * 30);
  const [first = '', last = ''] = [slots[0], slots.at(-1)].map(slot => slot?.at.slice(11, 16));
  // While there are few bars, the newest one is not at the right end.
  const isWhole = slots.length * BAR >= width;
  const [from, to] = isWhole ? [first, last] : [`${first} to ${last}`, ''];
  return html`<li><h3>${title}</h3><div class="plot"><span class="top">${format(top)}</span><svg class="line" tabindex="0" viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}: ${words}">${bars}</svg><span class="zero">0</span><span class="from">${from}</span><span class="to">${to}</span></div><p class="value" aria-live="polite">${words}</p></li>
`;
}
