// The style and the script of the status page, which are inserted into the document.
//
// The style has light and dark colours, and loads no fonts or pictures. Next to each colour with a
// meaning, a word says the same.
//
// The script fetches the page again every few seconds and replaces <main>, so only the server renders. Open details
// stay open, selected text stays selected, and the filter and the order of the rows stay. If prom2otlp does not answer,
// the page says since when; it does not show old numbers as if they were new. Without the script nothing is missing but
// the filter, the sorting, and the values beside the charts.

import { cssVariables, PALETTES } from './palette.ts';

export const PAGE_STYLE: string = `
:root {
  color-scheme: light dark; --shade: rgb(27 35 48 / 0.28);
  ${cssVariables(PALETTES.light)}
}
@media (prefers-color-scheme: dark) {
  :root { --shade: rgb(0 0 0 / 0.75); ${cssVariables(PALETTES.dark)} }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 14px/1.45 system-ui, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums;
}
header, main, footer, #tools, #lost { max-width: 1240px; margin: 0 auto; padding: 0 24px; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 12px; padding-top: 22px; }
h1 { font-size: 20px; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 15px; margin: 28px 0 8px; }
h2 small { font-weight: 400; color: var(--faint); font-size: 13px; margin-left: 8px; }
a { color: inherit; }
header .links { margin-left: auto; color: var(--faint); }
header .links a { margin-left: 14px; }
.faint, td small { color: var(--faint); }
td small, th small { display: block; font-size: 12px; }
th small { color: var(--faint); font-weight: 400; }
code { font: 12.5px ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace; overflow-wrap: anywhere; }
.badge {
  display: inline-block; padding: 0 8px; border-radius: 10px; font-size: 12px; line-height: 20px;
  font-weight: 600; white-space: nowrap; background: var(--card); color: var(--faint); box-shadow: inset 0 0 0 1px var(--edge);
}
.badge:is(.good, .warn, .bad, .busy) { box-shadow: none; }
.badge.good { background: var(--good-paper); color: var(--good); }
.badge.warn { background: var(--warn-paper); color: var(--warn); }
.badge.bad { background: var(--bad-paper); color: var(--bad); }
.badge.busy { background: var(--busy-paper); color: var(--busy); }
.verdict {
  margin: 14px 0 0; padding: 12px 16px; border-radius: 8px; border-left: 5px solid var(--faint);
  background: var(--card);
}
.verdict strong { font-size: 18px; overflow-wrap: anywhere; }
.verdict p { margin: 2px 0 0; overflow-wrap: anywhere; }
.verdict.good { border-color: var(--good); }
.verdict.warn { border-color: var(--warn); }
.verdict.bad { border-color: var(--bad); }
.verdict.busy { border-color: var(--busy); }
.problems {
  list-style: none; margin: 0; padding: 12px 16px; display: grid; gap: 8px;
  background: var(--card); border: 1px solid var(--line); border-radius: 8px;
}
.problems .badge { justify-self: start; }
.problems li { display: grid; grid-template-columns: 74px 1fr; gap: 0 10px; align-items: start; }
.problems p { margin: 0; overflow-wrap: anywhere; }
.do { margin: 2px 0 0; }
.do::before { content: "\\2192\\a0"; }
.flow { display: grid; grid-template-columns: repeat(5, 1fr); gap: 12px; margin: 12px 0 0; padding: 0; list-style: none; }
.flow li {
  background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  border-top: 3px solid var(--faint); padding: 10px 14px; min-width: 0;
}
.flow .good { border-top-color: var(--good); }
.flow .warn { border-top-color: var(--warn); }
.flow .bad { border-top-color: var(--bad); }
.flow .busy { border-top-color: var(--busy); }
.flow h3 { margin: 0; font-size: 12px; font-weight: 600; color: var(--faint); }
.flow .number { font-size: 26px; line-height: 1.25; font-weight: 600; letter-spacing: -0.02em; }
.flow .unit { margin-bottom: 4px; }
.flow p { margin: 0; color: var(--faint); font-size: 12.5px; overflow-wrap: anywhere; }
.lines { display: grid; grid-template-columns: repeat(2, 1fr); gap: 12px; margin: 0; padding: 0; list-style: none; }
.lines li { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; min-width: 0; }
.lines h3 { margin: 0; font-size: 12px; font-weight: 600; color: var(--faint); }
.lines .value { margin: 0 0 6px; min-height: 1.45em; font-weight: 600; }
.plot { display: grid; grid-template-columns: auto 1fr auto; gap: 0 6px; font-size: 11px; color: var(--faint); line-height: 14px; }
.plot .top { grid-area: 1 / 1; }
.plot .zero { grid-area: 2 / 1; align-self: end; text-align: right; }
.plot .line { grid-area: 1 / 2 / 3 / 4; }
.plot .from { grid-area: 3 / 2; white-space: nowrap; }
.plot .to { grid-area: 3 / 3; }
.line { display: block; width: 100%; height: 44px; border-bottom: 1px solid var(--edge); }
.line rect { fill: var(--bar); }
.line rect:hover, .line rect.at { fill: var(--ink); }
.line .cut { fill: var(--bar); stroke: var(--ink); stroke-width: 1; stroke-dasharray: 2 2; }
.line .bad { fill: var(--bad); }
.scroll {
  overflow-x: auto; border: 1px solid var(--line); border-radius: 8px;
  background:
    linear-gradient(to right, var(--card) 40%, transparent) left / 48px 100% local no-repeat,
    linear-gradient(to left, var(--card) 40%, transparent) right / 48px 100% local no-repeat,
    linear-gradient(to right, var(--shade), transparent) left / 18px 100% scroll no-repeat,
    linear-gradient(to left, var(--shade), transparent) right / 18px 100% scroll no-repeat,
    var(--card);
}
.scroll + details, .scroll + p, summary + div { margin-top: 8px; }
section > div + div { margin-top: 12px; }
:focus-visible { outline: 2px solid var(--busy); outline-offset: 2px; }
i { font-style: normal; color: var(--faint); }
tr.bad > th:first-child { box-shadow: inset 3px 0 var(--bad); }
tr.warn > th:first-child { box-shadow: inset 3px 0 var(--warn); }
tr.busy > th:first-child { box-shadow: inset 3px 0 var(--busy); }
.lean td, .lean tbody th { padding-top: 3px; padding-bottom: 3px; white-space: nowrap; }
.lean th small { display: inline; margin-left: 8px; }
.lean tbody th { max-width: 610px; overflow: hidden; text-overflow: ellipsis; }
.lean th details { display: inline-block; margin: 0 0 0 8px; font-weight: 400; vertical-align: top; }
.lean th details small { display: block; margin: 0; }
.shared { margin: 0 0 8px; color: var(--faint); overflow-wrap: anywhere; }
tr:target > * { background: var(--busy-paper); }
#account td, #account th { padding-left: 7px; padding-right: 7px; font-size: 13px; }
#account thead th { white-space: normal; font-size: 12px; }
#account tbody th { overflow-wrap: anywhere; }
#tools { display: flex; flex-wrap: wrap; gap: 6px 18px; align-items: center; margin-top: 14px; }
#tools[hidden], tr[hidden],
.is-filtering :is(.scroll, section:has(table)):not(:has(tbody tr:not([hidden]))) { display: none; }
#tools input[type=search] {
  font: inherit; padding: 4px 10px; border: 1px solid var(--edge); border-radius: 6px;
  background: var(--card); color: inherit; width: 260px; max-width: 60vw;
}
th button { all: unset; cursor: pointer; font: inherit; color: inherit; }
th button:focus-visible { outline: 2px solid var(--busy); }
th[aria-sort] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 6px 11px; vertical-align: top; border-top: 1px solid var(--line); }
thead th { border-top: 0; font-size: 12px; font-weight: 600; color: var(--faint); white-space: nowrap; }
tbody th { font-weight: 600; }
th code { display: block; font-weight: 400; min-width: min(250px, 38vw); }
time, .t { white-space: nowrap; }
.n { text-align: right; }
.n, td:has(.meter) { white-space: nowrap; }
.text { overflow-wrap: anywhere; min-width: 160px; }
.sum > * { font-weight: 600; border-top: 2px solid var(--line); }
.meter { display: block; height: 5px; border-radius: 3px; background: var(--line); margin-top: 5px; min-width: 90px; outline: 1px solid var(--edge); }
.meter rect { fill: var(--bar); }
.meter.warn rect { fill: var(--warn); }
section > details, div > details { margin-top: 10px; }
summary { cursor: pointer; color: var(--faint); }
.names { columns: 3 240px; margin: 4px 0 10px; padding: 0; list-style: none; }
footer { color: var(--faint); padding-top: 22px; padding-bottom: 34px; font-size: 13px; }
#lost { display: none; }
.is-lost #lost { display: block; }
.is-lost main { filter: grayscale(1); }
@media (max-width: 1100px) {
  .flow .number { font-size: 20px; }
}
@media (max-width: 820px) {
  header, main, footer, #tools, #lost { padding-left: 14px; padding-right: 14px; }
  .flow { grid-template-columns: repeat(2, 1fr); gap: 8px; }
  .lines { gap: 8px; }
  .flow li, .lines li { padding: 8px 10px; }
  .flow li:last-child { grid-column: 1 / -1; }
  .problems li { grid-template-columns: 1fr; }
  #account tbody th { min-width: 120px; }
  .lean tbody th { max-width: 60vw; min-width: 60vw; white-space: normal; overflow-wrap: anywhere; }
  .text { min-width: 320px; }
}
`;

