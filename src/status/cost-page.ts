// The page /cost: what the telemetry costs, as the verb `cost` shows it. In: the figures of cost-report.ts. It has the
// frame, the filter and the script of the first page. It is a page of its own, because its figures take a walk over all
// series and a compression.

import { formatBytes, formatCount, formatDuration } from '../lib/format.ts';
import type { CostReport, NamedCost } from './cost-report.ts';
import { html, type Html } from './html.ts';
import { pageAround } from './page.ts';
import { column, countColumn, section, table } from './page-parts.ts';
import type { StatusDocument } from './status-report.ts';

export function renderCostPage(document: StatusDocument, report: CostReport): string {
  const { intervalMs, compression, bytesPerPoint, compressedBytesPerPoint, total } = report;
  const [raw, packed] = [bytesPerPoint, compressedBytesPerPoint].map(bytes =>
    bytes === null ? '?' : bytes.toFixed(1),
  );
  const interval = formatDuration(intervalMs);
  const about = `points as if each scrape, every ${interval}, found new values; a point is ${raw} bytes, ${packed} with compression ${compression}`;
  const all = { ...total, name: '(all)' };
  const main = html`${section('Cost by service', about, costTable('services', 'service', [all, ...report.services]))}
${section('Cost by family', 'largest first', costTable('families', 'family', report.families))}
${section('Cost by metric', 'largest first', costTable('metrics', 'metric', report.metrics))}
${section('What leaving out saves', 'each entry of metrics.exclude alone', costTable('excludes', 'entry', report.excludes))}
${logsSection(report)}`;
  const name = html`<a href="./">prom2otlp</a>`;
  return pageAround(main, document, {
    name,
    root: '',
    filter: 'Filter services, families and metrics',
  });
}

function costTable(id: string, noun: string, costs: readonly NamedCost[]): Html {
  const columns = [
    column<NamedCost>('Name', ({ name }) => name, 'head'),
    countColumn<NamedCost>('Series', ({ series }) => series),
    countColumn<NamedCost>('Active series', ({ activeSeries }) => activeSeries),
    countColumn<NamedCost>('Points a minute', ({ pointsPerMinute }) => pointsPerMinute),
    countColumn<NamedCost>('Points a day', ({ pointsPerDay }) => pointsPerDay),
    bytesColumn('Bytes a day', ({ bytesPerDay }) => bytesPerDay),
    bytesColumn('Sent a day', ({ compressedBytesPerDay }) => compressedBytesPerDay),
  ];
  return table(costs, columns, { id, noun, isSum: ({ name }) => name === '(all)', isWhole: true });
}

function bytesColumn(title: string, of: (cost: NamedCost) => number) {
  return column<NamedCost>(title, cost => formatBytes(of(cost)), 'n', of);
}

function logsSection({ logs }: CostReport): Html | null {
  if (logs === null) return null;
  const { recordsPerDay, compressedBytesPerDay, services } = logs;
  const sent = formatBytes(compressedBytesPerDay);
  const about = `${formatCount(recordsPerDay)} records and ${sent} sent a day, on average since the start`;
  const columns = [
    column<(typeof services)[number]>('Service', ({ name }) => name, 'head'),
    countColumn<(typeof services)[number]>('Records a day', one => one.recordsPerDay),
  ];
  return section('Cost of logs', about, table(services, columns, { id: 'logs', noun: 'service' }));
}
