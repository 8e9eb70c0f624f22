// The page of one service in detail: its problems, how it is read, each of its series with type and value, its logs and
// its backups. In: the status report, and the SeriesTable of its target. The page has the frame, the sections and the
// script of the first page.

import type { Daemon } from '../daemon/daemon.ts';
import { formatCount } from '../lib/format.ts';
import { accountNumbers, isDrop } from './account-report.ts';
import { setAsideSection } from './delivery-status.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import { pageAround, problemsSection, verdictBlock } from './page.ts';
import { age, badge, column, faint, numberList, section, table, type Tone } from './page-parts.ts';
import { counted } from './problem.ts';
import { pullSections } from './pull-status.ts';
import { areMetricsRead, servicesSection } from './scrape-status.ts';
import {
  type AlikeSeries,
  foldSeries,
  type SeriesReport,
  seriesOf,
  valueText,
} from './series-report.ts';
import type { StatusDocument, StatusReport } from './status-report.ts';

/** The part of the status report about one service, and its series. */
export interface ServiceLook extends StatusReport {
  /** SERIES_SHOWN_MAX at most. */
  readonly series: readonly SeriesReport[];
  readonly seriesCount: number;
}

/** prom2otlp show derive has the rest. */
const SERIES_SHOWN_MAX = 2000;

/** null if the configuration has no service with this id. */
export function lookAt(daemon: Daemon, report: StatusReport, id: string): ServiceLook | null {
  const parts = daemon.pulls.map(({ options }) => options);
  const reading = parts.find(({ services }) => services.some(one => one.id === id));
  const known = daemon.targets.find(one => one.target.configured.has(id));
  const series: SeriesReport[] = [];
  let seriesCount = 0;
  for (const one of known === undefined ? [] : seriesOf(known.table, id))
    if (seriesCount++ < SERIES_SHOWN_MAX) series.push(one);
  const part = partOf(report, id, reading?.target ?? '');
  return part === null ? null : { ...part, series, seriesCount };
}

/** The part of the report about one service, which `target` reads; null if there is no service with this id. */
export function partOf(report: StatusReport, id: string, target: string): StatusReport | null {
  const services = report.services.filter(one => one.id === id);
  if (services.length === 0) return null;
  const { logs, backups } = report;
  const isOwn = ({ service }: { readonly service: string }): boolean => service === id;
  const numbers = report.account.services[id] ?? accountNumbers(new Map());
  return {
    ...report,
    services,
    // Without the drift: it is of the whole page, not of one service.
    targets: report.targets
      .filter(({ name }) => name === target)
      .map(one => ({ ...one, drift: {} })),
    pulls: report.pulls.filter(one => one.target === target),
    account: { total: numbers, services: { [id]: numbers } },
    setAside: report.setAside.filter(isOwn),
    logs: logs && {
      ...logs,
      partitions: logs.partitions.filter(isOwn),
      givenUp: logs.givenUp.filter(isOwn),
      catchUp: [],
    },
    backups: backups && { ...backups, services: backups.services.filter(isOwn) },
    unconfigured: [],
    unconfiguredRest: { services: 0, samples: 0 },
    reload: null,
    memoryWarnings: [],
    notes: [],
  };
}

export function renderServicePage(document: StatusDocument & ServiceLook): string {
  const { name = '' } = document.services[0] ?? {};
  const areRead = areMetricsRead(document);
  const main = html`${verdictBlock(document)}
${problemsSection(document)}
${servicesSection(document, false)}
${pullSections(document, true)}
${setAsideSection(document)}
${areRead ? seriesSection(document) : null}`;
  const title = html`<a href="../">prom2otlp</a> / ${name}`;
  return pageAround(main, document, { name: title, root: '../', filter: 'Filter series and logs' });
}

