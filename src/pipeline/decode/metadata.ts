// Comment lines (HELP, TYPE, UNIT, EOF) of a page, and the question they answer: to which metric does a
// sample name belong, and as what (otlp-mapping A4, A5, B)? In: comment lines of one page. Out: metrics in
// the SeriesTable, whose declared half is brought up to date when the page has ended.

import {
  type DeclaredType,
  type ExpositionFormat,
  type Metric,
  ROLE,
  type SeriesTable,
} from '../../model.ts';
import { unescapeText } from './series-key.ts';

/** What the comment lines of this page say of one family; the first line of a kind wins. */
export interface FamilyLines {
  /** Where the first of them stands. */
  readonly line: number;
  type: DeclaredType | null;
  help: string | null;
  unit: string | null;
}

/** A sample name's place: index into table.metrics, and one of ROLE. */
export interface NamePlace {
  readonly metric: number;
  readonly role: number;
}

/** Which suffixes of a family's name belong to the family, and what they are. `''` is the bare name. */
const SUFFIX_ROLES: Partial<Record<DeclaredType, Readonly<Record<string, number>>>> = {
  histogram: { _bucket: ROLE.bucket, _count: ROLE.count, _sum: ROLE.sum, _created: ROLE.created },
  // OpenMetrics has the `g`; text 0.0.4 and some writers of OpenMetrics do without.
  gaugehistogram: {
    _bucket: ROLE.bucket,
    _gcount: ROLE.count,
    _gsum: ROLE.sum,
    _count: ROLE.count,
    _sum: ROLE.sum,
    _created: ROLE.created,
  },
  summary: { '': ROLE.quantile, _count: ROLE.count, _sum: ROLE.sum, _created: ROLE.created },
};
const OPENMETRICS_SUFFIX_ROLES: typeof SUFFIX_ROLES = {
  ...SUFFIX_ROLES,
  counter: { _total: ROLE.scalar, _created: ROLE.created },
  info: { _info: ROLE.scalar },
};
const SUFFIXES = ['_bucket', '_count', '_sum', '_created', '_gcount', '_gsum', '_total', '_info'];

const TYPES: readonly DeclaredType[] = [
  'counter',
  'gauge',
  'unknown',
  'histogram',
  'summary',
  'info',
  'stateset',
  'gaugehistogram',
];
/** What text 0.0.4 calls its types, in any case: the last two are not in its documentation, but in use. */
const TEXT_TYPES: ReadonlyMap<string, DeclaredType> = new Map([
  ['counter', 'counter'],
  ['gauge', 'gauge'],
  ['untyped', 'unknown'],
  ['histogram', 'histogram'],
  ['summary', 'summary'],
  ['gaugehistogram', 'gaugehistogram'],
  ['gauge_histogram', 'gaugehistogram'],
]);
const COMMENT = /^#[ \t]*(HELP|TYPE|UNIT|EOF)(?:[ \t]+|$)/;
const NAME = /^(?:"((?:[^"\\]|\\.)*)"|([^ \t]+))[ \t]*/;

/** The metadata of one page while it is decoded. */
export class PageMetadata {
  readonly #table: SeriesTable;
  readonly #format: ExpositionFormat;
  readonly #families = new Map<string, FamilyLines>();
  readonly #suffixRoles: typeof SUFFIX_ROLES;
  #hasEnded = false;

  constructor(table: SeriesTable, format: ExpositionFormat) {
    this.#table = table;
    this.#format = format;
    this.#suffixRoles = format === 'openmetrics' ? OPENMETRICS_SUFFIX_ROLES : SUFFIX_ROLES;
  }

  /** True after `# EOF` of an OpenMetrics page: nothing behind it counts. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** What the comment lines say so far, by family name. */
  get families(): ReadonlyMap<string, Readonly<FamilyLines>> {
    return this.#families;
  }

