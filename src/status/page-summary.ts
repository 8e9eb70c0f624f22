// The upper part of the status page: does data flow, what is wrong and what to do, and the numbers of the way from
// the service to the back end.

import { formatAge, formatBytes, formatCount, formatDuration } from '../lib/format.ts';
import { html, type Html } from './html.ts';
import { age, badge, section, type Tone } from './page-parts.ts';
import { isFillingUp, type Severity, type StatusDocument } from './problems.ts';

/** The state of the whole in a few words. */
export interface Verdict {
  readonly tone: Tone;
  readonly title: string;
  /** What the title rests on. */
  readonly evidence: string;
}

const SEVERITY_TONES: Readonly<Record<Severity, Tone>> = {
  error: 'bad',
  warning: 'warn',
  note: 'none',
};

export function verdictOf(document: StatusDocument): Verdict {
  const errors = countOf(document, 'error');
  const warnings = countOf(document, 'warning');
  const evidence = evidenceOf(document);
  if (errors > 0) return { tone: 'bad', title: plural(errors, 'problem'), evidence };
  if (document.state === 'stopping')
    return { tone: 'warn', title: 'Stopping: what is queued is being delivered', evidence };
  if (document.state === 'starting') {
    const missing = document.waitingFor.join(', ');
    const title = missing === '' ? 'Starting' : `Starting: waiting for ${missing}`;
    return { tone: 'busy', title, evidence };
  }
  if (warnings > 0)
    return { tone: 'warn', title: `Data flows, with ${plural(warnings, 'warning')}`, evidence };
  const isAccepted = document.senders.some(({ lastAcceptedAt }) => lastAcceptedAt !== null);
  if (!isAccepted) return { tone: 'busy', title: 'Nothing accepted yet', evidence };
  return { tone: 'good', title: 'Data flows', evidence };
}

export function verdictBlock(document: StatusDocument): Html {
  const { tone, title, evidence } = verdictOf(document);
  return html`<div class="verdict ${tone}"><strong>${title}</strong><span class="faint">${evidence}</span></div>
`;
}

/** Four numbers from left to right: what was read, what it became, what waits, what has arrived. */
export function flowBlock(document: StatusDocument): Html {
  const { samples, points } = document.account.total;
  return html`<ol class="flow">
${card(scrapedTone(document), ['Scraped', samples.read, 'samples'], scrapedDetails(document))}
${card(typedTone(document), ['Typed', points.made, 'points'], typedDetails(document))}
${card(queuedTone(document), ['Queued', points.queued, 'points wait'], queuedDetails(document))}
${card(acceptedTone(document), ['Accepted', points.accepted, 'points'], acceptedDetails(document))}
</ol>
`;
}

export function problemsSection({ problems }: StatusDocument): Html | null {
  if (problems.length === 0) return null;
  const items = problems.map(
    ({ severity, subject, message, hint }) => html`
<li>${badge(SEVERITY_TONES[severity], severity)}<div><p><b>${subject}</b> ${message}</p>${
      hint === '' ? null : html`<p class="faint">${hint}</p>`
    }</div></li>`,
  );
  const list = html`<ul class="problems">${items}</ul>`;
  return section('Problems', 'and what to do about them', list);
}

function card(
  tone: Tone,
  [title, count, unit]: readonly [title: string, count: number, unit: string],
  details: readonly Html[],
): Html {
  const lines = details.map(line => html`<p>${line}</p>`);
  return html`<li class="${tone}"><h3>${title}</h3><div class="number">${formatCount(count)}</div><p>${unit}</p>${lines}</li>`;
}

function scrapedTone({ targets }: StatusDocument): Tone {
  if (targets.some(({ state }) => state === 'down' || state === 'auth')) return 'bad';
  return targets.every(({ state }) => state === 'up') ? 'good' : 'busy';
}

function typedTone({ services, account }: StatusDocument): Tone {
  if (services.some(({ badLines, isSourceStale }) => badLines > 0 || isSourceStale)) return 'warn';
  return account.total.points.made > 0 ? 'good' : 'busy';
}

function queuedTone({ queue }: StatusDocument): Tone {
  return queue.some(isFillingUp) ? 'warn' : 'good';
}

function acceptedTone({ senders }: StatusDocument): Tone {
  if (senders.some(({ state }) => state === 'retrying' || state === 'holding')) return 'bad';
  return senders.some(({ lastAcceptedAt }) => lastAcceptedAt !== null) ? 'good' : 'busy';
}

function scrapedDetails(document: StatusDocument): readonly Html[] {
  const { targets } = document;
  const upCount = targets.filter(({ state }) => state === 'up').length;
  const last = latest(targets.map(({ lastScrapeAt }) => lastScrapeAt));
  const slowestMs = Math.max(0, ...targets.map(({ lastDurationMs }) => lastDurationMs ?? 0));
  return [
    html`${formatCount(upCount)} of ${plural(targets.length, 'target')} up`,
    last === null
      ? html`not yet scraped`
      : html`last ${age(document, last)}, took ${formatDuration(slowestMs)}`,
  ];
}

function typedDetails({ account, targets }: StatusDocument): readonly Html[] {
  const { dropped, repeated } = account.total.samples;
  const series = targets.reduce((sum, target) => sum + target.series, 0);
  return [
    html`${formatCount(series)} series now`,
    html`${formatCount(repeated)} repeated, ${formatCount(dropped)} dropped`,
  ];
}

function queuedDetails(document: StatusDocument): readonly Html[] {
  const { queue } = document;
  const rows = queue.reduce((sum, { rows }) => sum + rows, 0);
  const bytes = queue.reduce((sum, { bytes }) => sum + bytes, 0);
  if (rows === 0) return [html`the queue is empty`];
  const oldest = earliest(queue.map(({ oldestAt }) => oldestAt));
  return [
    html`${plural(rows, 'request')}, ${formatBytes(bytes)}`,
    html`oldest ${age(document, oldest)}`,
  ];
}

function acceptedDetails(document: StatusDocument): readonly Html[] {
  const { rejected, setAside, evicted } = document.account.total.points;
  const last = latest(document.senders.map(({ lastAcceptedAt }) => lastAcceptedAt));
  return [
    last === null ? html`none yet` : html`last ${age(document, last)}`,
    html`${formatCount(rejected + setAside)} refused, ${formatCount(evicted)} evicted`,
  ];
}

function evidenceOf(document: StatusDocument): string {
  const { services, reportedAt, targets, senders } = document;
  const upCount = services.filter(({ isUp }) => isUp === true).length;
  const agoOf = (at: string | null): string =>
    at === null ? 'never' : formatAge(Date.parse(reportedAt) - Date.parse(at));
  const scraped = agoOf(latest(targets.map(({ lastScrapeAt }) => lastScrapeAt)));
  const accepted = agoOf(latest(senders.map(({ lastAcceptedAt }) => lastAcceptedAt)));
  return `${formatCount(upCount)} of ${plural(services.length, 'service')} up · scraped ${scraped} · accepted ${accepted}`;
}

function countOf({ problems }: StatusDocument, severity: Severity): number {
  return problems.filter(problem => problem.severity === severity).length;
}

function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

function latest(times: readonly (string | null)[]): string | null {
  return times.reduce(
    (a, b) => (a === null || (b !== null && Date.parse(b) > Date.parse(a)) ? b : a),
    null,
  );
}

function earliest(times: readonly (string | null)[]): string | null {
  return times.reduce(
    (a, b) => (a === null || (b !== null && Date.parse(b) < Date.parse(a)) ? b : a),
    null,
  );
}
