// The status page: one HTML document without dependencies. It shows the content of /status.json and nothing else. It is
// complete without scripts; with scripts it refreshes itself. The policy allows the inline style and script by their
// hashes only: text from a service or a back end could not run even if it were not escaped.

import { hash } from 'node:crypto';
import { formatAge, formatBytes, formatCount, formatDuration } from '../lib/format.ts';
import { accountSection } from './account-report.ts';
import {
  backEndSection,
  fullInText,
  isFailing,
  isFillingUp,
  setAsideSection,
} from './delivery-status.ts';
import { html, Html, type HtmlValue } from './html.ts';
import { PAGE_SCRIPT, PAGE_STYLE, RELOAD_SECONDS } from './page-assets.ts';
import { age, badge, section, type Tone } from './page-parts.ts';
import { counted, type Severity, shortTime } from './problem.ts';
import { pullSections } from './pull-status.ts';
import {
  areMetricsRead,
  discoverySection,
  driftSection,
  isDown,
  servicesSection,
  targetsSection,
} from './scrape-status.ts';
import type { StatusDocument, StatusReport } from './status-report.ts';

export const PAGE_POLICY: string = [
  "default-src 'none'",
  `style-src '${hashOf(PAGE_STYLE)}'`,
  `script-src '${hashOf(PAGE_SCRIPT)}'`,
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const STATE_TONES: Readonly<Record<StatusReport['state'], Tone>> = {
  starting: 'busy',
  ready: 'good',
  stopping: 'warn',
};

const ICON_COLOURS: Readonly<Record<Tone, string>> = {
  good: '1a7f4b',
  warn: 'd08a00',
  bad: 'b3261e',
  busy: '2458b8',
  none: '5d6878',
};

export function renderPage(document: StatusDocument): string {
  const main = html`${verdictBlock(document)}
${flowBlock(document)}
${problemsSection(document)}
${timelineSection(document)}
${servicesSection(document)}
${discoverySection(document)}
${targetsSection(document)}
${backEndSection(document)}
${accountSection(document)}
${pullSections(document)}
${setAsideSection(document)}
${driftSection(document.targets)}`;
  return pageAround(main, document, { name: 'prom2otlp', root: '' });
}

export interface PageFrame {
  readonly name: HtmlValue;
  /** The relative path to the first page. */
  readonly root: '' | '../';
}

/** A whole document with this content, titled by the verdict. */
export function pageAround(main: Html, document: StatusDocument, frame: PageFrame): string {
  const { tone, title } = verdictOf(document);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – prom2otlp</title>
<link rel="icon" href="${iconOf(tone)}">
<style>${new Html(PAGE_STYLE)}</style>
<noscript><meta http-equiv="refresh" content="${RELOAD_SECONDS}"></noscript>
</head>
<body>
${header(document, frame)}
<form id="tools" hidden><label>Filter <input type="search" id="filter" placeholder="service, target or reason" autocomplete="off"></label>
<label><input type="checkbox" id="unhealthy"> unhealthy only</label> <span id="found" class="faint" aria-live="polite"></span></form>
<div id="lost" role="alert"><div class="verdict bad"><strong>prom2otlp does not answer</strong> since <span id="lost-since"></span>; the values below are old.</div></div>
<main>
${main}
</main>
<footer>All times are UTC. Ages are relative to the report; hover over one for the time. For programs: <a href="${frame.root}status.json">status.json</a>.</footer>
<script>${new Html(PAGE_SCRIPT)}</script>
</body>
</html>
`.text;
}

function header(report: StatusDocument, { name, root }: PageFrame): Html {
  const { version, state, startedAt, reportedAt } = report;
  const upMs = Date.parse(reportedAt) - Date.parse(startedAt);
  const links = ['status.json', 'metrics', 'healthz', 'readyz'];
  // `ready` says that the daemon runs, not that all is well.
  const isWell = verdictOf(report).tone === 'good';
  const tone = state === 'ready' && !isWell ? 'none' : STATE_TONES[state];
  return html`<header><h1>${name}</h1>${badge(tone, state)}
<span class="faint">${version} · running for ${formatDuration(upMs)} · as of <time datetime="${reportedAt}">${reportedAt.slice(0, 19).replace('T', ' ')} UTC</time></span>
<nav class="links">${links.map(path => html`<a href="${root}${path}">${path}</a>`)}</nav></header>`;
}

function iconOf(tone: Tone): string {
  const circle = `<circle cx="8" cy="8" r="7" fill="#${ICON_COLOURS[tone]}"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">${circle}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

function hashOf(text: string): string {
  return `sha256-${hash('sha256', text, 'base64')}`;
}

// The upper part: the verdict, the numbers from the service to the back end, and the problems.

/** The state of the whole program in a few words. */
export interface Verdict {
  readonly tone: Tone;
  readonly title: string;
  /** The numbers that support the title. */
  readonly evidence: string;
}

const SEVERITY_TONES: Readonly<Record<Severity, Tone>> = {
  error: 'bad',
  warning: 'warn',
  note: 'none',
};

export function verdictOf(document: StatusDocument): Verdict {
  const errors = namesOfAll(document, 'error');
  const warnings = namesOfAll(document, 'warning');
  const evidence = evidenceOf(document);
  if (errors !== '') return { tone: 'bad', title: errors, evidence };
  if (document.state === 'stopping')
    return { tone: 'warn', title: 'Stopping: the queue is being delivered', evidence };
  if (document.state === 'starting') {
    const missing = document.waitingFor.join(', ');
    const title = missing === '' ? 'Starting' : `Starting: waiting for ${missing}`;
    return { tone: 'busy', title, evidence };
  }
  if (warnings !== '') return { tone: 'warn', title: `Data flows, but ${warnings}`, evidence };
  if (lastAccepted(document) === null)
    return { tone: 'busy', title: 'Nothing accepted yet', evidence };
  const isWaiting = document.pulls.some(({ state }) => state === 'waiting');
  if (isWaiting) return { tone: 'busy', title: 'Data flows; not all has been read yet', evidence };
  return { tone: 'good', title: 'Data flows', evidence };
}

/** The title of the first problem of this severity, and the number of the others; '' if there is none. */
function namesOfAll({ problems }: StatusDocument, severity: Severity): string {
  const [first, ...more] = problems.filter(problem => problem.severity === severity);
  if (first === undefined) return '';
  const title =
    first.title.length > TITLE_LENGTH ? `${first.title.slice(0, TITLE_LENGTH)}…` : first.title;
  return more.length === 0 ? title : `${title} – and ${formatCount(more.length)} more`;
}

const TITLE_LENGTH = 200;

export function verdictBlock(document: StatusDocument): Html {
  const { tone, title, evidence } = verdictOf(document);
  return html`<div class="verdict ${tone}"><strong>${title}</strong><span class="faint">${evidence}</span></div>
`;
}

/** Four numbers from left to right: samples read, points made, points queued, points accepted. */
function flowBlock(document: StatusDocument): Html {
  const { targets, services, queue, senders, account } = document;
  const { samples, points } = account.total;
  const upCount = targets.filter(({ state }) => state === 'up').length;
  const slowestMs = Math.max(0, ...targets.map(({ lastDurationMs }) => lastDurationMs ?? 0));
  const lastPage = lastRead(document);
  const isDoubtful = services.some(one => one.badLines > 0 || one.isSourceStale);
  const areRead = areMetricsRead(document);
  const accepted = lastAccepted(document);
  const flows = accepted === null ? 'busy' : 'good';
  return html`<ol class="flow">
${card(
  targets.some(isDown) ? 'bad' : !areRead ? 'none' : upCount === targets.length ? 'good' : 'busy',
  ['Scraped', samples.read, 'samples'],
  areRead
    ? [
        html`${formatCount(upCount)} of ${counted(targets.length, 'target')} up`,
        lastPage === null
          ? html`no good page yet`
          : html`last good page ${age(document, lastPage)}, took ${formatDuration(slowestMs)}`,
      ]
    : [html`metrics are not read`],
)}
${card(
  isDoubtful ? 'warn' : points.made > 0 ? 'good' : 'busy',
  ['Typed', points.made, 'points'],
  [
    html`${formatCount(targets.reduce((sum, target) => sum + target.series, 0))} series now`,
    html`${formatCount(samples.repeated)} repeated, ${formatCount(samples.dropped)} dropped`,
  ],
)}
${card(queue.some(isFillingUp) ? 'warn' : 'good', ['Queued', points.queued, 'points wait'], queuedDetails(document))}
${card(
  senders.some(isFailing) ? 'bad' : flows,
  ['Accepted', points.accepted, 'points'],
  [
    accepted === null ? html`none yet` : html`last ${age(document, accepted)}`,
    html`${formatCount(points.rejected + points.setAside)} refused, ${formatCount(points.evicted)} evicted`,
  ],
)}
</ol>
`;
}

function card(
  tone: Tone,
  [title, count, unit]: readonly [title: string, count: number, unit: string],
  details: readonly Html[],
): Html {
  const lines = details.map(line => html`<p>${line}</p>`);
  return html`<li class="${tone}"><h3>${title}</h3><div class="number">${formatCount(count)}</div><p>${unit}</p>${lines}</li>`;
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

export function problemsSection(document: StatusDocument): Html | null {
  const { problems } = document;
  if (problems.length === 0) return null;
  const items = problems.map(one => {
    const { severity, subject, message, hint, since, lastSeen, services } = one;
    const rest = subject.startsWith(`${formatCount(services.length)} `) ? '' : ', …';
    const who =
      services.length === 0 ? null : html`<p class="faint">${services.join(', ')}${rest}</p>`;
    const isLasting = document.reportedAt === lastSeen;
    return html`
<li>${badge(SEVERITY_TONES[severity], severity)}<div><p><b>${subject}:</b> ${message}</p>${who}${
      hint === '' ? null : html`<p class="do">${hint}</p>`
    }<p class="faint">since ${shortTime(since, document.reportedAt)} (${age(document, since)})${isLasting ? null : html`, last seen ${age(document, lastSeen)}`}</p></div></li>`;
  });
  const list = html`<ul class="problems">${items}</ul>`;
  return section('Problems', 'one line for each cause, and what to do about it', list);
}

function evidenceOf(document: StatusDocument): string {
  const { services, reportedAt } = document;
  const count = counted(services.length, 'service');
  const upCount = services.filter(({ isUp }) => isUp === true).length;
  const agoOf = (at: string | null): string =>
    at === null ? 'never' : formatAge(Date.parse(reportedAt) - Date.parse(at));
  const scraped = areMetricsRead(document)
    ? `${formatCount(upCount)} of ${count} up · last good page ${agoOf(lastRead(document))}`
    : `${count}, metrics are not read`;
  return `${scraped} · last accepted ${agoOf(lastAccepted(document))}`;
}

/** When metrics were last read successfully. */
function lastRead({ pulls }: StatusDocument): string | null {
  const metrics = pulls.filter(({ kind }) => kind === 'metrics');
  return latest(metrics.map(({ lastSuccessAt }) => lastSuccessAt));
}

function lastAccepted({ senders }: StatusDocument): string | null {
  return latest(senders.map(({ lastAcceptedAt }) => lastAcceptedAt));
}

function latest(times: readonly (string | null)[]): string | null {
  const known = times.filter(at => at !== null);
  return known.sort().at(-1) ?? null;
}

// The time lines: one bar per round of scrapes, as SVG, with its numbers in words. A round with a failed scrape is red. A
// single bar far above all others is cut, so that the others can be told apart; its title has the value.

type Slot = NonNullable<StatusReport['timeline']['slots'][number]>;

const HEIGHT = 44;
const BAR = 8;
const GAP = 2;

/** null before the first scrape. */
function timelineSection({ timeline, targets }: StatusReport): Html | null {
  const slots = timeline.slots.filter(slot => slot !== null);
  if (slots.length === 0) return null;
  const charts = [
    chart('Samples', formatCount, slots, slot => slot.samples),
    chart('Longest scrape', formatDuration, slots, slot => slot.durationMs),
    // Never red: a failed scrape says nothing about the points that waited.
    chart(
      'Points that waited',
      formatCount,
      slots.map(slot => ({ ...slot, failures: 0 })),
      slot => slot.queued,
    ),
  ];
  const round = targets.length === 1 ? 'scrape' : 'round of scrapes';
  const about = `a bar per ${round}, the newest on the right; red: a scrape failed`;
  return section('Lately', about, html`<ul class="lines">${charts}</ul>`);
}

/** A bar more than this many times the second highest is cut: in full, it would flatten the others. */
const CUT_RATIO = 2;

function chart(
  title: string,
  format: (value: number) => string,
  slots: readonly Slot[],
  valueOf: (slot: Slot) => number,
): Html {
  const values = slots.map(valueOf);
  const [most = 0, second = 0] = [...values].sort((a, b) => b - a);
  const top = second > 0 && most > second * CUT_RATIO ? second * 1.25 : most;
  const words = `last ${format(values.at(-1) ?? 0)}, at most ${format(most)}`;
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
  return html`<li><h3>${title}</h3><div class="plot"><span class="top">${format(top)}</span><svg class="line" tabindex="0" viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}: ${words}">${bars}</svg><span class="zero">0</span><span class="from">${from}</span><span class="to">${to}</span></div><p class="value" aria-live="polite">${words}</p></li>
`;
}