const REFRESH_MS = 5000;
/** Without scripts, the browser reloads the page. */
export const RELOAD_SECONDS = 15;

export const PAGE_SCRIPT: string = `
'use strict';
const $ = id => document.getElementById(id);
let seenAt = new Date();
let order = Object.create(null);

// The filter and the order are kept in the address, so that a reload or a sent link shows the same rows.
function readAddress() {
  const query = new URLSearchParams(location.search);
  $('filter').value = query.get('filter') ?? '';
  $('unhealthy').checked = query.has('problems');
  order = Object.create(null);
  for (const text of query.getAll('sort')) {
    const [id, column, way] = text.split(':');
    order[id] = { column, isDown: way === 'down' };
  }
}
function writeAddress() {
  const query = new URLSearchParams();
  if ($('filter').value !== '') query.set('filter', $('filter').value);
  if ($('unhealthy').checked) query.set('problems', '1');
  for (const [id, { column, isDown }] of Object.entries(order))
    query.append('sort', id + ':' + column + ':' + (isDown ? 'down' : 'up'));
  const text = query.toString();
  history.replaceState(null, '', location.pathname + (text === '' ? '' : '?' + text) + location.hash);
}

function textOf(cell) {
  return cell.dataset.v ?? cell.querySelector('.t')?.title ?? cell.textContent.trim();
}
function compare(a, b) {
  const [x, y] = [a, b].map(text => Number(text.replaceAll(',', '')));
  if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
  return a < b ? -1 : a > b ? 1 : 0;
}
function sortAll() {
  for (const [id, { column, isDown }] of Object.entries(order))
    for (const table of $(id)?.querySelectorAll('table') ?? []) {
      const heads = [...table.tHead.rows[0].cells];
      const at = heads.findIndex(head => head.textContent === column);
      if (at < 0) continue;
      const rows = [...table.tBodies[0].rows].filter(row => row.className !== 'sum');
      rows.sort((a, b) => compare(textOf(a.cells[at]), textOf(b.cells[at])) * (isDown ? -1 : 1));
      table.tBodies[0].append(...rows);
      for (const head of heads) head.removeAttribute('aria-sort');
      heads[at].setAttribute('aria-sort', isDown ? 'descending' : 'ascending');
    }
}
function filterAll() {
  const wanted = $('filter').value.trim().toLowerCase();
  const isUnhealthy = $('unhealthy').checked;
  let [shown, all] = [0, 0];
  for (const row of document.querySelectorAll('main tbody tr')) {
    if (row.className === 'sum') continue;
    const isWanted = row.textContent.toLowerCase().includes(wanted);
    row.hidden = !isWanted || (isUnhealthy && !/bad|warn/.test(row.className));
    all++;
    if (!row.hidden) shown++;
  }
  const isFiltering = wanted !== '' || isUnhealthy;
  document.body.classList.toggle('is-filtering', isFiltering);
  $('found').textContent = isFiltering ? shown + ' of ' + all + ' rows' : '';
  for (const fold of document.querySelectorAll('details:has(table)')) {
    if (isFiltering) {
      fold.dataset.was ??= fold.open ? 'open' : 'closed';
      fold.open = fold.querySelector('tbody tr:not([hidden])') !== null;
    } else if (fold.dataset.was !== undefined) {
      fold.open = fold.dataset.was === 'open';
      delete fold.dataset.was;
    }
  }
}
function enliven() {
  for (const head of document.querySelectorAll('main thead th')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
  }
  for (const chart of document.querySelectorAll('.line'))
    chart.dataset.words = chart.closest('li').querySelector('.value').textContent;
  sortAll();
  filterAll();
}
function show(chart, bar) {
  for (const old of chart.querySelectorAll('.at')) old.classList.remove('at');
  bar?.classList.add('at');
  const words = bar?.querySelector('title').textContent ?? chart.dataset.words;
  chart.closest('li').querySelector('.value').textContent = words;
}
function barAt(chart, x) {
  const bars = chart.querySelectorAll('rect');
  const box = chart.getBoundingClientRect();
  const at = (x - box.left) / box.width * chart.viewBox.baseVal.width;
  return bars[Math.min(bars.length - 1, Math.max(0, Math.floor(at / 8)))];
}
document.addEventListener('click', ({ target }) => {
  const head = target.closest?.('thead th');
  if (!head) return;
  const id = head.closest('div[id]').id;
  const column = head.textContent;
  const isDown = order[id]?.column === column ? !order[id].isDown : head.className === 'n';
  order[id] = { column, isDown };
  sortAll();
  writeAddress();
});
document.addEventListener('pointermove', ({ target, clientX }) => {
  const chart = target.closest?.('.line');
  for (const other of document.querySelectorAll('.line')) {
    if (other === chart) show(other, barAt(other, clientX));
    else if (other !== document.activeElement) show(other, null);
  }
});
document.addEventListener('focusin', ({ target }) => {
  if (target.matches('.line')) show(target, target.querySelector('rect:last-of-type'));
});
document.addEventListener('focusout', ({ target }) => {
  if (target.matches('.line')) show(target, null);
});
document.addEventListener('keydown', event => {
  const chart = event.target;
  const step = { ArrowLeft: 'previousElementSibling', ArrowRight: 'nextElementSibling' }[event.key];
  if (step === undefined || !chart.matches?.('.line')) return;
  event.preventDefault();
  show(chart, chart.querySelector('.at')?.[step] ?? chart.querySelector('.at') ?? chart.lastElementChild);
});
$('tools').addEventListener('input', () => {
  filterAll();
  writeAddress();
});
$('tools').addEventListener('submit', event => event.preventDefault());

async function refresh() {
  if (document.hidden || getSelection().type === 'Range') return;
  try {
    const answer = await fetch(location.pathname, { signal: AbortSignal.timeout(${REFRESH_MS - 500}) });
    if (!answer.ok) throw new Error(String(answer.status));
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const fold of document.querySelectorAll('details[id]')) {
      const isOpen = fold.dataset.was === undefined ? fold.open : fold.dataset.was === 'open';
      next.getElementById(fold.id)?.toggleAttribute('open', isOpen);
    }
    const focusable = () => [...document.querySelectorAll('main .line, main th button, main summary')];
    const focused = focusable().indexOf(document.activeElement);
    for (const part of ['main', 'header'])
      document.querySelector(part).replaceWith(next.querySelector(part));
    document.querySelector('link[rel=icon]').replaceWith(next.querySelector('link[rel=icon]'));
    document.title = next.title;
    enliven();
    focusable()[focused]?.focus({ preventScroll: true });
    seenAt = new Date();
    document.body.classList.remove('is-lost');
  } catch {
    $('lost-since').textContent = seenAt.toISOString().slice(11, 19);
    document.body.classList.add('is-lost');
  }
}
$('tools').hidden = false;
readAddress();
enliven();
addEventListener('popstate', () => {
  readAddress();
  sortAll();
  filterAll();
});
function openTarget() {
  const row = document.getElementById(location.hash.slice(1));
  const fold = row?.closest('details');
  if (fold) fold.open = true;
  row?.scrollIntoView({ block: 'center' });
}
addEventListener('hashchange', openTarget);
if (location.hash !== '') openTarget();
setInterval(refresh, ${REFRESH_MS});
document.addEventListener('visibilitychange', refresh);
`;
