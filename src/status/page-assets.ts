// Style and script of the status page, as text that goes into it.
//
// Style: two sets of colours, by the reader's system; no fonts or pictures to load. Every colour that carries a meaning
// has a word beside it that says the same.
//
// Script: every few seconds it fetches the page again and replaces <main>, so the server alone renders. Opened details
// stay open, and selected text stays selected. When prom2otlp does not answer, the page says since when, instead of
// showing old numbers as if they were new.

export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --paper: #f6f7f9; --card: #ffffff; --ink: #1b2330; --faint: #545f6f; --line: #dde2e9;
  --good: #17703f; --good-paper: #e3f5eb; --warn: #8a5a00; --warn-paper: #fdf0d2;
  --bad: #b3261e; --bad-paper: #fde7e5; --busy: #2458b8; --busy-paper: #e4ecfb; --bar: #7c9bd6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #12161c; --card: #1a2029; --ink: #e3e8ef; --faint: #97a3b4; --line: #2c3541;
    --good: #5fd39a; --good-paper: #14301f; --warn: #f0c05a; --warn-paper: #352810;
    --bad: #ff8f86; --bad-paper: #3d1b19; --busy: #8db4ff; --busy-paper: #1a2a47; --bar: #4a6aa8;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 14px/1.45 system-ui, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums;
}
header, main, footer, #lost { max-width: 1240px; margin: 0 auto; padding: 0 24px; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 12px; padding-top: 22px; }
h1 { font-size: 20px; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 15px; margin: 28px 0 8px; }
h2 small { font-weight: 400; color: var(--faint); font-size: 13px; margin-left: 8px; }
a { color: inherit; }
header .links { margin-left: auto; color: var(--faint); }
header .links a { margin-left: 14px; }
.faint, td small { color: var(--faint); }
td small { display: block; font-size: 12px; }
code { font: 12.5px ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace; overflow-wrap: anywhere; }
.badge {
  display: inline-block; padding: 0 8px; border-radius: 10px; font-size: 12px; line-height: 20px;
  font-weight: 600; white-space: nowrap; background: var(--line); color: var(--faint);
}
.badge.good { background: var(--good-paper); color: var(--good); }
.badge.warn { background: var(--warn-paper); color: var(--warn); }
.badge.bad { background: var(--bad-paper); color: var(--bad); }
.badge.busy { background: var(--busy-paper); color: var(--busy); }
.verdict {
  margin: 14px 0 0; padding: 12px 16px; border-radius: 8px; border-left: 5px solid var(--faint);
  background: var(--card);
}
.verdict strong { font-size: 16px; margin-right: 10px; }
.verdict.good { border-color: var(--good); }
.verdict.warn { border-color: var(--warn); }
.verdict.bad { border-color: var(--bad); }
.problems {
  list-style: none; margin: 0; padding: 12px 16px; display: grid; gap: 8px;
  background: var(--card); border: 1px solid var(--line); border-radius: 8px;
}
.problems .badge { justify-self: start; }
.problems li { display: grid; grid-template-columns: 74px 1fr; gap: 0 10px; align-items: start; }
.problems p { margin: 0; overflow-wrap: anywhere; }
.flow { display: grid; grid-template-columns: repeat(4, 1fr); gap: 22px; margin: 18px 0 0; padding: 0; list-style: none; }
.flow li {
  position: relative; background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  border-top: 3px solid var(--faint); padding: 10px 14px; min-width: 0;
}
.flow .good { border-top-color: var(--good); }
.flow .warn { border-top-color: var(--warn); }
.flow .bad { border-top-color: var(--bad); }
.flow .busy { border-top-color: var(--busy); }
.flow li + li::before {
  content: "\\2192"; position: absolute; left: -19px; top: 50%; transform: translateY(-50%);
  color: var(--faint); font-size: 16px;
}
.flow h3 { margin: 0; font-size: 12px; font-weight: 600; color: var(--faint); }
.flow .number { font-size: 26px; line-height: 1.25; font-weight: 600; letter-spacing: -0.02em; }
.flow p { margin: 0; color: var(--faint); font-size: 13px; overflow-wrap: anywhere; }
.lines { display: grid; grid-template-columns: repeat(3, 1fr); gap: 22px; margin: 0; padding: 0; list-style: none; }
.lines li { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; min-width: 0; }
.lines h3 { margin: 0 0 6px; font-size: 12px; font-weight: 600; color: var(--faint); }
.lines p { margin: 4px 0 0; color: var(--faint); font-size: 13px; }
.line { display: block; width: 100%; height: 40px; border-bottom: 1px solid var(--line); }
.line rect { fill: var(--bar); }
.line .bad { fill: var(--bad); }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 6px 11px; vertical-align: top; border-top: 1px solid var(--line); }
thead th { border-top: 0; font-size: 12px; font-weight: 600; color: var(--faint); white-space: nowrap; }
tbody th { font-weight: 600; }
th code { display: block; font-weight: 400; min-width: 220px; }
time { white-space: nowrap; }
.n { text-align: right; }
.n, td:has(.meter) { white-space: nowrap; }
.text { overflow-wrap: anywhere; min-width: 160px; }
.sum > * { font-weight: 600; border-top: 2px solid var(--line); }
.meter { display: block; height: 5px; border-radius: 3px; background: var(--line); margin-top: 5px; min-width: 90px; }
.meter rect { fill: var(--bar); }
.meter.warn rect { fill: var(--warn); }
details { margin-top: 10px; }
summary { cursor: pointer; color: var(--faint); }
.names { columns: 3 240px; margin: 4px 0 10px; padding: 0; list-style: none; }
footer { color: var(--faint); padding-top: 22px; padding-bottom: 34px; font-size: 13px; }
#lost { display: none; }
.is-lost #lost { display: block; }
.is-lost main { opacity: 0.45; }
@media (max-width: 820px) {
  header, main, footer, #lost { padding-left: 14px; padding-right: 14px; }
  .flow { grid-template-columns: repeat(2, 1fr); gap: 12px; }
  .lines { grid-template-columns: 1fr; gap: 12px; }
  .flow li + li::before { content: none; }
}
`;

const REFRESH_MS = 5000;
/** For readers without scripts, whose page reloads. */
export const RELOAD_SECONDS = 15;

export const PAGE_SCRIPT: string = `
'use strict';
let seenAt = new Date();
async function refresh() {
  if (document.hidden || getSelection().type === 'Range') return;
  try {
    const answer = await fetch(location.pathname, { signal: AbortSignal.timeout(${REFRESH_MS - 500}) });
    if (!answer.ok) throw new Error(String(answer.status));
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const open of document.querySelectorAll('details[open][id]'))
      next.getElementById(open.id)?.setAttribute('open', '');
    for (const part of ['main', 'header'])
      document.querySelector(part).replaceWith(next.querySelector(part));
    document.querySelector('link[rel=icon]').replaceWith(next.querySelector('link[rel=icon]'));
    document.title = next.title;
    seenAt = new Date();
    document.body.classList.remove('is-lost');
  } catch {
    document.getElementById('lost-since').textContent = seenAt.toLocaleTimeString();
    document.body.classList.add('is-lost');
  }
}
setInterval(refresh, ${REFRESH_MS});
document.addEventListener('visibilitychange', refresh);
`;
