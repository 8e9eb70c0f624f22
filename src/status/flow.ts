// The flow of data on the first page: five cards from the samples read to the points lost, with what happens in a minute
// and the sums below, and the charts of the last rounds of scrapes. In: the status report; its time line has the rates.

import { MINUTE_MS } from '../lib/clock.ts';
import { formatBytes, formatCount, formatDuration } from '../lib/format.ts';
import { fullInText, isFailing, queueTone } from './delivery-status.ts';
import { html, type Html } from './html.ts';
import { age, section, type Tone } from './page-parts.ts';
import { counted } from './problem.ts';
import { areMetricsRead, isDown } from './scrape-status.ts';
import type { StatusDocument, StatusReport } from './status-report.ts';

type Slot = NonNullable<StatusReport['timeline']['slots'][number]>;

/** Rates are of the last rounds of scrapes within this time, but of two at least. */
const RATE_MS = 5 * MINUTE_MS;

/** Numbers per minute. */
interface Rates {
  readonly samples: number;
  readonly made: number;
  readonly accepted: number;
  readonly lost: number;
}

/** null before the second round of scrapes. */
export function ratesOf({ timeline }: Pick<StatusReport, 'timeline'>): Rates | null {
  const slots = timeline.slots.filter(slot => slot !== null);
  const last = slots.at(-1);
  const before = slots.slice(0, -1);
  if (last === undefined || before.length === 0) return null;
  const lastMs = Date.parse(last.at);
  const start = before.findIndex(({ at }) => lastMs - Date.parse(at) <= RATE_MS);
  const from = start < 0 ? before.length - 1 : start;
  const first = before[from] ?? last;
  const minutes = (lastMs - Date.parse(first.at)) / MINUTE_MS;
  // The clock was set back.
  if (minutes <= 0) return null;
  // The last round may be unfinished, so the samples are those of the rounds before it.
  const samples = before.slice(from).reduce((sum, slot) => sum + slot.samples, 0);
  return {
    samples: samples / minutes,
    made: (last.made - first.made) / minutes,
    accepted: (last.accepted - first.accepted) / minutes,
    lost: (last.lost - first.lost) / minutes,
  };
}

/** Five cards from left to right: samples read, points made, queued, accepted and lost. */
export function flowBlock(document: StatusDocument): Html {
  const { points } = document.account.total;
  const rates = ratesOf(document);
  const accepted = lastAccepted(document);
  const lost = points.rejected + points.setAside + points.evicted;
  const { queue, senders } = document;
  return html`<ol class="flow">
${scrapedCard(document, rates)}
${typedCard(document, rates)}
${card(queue.some(one => queueTone(one) === 'warn') ? 'warn' : 'good', 'Queued', [formatCount(points.queued), 'points wait'], queuedDetails(document))}
${card(
  senders.some(isFailing) ? 'bad' : accepted === null ? 'busy' : 'good',
  'Accepted',
  perMinute(rates?.accepted, 'points'),
  [
    accepted === null ? html`none yet` : html`last ${age(document, accepted)}`,
    html`${formatCount(points.accepted)} in all`,
  ],
)}
${card(
  lost > 0 ? 'bad' : 'good',
  'Lost',
  [formatCount(lost), 'points'],
  [
    html`${formatCount(points.rejected + points.setAside)} refused, ${formatCount(points.evicted)} evicted`,
    html`of ${formatCount(points.made)} points made`,
  ],
)}
</ol>
`;
}

function scrapedCard(document: StatusDocument, rates: Rates | null): Html {
  const { targets, account } = document;
  if (!areMetricsRead(document))
    return card('none', 'Scraped', ['–', 'samples'], [html`metrics are not read`]);
  const upCount = targets.filter(({ state }) => state === 'up').length;
  const slowestMs = Math.max(0, ...targets.map(({ lastDurationMs }) => lastDurationMs ?? 0));
  const lastPage = lastRead(document);
  const tone = targets.some(isDown) ? 'bad' : upCount === targets.length ? 'good' : 'busy';
  return card(tone, 'Scraped', perMinute(rates?.samples, 'samples'), [
    html`${formatCount(upCount)} of ${counted(targets.length, 'target')} up`,
    lastPage === null
      ? html`no good page yet`
      : html`last good page ${age(document, lastPage)}, took ${formatDuration(slowestMs)}`,
    html`${formatCount(account.total.samples.read)} in all`,
  ]);
}

function typedCard(document: StatusDocument, rates: Rates | null): Html {
  const { targets, services, account } = document;
  const { samples, points } = account.total;
  const isDoubtful = services.some(one => one.badLines > 0 || one.isSourceStale);
  const ours = services.reduce((sum, { ownSeries }) => sum + ownSeries, 0);
  const series = targets.reduce((sum, target) => sum + target.series, 0);
  const tone = isDoubtful ? 'warn' : points.made > 0 ? 'good' : 'busy';
  return card(tone, 'Typed', perMinute(rates?.made, 'points'), [
    html`${formatCount(Math.max(0, series - ours))} series, and ${formatCount(ours)} of our own`,
    html`${formatCount(points.made)} in all`,
    html`${formatCount(samples.repeated)} repeated, ${formatCount(samples.dropped)} dropped`,
  ]);
}