function seriesSection(document: StatusDocument & ServiceLook): Html {
  const { series, seriesCount } = document;
  const families = [...Map.groupBy(series, ({ family }) => family)].map(([family, list]) => {
    const types = Map.groupBy(list, ({ type }) => type);
    const counts = Object.fromEntries([...types].map(([type, those]) => [type, those.length]));
    const words = `${family}: ${counted(list.length, 'series')}: ${numberList(counts) ?? ''}`;
    return html`<details id="family-${family}" open><summary>${words}</summary>${familyTable(family, list, document)}</details>
`;
  });
  const rest = seriesCount - series.length;
  const more =
    rest === 0
      ? null
      : html`<p class="faint">${formatCount(rest)} more; prom2otlp show derive --config FILE has all.</p>`;
  const none = seriesCount === 0 ? html`<p class="faint">None has been read yet.</p>` : null;
  return section('Series', 'of the last page, as they are sent', [families, more, none]);
}

/** One line a row: labels that all rows share are above the table, series that differ only in labels are one row. */
function familyTable(family: string, list: readonly SeriesReport[], report: StatusDocument): Html {
  const { shared, groups } = foldSeries(list);
  const seriesColumn = <Value extends HtmlValue>(
    title: string,
    of: (one: SeriesReport) => Value,
    style: 'n' | null = null,
  ) => column<AlikeSeries>(title, ({ first }) => of(first), style);
  // A column with the same words in all rows is in the line above the table, too.
  const isVaried = (of: (one: SeriesReport) => unknown): boolean =>
    new Set(list.map(of)).size > 1 || list.length === 1;
  const [from, sent] = [isVaried(one => one.typeSource), isVaried(one => one.outcome)];
  const isDated = isVaried(one => one.time);
  const rows = table(
    groups,
    [
      column('Series', group => seriesName(family, group), 'head'),
      seriesColumn('Value', valueText, 'n'),
      seriesColumn('Unit', ({ unit }) => unit),
      seriesColumn('Type', ({ type }) => type),
      ...(from ? [seriesColumn('From', sourceOf)] : []),
      seriesColumn('Start', ({ start }) => age(report, start)),
      ...(isDated ? [seriesColumn('Time', ({ time }) => age(report, time))] : []),
      seriesColumn('Last change', ({ changed }) => age(report, changed)),
      ...(sent ? [seriesColumn('Sent', sentText)] : []),
    ],
    {
      id: `series-${family}`,
      noun: 'series',
      isWhole: true,
      isLean: true,
      toneOf: ({ first }) => outcomeTone(first.outcome),
    },
  );
  const [first] = list;
  if (first === undefined) return rows;
  const facts: HtmlValue[] = [
    shared === '' ? [] : [shared],
    from ? [] : [html`type from ${sourceOf(first)}`],
    isDated ? [] : [html`time ${age(report, first.time)}`],
    sent ? [] : [first.outcome === 'used' ? 'sent' : sentText(first)],
  ].flat();
  const line = facts.map((fact, i) => [i === 0 ? 'All: ' : ' · ', fact]);
  return html`${facts.length === 0 ? null : html`<p class="shared">${line.flat()}</p>`}${rows}`;
}

function sourceOf({ typeSource }: SeriesReport): string {
  return SOURCES[typeSource];
}

function sentText({ outcome }: SeriesReport): HtmlValue {
  if (outcome === 'used') return 'yes';
  return badge(outcomeTone(outcome), outcome.replaceAll('_', ' '));
}

function seriesName(family: string, { first, labels }: AlikeSeries): HtmlValue {
  const [only = ''] = labels;
  // Long labels are cut on the screen; the tooltip has them.
  if (labels.length === 1)
    return [
      first.name,
      only === '' ? null : html`<small class="faint" title="${only}">${only}</small>`,
    ];
  const id = `alike-${family}-${first.name}-${only}`;
  const lines = labels.map(text => faint(text));
  return html`${first.name}<details id="${id}"><summary>${counted(labels.length, 'series')} alike</summary>${lines}</details>`;
}

/** Where a type came from. */
const SOURCES: Readonly<Record<SeriesReport['typeSource'], string>> = {
  declared: 'the page',
  catalog: 'catalog',
  override: 'overrides',
  none: 'unknown',
};

/** Series that the configuration excludes, and baselines of deltas, are no cause for concern. */
function outcomeTone(outcome: string): Tone {
  if (outcome === 'excluded' || outcome === 'baseline') return 'none';
  return isDrop(outcome) ? 'warn' : 'good';
}
