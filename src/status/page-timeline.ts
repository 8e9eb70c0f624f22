// The small time lines of the page: bars per slot of time for samples, the longest scrape and the queue, with the
// numbers that a reader needs beside them. Drawn as SVG on the server; a slot with a failed scrape is marked.

import { formatCount, formatDuration } from '../lib/format.ts';
import { html, type Html } from './html.ts';
import { section } from './page-parts.ts';
import type { TimelineReport } from './status-report.ts';

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

/** A value of 0 is a hair's breadth, so that it is told from a slot without any. */
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