type Figure = readonly [number: string, unit: string];

function perMinute(rate: number | undefined, noun: string): Figure {
  return [rate === undefined ? '–' : formatCount(rate), `${noun} a minute`];
}

function card(tone: Tone, title: string, [number, unit]: Figure, details: readonly Html[]): Html {
  const lines = details.map(line => html`<p>${line}</p>`);
  return html`<li class="${tone}"><h3>${title}</h3><div class="number">${number}</div><p class="unit">${unit}</p>${lines}</li>`;
}

function queuedDetails(document: StatusDocument): readonly Html[] {
  const { queue } = document;
  const rows = queue.reduce((sum, { rows }) => sum + rows, 0);
  const bytes = queue.reduce((sum, { bytes }) => sum + bytes, 0);
  if (rows === 0) return [html`the queue is empty`];
  const [oldest = null] = queue.flatMap(({ oldestAt }) => oldestAt ?? []).sort();
  return [
    html`${counted(rows, 'request')}, ${formatBytes(bytes)}`,
    html`oldest ${age(document, oldest)}`,
    ...queue
      .map(({ signal, fullInMs }) => ({ signal, left: fullInText(fullInMs) }))
      .filter(({ left }) => left !== '')
      .map(({ signal, left }) => html`${signal}: ${left}`),
  ];
}

/** When metrics were last read successfully. */
export function lastRead({ pulls }: StatusDocument): string | null {
  const metrics = pulls.filter(({ kind }) => kind === 'metrics');
  return latest(metrics.map(({ lastSuccessAt }) => lastSuccessAt));
}

export function lastAccepted({ senders }: StatusDocument): string | null {
  return latest(senders.map(({ lastAcceptedAt }) => lastAcceptedAt));
}

function latest(times: readonly (string | null)[]): string | null {
  const known = times.filter(at => at !== null);
  return known.sort().at(-1) ?? null;
}

// The time lines: one bar per round of scrapes, as SVG, with its numbers in words. A round with a failed scrape is red. A
// single bar far above all others is cut, so that the others can be told apart; its title has the value.

const HEIGHT = 44;
const BAR = 8;
const GAP = 2;

/** null before the first scrape. */
export function latelySection({ timeline, targets, queue }: StatusReport): Html | null {
  const slots = timeline.slots.filter(slot => slot !== null);
  if (slots.length === 0) return null;
  const queued = queue.find(({ signal }) => signal === 'metrics')?.points ?? 0;
  // Never red: a failed scrape says nothing about the points.
  const calm = slots.map(slot => ({ ...slot, failures: 0 }));
  const grown = calm.map((slot, i) => ({
    ...slot,
    accepted: Math.max(0, slot.accepted - (calm[i - 1] ?? slot).accepted),
  }));
  const charts = [
    chart({ title: 'Samples', format: formatCount, slots, valueOf: slot => slot.samples }),
    chart({
      title: 'Longest scrape',
      format: formatDuration,
      slots,
      valueOf: slot => slot.durationMs,
    }),
    chart({
      title: 'Points accepted between scrapes',
      format: formatCount,
      slots: grown,
      valueOf: slot => slot.accepted,
    }),
    chart({
      title: 'Points that waited',
      format: formatCount,
      slots: calm,
      valueOf: slot => slot.queued,
      now: queued,
    }),
  ];
  const round = targets.length === 1 ? 'scrape' : 'round of scrapes';
  const about = `a bar per ${round}, the newest on the right; red: a scrape failed`;
  return section('Lately', about, html`<ul class="lines">${charts}</ul>`);
}

interface Chart {
  readonly title: string;
  readonly format: (value: number) => string;
  readonly slots: readonly Slot[];
  readonly valueOf: (slot: Slot) => number;
  /** The value at the time of the report; if left out, the one of the last slot. */
  readonly now?: number;
}

/** A bar more than this many times the second highest is cut: in full, it would flatten the others. */
const CUT_RATIO = 2;

function chart({ title, format, slots, valueOf, now }: Chart): Html {
  const values = slots.map(valueOf);
  const [most = 0, second = 0] = [...values].sort((a, b) => b - a);
  const top = second > 0 && most > second * CUT_RATIO ? second * 1.25 : most;
  const current = now ?? values.at(-1) ?? 0;
  const words = `now ${format(current)}, at most ${format(Math.max(current, most))}`;
  const bars = slots.map((slot, index) => {
    const value = valueOf(slot);
    const isFailed = slot.failures > 0;
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
  return html`<li><h3>${title}</h3><p class="value" aria-live="polite">${words}</p><div class="plot"><span class="top">${format(top)}</span><svg class="line" tabindex="0" viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}: ${words}">${bars}</svg><span class="zero">0</span><span class="from">${from}</span><span class="to">${to}</span></div></li>
`;
}
