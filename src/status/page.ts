// The status page: one HTML document without dependencies. It shows the content of /status.json and nothing else. It is
// complete without scripts; with scripts it refreshes itself. The policy allows the inline style and script by their
// hashes only: text from a service or a back end could not run even if it were not escaped.

import { hash } from 'node:crypto';
import { formatAge, formatCount, formatDuration } from '../lib/format.ts';
import { accountSection } from './account-report.ts';
import { backEndSection, setAsideSection } from './delivery-status.ts';
import { flowBlock, lastAccepted, lastRead, latelySection } from './flow.ts';
import { html, Html, type HtmlValue } from './html.ts';
import { PAGE_SCRIPT, PAGE_STYLE, RELOAD_SECONDS } from './page-assets.ts';
import { type Palette, PALETTES } from './palette.ts';
import { age, badge, remedy, section, type Tone } from './page-parts.ts';
import { counted, type Severity, shortTime } from './problem.ts';
import { pullSections } from './pull-status.ts';
import {
  areMetricsRead,
  discoverySection,
  servicesSection,
  targetsSection,
  type TargetReport,
} from './scrape-status.ts';
import type { StatusDocument, StatusReport } from './status-report.ts';
import type { FamilyDrift } from '../catalog/drift.ts';

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

const ICON_COLOURS: Readonly<Record<Tone, keyof Palette>> = {
  good: 'good',
  warn: 'warn',
  bad: 'bad',
  busy: 'busy',
  none: 'faint',
};

export function renderPage(document: StatusDocument): string {
  const main = html`${verdictBlock(document)}
${flowBlock(document)}
${problemsSection(document)}
${latelySection(document)}
${servicesSection(document)}
${discoverySection(document)}
${targetsSection(document)}
${backEndSection(document)}
${accountSection(document)}
${pullSections(document)}
${setAsideSection(document)}
${driftSection(document.targets)}`;
  return pageAround(main, document, { name: 'prom2otlp', root: '', filter: 'Filter all rows' });
}

/** The page for a path that has none. `depth`: the number of folders in the path. */
export function renderMissing(document: StatusDocument, line: string, depth: number): string {
  const root = '../'.repeat(Math.min(depth, DEPTH_MAX));
  const main = html`<div class="verdict none"><strong>Not found</strong><p>${line}</p>
<p><a href="${root === '' ? './' : root}">To the status page</a></p></div>
`;
  const name = html`<a href="${root === '' ? './' : root}">prom2otlp</a>`;
  return pageAround(main, document, { name, root, filter: null });
}

/** A deeper path is only found by mistake; its links would lead nowhere. */
const DEPTH_MAX = 8;

export interface PageFrame {
  readonly name: HtmlValue;
  /** The relative path to the first page. */
  readonly root: string;
  /** The label of the filter, which says what is filtered; null for a page without tables, which stays as it is. */
  readonly filter: string | null;
}

