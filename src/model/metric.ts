// What all series of one name share: what the page says of it, and what it becomes in OTLP.

/** The types of the two text formats; `unknown` means untyped, and no TYPE at all. */
export type DeclaredType =
  | 'counter'
  | 'gauge'
  | 'unknown'
  | 'histogram'
  | 'summary'
  | 'info'
  | 'stateset'
  | 'gaugehistogram';

/** The families of the service's series, each a scope of its own; `other` is whatever has no prefix of theirs. */
export type Family = 'engine' | 'multimaster' | 'dist' | 'proxy' | 'process' | 'other';

/** What a series becomes in OTLP. `sum` is cumulative; `updown` a Sum that is not monotonic. */
export type PointKind = 'sum' | 'updown' | 'gauge' | 'histogram' | 'summary';

/** Where a metric's type was taken from. */
export type TypeSource = 'declared' | 'catalog' | 'override' | 'none';

/** Everything that all rows of one metric name share. decode owns the first half, derive the second. */
export interface Metric {
  /** The name in OTLP: the sample's name, or the family's for histograms and summaries. */
  name: string;
  /** The exposition family that the name belongs to. */
  readonly familyName: string;
  declared: DeclaredType;
  /** True when a TYPE line named the family on the current page. */
  hasType: boolean;
  /** Page number when a row of it was last seen, and the roles of the rows on that page: a bit (1 << role) for each. */
  seenPage: number;
  roles: number;
  help: string;
  unit: string;
  /** Set by decode when anything above changed, cleared by derive once it has resolved the rest. */
  changed: boolean;

  /** The name in OTLP; a scraped `up` makes room for the bridge's own. */
  sentName: string;
  kind: PointKind;
  typeSource: TypeSource;
  family: Family;
  /** What is sent, after catalog and overrides. */
  sentUnit: string;
  sentDescription: string;
  /** Full name of the series that dates this counter's start, or null. */
  uptimeName: string | null;
  /** True when it is such a series itself. */
  isUptime: boolean;
  /** False when include/exclude filter the name. */
  isIncluded: boolean;
}
