// The data that all series of one name share: the page's metadata, and the metric that they become in OTLP.

/** The types of the two text formats; `unknown` covers untyped and a missing TYPE. */
export const DECLARED_TYPES = [
  'counter',
  'gauge',
  'unknown',
  'histogram',
  'summary',
  'info',
  'stateset',
  'gaugehistogram',
] as const;
export type DeclaredType = (typeof DECLARED_TYPES)[number];

/** The families of the service's series, each with its own scope; `other` has no known prefix. */
export type Family = 'engine' | 'multimaster' | 'dist' | 'proxy' | 'process' | 'other';

/** The kind of OTLP metric that a series becomes. `sum` is a monotonic Sum, `updown` a Sum that is not monotonic. */
export type PointKind = 'sum' | 'updown' | 'gauge' | 'histogram' | 'summary';

/** True for metrics whose points consist of several rows. */
export function isCompound({ kind }: Pick<Metric, 'kind'>): boolean {
  return kind === 'histogram' || kind === 'summary';
}

/** True for metrics that count up from a start time; the values of other metrics may fall. */
export function isCounting({ kind }: Pick<Metric, 'kind'>): boolean {
  return kind !== 'gauge' && kind !== 'updown';
}

/** The changes that `metrics.rename` makes to the labels of a metric's points: new names, and added labels. */
export interface LabelRules {
  readonly renamed: ReadonlyMap<string, string>;
  readonly added: readonly (readonly [name: string, value: string])[];
}

/** Everything that all rows of one metric name share. decode owns the first half, derive the second. */
export interface Metric {
  /** The name in OTLP: the sample's name, or the family's for histograms and summaries. */
  name: string;
  /** The exposition family that the name belongs to. */
  readonly familyName: string;
  declared: DeclaredType;
  /** True when a TYPE line named the family on the current page. */
  hasType: boolean;
  /** The last page that had a row of it, and the roles of its rows there: one bit (1 << role) each. */
  seenPage: number;
  roles: number;
  help: string;
  unit: string;
  /** Set by decode when anything above changed, cleared by derive after it has resolved the rest. */
  changed: boolean;

  /** The name in OTLP, after `metrics.rename`; a scraped `up` is renamed in favour of ours. */
  sentName: string;
  /** null: the labels are sent as they are. */
  labelRules: LabelRules | null;
  kind: PointKind;
  typeSource: 'declared' | 'catalog' | 'override' | 'none';
  family: Family;
  /** After catalog and overrides. */
  sentUnit: string;
  sentDescription: string;
  /** Full name of the series that dates this counter's start, or null. */
  uptimeName: string | null;
  /** True when the metric is such an uptime series itself. */
  isUptime: boolean;
  /** False when an include/exclude filter drops the name. */
  isIncluded: boolean;
}