/** A whole document with this content, titled by the verdict. */
export function pageAround(main: Html, document: StatusDocument, frame: PageFrame): string {
  const { tone, title } = verdictOf(document);
  const isLive = frame.filter !== null;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${isLive ? title : 'Not found'} – prom2otlp</title>
<link rel="icon" href="${iconOf(tone)}">
<style>${new Html(PAGE_STYLE)}</style>
${isLive ? html`<noscript><meta http-equiv="refresh" content="${RELOAD_SECONDS}"></noscript>` : null}
</head>
<body>
${header(document, frame)}
${isLive ? toolsOf(frame) : null}<main>
${main}
</main>
<footer>All times are UTC. Ages are relative to the report; hover over one for the time. For programs: <a href="${frame.root}status.json">status.json</a>.</footer>
${isLive ? html`<script>${new Html(PAGE_SCRIPT)}</script>` : null}
</body>
</html>
`.text;
}

function toolsOf({ filter }: PageFrame): Html {
  return html`<form id="tools" hidden><label>${filter} <input type="search" id="filter" autocomplete="off"></label>
<label><input type="checkbox" id="unhealthy"> with a problem only</label> <span id="found" class="faint" aria-live="polite"></span></form>
<div id="lost" role="alert"><div class="verdict bad"><strong>prom2otlp does not answer</strong> since <span id="lost-since"></span>; the values below are old.</div></div>
`;
}

function header(report: StatusDocument, { name, root }: PageFrame): Html {
  const { version, state, startedAt, reportedAt } = report;
  const upMs = Date.parse(reportedAt) - Date.parse(startedAt);
  const links = ['cost', 'status.json', 'metrics', 'healthz', 'readyz'];
  // `ready` says that the daemon runs, not that all is well.
  const isWell = verdictOf(report).tone === 'good';
  const tone = state === 'ready' && !isWell ? 'none' : STATE_TONES[state];
  return html`<header><h1>${name}</h1>${badge(tone, state)}
<span class="faint">${version} · running for ${formatDuration(upMs)} · as of <time datetime="${reportedAt}">${reportedAt.slice(0, 19).replace('T', ' ')} UTC</time></span>
${configurationOf(report)}
<nav class="links">${links.map(path => html`<a href="${root}${path}">${path}</a>`)}</nav></header>`;
}

/** The file of the configuration, when it was loaded, and whether it has changed since. */
function configurationOf({ configuration }: StatusDocument): Html | null {
  if (configuration === null) return null;
  const { file, loadedAt, isStale } = configuration;
  const differs = isStale ? badge('warn', 'the file differs') : null;
  return html`<span class="faint"><code>${file}</code>, loaded <time datetime="${loadedAt}">${loadedAt.slice(0, 19).replace('T', ' ')} UTC</time></span> ${differs}`;
}

function iconOf(tone: Tone): string {
  const circle = `<circle cx="8" cy="8" r="7" fill="${PALETTES.light[ICON_COLOURS[tone]]}"/>`;
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
  /** Eight words at most. */
  readonly title: string;
  /** What the title leaves out; '' if that is nothing. */
  readonly detail: string;
  /** The numbers that support the title. */
  readonly evidence: string;
}

const SEVERITY_TONES: Readonly<Record<Severity, Tone>> = {
  error: 'bad',
  warning: 'warn',
  note: 'none',
};

export function verdictOf(document: StatusDocument): Verdict {
  return { ...headlineOf(document), evidence: evidenceOf(document) };
}

function headlineOf(document: StatusDocument): Omit<Verdict, 'evidence'> {
  const [error, warning] = (['error', 'warning'] as const).map(severity =>
    document.problems.filter(problem => problem.severity === severity),
  );
  const [first] = error ?? [];
  if (first !== undefined)
    return { tone: 'bad', title: first.headline, detail: detailOf(error ?? []) };
  if (document.state === 'stopping')
    return { tone: 'warn', title: 'Stopping: the queue is being delivered', detail: '' };
  if (document.state === 'starting') {
    const missing = document.waitingFor.join(', ');
    const detail = missing === '' ? '' : cut(`waiting for ${missing}`);
    return { tone: 'busy', title: 'Starting', detail };
  }
  if (warning !== undefined && warning.length > 0)
    return { tone: 'warn', title: 'Data flows, with a warning', detail: detailOf(warning) };
  if (lastAccepted(document) === null)
    return { tone: 'busy', title: 'Nothing accepted yet', detail: '' };
  const isWaiting = document.pulls.some(({ state }) => state === 'waiting');
  const detail = isWaiting ? 'not all has been read yet' : '';
  return { tone: isWaiting ? 'busy' : 'good', title: 'Data flows', detail };
}

/** The title of the first problem, and the number of the others. */
function detailOf([first, ...more]: StatusDocument['problems']): string {
  const { title: whole = '', headline = '' } = first ?? {};
  // Some titles begin with the words of the headline.
  const isRepeated = whole.toLowerCase().startsWith(headline.toLowerCase());
  const title = cut(isRepeated ? whole.slice(headline.length).trimStart() : whole);
  return more.length === 0 ? title : `${title} – and ${formatCount(more.length)} more`;
}

function cut(text: string): string {
  return text.length > DETAIL_LENGTH ? `${text.slice(0, DETAIL_LENGTH)}…` : text;
}

const DETAIL_LENGTH = 200;

export function verdictBlock(document: StatusDocument): Html {
  const { tone, title, detail, evidence } = verdictOf(document);
  const more = detail === '' ? null : html`<p>${detail}</p>`;
  return html`<div class="verdict ${tone}"><strong>${title}</strong>${more}<p class="faint">${evidence}</p></div>
`;
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
<li>${badge(SEVERITY_TONES[severity], severity)}<div><p><b>${subject}:</b> ${message}</p>${who}${remedy(
      hint,
    )}<p class="faint">since ${shortTime(since, document.reportedAt)} (${age(document, since)})${isLasting ? null : html`, last seen ${age(document, lastSeen)}`}</p></div></li>`;
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

// The section of the page with the differences between the pages and the catalog.

/** Null without a difference. */
function driftSection(targets: readonly TargetReport[]): Html | null {
  const blocks = targets.flatMap(({ name, drift }, index) =>
    Object.entries(drift).flatMap(([family, lists]) =>
      driftBlock(name, `${index}-${family}`, lists),
    ),
  );
  if (blocks.length === 0) return null;
  return section(
    'Drift',
    'differences between the pages and the catalog; every series is sent nevertheless',
    blocks,
  );
}

/** `key` identifies the block: the script keeps it open when the page is refreshed. */
function driftBlock(target: string, key: string, drift: FamilyDrift): readonly Html[] {
  const lists = Object.entries(DRIFT_WORDS).flatMap(([kind, words]) => {
    const { count, items } = drift[kind as keyof FamilyDrift];
    return count === 0 ? [] : [driftList(`${formatCount(count)} ${words}`, count, items)];
  });
  if (lists.length === 0) return [];
  const family = key.slice(key.indexOf('-') + 1);
  const counts = lists.map(({ title }) => title).join('; ');
  return [
    html`<details id="drift-${key}"><summary>${target}, ${family}: ${counts}</summary>${lists.map(
      ({ content }) => content,
    )}</details>
`,
  ];
}

const DRIFT_WORDS: Readonly<Record<keyof FamilyDrift, string>> = {
  appeared: 'unknown to the catalog',
  vanished: 'missing, although other series of their table exist',
  contradicted: 'with another type than in the catalog',
  mangled: 'with a damaged name',
};

type DriftItem = FamilyDrift[keyof FamilyDrift]['items'][number];

function driftList(
  title: string,
  count: number,
  found: readonly DriftItem[],
): { readonly title: string; readonly content: HtmlValue } {
  const items = found.map(item => html`<li><code>${driftText(item)}</code></li>`);
  const rest = count - items.length;
  if (rest > 0) items.push(html`<li class="faint">and ${formatCount(rest)} more</li>`);
  return { title, content: html`<p>${title}</p><ul class="names">${items}</ul>` };
}

function driftText(item: DriftItem): string {
  if (typeof item === 'string') return item;
  return `${item.name} (${'declared' in item ? item.declared : item.original})`;
}
