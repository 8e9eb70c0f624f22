// The page of one service in detail: its problems, how it is read, each of its series with type and value, its logs and
// its backups. In: the status report, and the SeriesTable of its target. The page has the frame, the sections and the
// script of the first page.

import type { Daemon } from '../daemon/daemon.ts';
import { formatCount } from '../lib/format.ts';
import { accountNumbers, isDrop } from './account-report.ts';
import { setAsideSection } from './delivery-status.ts';
import { html, type Html } from './html.ts';
import { pageAround, problemsSection, verdictBlock } from './page.ts';
import { age, badge, column, faint, numberList, section, table, type Tone } from './page-parts.ts';
import { counted } from './problem.ts';
import { pullSections } from './pull-status.ts';
import { areMetricsRead, servicesSection } from './scrape-status.ts';
import { labelsText, type SeriesReport, seriesOf, valueText } from './series-report.ts';
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
  return pageAround(main, document, { name: title, root: '../' });
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

function familyTable(family: string, list: readonly SeriesReport[], report: StatusDocument): Html {
  return table(
    list,
    [
      column('Series', one => html`${one.name}${faint(labelsText(one))}`, 'head'),
      column('Type', ({ type }) => type),
      column('From', ({ typeSource }) => SOURCES[typeSource]),
      column('Unit', ({ unit }) => unit),
      column('Value', one => valueText(one), 'n'),
      column('Start', ({ start }) => age(report, start)),
      column('Time', ({ time }) => age(report, time)),
      column('Last change', ({ changed }) => age(report, changed)),
      column('Sent', ({ outcome }) =>
        outcome === 'used' ? 'yes' : badge(outcomeTone(outcome), outcome.replaceAll('_', ' ')),
      ),
    ],
    {
      id: `series-${family}`,
      noun: 'series',
      isWhole: true,
      toneOf: ({ outcome }) => outcomeTone(outcome),
    },
  );
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