  /** Reads the comment on line `number`; the reason when it is one of ours and wrong, null otherwise. */
  readLine(text: string, number: number): string | null {
    const match = COMMENT.exec(text);
    if (match === null) return null;
    const keyword = match[1];
    if (keyword === 'EOF' || keyword === 'UNIT') {
      if (this.#format === 'text') return null;
      if (keyword === 'EOF') {
        this.#hasEnded = true;
        return null;
      }
    }
    const rest = text.slice(match[0].length);
    const name = NAME.exec(rest);
    // A keyword alone is a comment like any other.
    if (name === null) return null;
    const family = name[1] === undefined ? (name[2] ?? '') : unescapeText(name[1]);
    const lines = this.#familyLines(family, number);
    const value = rest.slice(name[0].length);
    if (keyword === 'HELP') lines.help ??= unescapeText(value);
    else if (keyword === 'UNIT') lines.unit ??= value.trim();
    else return this.#readType(lines, value.trim());
    return null;
  }

  /** The metric that a sample name belongs to, made if it is new. */
  placeOf(name: string): NamePlace {
    const own = this.#families.get(name)?.type;
    if (own !== undefined && own !== null)
      return this.#place(name, name, own, this.#suffixRoles[own]?.[''] ?? ROLE.scalar);
    for (const suffix of SUFFIXES) {
      if (!name.endsWith(suffix)) continue;
      const family = name.slice(0, -suffix.length);
      const type = this.#families.get(family)?.type ?? 'unknown';
      const role = this.#suffixRoles[type]?.[suffix];
      if (role === undefined) continue;
      return this.#place(metricNameOf(family, type), family, type, role);
    }
    return this.#place(name, name, 'unknown', ROLE.scalar);
  }

  /** True when lines of this page give rows another place than the one they were filed under. */
  movesRows(): boolean {
    const { metrics, metricByKey, page } = this.#table;
    for (const metric of metrics) {
      if (metric.seenPage !== page) continue;
      const type = this.#families.get(metric.familyName)?.type ?? 'unknown';
      const isStructural =
        this.#suffixRoles[type] !== undefined || this.#suffixRoles[metric.declared] !== undefined;
      if (type !== metric.declared && isStructural) return true;
    }
    for (const [family, { type }] of this.#families) {
      for (const suffix of Object.keys(this.#suffixRoles[type ?? 'unknown'] ?? {})) {
        const name = family + suffix;
        if (suffix === '' || (this.#families.get(name)?.type ?? null) !== null) continue;
        const alone = metrics[metricByKey.get(metricKey(name, name)) ?? -1];
        if (alone?.seenPage === page) return true;
      }
    }
    return false;
  }

  /** Brings the declared half of every metric seen on this page up to date. */
  finish(): void {
    for (const metric of this.#table.metrics) {
      if (metric.seenPage !== this.#table.page) continue;
      const lines = this.#families.get(metric.familyName);
      const declared = lines?.type ?? 'unknown';
      const hasType = (lines?.type ?? null) !== null;
      const help = lines?.help ?? '';
      const unit = lines?.unit ?? '';
      if (
        metric.declared === declared &&
        metric.hasType === hasType &&
        metric.help === help &&
        metric.unit === unit
      )
        continue;
      Object.assign(metric, { declared, hasType, help, unit, changed: true });
    }
  }

  #readType(lines: FamilyLines, word: string): string | null {
    if (lines.type !== null) return null;
    const isText = this.#format === 'text';
    const type = isText
      ? TEXT_TYPES.get(word.toLowerCase())
      : TYPES.find(candidate => candidate === word);
    lines.type = type ?? 'unknown';
    return type === undefined
      ? `the type ${JSON.stringify(word.slice(0, 40))} is none of the format's`
      : null;
  }

  #familyLines(family: string, line: number): FamilyLines {
    let lines = this.#families.get(family);
    if (lines === undefined) {
      lines = { line, type: null, help: null, unit: null };
      this.#families.set(family, lines);
    }
    return lines;
  }

  #place(name: string, familyName: string, declared: DeclaredType, role: number): NamePlace {
    const table = this.#table;
    const key = metricKey(familyName, name);
    let index = table.metricByKey.get(key);
    if (index === undefined) {
      index = addMetric(table, name, familyName, declared);
      table.metricByKey.set(key, index);
    }
    return { metric: index, role };
  }
}

/** The name in OTLP: histograms and summaries go by their family's, an OpenMetrics counter keeps `_total`. */
function metricNameOf(family: string, type: DeclaredType): string {
  if (type === 'counter') return `${family}_total`;
  return type === 'info' ? `${family}_info` : family;
}

function metricKey(familyName: string, name: string): string {
  return familyName === name ? name : `${familyName}\u0000${name}`;
}

/** Adds a metric whose derived half is still empty. */
export function addMetric(
  table: SeriesTable,
  name: string,
  familyName: string,
  declared: DeclaredType,
): number {
  const metric: Metric = {
    name,
    familyName,
    declared,
    hasType: false,
    seenPage: 0,
    help: '',
    unit: '',
    changed: true,
    sentName: name,
    kind: 'gauge',
    typeSource: 'none',
    family: 'other',
    sentUnit: '',
    sentDescription: '',
    uptimeName: null,
    isUptime: false,
    isIncluded: true,
  };
  const index = table.spare.metrics.pop() ?? table.metrics.length;
  table.metrics[index] = metric;
  return index;
}
