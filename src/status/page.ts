// The status page: one HTML document without dependencies that renders what /status.json says and nothing else. It
// is complete without scripts; with them it renews itself in place. Style and script are inline and allowed by
// their hashes alone, so nothing that a service or a back end says could run even if it got past the escaping.

import { createHash } from 'node:crypto';
import { formatDuration } from '../lib/format.ts';
import { html, rawHtml, type Html } from './html.ts';
import { detailSections } from './page-details.ts';
import { badge, type Tone } from './page-parts.ts';
import { PAGE_SCRIPT, RELOAD_SECONDS } from './page-script.ts';
import { PAGE_STYLE } from './page-style.ts';
import { flowBlock, problemsSection, verdictBlock, verdictOf } from './page-summary.ts';
import { timelineSection } from './page-timeline.ts';
import { accountSection, backEndSection, servicesSection, targetsSection } from './page-tables.ts';
import type { StatusDocument } from './problems.ts';
import type { StatusReport } from './status-report.ts';

/** Content-Security-Policy of the page. */
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

/** Colours of the picture in the browser's tab. */
const ICON_COLOURS: Readonly<Record<Tone, string>> = {
  good: '1a7f4b',
  warn: 'd08a00',
  bad: 'b3261e',
  busy: '2458b8',
  none: '5d6878',
};

/** The whole document. */
export function renderPage(document: StatusDocument): string {
  const { tone, title } = verdictOf(document);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – prom2otlp</title>
<link rel="icon" href="${iconOf(tone)}">
<style>${rawHtml(PAGE_STYLE)}</style>
<noscript><meta http-equiv="refresh" content="${RELOAD_SECONDS}"></noscript>
</head>
<body>
${header(document)}
<div id="lost" role="alert"><div class="verdict bad"><strong>The bridge does not answer</strong> since <span id="lost-since"></span>; what follows is old.</div></div>
<main>
${verdictBlock(document)}
${flowBlock(document)}
${problemsSection(document)}
${timelineSection(document)}
${servicesSection(document)}
${targetsSection(document)}
${backEndSection(document)}
${accountSection(document)}
${detailSections(document)}
</main>
<footer>Times are relative to the report; hover over one for the time in UTC. The same data: <a href="/status.json">status.json</a>.</footer>
<script>${rawHtml(PAGE_SCRIPT)}</script>
</body>
</html>
`.text;
}

function header(report: StatusReport): Html {
  const { version, state, startedAt, reportedAt } = report;
  const upMs = Date.parse(reportedAt) - Date.parse(startedAt);
  const links = ['/status.json', '/metrics', '/healthz', '/readyz'];
  return html`<header><h1>prom2otlp</h1>${badge(STATE_TONES[state], state)}
<span class="faint">${version} · running for ${formatDuration(upMs)} · as of <time datetime="${reportedAt}">${reportedAt.slice(0, 19).replace('T', ' ')} UTC</time></span>
<nav class="links">${links.map(path => html`<a href="${path}">${path.slice(1)}</a>`)}</nav></header>`;
}

function iconOf(tone: Tone): string {
  const circle = `<circle cx="8" cy="8" r="7" fill="#${ICON_COLOURS[tone]}"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">${circle}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
