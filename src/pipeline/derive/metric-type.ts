// The OTLP form of a metric: name, kind, unit, description (docs/how-it-works/mapping.md B, C). In: the declared
// half of a Metric. Out: its derived half. In strict mode only the page decides; in semantic mode
// an override wins over the catalog, and the catalog over the page.

import { CATALOG } from '../../catalog/all.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { isSummable, type OverrideRule, renamed } from '../../model/page-rules.ts';
import { type DeclaredType, isCounting, type Metric, type PointKind } from '../../model/metric.ts';
import type { DeriveOptions } from './options.ts';
import { SCRAPE_SERIES } from './tally.ts';

const DECLARED_KINDS: Readonly<Record<DeclaredType, PointKind>> = {
  counter: 'sum',
  gauge: 'gauge',
  unknown: 'gauge',
  info: 'updown',
  stateset: 'updown',
  histogram: 'histogram',
  summary: 'summary',
  gaugehistogram: 'histogram',
};

/** OpenMetrics units in UCUM; other units stay unchanged. */
const UCUM: ReadonlyMap<string, string> = new Map([
  ['days', 'd'],
  ['hours', 'h'],
  ['minutes', 'min'],
  ['seconds', 's'],
  ['milliseconds', 'ms'],
  ['microseconds', 'us'],
  ['nanoseconds', 'ns'],
  ['bytes', 'By'],
  ['kibibytes', 'KiBy'],
  ['mebibytes', 'MiBy'],
  ['gibibytes', 'GiBy'],
  ['tebibytes', 'TiBy'],
  ['kilobytes', 'kBy'],
  ['megabytes', 'MBy'],
  ['gigabytes', 'GBy'],
  ['terabytes', 'TBy'],
  ['meters', 'm'],
  ['volts', 'V'],
  ['amperes', 'A'],
  ['joules', 'J'],
  ['watts', 'W'],
  ['grams', 'g'],
  ['celsius', 'Cel'],
  ['hertz', 'Hz'],
  ['percent', '%'],
]);

const UPTIME_SERIES: ReadonlySet<string> = new Set(
  CATALOG.flatMap(({ uptimeSeries }) => uptimeSeries ?? []),
);

/** Fills the derived half of a metric. */
export function resolveMetric(metric: Metric, options: DeriveOptions): void {
  const isSemantic = options.mapping === 'semantic';
  const override = isSemantic
    ? (options.overrides.find(({ match }) => match.test(metric.name)) ?? null)
    : null;
  const found = isSemantic ? options.lookup.find(metric.name) : null;
  const entry = found?.entry ?? null;
  metric.family = options.lookup.familyOf(metric.name);
  const rename = renamed(metric.name, options.rename);
  const name = rename?.name ?? metric.name;
  metric.sentName = SCRAPE_SERIES.some(([own]) => own === name) ? `exported_${name}` : name;
  metric.labelRules = rename?.labels ?? null;
  resolveKind(metric, entry, override, options.summaries);
  const catalogUptime = metric.kind === 'sum' ? (found?.uptimeName ?? null) : null;
  metric.uptimeName = isCounting(metric) ? (override?.uptimeSeries ?? catalogUptime) : null;
  metric.isUptime =
    isSemantic &&
    (UPTIME_SERIES.has(entry?.name ?? '') ||
      options.overrides.some(({ uptimeSeries }) => uptimeSeries === metric.name));
  metric.sentUnit = unitOf(metric, entry, override, options.units);
  metric.sentDescription = override?.description ?? (metric.help || (entry?.description ?? ''));
  metric.changed = false;
}

function resolveKind(
  metric: Metric,
  entry: CatalogEntry | null,
  override: OverrideRule | null,
  summaries: DeriveOptions['summaries'],
): void {
  const declared = DECLARED_KINDS[metric.declared];
  metric.kind = declared;
  metric.typeSource = metric.hasType ? 'declared' : 'none';
  // Its quantiles are single numbers, and nothing else of it is sent.
  if (declared === 'summary' && summaries === 'quantiles') metric.kind = 'gauge';
  // Nothing can override the shape of the samples.
  if (declared === 'histogram' || declared === 'summary') return;
  const type = override?.type ?? null;
  if (type !== null) {
    metric.kind = type === 'updowncounter' ? 'updown' : DECLARED_KINDS[type];
    metric.typeSource = 'override';
  } else if (entry !== null) {
    metric.kind = catalogKind(entry, metric);
    metric.typeSource = 'catalog';
  }
}

/**
 * A guess never makes a counter: a counter sent as a gauge loses rate(), the reverse invents
 * resets.
 */
function catalogKind(entry: CatalogEntry, metric: Metric): PointKind {
  switch (entry.type) {
    case 'counter':
      return entry.isGuess && metric.declared !== 'counter' ? 'gauge' : 'sum';
    case 'updowncounter':
      return isSummable(metric.labelRules) ? 'updown' : 'gauge';
    case 'info':
      return 'updown';
    // A state set sent as one number is a code: sums of codes have no meaning.
    case 'stateset':
      return metric.declared === 'stateset' ? 'updown' : 'gauge';
    default:
      return 'gauge';
  }
}

/** The unit `1` is never sent: back ends that translate names append `_ratio` for it. */
function unitOf(
  metric: Metric,
  entry: CatalogEntry | null,
  override: OverrideRule | null,
  units: DeriveOptions['units'],
): string {
  const page = UCUM.get(metric.unit) ?? metric.unit;
  let unit = units === 'none' ? '' : page;
  if (units === 'catalog' && entry !== null) unit = entry.unit;
  unit = override?.unit ?? unit;
  return unit === '1' ? '' : unit;
}
